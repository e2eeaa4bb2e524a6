"""
Matrix products with constant weights of 4 or 8 bits, which stay quantized (`krnl.dequantize_gemm`).

The weights are a DequantizeLinear of constants with a scale for each block of rows, as in QDQ models with
4-bit weights. MatMulNBits of com.microsoft is decomposed to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    f32,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation

from xonnc.dialects.krnl.quantized_tiles import (
    FIXED_POINT_TERMS,
    MAX_EXACT_BLOCK,
    WORD_BITS,
    BlockGemmOp,
    DequantizeGemmOp,
    QuantizedGemmOp,
)
from xonnc.dialects.krnl.types import is_buffer, is_integer
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import MatMulOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.element_types import integer_range
from xonnc.lowering.onnx_to_krnl.planning.quantized_operands import QuantizedOperands
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, static_or_dynamic
from xonnc.rewriting.patterns import Array

BYTES_OF_DOT = 8
"""Activations that a word of weights takes at most; blocks are whole multiples of it."""

MAX_INTEGER_ROWS = 4
"""Rows of a tile of integer products."""


def quantized_weights(product: Operation) -> DequantizeLinearOp | None:
    """Return the DequantizeLinear of a MatMul's constant weights, if there is a kernel for it; else None."""
    if not isinstance(product, MatMulOp) or element_type(product.A.type) != f32:
        return None
    made = product.B.owner
    if not isinstance(made, DequantizeLinearOp) or element_type(made.y.type) != f32:
        return None
    operands = [value for value in (made.x, made.x_scale, made.x_zero_point) if value.type != NONE]
    shape, scale, element = (
        static_shape(made.x.type),
        static_shape(made.x_scale.type),
        element_type(made.x.type),
    )
    are_constant = all(isinstance(value.owner, ConstantOp) for value in operands)
    if not are_constant or element is None or not is_integer(element) or element.width.data not in (4, 8):
        return None
    if shape is None or scale is None or len(shape) != 2 or 0 in shape:
        return None
    return made if _has_whole_blocks(made, shape, scale, element.width.data) else None


