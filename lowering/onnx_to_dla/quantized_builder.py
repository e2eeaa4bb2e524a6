"""
Builder of quantized networks: operands are stored integers, or dequantized tensors to be requantized.

An operator between DequantizeLinear and QuantizeLinear yields a `Dequantized` expression. The following
QuantizeLinear provides the scale and zero point with which it is emitted, fused into one SDP pass where
possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import floor, log2
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import UnrealizedConversionCastOp, i8
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import Converter
from xonnc.dialects.dla.storage import ReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, element_type_of, static_shape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.onnx_to_dla.dequantized import Affine, Dequantized, Moved, QuantizedCube
from xonnc.lowering.onnx_to_dla.dla_builder import (
    FLOATS,
    UINT8_OFFSET,
    Array,
    Cube,
    DlaBuilder,
    ImageValue,
    MissingOperand,
    UnsupportedOperator,
    cube_shape,
)
from xonnc.lowering.onnx_to_dla.image_inputs import ImageInput
from xonnc.lowering.onnx_to_dla.mixed_precision import Fp16Builder, RealCube
from xonnc.lowering.onnx_to_dla.node_precision import runs_in_fp16
from xonnc.lowering.onnx_to_dla.table_lookup import BINARY_TABLE_OPS, TableLookup, elementwise_function
from xonnc.targets import NvdlaTarget

OFFSETS: dict[Attribute | None, int] = {i8: 0, element_type_of(np.dtype(np.uint8)): 128}
"""The offset between the model's integers and the stored int8 values: 128 for uint8."""


@dataclass(frozen=True)
class StoredIntegers:
    """Integers of the model as an int8 cube: each is `offset` more than the stored value."""

    value: SSAValue
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class QuantizedKernels:
    """
    Integer weights, output channels first, and the scale of each output channel or one for all.

    Weights less a zero point may take 9 bits; those are int16.
    """

    array: Array
    scales: Array

    @property
    def numbers(self) -> Array:
        """The dequantized weights."""
        return self.array * _along(self.scales, 0, self.array.ndim)


def quantize_kernels(rows: Array) -> QuantizedKernels:
    """Quantize weights symmetrically to int8, per output channel."""
    rows = rows.astype(np.float64)
    largest = np.abs(rows).max(axis=tuple(range(1, rows.ndim)))
    scales = np.where(largest > 0, largest, 1.0) / INT8_MAX
    stored = np.rint(rows / _along(scales, 0, rows.ndim))
    return QuantizedKernels(stored.astype(np.int8), scales)


QuantizedLowering: TypeAlias = (
    "Callable[[Any, QuantizedDlaBuilder], Dequantized | StoredIntegers | list[Dequantized | StoredIntegers]]"
)

QUANTIZED: dict[type[OnnxOp], QuantizedLowering] = {}
"""The int8 lowering function of each supported operator."""

FunctionT = TypeVar("FunctionT", bound=QuantizedLowering)


def lowers(*op_types: type[OnnxOp]) -> Callable[[FunctionT], FunctionT]:
    """Register the decorated function as the int8 lowering of `op_types`."""

    def register(function: FunctionT) -> FunctionT:
        QUANTIZED.update((op_type, function) for op_type in op_types)
        return function

    return register


