"""What the lowerings of quantised networks are given: stored integers, real numbers not yet rounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import floor, log2
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import UnrealizedConversionCastOp, i8
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import Converter
from xonnc.dialects.dla.storage import ReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, element_type_of, static_shape
from xonnc.formats.nvdla.constants import Precision
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
from xonnc.lowering.onnx_to_dla.table_lookup import BINARY_TABLE_OPS, TableLookup, elementwise_function
from xonnc.targets import NvdlaTarget

OFFSETS: dict[Attribute | None, int] = {i8: 0, element_type_of(np.dtype(np.uint8)): 128}
"""By how much the model's integers exceed those that the engines store."""


@dataclass(frozen=True)
class StoredIntegers:
    """8-bit integers of the model as a cube: each is `offset` more than what is stored."""

    value: SSAValue
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class QuantizedKernels:
    """
    Weights as integers, outputs first, and the scale of each output, or one for all.

    Integers of 8 bits less a zero point of their own take 9 bits: those are held in 16.
    """

    array: Array
    scales: Array

    @property
    def numbers(self) -> Array:
        """The real numbers that they are."""
        return self.array * _along(self.scales, 0, self.array.ndim)


def quantize_kernels(rows: Array) -> QuantizedKernels:
    """Weights rounded to 8 bits, each output's largest to 127."""
    rows = rows.astype(np.float64)
    largest = np.abs(rows).max(axis=tuple(range(1, rows.ndim)))
    scales = np.where(largest > 0, largest, 1.0) / INT8_MAX
    stored = np.rint(rows / _along(scales, 0, rows.ndim))
    return QuantizedKernels(stored.astype(np.int8), scales)


QuantizedLowering: TypeAlias = (
    "Callable[[Any, QuantizedDlaBuilder], Dequantized | StoredIntegers | list[Dequantized | StoredIntegers]]"
)

QUANTIZED: dict[type[OnnxOp], QuantizedLowering] = {}
"""The function for each operator that the DLA takes in integers."""

FunctionT = TypeVar("FunctionT", bound=QuantizedLowering)


def lowers(*op_types: type[OnnxOp]) -> Callable[[FunctionT], FunctionT]:
    """Registers the decorated function as the lowering of operators `op_types` in integers."""

    def register(function: FunctionT) -> FunctionT:
        QUANTIZED.update((op_type, function) for op_type in op_types)
        return function

    return register


