"""Contrib operators of onnxruntime as ONNX operators (docs/internals/onnx-rules.md §5.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype, unranked
from xonnc.rewriting.attribute_conversion import Decoded, decode
from xonnc.rewriting.onnx import Custom, MatMul, Mul, Transpose
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.op_builder import OpBuilder


def property_of(root: Operation, name: str) -> Decoded:
    """Return an attribute of a custom op as a Python value."""
    return decode(root.attributes.get(name))


def is_fused_matmul(root: Operation, function: str) -> str | None:
    """The op is FusedMatMul of com.microsoft with the required attributes and untransposed batch axes."""
    domain = property_of(root, "domain_name")
    if function.lower() != "fusedmatmul" or not isinstance(domain, str) or domain.lower() != "com.microsoft":
        return "it is not com.microsoft's FusedMatMul"
    if not isinstance(property_of(root, "transA"), int) or not isinstance(property_of(root, "transB"), int):
        return "transA or transB is missing"
    if not isinstance(property_of(root, "alpha"), float):
        return "alpha is missing"
    if property_of(root, "transBatchA") or property_of(root, "transBatchB"):
        return "a batch axis is transposed"
    return None if len(root.results) == 1 else "it has several results"


def transposition(matrix: SSAValue) -> list[int] | None:
    """Return the permutation that swaps the last two axes, or `None` if the rank is unknown or below 2."""
    axes = rank(matrix)
    if axes is None and isinstance(matrix, OpResult) and matrix.op.name == "onnx.Transpose":
        perm = decode(matrix.op.properties.get("perm"))
        axes = len(perm) if isinstance(perm, tuple) else None
    return None if axes is None or axes < 2 else [*range(axes - 2), axes - 1, axes - 2]


@rule(Custom(value.a, value.b, function_name=attr.function), where=is_fused_matmul)
def fused_matmul(root: Operation, a: SSAValue, b: SSAValue) -> RewriteResult:
    """fused_matmul(a, b) = alpha (a' b'), with the operands transposed by `transA` and `transB`"""
    alpha, element = property_of(root, "alpha"), element_type(root.results[0].type)
    sides: list[tuple[SSAValue, list[int] | None]] = []
    for side, name in ((a, "transA"), (b, "transB")):
        perm = transposition(side) if property_of(root, name) else None
        if property_of(root, name) and perm is None:
            return MatchFailure("the rank of what is transposed is not known or less than 2")
        sides.append((side, perm))
    if element is None or not isinstance(alpha, float):
        return MatchFailure("the element type is not known")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        operands = [
            side if perm is None else builder(Transpose, side, types=[unranked(element)], perm=perm)
            for side, perm in sides
        ]
        factor = builder.constant(np.array([alpha], numpy_dtype(element)))
        return builder.last(Mul, factor, builder(MatMul, *operands, types=op.result_types))

    return ImperativeRewrite(write)


RULES = rules(CustomFusedMatMul=fused_matmul)
