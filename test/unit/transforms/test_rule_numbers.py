"""
Every rule of every table, against the ONNX reference, on generated instances of its pattern.

`--rules-count=500` makes more instances of each rule than `make test`, `--rules-seed=1` others. How a rule or
a table gets in: `fuzzing/rules/tables.py`. How an instance is judged: `fuzzing/rules/sweep.py`.
"""

from __future__ import annotations

import pytest

from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.fuzzing.rules.sweep import Sweep
from xonnc.fuzzing.rules.tables import CASES, TABLES, Table
from xonnc.transforms.onnx_package_hooks import use_inference

use_inference(infer_results)

SHOWN = 5
"""So many wrong instances of a rule are shown."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_entry_is_about_a_rule(table: Table) -> None:
    for entries in (table.examples, table.generators, table.closeness, table.finite, table.kinds):
        assert entries.keys() <= table.rules.keys()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("table", "name"), [pytest.param(table, name, id=f"{table.name}-{name}") for table, name in CASES]
)
def test_rule(table: Table, name: str, pytestconfig: pytest.Config) -> None:
    seed, count = (int(str(pytestconfig.getoption(option))) for option in ("--rules-seed", "--rules-count"))
    sweep = Sweep(table, name, seed, count)
    tally = sweep.run()
    assert not tally.wrong, "\n".join(tally.wrong[:SHOWN])
    assert tally.generated >= sweep.requested, (
        f"{name} fired on {tally.generated} of {sweep.requested}: {tally}"
    )
    if name in table.examples:
        assert tally.fixed, f"no example of {name} matches its pattern"
