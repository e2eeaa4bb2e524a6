"""
MatMul canonicalisation: move reshapes after it, fold scalars into weights (docs/internals/onnx-rules.md §3.3,
§3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.types import is_ranked, static_shape, tensor_type
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import ONNX, Div, MatMul, Mul, Reshape
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    Template,
    attr,
    const,
    one_use,
    value,
)
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import is_absent, rank
from xonnc.transforms.rules.op_builder import OpBuilder

a, b, c = value.a, value.b, const.c

MOVES = frozenset(f"onnx.{name}" for name in ("Reshape", "Transpose", "Squeeze", "Unsqueeze"))
"""Data-movement ops that commute with a scalar factor."""


@rule(MatMul(Reshape(a, value.shape, allowzero=attr.allowzero).named("reshape"), b))
def reshape_after_product(
    root: Operation, reshape: Operation, a: SSAValue, b: SSAValue, allowzero: int
) -> RewriteResult:
    """reshape(a) b = reshape(a b) if the last axis is unchanged and no dimension is 0"""
    sizes = a.type.get_shape() if is_ranked(a.type) else ()
    matrix, made = reshape.results[0].type, static_shape(root.results[0].type)
    if len(sizes) < 3 or not is_ranked(matrix) or len(matrix.get_shape()) != 2 or rank(b) != 2:
        return MatchFailure("only for matrices made of tensors with more axes")
    if sizes[-1] < 0 or matrix.get_shape()[-1] != sizes[-1]:
        return MatchFailure("the last axis may not stay last")
    if made is None or 0 in made:
        return MatchFailure("the result's shape is not static, or has no elements")
    assert is_ranked(a.type)
    product = MatMul(a, b).typed(tensor_type((*sizes[:-1], made[-1]), a.type.element_type))
    return Reshape(product, np.array(made, np.int64), allowzero=allowzero)


@dataclass(frozen=True)
class ScalableWeights:
    """A linear op and its constant operands that a factor can be folded into."""

    op: Operation
    """The Gemm or MatMul."""
    readers: tuple[tuple[Operation, int], ...]
    """Users of the constants to be scaled, with the operand index."""

    def scale(self, scaling: Template, factor: Constant) -> None:
        """Scale the constants in place."""
        for reader, index in self.readers:
            old = reader.operands[index]
            writer = OpBuilder(reader)
            scaled = writer(scaling, old, writer.constant(factor.array), types=[old.type])
            reader.operands = [
                scaled if each == index else operand for each, operand in enumerate(reader.operands)
            ]


def read_once(result: SSAValue) -> bool:
    """Return whether a value has one use, Dim not counted."""
    readers = [use.operation for use in result.uses if use.operation.name != "onnx.Dim"]
    return len(readers) == 1


def weights_behind(side: SSAValue) -> ScalableWeights | None:
    """Return the linear op with constant weights that defines a value up to data movement."""
    found = side
    while isinstance(found, OpResult) and read_once(found) and found.op.name in MOVES:
        found = found.op.operands[0]
    if not isinstance(found, OpResult) or not read_once(found):
        return None
    op = found.op
    if op.name == "onnx.Gemm":
        bias = op.operands[2]
        if constant_of(ONNX, op.operands[1]) is None or not (is_absent(bias) or constant_of(ONNX, bias)):
            return None
        return ScalableWeights(op, ((op, 1),) if is_absent(bias) else ((op, 1), (op, 2)))
    if op.name == "onnx.Add" and constant_of(ONNX, op.operands[1]) is not None:
        product = op.operands[0]
        if not isinstance(product, OpResult) or product.op.name != "onnx.MatMul" or not read_once(product):
            return None
        if constant_of(ONNX, product.op.operands[1]) is not None:
            return ScalableWeights(product.op, ((product.op, 1), (op, 1)))
    return None


def scaled_attention(scaling: Template) -> Rule:
    """Return the rule that folds the scale of an attention into the weights of one of its projections."""

    @rule(scaling(one_use(MatMul(a, b)).named("product"), c), bonus=-2)
    def into_weights(
        root: Operation, product: Operation, a: SSAValue, b: SSAValue, c: Constant
    ) -> RewriteResult:
        """
        c (move(x w + d) y) = move(x (c w) + c d) y for a finite float scalar c that is not 0

        `move` stands for reshapes and transposes. The intermediate values must have no other use, which would
        see them scaled; onnx-mlir does not check that.
        """
        factor = c.array
        if (
            factor.shape not in ((), (1,))
            or not is_float(factor.dtype)
            or root.results[0].type != product.results[0].type
        ):
            return MatchFailure("c is not one float, or the type changes")
        if not np.all(np.isfinite(factor)) or not np.all(factor):
            return MatchFailure("c is 0 or not finite")
        weights = weights_behind(a) or weights_behind(b)
        if weights is None:
            return MatchFailure("no operand is a linear op with constant weights, through data movement only")
        # A factor of shape [1] would turn a bias of rank 0 into one of rank 1.
        if any(rank(reader.operands[index]) == 0 for reader, index in weights.readers):
            return MatchFailure("a scalar bias would gain axes")

        def write(op: Operation) -> Sequence[SSAValue]:
            weights.scale(scaling, c)
            return product.results

        return ImperativeRewrite(write)

    return into_weights


RULES = rules(
    SwapReshapeMatMulPattern=reshape_after_product,
    PropagateConstantScalingInAttentionLayerPatternMul=scaled_attention(Mul),
    PropagateConstantScalingInAttentionLayerPatternDiv=scaled_attention(Div),
)