class QuantizedDlaBuilder(DlaBuilder):
    """Builds the operations of a quantized network."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool):
        super().__init__(target, pool, Precision.INT8)
        self.input_shapes: dict[SSAValue, tuple[int, ...]] = {}
        """Shapes of float inputs in the model, by argument."""
        self._values: dict[SSAValue, Dequantized | StoredIntegers] = {}
        self._functions: dict[SSAValue, TableLookup] = {}
        """Results of elementwise operators as functions of the stored integers that they derive from."""
        self._quantized: dict[tuple[SSAValue, QuantizationParameters], SSAValue] = {}
        self._reals = Fp16Builder(target, pool, self)

    def start(self, op: Operation) -> None:
        """Set the insertion point before `op`, the next operator."""
        super().start(op)
        self._reals.start_with(op, self._added)

    def add_input(self, argument: SSAValue, shape: tuple[int, ...], cube: CubeShape) -> str | None:
        """
        Accept a network input. A float input gets its scale from the first QuantizeLinear that reads it.
        """
        element = element_type(argument.type)
        if element not in FLOATS and element not in OFFSETS:
            return f"{argument.type} (the engines store 8-bit integers); feed floats, int8 or uint8"
        if element in FLOATS and any(runs_in_fp16(use.operation) for use in argument.uses):
            given = self._reals.real_input(argument, shape, cube)
            self._values[given.value] = given
            return None
        placed = Rewriter.replace_value_with_new_type(argument, self.cube_type(cube))
        if element in OFFSETS:
            self.qparams_by_value[placed] = QuantizationParameters(1.0, -OFFSETS[element])
            self._values[placed] = StoredIntegers(placed, shape, OFFSETS[element])
        else:
            self.input_shapes[placed] = shape
        return None

    def lower(self, op: OnnxOp) -> None:
        """Lower one operator; constants are handled by their readers."""
        if all(self.real_constant(result) is not None for result in op.results):
            return
        if isinstance(op, QuantizeLinearOp | DequantizeLinearOp):
            if (image_value := self.image_value(op.x)) is not None:
                self.define_image(op.y, self._quantized_image(op, image_value))
                return
        if runs_in_fp16(op):
            self._lower_in_fp16(op)
            return
        table = self._table(op)
        if table is not None and self._needs_table_lookup(op):
            self._values[op.results[0]] = table
            return
        try:
            lowering = QUANTIZED.get(type(op))
            if lowering is None:
                self.refuse("the DLA has no int8 form of this operator")
            made = lowering(op, self)
        except UnsupportedOperator:
            if table is None:
                raise
            made = table
        self._values.update(zip(op.results, made if isinstance(made, list) else [made], strict=False))

    def _lower_in_fp16(self, op: OnnxOp) -> None:
        """Lower an operator that is not computed in integers."""
        for value in op.operands:
            self.refuse_image(value)
        self._reals.lower(op)
        for result in op.results:
            shape = static_shape(result.type)
            if shape is not None:
                self._values[result] = RealCube(result, shape, self._reals)

    def _table(self, op: OnnxOp) -> TableLookup | None:
        """
        Return an elementwise operator as a function of the stored integers that all its operands derive from.
        """
        arithmetic = elementwise_function(op)
        if arithmetic is None:
            return None
        shape = self.result_shape(op)
        parts: list[Callable[[Array], Array | None]] = []
        sources: list[TableLookup] = []
        for operand in op.operands:
            constant = self.real_constant(operand)
            if (found := self._function(operand)) is not None and found.shape == shape:
                sources.append(found)
                parts.append(found.function)
            elif operand.type == NONE:
                parts.append(lambda _: None)
            elif constant is not None and constant.size == 1:
                parts.append(partial(_always, constant.astype(np.float64).reshape(())))
            else:
                return None
        if not sources or any(other.source != sources[0].source for other in sources):
            return None
        result = TableLookup(sources[0].source, shape, lambda x: arithmetic([part(x) for part in parts]))
        self._functions[op.results[0]] = result
        return result

    def _function(self, value: SSAValue) -> TableLookup | None:
        """Return `value` as a function of stored integers: their dequantization, or a composition."""
        quantized = self._values.get(value)
        if isinstance(quantized, Affine) and quantized.stored is not None:
            return TableLookup(quantized.stored, quantized.shape, lambda x: x)
        return self._functions.get(value)

    def _needs_table_lookup(self, op: OnnxOp) -> bool:
        """
        Whether only a lookup table can compute an operator: an operand comes from a table already, or a
        product has an operand that is not stored.
        """
        known_operands = [self._values[value] for value in op.operands if value in self._values]
        if any(isinstance(each, TableLookup) for each in known_operands):
            return True
        is_stored = [isinstance(each, Affine) and each.stored is not None for each in known_operands]
        return isinstance(op, BINARY_TABLE_OPS) and len(known_operands) > 1 and not all(is_stored)

    def image_refusal(self, argument: SSAValue, image: ImageInput, pixels: Normalization) -> str | None:
        """Return why an input of this type cannot be an 8-bit image."""
        element = element_type(argument.type)
        if element in FLOATS:
            return None
        if OFFSETS.get(element) != UINT8_OFFSET:
            return f"{argument.type} as {image.format}, which holds 8-bit pixels; feed floats or uint8"
        if not pixels.is_identity:
            return f"{argument.type} with a mean or std (its DequantizeLinear has the scale); leave them out"
        return None

    def _quantized_image(
        self, op: QuantizeLinearOp | DequantizeLinearOp, image_value: ImageValue
    ) -> ImageValue:
        """Return an image after a QuantizeLinear or DequantizeLinear of the model."""
        if isinstance(op, QuantizeLinearOp):
            qparams, offset = (
                self.qparams(op.y_scale, op.y_zero_point, self.offset_of(op.y)),
                self.offset_of(op.y),
            )
        else:
            offset = self.offset_of(op.x) if image_value.offset is None else image_value.offset
            qparams = self.qparams(op.x_scale, op.x_zero_point, offset)
        if image_value.qparams is None and isinstance(op, DequantizeLinearOp):
            # Bytes of the model: they mean what their scale and zero point say.
            mean, std = float(qparams.zero_point + offset), 1 / qparams.scale
            count = image_value.pixels.channels
            pixels = Normalization((mean,) * count, (std,) * count)
            return replace(image_value, pixels=pixels, qparams=qparams, is_real=True)
        if image_value.qparams not in (None, qparams) or image_value.is_real:
            self.refuse("an image input that is quantized twice; remove one QuantizeLinear")
        return replace(image_value, qparams=qparams, is_real=isinstance(op, DequantizeLinearOp))

    def output(self, value: SSAValue) -> SSAValue:
        """Return the integers of an output; their scale and zero point go to `qparams_by_value`."""
        found = self.lowered(value)
        match found:
            case StoredIntegers(value=cube, offset=offset):
                return self._on_grid(cube, QuantizationParameters(1.0, -offset))
            case Affine(stored=QuantizedCube(value=cube, qparams=qparams)):
                return self._on_grid(cube, qparams)
            case RealCube():
                return self._reals.output(value)
            case _:
                self.refuse(
                    "a float output; insert QuantizeLinear and DequantizeLinear after it, or calibrate"
                )

    def _on_grid(self, cube: SSAValue, qparams: QuantizationParameters) -> SSAValue:
        """
        Return an output with these parameters: a copy if the same integers already are an input or output
        with others.
        """
        if self.qparams_by_value.get(cube, qparams) != qparams:
            cube = self.requantized(cube, [], Converter())
        self.qparams_by_value[cube] = qparams
        return cube

    def define_placeholder(self, value: SSAValue) -> None:
        """
        Define integer results of a refused operator, so that its readers are still checked. Float results
        have no scale yet, but in FP16: their readers up to the next QuantizeLinear find no operand.
        """
        shape, element = static_shape(value.type), element_type(value.type)
        cube = None if shape is None else cube_shape(shape)
        if shape is not None and runs_in_fp16(value.owner):
            self._reals.define_placeholder(value)
            self._values[value] = RealCube(value, shape, self._reals)
        elif shape is not None and cube is not None and element in OFFSETS:
            stand_in = UnrealizedConversionCastOp.get([], [self.cube_type(cube)])
            self._values[value] = StoredIntegers(self(stand_in), shape, OFFSETS[element])

    def stored(self, value: SSAValue) -> StoredIntegers:
        """Return the model's integer tensor `value`."""
        result = self.lowered(value)
        if not isinstance(result, StoredIntegers):
            self.refuse("a float operand where an int8 or uint8 one is required")
        return result

    def dequantized(self, value: SSAValue) -> Dequantized:
        """Return the model's float tensor `value`."""
        result = self.lowered(value)
        if isinstance(result, StoredIntegers):
            self.refuse("an integer operand; insert a DequantizeLinear before it")
        return result

    def lowered(self, value: SSAValue) -> Dequantized | StoredIntegers:
        """Return what the model's `value` was lowered to."""
        self.refuse_image(value)
        if value in self._values:
            return self._values[value]
        if value in self.input_shapes:
            self.refuse("a float input that no QuantizeLinear reads; quantize it, or calibrate", value)
        if self.real_constant(value) is not None:
            self.refuse("a constant operand where a computed one is required; run constprop-onnx first")
        raise MissingOperand("an operand that the DLA does not have")

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the model's shape of a computed value."""
        return self.lowered(value).shape

    def affine(self, value: SSAValue) -> Affine:
        """Return a float tensor that one SDP pass can requantize."""
        result = self.dequantized(value)
        if not isinstance(result, Affine):
            self.refuse(
                "a float operand that is not quantized; "
                "insert QuantizeLinear and DequantizeLinear before it, or calibrate"
            )
        return result

    def stored_row(self, value: SSAValue) -> tuple[QuantizedCube, tuple[int, ...]]:
        """
        Return stored integers with their parameters and shape, for an engine that reads them from memory.
        """
        found = self.affine(value)
        if found.stored is None:
            self.refuse(
                "a float operand that is not quantized; "
                "insert QuantizeLinear and DequantizeLinear before it, or calibrate"
            )
        return found.stored, found.shape

    def stored_spatial(self, value: SSAValue) -> QuantizedCube:
        """Return stored integers whose rows and columns in memory are those of the model."""
        result, shape = self.stored_row(value)
        self.check_spatial(Cube(result.value, shape))
        return result

    def quantized(self, value: SSAValue, qparams: QuantizationParameters) -> SSAValue:
        """Return the float tensor `value` quantized with these parameters, emitted once for each."""
        key = value, qparams
        if key not in self._quantized:
            self._quantized[key] = self.dequantized(value).quantized(qparams, self)
        return self._quantized[key]

    def input_on(self, value: SSAValue, qparams: QuantizationParameters) -> SSAValue | None:
        """
        Return a network input as integers with the parameters of its first reader, `None` for other values.
        """
        if not isinstance(value, BlockArgument) or value in self._values:
            return None
        self.refuse_image(value)
        if value not in self.input_shapes:
            raise MissingOperand("an input that the DLA does not take")
        self.qparams_by_value[value] = qparams
        shape = cube_of(value.type)
        self._values[value] = Affine.of(value, shape, self.input_shapes[value], qparams)
        return value

    def moved(
        self, value: SSAValue, shape: tuple[int, ...], move: Callable[[SSAValue], SSAValue]
    ) -> Dequantized | StoredIntegers:
        """Apply data movement that commutes with quantization to `value`."""
        source = self.lowered(value)

        def checked(found: SSAValue) -> SSAValue:
            self.check_spatial(Cube(found, source.shape))
            return move(found)

        if isinstance(source, StoredIntegers):
            return StoredIntegers(checked(source.value), shape, source.offset)
        return Moved(source, shape, checked)

    def mean(self, source: QuantizedCube, pooled: SSAValue, factors: Array, shape: tuple[int, ...]) -> Affine:
        """Return means of stored integers: the pooling result times a factor for each position."""
        scale, largest = np.array([source.qparams.scale]), float(factors.max())
        bias = np.array([-source.qparams.zero_point * source.qparams.scale])
        result = Affine(lambda: pooled, cube_of(pooled.type), shape, scale * largest, bias, False)
        if np.all(factors == largest):
            return result
        shift = floor(log2(INT8_MAX / largest))
        spread = np.rint(factors * 2.0**shift)
        return replace(result, scale=scale * 2.0**-shift, is_fine=True, spread=spread)

    def reshaped(self, value: SSAValue, shape: tuple[int, ...]) -> Dequantized | StoredIntegers:
        """Return the same elements in the same order with another shape."""
        match self.lowered(value):
            case StoredIntegers(value=cube, offset=offset):
                return StoredIntegers(self._recounted(cube, shape), shape, offset)
            case Affine(stored=QuantizedCube(value=cube, qparams=qparams)):
                recounted = self._recounted(cube, shape)
                return Affine.of(recounted, cube_of(recounted.type), shape, qparams)
            case found:
                return Moved(found, shape, lambda cube: self._recounted(cube, shape))

    def _recounted(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """Reshape rows and columns if the channels stay; otherwise the cube stays as stored."""
        cube, here = cube_shape(shape), cube_of(value.type)
        if cube is None or cube == here or (cube.channels, cube.positions) != (here.channels, here.positions):
            return value
        return self(ReshapeOp(value, self.cube_type(cube)))

    def qparams(self, scale: SSAValue, zero: SSAValue, offset: int) -> QuantizationParameters:
        """Return the parameters of a constant per-tensor scale and zero point."""
        factor, point = self.constant(scale), None if zero.type == NONE else self.constant(zero)
        if factor is None or (point is None and zero.type != NONE):
            self.refuse("a scale or zero point that is not constant; use static quantization")
        if factor.size != 1:
            self.refuse(f"{factor.size} scales for one tensor of activations (the engines take one)")
        number = float(factor.reshape(()))
        if not 0 < number < np.inf:
            self.refuse(f"scale {number:g}; scales must be positive")
        return QuantizationParameters(number, (0 if point is None else int(point.reshape(()))) - offset)

    def offset_of(self, value: SSAValue) -> int:
        """Return the difference of the model's integers and the stored ones."""
        element = element_type(value.type)
        offset = OFFSETS.get(element)
        if offset is None:
            self.refuse(f"{element} (the engines store 8-bit integers); quantize to int8 or uint8")
        return offset

    def real_constant(self, value: SSAValue) -> Array | None:
        """Return the values of a constant, dequantized if needed; `None` for other values."""
        if (array := self.constant(value)) is not None:
            return array
        if not isinstance(value, OpResult):
            return None
        match value.op:
            case DequantizeLinearOp() as op:
                integers = self._integer_constant(op.x)
                return None if integers is None else self._dequantized(op, integers)
            case _:
                return None

    def _integer_constant(self, value: SSAValue) -> Array | None:
        if (array := self.constant(value)) is not None:
            return array
        if not isinstance(value, OpResult) or not isinstance(value.op, QuantizeLinearOp):
            return None
        op = value.op
        numbers, scale, axis = self.constant(op.x), self.constant(op.y_scale), op.axis.value.data
        zero = np.zeros(()) if op.y_zero_point.type == NONE else self.constant(op.y_zero_point)
        if numbers is None or scale is None or zero is None:
            return None
        offset = self.offset_of(op.y)
        levels = np.rint(numbers / _along(scale, axis, numbers.ndim)) + _along(zero, axis, numbers.ndim)
        clamp = np.clip(levels, offset + INT8_MIN, offset + INT8_MAX)
        return clamp.astype(np.uint8 if offset else np.int8)

    def _dequantized(self, op: DequantizeLinearOp, integers: Array) -> Array:
        scale, zero = self._scales(op), self._zeros(op)
        axis = op.axis.value.data
        moved = integers.astype(np.float64) - _along(zero, axis, integers.ndim)
        return (moved * _along(scale.astype(np.float64), axis, integers.ndim)).astype(np.float32)

    def _scales(self, op: DequantizeLinearOp) -> Array:
        scale = self.constant(op.x_scale)
        if scale is None or op.block_size.value.data:
            self.refuse("a scale that is not constant or is blocked; use one per tensor or per channel")
        return scale

    def _zeros(self, op: DequantizeLinearOp) -> Array:
        zero = np.zeros((), np.int64) if op.x_zero_point.type == NONE else self.constant(op.x_zero_point)
        if zero is None:
            self.refuse("a zero point that is not constant; use static quantization")
        return zero.astype(np.int64)

    def integer_kernels(self, value: SSAValue, outputs: int, what: str) -> QuantizedKernels:
        """
        Return constant weights as integers with axis `outputs` first.

        Weights with per-tensor scales or scales of the output channels keep their integers; others are
        requantized per output channel.
        """
        as_given = self._stored_kernels(value, outputs)
        if as_given is not None:
            return as_given
        numbers = self.real_constant(value)
        if numbers is None:
            self.refuse(f"{what} must be constant, found a computed value")
        return quantize_kernels(np.moveaxis(numbers, outputs, 0))

    def _stored_kernels(self, value: SSAValue, outputs: int) -> QuantizedKernels | None:
        if not isinstance(value, OpResult) or not isinstance(value.op, DequantizeLinearOp):
            return None
        op = value.op
        integers = self._integer_constant(op.x)
        if integers is None:
            return None
        scales, axis = self._scales(op), op.axis.value.data % integers.ndim
        if scales.size > 1 and axis != outputs:
            return None
        centred = integers.astype(np.int64) - _along(self._zeros(op), axis, integers.ndim)
        is_wide = centred.min(initial=0) < INT8_MIN or centred.max(initial=0) > INT8_MAX
        stored = np.moveaxis(centred, outputs, 0).astype(np.int16 if is_wide else np.int8)
        return QuantizedKernels(stored, scales.reshape(-1).astype(np.float64))

    def per_channel(self, constant: Array, source: Affine, shape: tuple[int, ...]) -> Array:
        """Return a constant operand as a scalar or as one value per channel."""
        if constant.size == 1:
            return constant.reshape(1).astype(np.float64)
        if source.shape != shape:
            self.refuse(f"{list(source.shape)} is broadcast to {list(shape)}; expand it first")
        spread = np.broadcast_to(constant, shape).reshape(source.cube)
        first = spread[:, :1, :1]
        if np.any(spread != first):
            self.refuse(f"a constant of {list(constant.shape)} on {list(shape)} (scalar or per channel)")
        return first.reshape(-1).astype(np.float64)


def _always(constant: Array, _: Array) -> Array:
    return constant


def _along(numbers: Array, axis: int, rank: int) -> Array:
    """
    Reshape values of one axis for broadcasting over a tensor of `rank`; a single value becomes a scalar.
    """
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if index == axis % rank else 1 for index in range(rank)])
