"""
QDQ pairs (QuantizeLinear and DequantizeLinear) that the compiler inserts.

They have the attribute `dla.inserted`: partitions on the CPU leave such pairs out (`remove_qdq_pairs.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import floor, log2, prod
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, LocationAttr, ModuleOp, Signedness, UnitAttr, i8
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import UNKNOWN, derived
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.math import AddOp, ExpandOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, FlattenOp, GlobalMaxPoolOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.reduction import (
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMinOp,
    ReduceMinV13Op,
    ReduceMinV18Op,
)
from xonnc.dialects.onnx.ops.tensor import (
    CastOp,
    DepthToSpaceOp,
    GatherOp,
    IdentityOp,
    ReshapeOp,
    ResizeOp,
    ResizeV13Op,
    ResizeV18Op,
    SliceOp,
    SpaceToDepthOp,
    SplitOp,
    SplitV11Op,
    SplitV13Op,
    SqueezeOp,
    SqueezeV11Op,
    TileOp,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import NONE, element_type, element_type_of, is_ranked, numpy_dtype, tensor_type
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array

INSERTED = "dla.inserted"
"""The attribute of both operators of a pair that the compiler inserted."""

UNSIGNED = IntegerType(8, Signedness.UNSIGNED)

MOVES = (
    CastOp,
    FlattenOp,
    GlobalMaxPoolOp,
    IdentityOp,
    MaxPoolSingleOutOp,
    ReshapeOp,
    SliceOp,
    SplitOp,
    SplitV11Op,
    SplitV13Op,
    SqueezeOp,
    SqueezeV11Op,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
"""Ops whose results are elements of their operand, which the engines may quantize before or after them."""

PASS_THROUGH = (
    *MOVES,
    DepthToSpaceOp,
    ExpandOp,
    GatherOp,
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMinOp,
    ReduceMinV13Op,
    ReduceMinV18Op,
    ResizeOp,
    ResizeV13Op,
    ResizeV18Op,
    SpaceToDepthOp,
    TileOp,
    TransposeOp,
)
"""Ops whose results are elements of their operand, and share its quantization parameters."""


@dataclass(frozen=True)
class QdqPair:
    """Parameters of a pair with 8-bit integers; `centre` is subtracted first."""

    scale: float
    zero_point: int = 0
    is_unsigned: bool = False
    centre: float = 0.0

    @staticmethod
    def of(qparams: QuantizationParameters) -> QdqPair:
        """Return the pair of these parameters: symmetric `int8`, or `uint8` with a zero point."""
        if not qparams.zero_point:
            return QdqPair(qparams.scale)
        return QdqPair(qparams.scale, qparams.zero_point - INT8_MIN, True)

    def in_type_of(self, value: SSAValue) -> QdqPair | None:
        """Return the pair with its scale in the element type of a value; `None` without such a scale."""
        element = element_type(value.type)
        assert element is not None, "what is quantized has numbers"
        with np.errstate(over="ignore"):
            scale = float(np.array(self.scale, numpy_dtype(element)))
        return replace(self, scale=scale) if 0 < scale < np.inf else None

    @property
    def qparams(self) -> QuantizationParameters:
        """The parameters of the integers that engines store."""
        return QuantizationParameters(self.scale, self.zero_point + (INT8_MIN if self.is_unsigned else 0))

    @property
    def numbers(self) -> Array:
        """What the integers stand for, in ascending order."""
        return self.qparams.dequantize(np.arange(INT8_MIN, INT8_MAX + 1)).astype(np.float64)


def pair_of(op: Operation) -> QdqPair | None:
    """Return the parameters of QuantizeLinear or DequantizeLinear; `None` unless constant, one and 8-bit."""
    match op:
        case QuantizeLinearOp():
            scale, zero, stored = op.y_scale, op.y_zero_point, op.y
        case DequantizeLinearOp():
            scale, zero, stored = op.x_scale, op.x_zero_point, op.x
        case _:
            return None
    element = element_type(stored.type)
    factor, point = elements(scale), np.zeros((), np.int8) if zero.type == NONE else elements(zero)
    if element not in (i8, UNSIGNED) or factor is None or point is None:
        return None
    if factor.size != 1 or point.size != 1:
        return None
    number = float(factor.reshape(()))
    return QdqPair(number, int(point.reshape(())), element == UNSIGNED) if 0 < number < np.inf else None


def quantized_bounds(value: SSAValue) -> tuple[float, float] | None:
    """Return the least and the largest number of a dequantized tensor with one scale."""
    pair = pair_of(value.owner) if isinstance(value.owner, DequantizeLinearOp) else None
    return None if pair is None else (float(pair.numbers[0]), float(pair.numbers[-1]))


def elements(value: SSAValue) -> Array | None:
    """Return the elements of a constant, or `None`."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    return elements_array(value.op.value)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant, or dequantized from one."""
    if isinstance(value.owner, DequantizeLinearOp):
        value = value.owner.x
    return elements(value) is not None


