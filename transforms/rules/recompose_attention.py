"""Recompose Attention from two MatMuls and the Softmax between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.math.arithmetic import AddOp, DivOp, MulOp
from xonnc.dialects.onnx.ops.math.linear import MatMulOp
from xonnc.dialects.onnx.ops.math.probability import SoftmaxOp
from xonnc.dialects.onnx.ops.tensor.shape import TransposeOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import Attention, MatMul, Transpose
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_scalar
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.rules.recompose_matchers import broadcasts_into, either_way, made_by, number_in

RANK = 4
"""Batch, heads, sequence and features."""


@dataclass(frozen=True)
class Scores:
    """The operand of the Softmax: `scale Q K + mask`."""

    product: MatMulOp
    scale: float = 1.0
    mask: SSAValue | None = None


def scores(found: SSAValue) -> Scores | None:
    """Return the scores that a value is, if no part of them has another use."""
    if not found.has_one_use():
        return None
    total = made_by(found, AddOp)
    if total is None:
        return scaled(found)
    for part, mask in either_way(total):
        inner = scaled(part) if part.has_one_use() else None
        if inner is not None:
            return replace(inner, mask=mask)
    return None


def scaled(found: SSAValue) -> Scores | None:
    """Return a MatMul, multiplied or divided by a positive constant."""
    product = made_by(found, MatMulOp)
    if product is not None:
        return Scores(product)
    multiple, quotient = made_by(found, MulOp), made_by(found, DivOp)
    pairs = [*either_way(multiple)] if multiple else [(quotient.A, quotient.B)] if quotient else []
    for part, factor in pairs:
        inner, number = made_by(part, MatMulOp), number_in(factor)
        # The scale must be positive: Attention multiplies Q and K by √scale each.
        if inner is not None and part.has_one_use() and is_scalar(factor) and number and number > 0:
            return Scores(inner, 1 / number if quotient else number)
    return None


def keys(builder: OpBuilder, product: MatMulOp) -> SSAValue:
    """Return K, of which the MatMul reads the transpose."""
    transpose = made_by(product.B, TransposeOp)
    perm = decode(transpose.perm) if transpose else None
    if transpose is None or not isinstance(perm, tuple):
        return builder(Transpose, product.B, perm=[0, 1, 3, 2])
    order = [axis for axis in perm if isinstance(axis, int)]
    composed = [*order[:2], order[3], order[2]]
    return (
        transpose.data if composed == list(range(RANK)) else builder(Transpose, transpose.data, perm=composed)
    )


def shape_problem(found: Scores, v: SSAValue) -> str | None:
    """Return why the shapes do not match: Attention does not broadcast batches, and requires equal heads."""
    shapes = [static_shape(each.type) for each in (found.product.A, found.product.B, v)]
    q, k, values = shapes
    if q is None or k is None or values is None or {len(q), len(k), len(values)} != {RANK}:
        return "only for operands of rank 4 and known shape"
    if not q[:2] == k[:2] == values[:2]:
        return "batches or heads are broadcast"
    if 0 in (*q, *k, *values):
        return "a size is 0"
    if found.mask is None:
        return None
    mask = found.mask.type
    if not broadcasts_into(found.mask, found.product.Y):
        return "the mask may make the scores larger"
    # Attention pads a shorter last axis of the mask with -inf instead of broadcasting it.
    if not is_ranked(mask) or len(mask.get_shape()) < 2 or mask.get_shape()[-1] != k[-1]:
        return "the mask has not as many columns as the scores"
    return None


@rule(MatMul(value.p, value.v))
def attention(root: Operation, p: SSAValue, v: SSAValue) -> RewriteResult:
    """softmax(scale q kᵀ + mask) v is the attention of q, k and v"""
    softmax = made_by(p, SoftmaxOp)
    if softmax is None or not p.has_one_use():
        return MatchFailure("the first factor is no softmax, or has other readers")
    if decode(softmax.axis) not in (-1, RANK - 1):
        return MatchFailure("the softmax is not along the last axis")
    found = scores(softmax.input)
    if found is None:
        return MatchFailure("the softmax is not of a product, its scale and a mask, which only it reads")
    if element_type(root.results[0].type) == f64:
        return MatchFailure("doubles are computed in single precision")
    if problem := shape_problem(found, v):
        return MatchFailure(problem)
    return ImperativeRewrite(lambda end: write(end, found, v))


def write(end: Operation, found: Scores, v: SSAValue) -> Sequence[SSAValue]:
    """Create the Attention that replaces the last MatMul."""
    builder = OpBuilder(end)
    k = keys(builder, found.product)
    mask = builder.none() if found.mask is None else found.mask
    types = [end.results[0].type, NONE, NONE, NONE]
    absent = (builder.none() for _ in range(3))
    return builder.all(Attention, found.product.A, k, v, mask, *absent, types=types, scale=found.scale)[:1]


STANDARD = rules(RecomposeAttention=attention)
"""Rules for models whose opset has Attention."""