def _has_whole_blocks(op: DequantizeLinearOp, shape: Sequence[int], scale: Sequence[int], bits: int) -> bool:
    """Whether scales are those of blocks of rows, each of whole words."""
    rows, columns = shape
    block, axis = op.block_size.value.data, op.axis.value.data % 2
    zero = tuple(scale) if op.x_zero_point.type == NONE else static_shape(op.x_zero_point.type)
    if not block or axis != 0 or rows % block or block % (WORD_BITS // bits):
        return False
    return (rows // block, columns) == tuple(scale) == zero


def quantized_activations(product: MatMulOp, weights: DequantizeLinearOp) -> DequantizeLinearOp | None:
    """Return the DequantizeLinear of int8 activations with the blocks of the weights, if there is one."""
    made, block = product.A.owner, weights.block_size.value.data
    if not isinstance(made, DequantizeLinearOp) or made.x_zero_point.type != NONE or block > MAX_EXACT_BLOCK:
        return None
    if made.block_size.value.data != block or block % BYTES_OF_DOT or element_type(made.x.type) != i8:
        return None
    if not is_ranked(made.x.type) or element_type(made.x_scale.type) != f32:
        return None
    return made if made.axis.value.data in (-1, len(made.x.type.get_shape()) - 1) else None


def plan_quantized_weights(
    ops: Iterable[Operation], builder: LoweringBuilder
) -> dict[Operation, QuantizedOperands]:
    """Map each MatMul that dequantizes its weights to the DequantizeLinear operations that it absorbs."""
    found: dict[Operation, QuantizedOperands] = {}
    for op in ops:
        made = quantized_weights(op)
        if made is None or made.parent is not op.parent or not builder.scope.may_join(made, op):
            continue
        # A product without a kernel cannot absorb its weights.
        if not all(map(builder.has_known_sizes, (op.operands[0], op.results[0]))):
            continue
        assert isinstance(op, MatMulOp)
        given = quantized_activations(op, made) if builder.target.int8_dot else None
        if given is None or given.parent is not op.parent or given.y.uses.get_length() > 1:
            found[op] = QuantizedOperands(made)
        else:
            are_joined = builder.scope.may_join(given, op)
            found[op] = QuantizedOperands(made, given if are_joined else None)
    return found


def clone_shared_weights(block: Block) -> None:
    """Clone a DequantizeLinear that several products absorb, one for each."""
    taken: set[Operation] = set()
    for op in list(block.ops):
        made = quantized_weights(op)
        if made is None or made.parent is not block:
            continue
        assert isinstance(op, MatMulOp)
        for index, each in enumerate((quantized_activations(op, made), made)):
            if each is None or each.parent is not block:
                continue
            if each in taken or each.y.uses.get_length() > 1:
                own = each.clone()
                own.location = each.location
                block.insert_op_after(own, each)
                op.operands[index] = own.results[0]
                each = own
            taken.add(each)


@dataclass(frozen=True)
class _BlockWeights:
    """Weights as a kernel reads them: unsigned, with scales and zero points for each block of rows."""

    values: Array
    """`K×N`, as in the model."""
    scales: Array
    """`K/block × N`."""
    zero_points: Array | None
    block: int
    bits: int
    lowest: int
    """The least value of the type, which is subtracted."""

    @property
    def one_zero_point(self) -> int | None:
        """Return the zero point of all blocks, as unsigned; None if they differ."""
        if self.zero_points is None:
            return -self.lowest
        numbers = self.zero_points.astype(np.int32)
        first = int(numbers.reshape(-1)[0])
        return first - self.lowest if (numbers == first).all() else None


def _weights_of(op: DequantizeLinearOp, builder: LoweringBuilder) -> _BlockWeights:
    values, scales = builder.constant(op.x), builder.constant(op.x_scale)
    zero_points = None if op.x_zero_point.type == NONE else builder.constant(op.x_zero_point)
    element = element_type(op.x.type)
    assert values is not None
    assert scales is not None
    assert element is not None
    assert is_integer(element)
    lowest, _ = integer_range(element)
    return _BlockWeights(values, scales, zero_points, op.block_size.value.data, element.width.data, lowest)


def dequantize_matmul(
    product: MatMulOp, planned: QuantizedOperands, m: Size, builder: LoweringBuilder
) -> None:
    """Emit the product of a buffer of `m` rows and quantized weights, prepacked in panels."""
    weights, given = _weights_of(planned.weights, builder), planned.activations
    (k, n), bits = weights.values.shape, weights.bits
    rows, columns = builder.tiles.dequantize_gemm(n)
    word_sizes = {
        "width": columns,
        "bits": bits,
        "offset": -weights.lowest,
        "for_bytes": int(given is not None),
    }
    buffers = [
        builder.buffer(product.A if given is None else given.x),
        builder.packed(weights.values, "words", word_sizes),
        builder.packed(weights.scales, "gemm_panels", {"width": columns}),
    ]
    zero = weights.one_zero_point
    numbers = {"n": n, "k": k, "bits": bits, "block": weights.block}
    numbers["m"] = static_or_dynamic(m)
    if zero is not None:
        numbers["zero_point"] = zero
    elif (zeros := weights.zero_points) is not None:
        buffers.append(builder.packed(zeros, "zero_points", {"width": columns, "offset": -weights.lowest}))
    arrays: dict[str, tuple[int, ...]] = {"tile": (rows, columns)}
    output = builder.result(product.Y)
    if given is not None:
        arrays["tile"] = min(rows, MAX_INTEGER_ROWS), columns
        buffers.append(builder.buffer(given.x_scale))
    elif (unpack := builder.tiles.unpack((m, k), weights.block, WORD_BITS // bits)) is not None:
        arrays["unpack"] = unpack
    properties: dict[str, Attribute] = {
        **{name: IntegerAttr(number, i64) for name, number in numbers.items()},
        **{name: DenseArrayBase.from_list(i64, list(each)) for name, each in arrays.items()},
    }
    kernel = KernelBuilder([buffer.type for buffer in (output, *buffers) if is_buffer(buffer.type)])
    sizes = [] if is_static(m) else [kernel.size(m)]
    range_ = kernel.add_range_arguments()
    c, left, words, scales, *others = kernel.buffers
    made: BlockGemmOp
    if given is None:
        if (
            bits == 4
            and zero is not None
            and builder.target.int8_dot
            and not weights.block % FIXED_POINT_TERMS
        ):
            properties["products"] = StringAttr(builder.target.int8_dot)
        made = DequantizeGemmOp(
            operands=[c, left, words, scales, others, range_, sizes], properties=properties
        )
    else:
        properties["products"] = StringAttr(builder.target.int8_dot)
        *zeros_of, factors = others
        made = QuantizedGemmOp(
            operands=[c, left, words, scales, zeros_of, range_, sizes, factors], properties=properties
        )
    kernel.block.add_op(made)
    builder.call(made.name.removeprefix("krnl."), kernel, [output], buffers, made.iterations)