def insert_pair(value: SSAValue, pair: QdqPair, pool: DisposablePool) -> SSAValue:
    """Insert a pair after `value`; what read it reads the dequantized value, which is returned."""
    if isinstance(value, OpResult):
        where = InsertPoint.after(value.op)
    else:
        assert isinstance(value.owner, Block), "an argument belongs to a block"
        where = InsertPoint.at_start(value.owner)
    readers = list(value.uses)
    read = pair_at(where, value, pair, pool)
    for use in readers:
        use.operation.operands[use.index] = read
    return read


def pair_at(where: InsertPoint, value: SSAValue, pair: QdqPair, pool: DisposablePool) -> SSAValue:
    """Insert a pair of `value`, which nothing reads yet; return the dequantized value."""
    location = derived(value.op.location) if isinstance(value, OpResult) else UNKNOWN
    element = element_type(value.type)
    assert is_ranked(value.type), "what is quantized has a shape"
    assert element is not None, "what is quantized has numbers"
    real = numpy_dtype(element)
    added: list[Operation] = []

    def constant(number: float, dtype: np.dtype[Any]) -> SSAValue:
        op = constant_op(np.array(number, dtype), location, pool)
        added.append(op)
        return op.output

    shifted = value
    if pair.centre:
        operands = [value, constant(-pair.centre, real)]
        op = AddOp.create(operands=operands, result_types=[value.type], location=location)
        added.append(op)
        shifted = op.C
    integer = np.dtype(np.uint8 if pair.is_unsigned else np.int8)
    qparams = (constant(pair.scale, real), constant(pair.zero_point, integer))
    stored = tensor_type(value.type.get_shape(), element_type_of(integer))
    quantized = QuantizeLinearOp.create(
        operands=[shifted, *qparams], result_types=[stored], location=location
    )
    read = DequantizeLinearOp.create(
        operands=[quantized.y, *qparams], result_types=[value.type], location=location
    )
    for op in (quantized, read):
        op.attributes[INSERTED] = UnitAttr()
    Builder(where).insert([*added, quantized, read])
    return read.y


def constant_op(array: Array, location: LocationAttr, pool: DisposablePool) -> ConstantOp:
    """Return a constant that is not in a block yet."""
    return ConstantOp.create(
        properties={"value": pool.create(array)},
        result_types=[tensor_type(array.shape, element_type_of(array.dtype))],
        location=location,
    )


def is_quantized(module: ModuleOp) -> bool:
    """Whether `module` has quantization operators."""
    return any(isinstance(op, QuantizeLinearOp | DequantizeLinearOp) for op in module.walk())


def meets_padding(value: SSAValue) -> bool:
    """
    Whether the value reaches an average pooling that needs zero point 0: one that counts its padding but not
    all that windows reach, or whose means take factors that 8 bits do not hold exactly.
    """
    readers = [use.operation for use in value.uses]
    return any(_needs_zero(op) for op in readers if isinstance(op, AveragePoolOp)) or any(
        meets_padding(op.results[0]) for op in readers if isinstance(op, PASS_THROUGH)
    )


def _needs_zero(op: AveragePoolOp) -> bool:
    pads, kernel = int_values(op.pads) or (), int_values(op.kernel_shape) or ()
    is_exact, counts_pads = op.ceil_mode.value.data == 0, op.count_include_pad.value.data == 1
    if is_exact and (counts_pads or not any(pads)):
        return False
    if counts_pads and any(pads):
        return True
    # A window may be cut down to one element, and at a partial end as well.
    counts = [range(1, size + 1) for size in kernel]
    factors = np.array([prod(kernel) / prod(count) for count in product(*counts)])
    return bool(np.any(factors * 2.0 ** floor(log2(INT8_MAX / factors.max())) % 1))


def inserted_pairs(module: ModuleOp) -> int:
    """Return the number of pairs in `module` that the compiler inserted."""
    return sum(isinstance(op, DequantizeLinearOp) and INSERTED in op.attributes for op in module.walk())
