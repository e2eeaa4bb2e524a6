"""Inverse hyperbolic functions, computed in f64 by `log1p`, since neither processors nor LLVM have them."""

from __future__ import annotations

from math import log, nan

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import math as onnx
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.activations import log_of_one_more
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody, lowers_elementwise

LARGE = 1e9
"""Beyond this, `x² + 1` rounds to `x²` in f64."""


def _in_double(body: ElementwiseBody, value: SSAValue) -> tuple[Scalar, Scalar]:
    """Return an element in f64 and its absolute value."""
    x = body(value).to(f64)
    return x, x.abs()


def _where_large(size: Scalar, made: Scalar) -> Scalar:
    """For large `x`, use `log(2 x)`."""
    is_large = size > LARGE
    return is_large.select(size.log() + log(2.0), made)


@lowers_elementwise(onnx.AsinhOp)
def asinh(op: onnx.AsinhOp, body: ElementwiseBody) -> Scalar:
    """`log(x + sqrt(x² + 1))`"""
    x, size = _in_double(body, op.input)
    square = size * size
    made = log_of_one_more(size + square / ((square + 1.0).sqrt() + 1.0))
    return _where_large(size, made).copy_sign(x).to(body(op.input).type)


@lowers_elementwise(onnx.AcoshOp)
def acosh(op: onnx.AcoshOp, body: ElementwiseBody) -> Scalar:
    """`log(x + sqrt(x² - 1))`; NaN below 1."""
    x, _ = _in_double(body, op.input)
    above = x + -1.0
    root = (above * above + above * 2.0).sqrt()
    made = _where_large(x, log_of_one_more(above + root))
    # Below -1 the square root is real again: NaN must be selected.
    return (x < 1.0).select(nan, made).to(body(op.input).type)


@lowers_elementwise(onnx.AtanhOp)
def atanh(op: onnx.AtanhOp, body: ElementwiseBody) -> Scalar:
    """`log((1 + x) / (1 - x)) / 2`"""
    x, size = _in_double(body, op.input)
    made = log_of_one_more((size + size) / (1.0 - size)) * 0.5
    return made.copy_sign(x).to(body(op.input).type)
