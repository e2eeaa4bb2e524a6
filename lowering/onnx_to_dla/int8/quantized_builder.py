"""
Builder of quantized networks: operands are stored integers, or dequantized tensors to be requantized.

An operator between DequantizeLinear and QuantizeLinear yields a `Dequantized` expression. The following
QuantizeLinear provides the scale and zero point with which it is emitted, fused into one SDP pass where
possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import Converter, OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.storage import ReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import Function
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import (
    FLOATS,
    Array,
    Cube,
    ImageValue,
    MissingOperand,
    Operand,
    UnsupportedOperator,
    cube_shape,
)
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels
from xonnc.lowering.onnx_to_dla.builders.node_precision import runs_in_fp16
from xonnc.lowering.onnx_to_dla.builders.operator_builder import (
    INT8_LOWERINGS,
    UINT8_OFFSET,
    OperatorBuilder,
    registered,
)
from xonnc.lowering.onnx_to_dla.builders.pixel_convolution import PixelConvolution
from xonnc.lowering.onnx_to_dla.builders.unary_functions import reciprocal
from xonnc.lowering.onnx_to_dla.int8.computed_weights import exchanged, matrix_product
from xonnc.lowering.onnx_to_dla.int8.dequantized import (
    Affine,
    ClampBound,
    Concatenated,
    Dequantized,
    Moved,
    QuantizedCube,
    Selected,
    StoredIntegers,
    mean_of,
    spread,
)
from xonnc.lowering.onnx_to_dla.int8.mixed_precision import MixedFp16Builder, RealCube
from xonnc.lowering.onnx_to_dla.int8.normalized_integers import NormalizedIntegers
from xonnc.lowering.onnx_to_dla.int8.quantized_arithmetic import clamped, combine, source_of
from xonnc.lowering.onnx_to_dla.int8.quantized_constants import (
    OFFSETS,
    dequantized_constant,
    integer_kernels,
    offset_of,
    qparams_of,
)
from xonnc.lowering.onnx_to_dla.int8.quantized_convolution import check_fits, convolution
from xonnc.lowering.onnx_to_dla.int8.quantized_image_convolution import check_pixels, convolution_of_pixels
from xonnc.lowering.onnx_to_dla.int8.table_lookup import BINARY_TABLE_OPS, TableLookup, elementwise_function
from xonnc.targets import NvdlaTarget

Quantized: TypeAlias = Dequantized | StoredIntegers

ADDED = SdpStage(StageFunction.ALU, mode=OperandMode.PER_KERNEL)


class QuantizedBuilder(OperatorBuilder[Quantized]):
    """Builds the operations of a quantized network."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool):
        super().__init__(target, pool, Precision.INT8)
        self.input_shapes: dict[SSAValue, tuple[int, ...]] = {}
        """Shapes of float inputs in the model, by argument."""
        self._values: dict[SSAValue, Quantized] = {}
        self._functions: dict[SSAValue, TableLookup] = {}
        """Results of elementwise operators as functions of what they derive from."""
        self._rounded: dict[SSAValue, TableLookup] = {}
        """Stored integers as functions of the stored integers that they derive from."""
        self._quantized: dict[tuple[SSAValue, QuantizationParameters], SSAValue] = {}
        self._reals = MixedFp16Builder(target, pool, self)

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
            lowering = INT8_LOWERINGS.get(type(op))
            if lowering is None:
                self.refuse("the DLA has no int8 form of this operator")
            made: Quantized | list[Quantized] = lowering(op, self)
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
        Return an elementwise operator as a function of the stored integers, or of the sums of a convolution,
        that all its operands derive from.
        """
        arithmetic = elementwise_function(op)
        if arithmetic is None:
            return None
        shape = self.result_shape(op)
        parts: list[Callable[[Array], Array | None]] = []
        computed: dict[int, list[TableLookup]] = {}
        for index, operand in enumerate(op.operands):
            constant = self.real_constant(operand)
            if found := [each for each in self._derivations(operand) if each.shape == shape]:
                computed[index] = found
                parts.append(found[0].function)
            elif operand.type == NONE:
                parts.append(lambda _: None)
            elif constant is not None and constant.size == 1:
                parts.append(partial(_always, constant.astype(np.float64).reshape(())))
            else:
                return None
        common = _of_one_source(list(computed.values()))
        if common is None:
            return None
        for index, found in zip(computed, common, strict=True):
            parts[index] = found.function
        result = TableLookup(common[0].source, shape, lambda x: arithmetic([part(x) for part in parts]))
        self._functions[op.results[0]] = result
        return result

    def _derivations(self, value: SSAValue) -> list[TableLookup]:
        """
        Return `value` as a function of the nearest stored integers that it derives from, then of those that
        these are rounded functions of, and so on.
        """
        found = self._function(value)
        derivations = [] if found is None else [found]
        while found is not None and isinstance(found.source, QuantizedCube):
            integers, nearer = self._rounded.get(found.source.value), found
            if integers is None:
                break
            found = integers.then(partial(_of_integers, nearer, found.source.qparams))
            derivations.append(found)
        return derivations

    def _function(self, value: SSAValue) -> TableLookup | None:
        """
        Return `value` as a function of stored integers, or of sums where the SDP has a lookup table: their
        dequantization, or a composition.
        """
        quantized = self._values.get(value)
        if isinstance(quantized, Affine) and quantized.stored is not None:
            return TableLookup(quantized.stored, quantized.shape, lambda x: x)
        if (found := self._functions.get(value)) is not None:
            return found
        if self.target.sdp_y and isinstance(quantized, Affine | Concatenated):
            return TableLookup(quantized, quantized.shape, lambda x: x)
        return None

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
            offset = self.offset_of(op.y)
            qparams = self.qparams(op.y_scale, op.y_zero_point, offset)
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

    def integers(self, value: SSAValue) -> StoredIntegers:
        """Return the model's integer tensor `value`."""
        result = self.lowered(value)
        if not isinstance(result, StoredIntegers):
            self.refuse("a float operand where an int8 or uint8 one is required")
        return result

    def tensor(self, value: SSAValue) -> Dequantized:
        """Return the model's float tensor `value`."""
        return self._real(self.lowered(value))

    def _real(self, found: Quantized) -> Dequantized:
        if isinstance(found, StoredIntegers):
            self.refuse("an integer operand; insert a DequantizeLinear before it")
        return found

    def lowered(self, value: SSAValue) -> Quantized:
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

    def source(self, value: SSAValue) -> Cube:
        """Return stored integers with their parameters and shape, for an engine that reads them."""
        return source_of(self.tensor(value), self)

    def matrix_product(self, first: SSAValue, second: SSAValue, shape: tuple[int, ...]) -> Quantized:
        """Return the product of two computed matrices, of which one becomes weights."""
        return matrix_product(first, second, shape, self)

    def exchanged(self, source: Cube, perm: Sequence[int], shape: tuple[int, ...]) -> Quantized | None:
        """Return the transpose of a matrix of stored integers."""
        return exchanged(source, tuple(perm), shape, self)

    def stored(
        self, value: SSAValue, shape: tuple[int, ...], qparams: QuantizationParameters | None
    ) -> Affine:
        """Return the tensor that integers in memory with these parameters are."""
        assert qparams is not None, "integers have a scale"
        return Affine.of(value, cube_of(value.type), shape, qparams)

    def quantized(self, value: SSAValue, qparams: QuantizationParameters) -> SSAValue:
        """Return the float tensor `value` quantized with these parameters, emitted once for each."""
        key = value, qparams
        if key not in self._quantized:
            stored = self._quantized[key] = self.tensor(value).quantized(qparams, self)
            function = self._function(value)
            # What has the parameters already is the same cube.
            if (
                function is not None
                and isinstance(function.source, QuantizedCube)
                and function.source.value is not stored
            ):
                self._rounded.setdefault(stored, function.then(qparams.quantize))
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
    ) -> Quantized:
        """Apply data movement that commutes with quantization to `value`."""
        source = self.lowered(value)

        def checked(found: SSAValue) -> SSAValue:
            self.check_spatial(Cube(found, source.shape))
            return move(found)

        if isinstance(source, StoredIntegers):
            return StoredIntegers(checked(source.value), shape, source.offset)
        return Moved(source, shape, self.later(checked))

    def selected(
        self,
        source: Quantized,
        shape: tuple[int, ...],
        select: Callable[[SSAValue, float], SSAValue],
        fill: float,
    ) -> Quantized:
        """Select elements of stored integers, of others when they are quantized."""
        match source:
            case StoredIntegers(value=value, offset=offset):
                return StoredIntegers(
                    select(value, int(np.clip(fill - offset, INT8_MIN, INT8_MAX))), shape, offset
                )
            case Affine(stored=QuantizedCube(value=value, qparams=qparams)) if not fill:
                return self.stored(select(value, qparams.zero_point), shape, qparams)
            case _:
                return Selected(self._real(source), shape, self.later(select), fill)

    def joined(
        self,
        parts: Sequence[Quantized],
        shape: tuple[int, ...],
        join: Callable[[list[SSAValue]], SSAValue],
        group_channels: int = 0,
    ) -> Concatenated:
        """Join parts when they are quantized, all with the same parameters."""

        def beside(added: QuantizedCube) -> tuple[QuantizedCube, ...]:
            ends = range(group_channels, group_channels * len(parts) + 1, group_channels)
            return tuple(
                QuantizedCube(self.channels(added.value, end - group_channels, end), added.qparams)
                for end in ends
            )

        reals = tuple(self._real(part) for part in parts)
        return Concatenated(reals, shape, self.later(join), beside if group_channels else None)

    def kernels_of(self, value: SSAValue, outputs: int, what: str) -> Kernels:
        """Return constant weights as integers with axis `outputs` first."""
        found = integer_kernels(value, outputs, self)
        if found is None:
            self.refuse_computed(what)
        return found

    def fractions(self, numerators: Array, denominator: float) -> Kernels:
        """Return kernels of small integers with one scale."""
        is_wide = numerators.max() > INT8_MAX
        return Kernels(numerators.astype(np.int16 if is_wide else np.int8), np.array([1 / denominator]))

    def convolution(
        self,
        source: Cube,
        kernels: Kernels,
        bias: Array | None,
        window: Window2D,
        shape: tuple[int, ...],
        groups: int = 1,
    ) -> Affine:
        """Build a convolution of stored integers, to be requantized."""
        return convolution(source, kernels.dense(groups), bias, window, shape, self)

    def pixel_convolution(self, found: PixelConvolution, shape: tuple[int, ...]) -> Affine:
        """Build a convolution over 8-bit pixels, to be requantized."""
        return convolution_of_pixels(found, shape, self)

    def check_pixels(self, image_value: ImageValue) -> None:
        """Refuse an image that the model does not quantize."""
        check_pixels(image_value, self)

    def one_hot_convolution(
        self,
        source: SSAValue,
        weights: Array,
        window: Window2D,
        added: Array | None = None,
        padding: int = 0,
    ) -> SSAValue:
        """Build a convolution with one-hot kernels, whose sums are the integers of the result."""
        check_fits(cube_of(source.type), weights, window, self)
        sums = self.conv(source, self.kernels(weights), window, padding)
        stages: list[Operand] = [] if added is None else [(ADDED, self.per_kernel(added.astype(np.int16)))]
        return self.requantized(sums, stages, Converter())

    def filled(self, cube: CubeShape, number: float) -> SSAValue:
        """Build a cube of one integer."""
        numbers = np.full((1, *cube), number, np.int8)
        return self.requantized(self.constant_cube(numbers), [], Converter())

    def mean(self, source: Cube, pooled: SSAValue, factors: Array, shape: tuple[int, ...]) -> Dequantized:
        """Return means of stored integers: the pooling result times a factor for each position."""
        return mean_of(source, pooled, factors, shape, self)

    def spread(self, found: Quantized, factors: Array, addend: float) -> Dequantized:
        """Multiply sums of a convolution by a factor for each position, then add."""
        return spread(self._real(found), factors, addend, self)

    def times(self, found: Quantized, factor: float) -> Affine:
        """Multiply a mean by a factor."""
        assert isinstance(found, Affine), "a mean is scaled integers"
        result = found.times(np.array([factor]))
        assert result is not None, "a mean has no steps"
        return result

    def rounded(self, found: Quantized, qparams: QuantizationParameters | None) -> Cube:
        """Quantize a tensor with these parameters."""
        assert qparams is not None, "integers have a scale"
        return Cube(self._real(found).quantized(qparams, self), found.shape, qparams=qparams)

    def combined(
        self, stage: SdpStage, parts: Sequence[Quantized], constants: Sequence[Array], shape: tuple[int, ...]
    ) -> Dequantized:
        """Combine tensors whose scales may differ, or when they are quantized (`quantized_arithmetic.py`)."""
        return combine(stage, [self._real(part) for part in parts], constants, shape, self)

    def clamped(self, found: Quantized, low: float | None, high: float | None) -> Dequantized:
        """Clamp in the requantization before, or when the tensor is quantized."""
        result = self._real(found)
        if low is not None:
            result = clamped(result, ClampBound(low, True))
        return result if high is None else clamped(result, ClampBound(high, False))

    def quotient(self, dividend: SSAValue, divisor: SSAValue, shape: tuple[int, ...]) -> TableLookup:
        """Divide a constant scalar, by an exact lookup table."""
        array = self.real_constant(dividend)
        if array is None or array.size != 1:
            self.refuse("a divisor that is not constant (the SDP multiplies only)")
        number = float(array.reshape(()))
        return self.function(divisor, lambda x: number * reciprocal(x))

    def function(self, value: SSAValue, function: Function) -> TableLookup:
        """Apply a function by a lookup table with an entry per integer, which is exact."""
        source = self.source(value)
        return TableLookup(QuantizedCube.of(source), source.shape, function)

    def normalized(
        self, source: Cube, shape: tuple[int, ...], size: int, scale: float, bias: float, beta: float
    ) -> NormalizedIntegers:
        """Normalize over channels; the power comes from a 16-bit table whose steps minimize the error."""
        return NormalizedIntegers(QuantizedCube.of(source), shape, size, scale, bias, beta)

    def reader_qparams(self, value: SSAValue) -> QuantizationParameters | None:
        """Return the parameters of the only QuantizeLinear that reads a value, `None` for other readers."""
        readers = [use.operation for use in value.uses]
        if len(readers) != 1 or not isinstance(readers[0], QuantizeLinearOp):
            return None
        reader = readers[0]
        return self.qparams(reader.y_scale, reader.y_zero_point, self.offset_of(reader.y))

    def reshaped(self, value: SSAValue, shape: tuple[int, ...]) -> Quantized:
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
        return qparams_of(scale, zero, offset, self)

    def offset_of(self, value: SSAValue) -> int:
        """Return the difference of the model's integers and the stored ones."""
        return offset_of(value, self)

    def real_constant(self, value: SSAValue) -> Array | None:
        """Return the values of a constant, dequantized if needed; `None` for other values."""
        return dequantized_constant(value, self)


def _of_integers(function: TableLookup, qparams: QuantizationParameters, integers: Array) -> Array:
    """Return a function of what stored integers stand for."""
    return function.function(qparams.dequantize(integers).astype(np.float64))


def _of_one_source(operands: Sequence[Sequence[TableLookup]]) -> list[TableLookup] | None:
    """Return each operand as a function of the nearest integers that all derive from, `None` without any."""
    for first in operands[0] if operands else ():
        found = [next((each for each in one if each.reads(first.source)), None) for one in operands]
        if None not in found:
            return [each for each in found if each is not None]
    return None


def _always(constant: Array, _: Array) -> Array:
    return constant


QuantizedLowering: TypeAlias = "Callable[[Any, QuantizedBuilder], Quantized | list[Quantized]]"
FunctionT = TypeVar("FunctionT", bound=QuantizedLowering)


def lowers_int8(*op_types: type[OnnxOp]) -> Callable[[FunctionT], FunctionT]:
    """Register the decorated function, which returns the results, as the int8 lowering of `op_types`."""

    return registered(op_types, INT8_LOWERINGS)
