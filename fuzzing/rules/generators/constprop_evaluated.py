"""Rules of constant propagation that have no instances: what the reference computes, and loops."""

from __future__ import annotations

from xonnc.rewriting.patterns import Native
from xonnc.rewriting.rules import Rule
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.rules import constprop_loops, decompose_elementwise
from xonnc.transforms.rules.constprop_evaluation import evaluated


def is_evaluated(rule: Rule) -> bool:
    """Whether the reference evaluator itself computes a rule's result, so that a comparison is void."""
    return isinstance(rule.result, Native) and rule.result.call is evaluated


ELSEWHERE: dict[str, str] = {
    **{
        name: "the reference computes it: test_folding.py, test_constprop_evaluation.py, bench/folding.py"
        for name, rule in ConstProp().rules().items()
        if is_evaluated(rule)
    },
    "DynamicQuantizeLinearofConst": "the reference has a scale of its own for zeros: test_edge_values.py",
    "ReduceLogSumExpofConst": "the reference fails on some axes: test_edge_values.py",
    **dict.fromkeys(constprop_loops.loops(1), "test_constprop_loops.py"),
    **dict.fromkeys(decompose_elementwise.NORMALIZED_CONSTANTS, "in the table of decompose-onnx"),
}
