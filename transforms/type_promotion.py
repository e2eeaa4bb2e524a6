"""Promote operand types of operators whose kernels exist for wider floats only; results are rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, f64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops import math, nn, reduction, rnn
from xonnc.dialects.onnx.ops.constant import ConstantOp, constant_elements
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.tensor import CastOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, numpy_dtype, tensor_type
from xonnc.rewriting.editing import retype

FLOAT16_TO_FLOAT32 = (
    BatchNormalizationInferenceModeOp,
    math.GemmOp,
    math.MatMulOp,
    nn.ConvOp,
    nn.ConvTransposeOp,
    nn.LRNOp,
    rnn.GRUOp,
    rnn.LSTMOp,
    rnn.RNNOp,
)
"""Operators with long sums: float16 and bfloat16 are computed in float32."""

Promoted: TypeAlias = dict[tuple[SSAValue, Block, Attribute], SSAValue]
"""Operands that were cast to a type in a block, so that several operators share a cast."""

INTEGER_TO_FLOAT64 = (
    reduction.ReduceL2Op,
    reduction.ReduceL2V13Op,
    reduction.ReduceLogSumOp,
    reduction.ReduceLogSumV13Op,
    reduction.ReduceLogSumExpOp,
    reduction.ReduceLogSumExpV13Op,
)
"""Roots and logarithms: integers are computed in float64 and truncated."""


def promote_types(module: ModuleOp, pool: DisposablePool) -> None:
    """Promote operators of known ranks to float types that kernels implement."""
    promoted: Promoted = {}
    for op in list(module.walk()):
        if isinstance(op, FLOAT16_TO_FLOAT32):
            indices = [index for index, value in enumerate(op.operands) if _is_float16(value)]
            _promote(op, indices, f32, pool, promoted)
        elif isinstance(op, INTEGER_TO_FLOAT64) and _is_integer(op.operands[0]):
            _promote(op, [0], f64, pool, promoted)


def _is_float16(value: SSAValue) -> bool:
    return element_type(value.type) in (f16, bf16)


def _is_integer(value: SSAValue) -> bool:
    element = element_type(value.type)
    return element is not None and is_integer(element)


def _promote(
    op: Operation, operand_indices: Sequence[int], wide: Attribute, pool: DisposablePool, promoted: Promoted
) -> None:
    """Cast the operands at `operand_indices` to `wide`, and results of their element type back."""
    narrow = {element_type(op.operands[index].type) for index in operand_indices}
    block = op.parent
    if any(not is_ranked(value.type) for value in (*op.operands, *op.results) if value.type != NONE):
        return
    assert block is not None
    for index in operand_indices:
        value = op.operands[index]
        key = value, block, wide
        if key not in promoted:
            made = _promoted(value, op, wide, pool)
            source = value.owner
            # Where rules leave constants, so that a second run moves nothing.
            if isinstance(made, ConstantOp) and isinstance(source, Operation) and source.parent is block:
                block.insert_op_after(made, source)
            else:
                block.insert_op_before(made, op)
            promoted[key] = made.results[0]
        op.operands[index] = promoted[key]
    for result in op.results:
        element = element_type(result.type)
        if is_ranked(result.type) and element is not None and element in narrow:
            shape = result.type.get_shape()
            retype(result, tensor_type(shape, wide))
            cast = _cast(result, shape, element)
            cast.location = derived(op.location)
            block.insert_op_after(cast, op)
            result.replace_uses_with_if(cast.output, lambda use, cast=cast: use.operation is not cast)


def _promoted(value: SSAValue, op: Operation, wide: Attribute, pool: DisposablePool) -> Operation:
    constant = constant_elements(value)
    assert is_ranked(value.type)
    if constant is not None:
        return ConstantOp.from_attr(pool.create(constant.astype(numpy_dtype(wide))), derived(op.location))
    made = _cast(value, value.type.get_shape(), wide)
    made.location = derived(op.location)
    return made


def _cast(value: SSAValue, shape: tuple[int, ...], element: Attribute) -> CastOp:
    return CastOp.build(
        operands=[value], result_types=[tensor_type(shape, element)], properties={"to": element}
    )
