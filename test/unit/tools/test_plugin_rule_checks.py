"""Rewrite rules of plug-ins are compared with the reference on instances of their patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xonnc.plugin import Builder, Plugin, Value, attr, const, ops, rewrite, value
from xonnc.rewriting.patterns import Node
from xonnc.tools.plugin_checks import CheckResult
from xonnc.tools.plugin_rule_checks import check_rule


def check(
    pattern: Node, function: Callable[..., Any], where: Callable[..., bool] | None = None
) -> CheckResult:
    """Check a rule without registering it, which would be for the rest of the process."""
    plugin = Plugin("ruling")
    rewrite(plugin, into="simplify-onnx", pattern=pattern, name="rule", where=where)(function)
    return check_rule(plugin.rules[0])


def sum_of_constants(b: Builder, x: Value, c: Any, d: Any) -> Value:
    return b.Add(x, c + d)


def sigmoid(b: Builder, x: Value) -> Value:
    return b.Sigmoid(x)


def missing(b: Builder, x: Value) -> Value:
    return b.Nope(x)


def rounded(b: Builder, x: Value) -> Value:
    return b.Cast(x, to=np.float16)


def first(b: Builder, x: Value, axis: int) -> Value:
    return x


def never(axis: int) -> bool:
    return axis == 7


@pytest.mark.parametrize(
    ("pattern", "function", "where", "outcome", "note"),
    [
        (ops.Add(ops.Add(value.x, const.c), const.d), sum_of_constants, None, "ok", ""),
        (
            ops.Mul(value.x, ops.Sigmoid(value.x)),
            sigmoid,
            None,
            r"instance \d+: \(x0 float\d+\[.*\]\): output 0 of the rule and the pattern differ by 0\.\d+",
            "",
        ),
        (ops.Neg(ops.Neg(value.x)), missing, None, r"instance 0: ai.onnx has no operator 'Nope'", ""),
        (
            ops.Neg(ops.Neg(value.x)),
            rounded,
            None,
            r"instance 0: the types of the results were tensor<.*f32> and are tensor<.*f16>",
            "",
        ),
        (
            ops.Softmax(value.x, axis=attr.axis),
            first,
            never,
            "-",
            "no drawn instance matches its pattern and condition",
        ),
    ],
)
def test_outcomes(
    pattern: Node, function: Callable[..., Any], where: Callable[..., bool] | None, outcome: str, note: str
):
    found = check(pattern, function, where)
    assert (found.operator, found.check, found.note) == ("rule", "rule", note)
    assert re.fullmatch(outcome, found.outcome), found.outcome
