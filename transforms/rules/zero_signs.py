"""
Whether anything in a model depends on the sign of a zero.

IEEE 754: -0 + (+0) = +0, so that `x + 0 = x` and `x - (-0) = x` change the sign where x = -0. Equal as the
two zeros are, 1 / -0 = -inf: a division by such a value, its power or its bits show the sign. Outputs of the
model do not count, since -0 = 0 there.
"""

from __future__ import annotations

import re

import numpy as np
from xdsl.ir import Operation, SSAValue, Use

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.rewriting.patterns import Constant
from xonnc.transforms.numerics import is_float
from xonnc.transforms.shapes.inference_context import constant_array

MAX_READERS = 1000
"""Number of transitive readers after which the sign is assumed to be seen."""

BLIND = frozenset(
    "Abs ArgMax ArgMin Cos Cosh Equal Exp Greater GreaterOrEqual HardSigmoid IsInf IsNaN Less LessOrEqual "
    "LogSoftmax OneHot QuantizeLinear Return Shape Sigmoid Size Softmax Softplus".split()
)
"""Operators whose results are the same for 0 and -0, and the end of the model."""

SEEING = frozenset("BitCast Custom If Loop Pow Reciprocal Scan Yield".split())
"""Operators that may show the sign, or pass it to where it is not followed."""


def sign_unseen_after_adding(root: Operation, c: Constant) -> str | None:
    """c is -0 or an integer, or nothing shows the sign of zeros: -0 + 0 = 0"""
    return _unseen(root, c, inexact_is_negative=False)


def sign_unseen_after_subtracting(root: Operation, c: Constant) -> str | None:
    """c is 0 or an integer, or nothing shows the sign of zeros: -0 - (-0) = 0"""
    return _unseen(root, c, inexact_is_negative=True)


def _unseen(root: Operation, c: Constant, inexact_is_negative: bool) -> str | None:
    if not is_float(c.array.dtype) or np.all(np.signbit(c.array) != inexact_is_negative):
        return None
    return "the sign of a zero is seen" if sign_is_seen(root.results[0]) else None


def sign_is_seen(value: SSAValue) -> bool:
    """Whether a reader of the value, direct or not, may show the sign of its zeros."""
    waiting, found = [value], {value}
    while waiting:
        for use in waiting.pop().uses:
            if _shows(use):
                return True
            if not _is_blind(use):
                new = [result for result in use.operation.results if result not in found]
                waiting += new
                found.update(new)
        if len(found) > MAX_READERS:
            return True
    return False


def _operator(op: Operation) -> str:
    return re.sub(r"V\d+$", "", op.name.removeprefix("onnx."))


def _shows(use: Use) -> bool:
    if not isinstance(use.operation, OnnxOp):
        # `func.return` ends a function as `onnx.Return` does.
        return use.operation.name not in ("func.return", "onnx.Return")
    name = _operator(use.operation)
    return name in SEEING or (name == "Div" and use.index == 1)


def _is_blind(use: Use) -> bool:
    op = use.operation
    name = _operator(op)
    if name in BLIND or op.name == "func.return":
        return True
    if name not in ("Add", "Sub"):
        return False
    # Both zeros plus a constant that is not zero are that constant.
    other = constant_array(op.operands[1 - use.index])
    return other is not None and bool(np.all(other != 0))
