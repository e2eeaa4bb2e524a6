"""Which single changes of a node the checker refuses, for every operator: sizes, attributes, constants."""

from __future__ import annotations

from pathlib import Path

import pytest

from xonnc.fuzzing.edge_templates import NodeTemplate
from xonnc.fuzzing.single_changes import first_templates, model_of, single_changes
from xonnc.model_check import check_model

TABLE = Path(__file__).with_name("refused_changes.txt")
"""Operators with the changes that are refused, e.g. `0.0-1` (first axis 1 smaller), `axis.+9` (too large)."""

REFUSED = {
    line.partition(": ")[0]: line.partition(": ")[2].split()
    for line in TABLE.read_text().splitlines()
    if not line.startswith("#")
}


def refused_changes(template: NodeTemplate) -> list[str]:
    """The names of the changes after which the checker finds a problem."""
    models = ((name, model_of(changed)) for name, changed in single_changes(template))
    return [name for name, model in models if model is not None and check_model(model)]


@pytest.mark.parametrize("template", list(first_templates()), ids=lambda template: template.operator)
def test_the_checker_refuses_what_the_table_says(template: NodeTemplate):
    """After a change of the checks on purpose, write the table anew with this module as a script."""
    model = model_of(template)
    assert model is not None
    assert check_model(model) == []
    assert refused_changes(template) == REFUSED[template.operator]


def test_the_table_has_every_operator():
    assert list(REFUSED) == [template.operator for template in first_templates()]


if __name__ == "__main__":
    head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
    rows = [f"{each.operator}: {' '.join(refused_changes(each))}".rstrip() for each in first_templates()]
    TABLE.write_text("\n".join([*head, *rows]) + "\n")
