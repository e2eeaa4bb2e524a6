"""Every rule of the checks: an edit of a golden vector that breaks it, and what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from container_rule_cases import CONTAINER_CASES
from convolution_rule_cases import CONVOLUTION_CASES
from edited_vectors import FUSED, LENET, POOL, RuleCases
from engine_rule_cases import ENGINE_CASES
from graph_rule_cases import GRAPH_CASES

from xonnc.formats.nvdla.checks.catalogue import RULES, WARNINGS
from xonnc.formats.nvdla.checks.problem import Severity, Violation

CASES = CONTAINER_CASES | CONVOLUTION_CASES | ENGINE_CASES | GRAPH_CASES

WARNED: RuleCases = {
    "rows-over-at-the-end": [
        (
            POOL,
            {"op[0].pool_height": 0},
            "the windows leave 1 row over; the next inference may hang, so let",
        ),
        (
            LENET,
            {"op[5].pool_height": 0},
            "the windows leave 1 row over; the next inference may hang, so let",
        ),
    ],
    "bank-split-waits": [
        (
            "nv_full/conv_hsplit_fp16",
            {"op[2].data_bank": 2, "graph[2].consumers[1].event": 1},
            "2 data and 1 weight banks after operation 0 with 1 and 1; nv_full may hang, so wake it by 1",
        ),
    ],
}

SILENT = [
    # Columns over alone, or with rows, break nothing: seen on the RTL.
    (POOL, {"op[0].pool_width": 0}),
    (POOL, {"op[0].pool_height": 0, "op[0].pool_width": 0}),
    (LENET, {"op[2].pool_width": 0}),
    (FUSED, {"op[2].pool_width": 0}),
    # The next convolution waits, has the same banks, or the target may change them.
    ("nv_full/conv_hsplit_fp16", {"op[0].data_bank": 2, "graph[0].consumers[1].event": 1}),
    ("nv_large/conv_hsplit_int8", {"op[2].data_bank": 2}),
]


def test_every_rule_has_a_case():
    assert set(CASES) == set(RULES)
    assert set(WARNED) == set(WARNINGS)


@pytest.mark.parametrize(
    ("rule", "name", "edits", "reason"),
    [(rule, *case) for rule, cases in WARNED.items() for case in cases],
)
def test_what_may_go_wrong_is_a_warning(
    rule: str,
    name: str,
    edits: Mapping[str, Any],
    reason: str,
    find_edited: Callable[[str, Mapping[str, Any]], list[Violation]],
):
    (problem,) = find_edited(name, edits)
    assert (problem.rule, problem.severity) == (rule, Severity.WARNING)
    assert reason in problem.reason


@pytest.mark.parametrize(("name", "edits"), SILENT)
def test_what_runs_everywhere_is_no_warning(
    name: str, edits: Mapping[str, Any], find_edited: Callable[[str, Mapping[str, Any]], list[Violation]]
):
    assert find_edited(name, edits) == []


@pytest.mark.parametrize(
    ("rule", "name", "edits", "reason"),
    [(rule, *case) for rule, cases in CASES.items() for case in cases],
    ids=[f"{rule}-{number}" for rule, cases in CASES.items() for number in range(len(cases))],
)
def test_a_broken_rule_is_named(
    rule: str,
    name: str,
    edits: Mapping[str, Any],
    reason: str,
    check_edited: Callable[[str, Mapping[str, Any]], list[Violation]],
):
    said = [problem for problem in check_edited(name, edits) if problem.rule == rule]
    assert [problem for problem in said if reason in problem.reason], said
    assert all("\n" not in str(problem) for problem in said)
