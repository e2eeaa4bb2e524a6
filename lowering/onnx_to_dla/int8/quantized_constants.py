"""Constants of quantized networks: scales and zero points, dequantized numbers, and weights as integers."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute, OpResult, SSAValue

from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, element_type_of
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels, along, quantize_kernels

OFFSETS: dict[Attribute | None, int] = {i8: 0, element_type_of(np.dtype(np.uint8)): 128}
"""The offset between the model's integers and the stored int8 values: 128 for uint8."""


def qparams_of(scale: SSAValue, zero: SSAValue, offset: int, builder: DlaBuilder) -> QuantizationParameters:
    """Return the parameters of a constant per-tensor scale and zero point."""
    factor, point = builder.constant(scale), None if zero.type == NONE else builder.constant(zero)
    if factor is None or (point is None and zero.type != NONE):
        builder.refuse("a scale or zero point that is not constant; use static quantization")
    if factor.size != 1:
        builder.refuse(f"{factor.size} scales for one tensor of activations (the engines take one)")
    number = float(factor.reshape(()))
    if not 0 < number < np.inf:
        builder.refuse(f"scale {number:g}; scales must be positive")
    return QuantizationParameters(number, (0 if point is None else int(point.reshape(()))) - offset)


def offset_of(value: SSAValue, builder: DlaBuilder) -> int:
    """Return the difference of the model's integers and the stored ones."""
    element = element_type(value.type)
    offset = OFFSETS.get(element)
    if offset is None:
        builder.refuse(f"{element} (the engines store 8-bit integers); quantize to int8 or uint8")
    return offset


def dequantized_constant(value: SSAValue, builder: DlaBuilder) -> Array | None:
    """Return the values of a constant, dequantized if needed; `None` for other values."""
    if (array := builder.constant(value)) is not None:
        return array
    if not isinstance(value, OpResult) or not isinstance(value.op, DequantizeLinearOp):
        return None
    integers = _integer_constant(value.op.x, builder)
    return None if integers is None else _dequantized(value.op, integers, builder)


def integer_kernels(value: SSAValue, outputs: int, builder: DlaBuilder) -> Kernels | None:
    """
    Return constant weights as integers with axis `outputs` first, `None` for other values.

    Weights with per-tensor scales or scales of the output channels keep their integers; others are
    requantized per output channel.
    """
    as_given = _stored_kernels(value, outputs, builder)
    if as_given is not None:
        return as_given
    numbers = dequantized_constant(value, builder)
    return None if numbers is None else quantize_kernels(np.moveaxis(numbers, outputs, 0))


def _stored_kernels(value: SSAValue, outputs: int, builder: DlaBuilder) -> Kernels | None:
    if not isinstance(value, OpResult) or not isinstance(value.op, DequantizeLinearOp):
        return None
    op = value.op
    integers = _integer_constant(op.x, builder)
    if integers is None:
        return None
    scales, axis = _scales(op, builder), op.axis.value.data % integers.ndim
    if scales.size > 1 and axis != outputs:
        return None
    centred = integers.astype(np.int64) - along(_zeros(op, builder), axis, integers.ndim)
    is_wide = centred.min(initial=0) < INT8_MIN or centred.max(initial=0) > INT8_MAX
    stored = np.moveaxis(centred, outputs, 0).astype(np.int16 if is_wide else np.int8)
    return Kernels(stored, scales.reshape(-1).astype(np.float64))


def _integer_constant(value: SSAValue, builder: DlaBuilder) -> Array | None:
    if (array := builder.constant(value)) is not None:
        return array
    if not isinstance(value, OpResult) or not isinstance(value.op, QuantizeLinearOp):
        return None
    op = value.op
    numbers, scale, axis = builder.constant(op.x), builder.constant(op.y_scale), op.axis.value.data
    zero = np.zeros(()) if op.y_zero_point.type == NONE else builder.constant(op.y_zero_point)
    if numbers is None or scale is None or zero is None:
        return None
    offset = offset_of(op.y, builder)
    levels = np.rint(numbers / along(scale, axis, numbers.ndim)) + along(zero, axis, numbers.ndim)
    clamp = np.clip(levels, offset + INT8_MIN, offset + INT8_MAX)
    return clamp.astype(np.uint8 if offset else np.int8)


def _dequantized(op: DequantizeLinearOp, integers: Array, builder: DlaBuilder) -> Array:
    scale, zero = _scales(op, builder), _zeros(op, builder)
    axis = op.axis.value.data
    moved = integers.astype(np.float64) - along(zero, axis, integers.ndim)
    return (moved * along(scale.astype(np.float64), axis, integers.ndim)).astype(np.float32)


def _scales(op: DequantizeLinearOp, builder: DlaBuilder) -> Array:
    scale = builder.constant(op.x_scale)
    if scale is None or op.block_size.value.data:
        builder.refuse("a scale that is not constant or is blocked; use one per tensor or per channel")
    return scale


def _zeros(op: DequantizeLinearOp, builder: DlaBuilder) -> Array:
    zero = np.zeros((), np.int64) if op.x_zero_point.type == NONE else builder.constant(op.x_zero_point)
    if zero is None:
        builder.refuse("a zero point that is not constant; use static quantization")
    return zero.astype(np.int64)
