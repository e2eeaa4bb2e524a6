"""Fusion of the addition of a constant row vector into the MatMul before it, as its bias."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import AddOp, MatMulOp
from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope


def plan_biases(ops: Sequence[Operation], scope: FusionScope) -> dict[Operation, tuple[AddOp, SSAValue]]:
    """Map each MatMul with a constant B to the Add that is its only reader, and the row that this adds."""
    found: dict[Operation, tuple[AddOp, SSAValue]] = {}
    for op in ops:
        if isinstance(op, AddOp):
            for value, row in ((op.A, op.B), (op.B, op.A)):
                product = value.owner
                if isinstance(product, MatMulOp) and product not in found and _takes(product, row, op, scope):
                    found[product] = op, row
                    break
    return found


def _takes(product: MatMulOp, row: SSAValue, total: AddOp, scope: FusionScope) -> bool:
    shape, left, matrix, own = (static_shape(value.type) for value in (product.Y, product.A, product.B, row))
    # A MatMul without a kernel cannot absorb the addition.
    if shape is None or left is None or matrix is None or own is None:
        return False
    if not shape or not own or 0 in (*shape, *left):
        return False
    is_row = own[-1] == shape[-1] and not any(size > 1 for size in own[:-1]) and len(own) <= len(shape)
    are_constant = all(isinstance(value.owner, ConstantOp) for value in (product.B, row))
    are_alone = total.parent is product.parent and len(scope.users(product.Y)) == 1
    are_floats = all(element_type(value.type) == f32 for value in (product.A, product.B, row))
    return (
        scope.may_join(product, total)
        and is_row
        and are_constant
        and are_alone
        and are_floats
        and len(matrix) == 2
    )