class QuantizedDlaBuilder(DlaBuilder):
    """Builds the engines' operations of a quantised network."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool):
        super().__init__(target, pool, Precision.INT8)
        self.input_shapes: dict[SSAValue, tuple[int, ...]] = {}
        """The model's shapes of inputs that are real numbers, by the argument."""
        self._values: dict[SSAValue, Dequantized | StoredIntegers] = {}
        self._functions: dict[SSAValue, TableLookup] = {}
        """Results of elementwise operators as functions of the stored integers that they come from."""
        self._quantized: dict[tuple[SSAValue, QuantizationParameters], SSAValue] = {}

    def add_input(self, argument: SSAValue, shape: tuple[int, ...], cube: CubeShape) -> str | None:
        """Takes an input; its first QuantizeLinear says what the integers of real numbers mean."""
        element = element_type(argument.type)
        if element not in FLOATS and element not in OFFSETS:
            return f"{argument.type} (the engines store 8-bit integers); feed floats, int8 or uint8"
        placed = Rewriter.replace_value_with_new_type(argument, self.cube_type(cube))
        if element in OFFSETS:
            self.qparams_by_value[placed] = QuantizationParameters(1.0, -OFFSETS[element])
            self._values[placed] = StoredIntegers(placed, shape, OFFSETS[element])
        else:
            self.input_shapes[placed] = shape
        return None

    def lower(self, op: OnnxOp) -> None:
        """Lowers one operator; constants wait for their readers."""
        if all(self.real_constant(result) is not None for result in op.results):
            return
        if isinstance(op, QuantizeLinearOp | DequantizeLinearOp):
            if (image_value := self.image_value(op.x)) is not None:
                self.define_image(op.y, self._quantized_image(op, image_value))
                return
        table = self._table(op)
        if table is not None and self._needs_table_lookup(op):
            self._values[op.results[0]] = table
            return
        try:
            lowering = QUANTIZED.get(type(op))
            if lowering is None:
                self.refuse("the DLA has no such operator in integers")
            made = lowering(op, self)
        except UnsupportedOperator:
            if table is None:
                raise
            made = table
        self._values.update(zip(op.results, made if isinstance(made, list) else [made], strict=False))

    def _table(self, op: OnnxOp) -> TableLookup | None:
        """An elementwise operator as a function of the stored integers behind all of its operands."""
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
        """The function of stored integers that `value` is: what they mean, or what was made of that."""
        held = self._values.get(value)
        if isinstance(held, Affine) and held.stored is not None:
            return TableLookup(held.stored, held.shape, lambda x: x)
        return self._functions.get(value)

    def _needs_table_lookup(self, op: OnnxOp) -> bool:
        """
        Whether no engine but a table computes an operator: one on what is from a table already, or a product
        of two operands of which one is not stored as it is.
        """
        held = [self._values[value] for value in op.operands if value in self._values]
        if any(isinstance(each, TableLookup) for each in held):
            return True
        is_stored = [isinstance(each, Affine) and each.stored is not None for each in held]
        return isinstance(op, BINARY_TABLE_OPS) and len(held) > 1 and not all(is_stored)

    def image_refusal(self, argument: SSAValue, image: ImageInput, pixels: Normalization) -> str | None:
        """Why an input of this type cannot be an image: its pixels are bytes."""
        element = element_type(argument.type)
        if element in FLOATS:
            return None
        if OFFSETS.get(element) != UINT8_OFFSET:
            return f"{argument.type} as {image.format}, which holds bytes; feed floats or uint8"
        if not pixels.is_identity:
            return f"{argument.type} with a mean or deviation (its own scale says them); leave them out"
        return None

    def _quantized_image(
        self, op: QuantizeLinearOp | DequantizeLinearOp, image_value: ImageValue
    ) -> ImageValue:
        """An image behind the roundings of a model: what is known of its integers."""
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
            self.refuse("an image that is rounded twice; leave out one of the roundings")
        return replace(image_value, qparams=qparams, is_real=isinstance(op, DequantizeLinearOp))

    def output(self, value: SSAValue) -> SSAValue:
        """The integers of an output; what they mean is in `qparams_by_value`."""
        found = self.lowered(value)
        match found:
            case StoredIntegers(value=cube, offset=offset):
                return self._on_grid(cube, QuantizationParameters(1.0, -offset))
            case Affine(stored=QuantizedCube(value=cube, qparams=qparams)):
                return self._on_grid(cube, qparams)
            case _:
                self.refuse(
                    "an output that no QuantizeLinear rounds; put a pair of Quantize- and "
                    "DequantizeLinear behind it"
                )

    def _on_grid(self, cube: SSAValue, qparams: QuantizationParameters) -> SSAValue:
        """An output; a copy where the same integers are an input or output on another grid already."""
        if self.qparams_by_value.get(cube, qparams) != qparams:
            cube = self.requantized(cube, [], Converter())
        self.qparams_by_value[cube] = qparams
        return cube

    def define_placeholder(self, value: SSAValue) -> None:
        """
        Stands in for the integers of a refused operator, or of one on its results, so that what follows is
        still looked at. Real numbers have no grid yet: up to the next QuantizeLinear readers find nothing.
        """
        shape, element = static_shape(value.type), element_type(value.type)
        cube = None if shape is None else cube_shape(shape)
        if shape is not None and cube is not None and element in OFFSETS:
            stand_in = UnrealizedConversionCastOp.get([], [self.cube_type(cube)])
            self._values[value] = StoredIntegers(self(stand_in), shape, OFFSETS[element])

    def stored(self, value: SSAValue) -> StoredIntegers:
        """The integers that the model's `value` is."""
        result = self.lowered(value)
        if not isinstance(result, StoredIntegers):
            self.refuse("an operand of real numbers where integers are needed")
        return result

    def dequantized(self, value: SSAValue) -> Dequantized:
        """The real numbers that the model's `value` is."""
        result = self.lowered(value)
        if isinstance(result, StoredIntegers):
            self.refuse("integers as operand; put a DequantizeLinear in front")
        return result

    def lowered(self, value: SSAValue) -> Dequantized | StoredIntegers:
        """What the model's `value` is."""
        self.refuse_image(value)
        if value in self._values:
            return self._values[value]
        if value in self.input_shapes:
            self.refuse("an input of real numbers that no QuantizeLinear reads first; quantise it", value)
        if self.real_constant(value) is not None:
            self.refuse("a constant where a computed value is needed; run constprop-onnx first")
        raise MissingOperand("an operand that the DLA does not have")

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The model's shape of a computed value."""
        return self.lowered(value).shape

    def affine(self, value: SSAValue) -> Affine:
        """Real numbers that one pass of the SDP makes."""
        result = self.dequantized(value)
        if not isinstance(result, Affine):
            self.refuse(
                "an operand that no QuantizeLinear rounds first; put a pair of Quantize- and "
                "DequantizeLinear in front"
            )
        return result

    def stored_row(self, value: SSAValue) -> tuple[QuantizedCube, tuple[int, ...]]:
        """Integers, what they mean and their shape, for an engine that reads them from memory."""
        found = self.affine(value)
        if found.stored is None:
            self.refuse(
                "an operand that no QuantizeLinear rounds first; put a pair of Quantize- and "
                "DequantizeLinear in front"
            )
        return found.stored, found.shape

    def stored_spatial(self, value: SSAValue) -> QuantizedCube:
        """Integers whose rows and columns in memory are those of the model."""
        result, shape = self.stored_row(value)
        self.check_spatial(Cube(result.value, shape))
        return result

    def quantized(self, value: SSAValue, qparams: QuantizationParameters) -> SSAValue:
        """The real numbers `value` on a grid, made once for each."""
        key = value, qparams
        if key not in self._quantized:
            self._quantized[key] = self.dequantized(value).quantized(qparams, self)
        return self._quantized[key]

    def input_on(self, value: SSAValue, qparams: QuantizationParameters) -> SSAValue | None:
        """An input of the network as integers on `qparams`, which its first reader decides; else `None`."""
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
        """`value` through an engine that picks among rows and columns: integers in the model's order too."""
        source = self.lowered(value)

        def checked(found: SSAValue) -> SSAValue:
            self.check_spatial(Cube(found, source.shape))
            return move(found)

        if isinstance(source, StoredIntegers):
            return StoredIntegers(checked(source.value), shape, source.offset)
        return Moved(source, shape, checked)

    def mean(self, source: QuantizedCube, pooled: SSAValue, factors: Array, shape: tuple[int, ...]) -> Affine:
        """Means of stored integers: what the engine gives times a factor for each row and column."""
        scale, largest = np.array([source.qparams.scale]), float(factors.max())
        bias = np.array([-source.qparams.zero_point * source.qparams.scale])
        result = Affine(lambda: pooled, cube_of(pooled.type), shape, scale * largest, bias, False)
        if np.all(factors == largest):
            return result
        shift = floor(log2(INT8_MAX / largest))
        spread = np.rint(factors * 2.0**shift)
        return replace(result, scale=scale * 2.0**-shift, is_fine=True, spread=spread)

    def reshaped(self, value: SSAValue, shape: tuple[int, ...]) -> Dequantized | StoredIntegers:
        """The same elements in the same order under another shape."""
        match self.lowered(value):
            case StoredIntegers(value=cube, offset=offset):
                return StoredIntegers(self._recounted(cube, shape), shape, offset)
            case Affine(stored=QuantizedCube(value=cube, qparams=qparams)):
                recounted = self._recounted(cube, shape)
                return Affine.of(recounted, cube_of(recounted.type), shape, qparams)
            case found:
                return Moved(found, shape, lambda cube: self._recounted(cube, shape))

    def _recounted(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """Rows and columns counted anew where the channels stay; else the cube as it lies."""
        cube, here = cube_shape(shape), cube_of(value.type)
        if cube is None or cube == here or (cube.channels, cube.positions) != (here.channels, here.positions):
            return value
        return self(ReshapeOp(value, self.cube_type(cube)))

    def qparams(self, scale: SSAValue, zero: SSAValue, offset: int) -> QuantizationParameters:
        """What integers mean whose scale and zero point are constants, one for the tensor."""
        factor, point = self.constant(scale), None if zero.type == NONE else self.constant(zero)
        if factor is None or (point is None and zero.type != NONE):
            self.refuse("a scale or zero point that is computed; static quantisation has constants")
        if factor.size != 1:
            self.refuse(f"{factor.size} scales for one tensor of activations (the engines take one)")
        number = float(factor.reshape(()))
        if not 0 < number < np.inf:
            self.refuse(f"a scale of {number:g}; scales are above 0")
        return QuantizationParameters(number, (0 if point is None else int(point.reshape(()))) - offset)

    def offset_of(self, value: SSAValue) -> int:
        """By how much the model's integers exceed those that are stored."""
        element = element_type(value.type)
        offset = OFFSETS.get(element)
        if offset is None:
            self.refuse(f"{element} (the engines store 8-bit integers); quantise to int8 or uint8")
        return offset

    def real_constant(self, value: SSAValue) -> Array | None:
        """The numbers of a constant, dequantised if it is; `None` for any other value."""
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
        places = np.rint(numbers / _along(scale, axis, numbers.ndim)) + _along(zero, axis, numbers.ndim)
        clamp = np.clip(places, offset + INT8_MIN, offset + INT8_MAX)
        return clamp.astype(np.uint8 if offset else np.int8)

    def _dequantized(self, op: DequantizeLinearOp, integers: Array) -> Array:
        scale, zero = self._scales(op), self._zeros(op)
        axis = op.axis.value.data
        moved = integers.astype(np.float64) - _along(zero, axis, integers.ndim)
        return (moved * _along(scale.astype(np.float64), axis, integers.ndim)).astype(np.float32)

    def _scales(self, op: DequantizeLinearOp) -> Array:
        scale = self.constant(op.x_scale)
        if scale is None or op.block_size.value.data:
            self.refuse("scales that are computed or by blocks; use one for a tensor or channel")
        return scale

    def _zeros(self, op: DequantizeLinearOp) -> Array:
        zero = np.zeros((), np.int64) if op.x_zero_point.type == NONE else self.constant(op.x_zero_point)
        if zero is None:
            self.refuse("a zero point that is computed; static quantisation has constants")
        return zero.astype(np.int64)

    def integer_kernels(self, value: SSAValue, outputs: int, what: str) -> QuantizedKernels:
        """
        Constant weights as integers, axis `outputs` brought to the front.

        As the model has them where scales belong to the outputs; any others are rounded anew, each output's
        largest weight to 127.
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
        held = np.moveaxis(centred, outputs, 0).astype(np.int16 if is_wide else np.int8)
        return QuantizedKernels(held, scales.reshape(-1).astype(np.float64))

    def per_channel(self, constant: Array, source: Affine, shape: tuple[int, ...]) -> Array:
        """A constant operand as one number, or one for each channel."""
        if constant.size == 1:
            return constant.reshape(1).astype(np.float64)
        if source.shape != shape:
            self.refuse(f"{list(source.shape)} is broadcast to {list(shape)}; expand it first")
        spread = np.broadcast_to(constant, shape).reshape(source.cube)
        first = spread[:, :1, :1]
        if np.any(spread != first):
            self.refuse(f"a constant of {list(constant.shape)} on {list(shape)} (one for a channel, or all)")
        return first.reshape(-1).astype(np.float64)


def _always(constant: Array, _: Array) -> Array:
    return constant


def _along(numbers: Array, axis: int, rank: int) -> Array:
    """Numbers of one axis, spread over a tensor of `rank`; a single one for all."""
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if index == axis % rank else 1 for index in range(rank)])
