"""Inverse hyperbolic functions, which neither processors nor LLVM have; computed in f64."""

from __future__ import annotations

from math import log

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import math as onnx
from xonnc.lowering.onnx_to_krnl.activations import log_of_one_more, over, plus, times
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import Point, at_each_point
from xonnc.lowering.onnx_to_krnl.integer_arithmetic import chosen

Made = SSAValue | None

LARGE = 1e9
"""From here on `x² + 1` is `x²` in f64."""


def _in_double(at: Point, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """A number in f64, and how large it is."""
    x = at(value)
    double = x if x.type == f64 else at.add(arith.ExtFOp(x, f64))
    return double, at.add(math.AbsFOp(double))


def _back(at: Point, made: SSAValue, value: SSAValue) -> SSAValue:
    kind = at(value).type
    return made if kind == f64 else at.add(arith.TruncFOp(made, kind))


def _where_large(at: Point, size: SSAValue, made: SSAValue) -> SSAValue:
    """Of large numbers `log(2 x)`."""
    is_large = at.add(arith.CmpfOp(size, at.number(LARGE, size), "ogt"))
    return chosen(at, is_large, plus(at, at.add(math.LogOp(size)), log(2.0)), made)


@at_each_point(onnx.AsinhOp)
def asinh(op: onnx.AsinhOp, at: Point) -> Made:
    """`log(x + sqrt(x² + 1))`"""
    x, size = _in_double(at, op.input)
    square = times(at, size, size)
    root = at.add(math.SqrtOp(plus(at, square, 1.0)))
    made = log_of_one_more(at, plus(at, size, over(at, square, plus(at, root, 1.0))))
    return _back(at, at.add(math.CopySignOp(_where_large(at, size, made), x)), op.input)


@at_each_point(onnx.AcoshOp)
def acosh(op: onnx.AcoshOp, at: Point) -> Made:
    """`log(x + sqrt(x² - 1))`; below 1 no number."""
    x, _ = _in_double(at, op.input)
    above = plus(at, x, -1.0)
    root = at.add(math.SqrtOp(plus(at, times(at, above, above), times(at, above, 2.0))))
    made = _where_large(at, x, log_of_one_more(at, plus(at, above, root)))
    # Below -1 the root is real again.
    is_below = at.add(arith.CmpfOp(x, at.number(1.0, x), "olt"))
    return _back(at, chosen(at, is_below, at.number(float("nan"), x), made), op.input)


@at_each_point(onnx.AtanhOp)
def atanh(op: onnx.AtanhOp, at: Point) -> Made:
    """`log((1 + x) / (1 - x)) / 2`"""
    x, size = _in_double(at, op.input)
    inner = over(at, plus(at, size, size), at.add(arith.SubfOp(at.number(1.0, x), size)))
    made = times(at, log_of_one_more(at, inner), 0.5)
    return _back(at, at.add(math.CopySignOp(made, x)), op.input)
