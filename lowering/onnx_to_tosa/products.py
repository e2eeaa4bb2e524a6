"""Matrix products."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects import tosa
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.types import NONE, tensor_type
from xonnc.dialects.tosa import convolution
from xonnc.dialects.tosa.data_movement import TileOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.elementwise import scaled
from xonnc.lowering.onnx_to_tosa.tosa_builder import TosaBuilder, is_real, lowers


@lowers(MatMulOp)
def matmul(op: MatMulOp, builder: TosaBuilder) -> SSAValue:
    """A product of matrices for each batch; batches are broadcast by tiling."""
    a, b = builder.value(op.A), builder.value(op.B)
    left, right = shape_of(a), shape_of(b)
    if len(left) == 1:
        a = builder.reshape(a, (1, *left))
    if len(right) == 1:
        b = builder.reshape(b, (*right, 1))
    batches = np.broadcast_shapes(shape_of(a)[:-2], shape_of(b)[:-2])
    if prod(shape_of(b)[:-2]) == 1 and prod(batches) > 1:
        # One matrix for all batches: the rows of all batches are those of one.
        rows = builder.reshape(a, (1, prod(shape_of(a)[:-1]), shape_of(a)[-1]))
        made = multiplied(rows, builder.reshape(b, (1, *shape_of(b)[-2:])), builder)
    else:
        made = multiplied(_batched(a, batches, builder), _batched(b, batches, builder), builder)
    return builder.reshape(made, builder.result_shape(op))


def _batched(value: SSAValue, batches: tuple[int, ...], builder: TosaBuilder) -> SSAValue:
    """Return matrices of all batches, in three dimensions."""
    shape = shape_of(value)
    full = (1,) * (len(batches) + 2 - len(shape)) + shape
    value = builder.reshape(value, full)
    factors = [full_size // size for full_size, size in zip(batches, full[:-2], strict=True)]
    if any(factor > 1 for factor in factors):
        operands = [value, builder.shape([*factors, 1, 1])]
        value = builder.emit(TileOp, operands, tensor_type((*batches, *shape[-2:]), element_of(value)))
    return builder.reshape(value, (prod(batches), *shape[-2:]))


def multiplied(a: SSAValue, b: SSAValue, builder: TosaBuilder) -> SSAValue:
    """Return the products of two tensors of matrices with as many batches."""
    if not is_real(a):
        builder.refuse(f"a product of {element_of(a)} (TOSA's are of floats and quantized integers)")
    type_ = tensor_type((*shape_of(a)[:2], shape_of(b)[2]), element_of(a))
    return builder.emit(convolution.MatMulOp, [a, b, builder.zero_point(a), builder.zero_point(b)], type_)


@lowers(GemmOp)
def gemm(op: GemmOp, builder: TosaBuilder) -> SSAValue:
    """`alpha A B + beta C`."""
    a, b = builder.value(op.A), builder.value(op.B)
    constant_b = builder.constant(op.B)
    if op.transA.value.data:
        a = builder.transpose(a, (1, 0))
    if op.transB.value.data:
        b = builder.transpose(b, (1, 0)) if constant_b is None else builder.const(constant_b.T)
    made = multiplied(builder.reshape(a, (1, *shape_of(a))), builder.reshape(b, (1, *shape_of(b))), builder)
    made = builder.reshape(made, builder.result_shape(op))
    if op.alpha.value.data != 1.0:
        made = scaled(made, op.alpha.value.data, builder)
    if op.C.type == NONE:
        return made
    addend = builder.value(op.C)
    if op.beta.value.data != 1.0:
        addend = scaled(addend, op.beta.value.data, builder)
    return builder.binary(tosa.AddOp, made, addend)
