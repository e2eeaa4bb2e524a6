"""Inverse hyperbolic functions, computed in f64 by `log1p`, since neither processors nor LLVM have them."""

from __future__ import annotations

from math import log

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import math as onnx
from xonnc.lowering.onnx_to_krnl.activations import log_of_one_more, over, plus, times
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import ElementwiseBody, lowers_elementwise
from xonnc.lowering.onnx_to_krnl.integer_arithmetic import chosen

MaybeScalar = SSAValue | None

LARGE = 1e9
"""Beyond this, `x² + 1` rounds to `x²` in f64."""


def _in_double(body: ElementwiseBody, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return an element in f64 and its absolute value."""
    x = body(value)
    double = x if x.type == f64 else body.add(arith.ExtFOp(x, f64))
    return double, body.add(math.AbsFOp(double))


def _back(body: ElementwiseBody, made: SSAValue, value: SSAValue) -> SSAValue:
    kind = body(value).type
    return made if kind == f64 else body.add(arith.TruncFOp(made, kind))


def _where_large(body: ElementwiseBody, size: SSAValue, made: SSAValue) -> SSAValue:
    """For large `x`, use `log(2 x)`."""
    is_large = body.add(arith.CmpfOp(size, body.constant(LARGE, size), "ogt"))
    return chosen(body, is_large, plus(body, body.add(math.LogOp(size)), log(2.0)), made)


@lowers_elementwise(onnx.AsinhOp)
def asinh(op: onnx.AsinhOp, body: ElementwiseBody) -> MaybeScalar:
    """`log(x + sqrt(x² + 1))`"""
    x, size = _in_double(body, op.input)
    square = times(body, size, size)
    root = body.add(math.SqrtOp(plus(body, square, 1.0)))
    made = log_of_one_more(body, plus(body, size, over(body, square, plus(body, root, 1.0))))
    return _back(body, body.add(math.CopySignOp(_where_large(body, size, made), x)), op.input)


@lowers_elementwise(onnx.AcoshOp)
def acosh(op: onnx.AcoshOp, body: ElementwiseBody) -> MaybeScalar:
    """`log(x + sqrt(x² - 1))`; NaN below 1."""
    x, _ = _in_double(body, op.input)
    above = plus(body, x, -1.0)
    root = body.add(math.SqrtOp(plus(body, times(body, above, above), times(body, above, 2.0))))
    made = _where_large(body, x, log_of_one_more(body, plus(body, above, root)))
    # Below -1 the square root is real again: NaN must be selected.
    is_below = body.add(arith.CmpfOp(x, body.constant(1.0, x), "olt"))
    return _back(body, chosen(body, is_below, body.constant(float("nan"), x), made), op.input)


@lowers_elementwise(onnx.AtanhOp)
def atanh(op: onnx.AtanhOp, body: ElementwiseBody) -> MaybeScalar:
    """`log((1 + x) / (1 - x)) / 2`"""
    x, size = _in_double(body, op.input)
    inner = over(body, plus(body, size, size), body.add(arith.SubfOp(body.constant(1.0, x), size)))
    made = times(body, log_of_one_more(body, inner), 0.5)
    return _back(body, body.add(math.CopySignOp(made, x)), op.input)
