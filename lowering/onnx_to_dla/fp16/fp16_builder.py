"""Builder of FP16 networks: every tensor is a cube in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import LutAttr, OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.engines import CdpOp, PowerOp
from xonnc.dialects.dla.storage import ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.dla_planning.feasibility import conv_limits
from xonnc.lowering.dla_planning.kernel_partition import PartialConvolution, partial_convolutions
from xonnc.lowering.dla_planning.lookup_tables import Function, function_lut, normalization_lut
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import (
    FLOATS,
    Array,
    Cube,
    DlaBuilder,
    MissingOperand,
    Operand,
    cube_shape,
)
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels, dense
from xonnc.lowering.onnx_to_dla.builders.operator_builder import FP16_LOWERINGS, OperatorBuilder, registered
from xonnc.lowering.onnx_to_dla.builders.pixel_convolution import PixelConvolution
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import PRODUCT
from xonnc.lowering.onnx_to_dla.builders.wide_strides import in_narrow_strides
from xonnc.lowering.onnx_to_dla.builders.windows import output_size, trim_padding
from xonnc.lowering.onnx_to_dla.fp16.fp16_arithmetic import bounds, combine
from xonnc.targets import NvdlaTarget
from xonnc.targets.limits import lacks_emulator

PER_CHANNEL_SUM = SdpStage(type=StageFunction.ALU, mode=OperandMode.PER_KERNEL)
PER_POINT_SUM = SdpStage(type=StageFunction.ALU, mode=OperandMode.PER_POINT)

MAX_ERROR = 2.0**-9
"""Largest error of a lookup table in FP16, relative to `max(|result|, 1)`."""


class Fp16Builder(OperatorBuilder[Cube]):
    """Builds the operations of an FP16 network."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool):
        super().__init__(target, pool, Precision.FP16)
        self._cubes: dict[SSAValue, Cube] = {}

    def add_input(self, argument: SSAValue, shape: tuple[int, ...], cube: CubeShape) -> str | None:
        """Accept a network input; return the reason if it cannot be taken."""
        if element_type(argument.type) not in FLOATS:
            return (
                f"{argument.type} (the DLA computes in fp16, which does not represent it exactly); "
                "feed floats"
            )
        placed = Rewriter.replace_value_with_new_type(argument, self.cube_type(cube))
        self.define(placed, Cube(placed, shape))
        return None

    def image_refusal(self, argument: SSAValue, image: ImageInput, pixels: Normalization) -> str | None:
        """Return why an input of this type cannot be a float16 image."""
        if element_type(argument.type) not in FLOATS:
            return f"{argument.type} as {image.format}, which holds float16 pixels; feed floats"
        if not pixels.is_identity:
            return (
                f"{image.format} with a mean or std (float16 pixels are read unchanged); normalize them "
                "before, as nvdla_runtime does by --mean and --normalize"
            )
        return None

    def lower(self, op: OnnxOp) -> None:
        """Lower one operator."""
        lowering = FP16_LOWERINGS.get(type(op))
        if lowering is None:
            self.refuse("the DLA has no such operator")
        made: Cube | Sequence[Cube] = lowering(op, self)
        for result, cube in zip(op.results, [made] if isinstance(made, Cube) else made, strict=False):
            self.finish(cube.value)
            self.define(result, cube)

    def output(self, value: SSAValue) -> SSAValue:
        """Return the cube of an output."""
        return self.cube(value).value

    def define(self, value: SSAValue, cube: Cube) -> None:
        """Define what the model's `value` was lowered to."""
        self._cubes[value] = cube

    def define_placeholder(self, value: SSAValue) -> None:
        """
        Define a placeholder for the result of a refused operator, so that its readers are still checked.
        """
        shape = static_shape(value.type)
        cube = None if shape is None else cube_shape(shape)
        if shape is not None and cube is not None:
            stand_in = UnrealizedConversionCastOp.get([], [self.cube_type(cube)])
            self.define(value, Cube(self(stand_in), shape))

    def cube(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`; a constant becomes a cube in memory."""
        self.refuse_image(value)
        if value in self._cubes:
            result = self.settled(self._cubes[value])
            self.define(value, result)
            return result
        array = self.constant(value)
        if array is None:
            raise MissingOperand("an operand that the DLA does not have")
        shape = cube_shape(array.shape)
        if shape is None:
            self.refuse(f"a constant of shape {list(array.shape)} has no elements")
        constant = self.constant_cube(array.reshape(1, *shape))
        return Cube(self.sdp(constant, []), array.shape)

    def spatial_cube(self, value: SSAValue) -> SSAValue:
        """Return the cube of `value` for an operator that depends on rows and columns."""
        return self.spatial_source(value).value

    def lowered(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`."""
        return self.cube(value)

    def tensor(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`."""
        return self.cube(value)

    def source(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`."""
        return self.cube(value)

    def unscaled_source(self, value: SSAValue) -> Cube:
        """Return the cube of the model's `value`, whose factors may still have to be multiplied in."""
        return self._cubes[value] if value in self._cubes else self.cube(value)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the model's shape of a value."""
        self.refuse_image(value)
        if value in self._cubes:
            return self._cubes[value].shape
        array = self.constant(value)
        if array is None:
            raise MissingOperand("an operand that the DLA does not have")
        return array.shape

    def stored(self, value: SSAValue, shape: tuple[int, ...], qparams: QuantizationParameters | None) -> Cube:
        """Return a cube in memory."""
        return Cube(value, shape)

    def moved(self, value: SSAValue, shape: tuple[int, ...], move: Callable[[SSAValue], SSAValue]) -> Cube:
        """Apply data movement to rows and columns of `value`."""
        return Cube(move(self.spatial_cube(value)), shape)

    def selected(
        self,
        source: Cube,
        shape: tuple[int, ...],
        select: Callable[[SSAValue, float], SSAValue],
        fill: float,
    ) -> Cube:
        """Select elements of a cube."""
        return Cube(select(source.value, fill), shape)

    def joined(
        self,
        parts: Sequence[Cube],
        shape: tuple[int, ...],
        join: Callable[[list[SSAValue]], SSAValue],
        group_channels: int = 0,
    ) -> Cube:
        """Join cubes to one."""
        return Cube(join([part.value for part in parts]), shape)

    def reshaped(self, value: SSAValue, shape: tuple[int, ...]) -> Cube:
        """Return the same elements in the same order with another shape."""
        source, cube = self.cube(value).value, cube_shape(shape)
        here = cube_of(source.type)
        if cube is None or cube == here or (cube.channels, cube.positions) != (here.channels, here.positions):
            return Cube(source, shape)
        return Cube(self(ReshapeOp(source, self.cube_type(cube))), shape)

    def real_constant(self, value: SSAValue) -> Array | None:
        """Return the values of a constant, `None` for other values."""
        return self.constant(value)

    def kernels_of(self, value: SSAValue, outputs: int, what: str) -> Kernels:
        """Return constant weights with axis `outputs` first."""
        return Kernels(np.moveaxis(self.numbers(value, what), outputs, 0))

    def fractions(self, numerators: Array, denominator: float) -> Kernels:
        """Return kernels of integers over a denominator, as float numbers."""
        return Kernels(numerators.astype(np.float32) / denominator)

    def convolution(
        self,
        source: Cube,
        kernels: Kernels,
        bias: Array | None,
        window: Window2D,
        shape: tuple[int, ...],
        groups: int = 1,
    ) -> Cube:
        """
        Build a convolution with bias from kernels `KxCxRxS`; factors of the source scale each position before
        the bias, or all positions if they are equal.
        """
        rows, columns = output_size(window, source.cube, self)
        weights = kernels.array
        if (found := in_narrow_strides(source, weights, window, self)) is not None:
            source, weights, window = found
            groups = source.cube.channels // weights.shape[1]
        value = self._convolved(source, weights, bias, window, groups)
        result = CubeShape(len(weights), rows, columns)
        if cube_of(value.type) != result:
            value = self(ReshapeOp(value, self.cube_type(result)))
        return Cube(value, shape)

    def _convolved(
        self, source: Cube, weights: Array, bias: Array | None, window: Window2D, groups: int = 1
    ) -> SSAValue:
        """
        If the kernels that run at once exceed the convolution buffer, parts of the kernel run one after
        another and the SDP adds their sums.
        """
        cube, channels = source.cube, weights.shape[1] * groups
        if channels != cube.channels:
            self.refuse(f"weights for {channels} channels, but the input has {cube.channels}")
        output_size(window, cube, self)
        window = trim_padding(window, cube)
        parts = partial_convolutions(self.target, self.precision, cube, weights.shape[0], window)
        if parts is None:
            self.check(conv_limits(cube, weights.shape[0], window))
            self.refuse(
                f"a {weights.shape[2]}x{weights.shape[3]} kernel on rows of {cube.width} does not fit the "
                f"convolution buffer even split to {self.target.atomic_c} channels; use a smaller kernel"
            )
        if not parts:
            self.refuse("windows that read padding alone; use fewer pads")
        value: SSAValue | None = None
        # Of dense kernels zeros are most; those of a partition that is refused are never read.
        spread = cache(partial(dense, weights, groups))
        for part in parts:
            shape = weights.shape[0], part.end - part.begin, *part.window.kernel
            made = partial(_taps_of, spread, part)
            kernels = (
                self.kernels(made()) if groups == 1 else self.deferred_kernels(shape, weights.dtype, made)
            )
            accumulator = self.conv(self._region(source.value, part), kernels, part.window)
            stages: list[Operand] = [] if value is None else [(PER_POINT_SUM, value)]
            if source.factors is not None and part is parts[-1]:
                stages.append(self.position_factors(source.factors, weights.shape[0]))
            if bias is not None and part is parts[-1]:
                stages.append((PER_CHANNEL_SUM, self.per_kernel(bias)))
            value = self.sdp(accumulator, stages)
        assert value is not None, "a convolution has parts"
        return value

    def _region(self, source: SSAValue, part: PartialConvolution) -> SSAValue:
        """Return the slice of a cube that a partial convolution reads."""
        if part.shape == cube_of(source.type):
            return source
        begins = part.begin, part.rows.first, part.columns.first
        return self(SliceOp(source, begins, self.cube_type(part.shape)))

    def pixel_convolution(self, found: PixelConvolution, shape: tuple[int, ...]) -> Cube:
        """Build a convolution with bias over float16 pixels."""
        kernels = self.kernels(found.folded(dense(found.kernels.array, found.groups)))
        stages: list[Operand] = []
        if found.bias is not None:
            stages = [(PER_CHANNEL_SUM, self.per_kernel(found.bias))]
        return Cube(self.sdp(self.conv(found.image.value, kernels, found.window), stages), shape)

    def one_hot_convolution(
        self,
        source: SSAValue,
        weights: Array,
        window: Window2D,
        added: Array | None = None,
        padding: int = 0,
    ) -> SSAValue:
        """Build a convolution with one-hot kernels; float numbers are padded with 0."""
        bias = None if added is None else added.astype(np.float32)
        return self._convolved(_plain(source), weights.astype(np.float16, copy=False), bias, window)

    def filled(self, cube: CubeShape, number: float) -> SSAValue:
        """Build a cube of one number."""
        return self.sdp(self.constant_cube(np.full((1, *cube), number, np.float32)), [])

    def scaled(self, source: SSAValue, factors: Array) -> SSAValue:
        """Multiply `source` by a factor per position."""
        if np.all(factors == 1.0):
            return source
        return self.sdp(source, [self.position_factors(factors, cube_of(source.type).channels)])

    def position_factors(self, factors: Array, channels: int) -> Operand:
        """Return the stage that multiplies by a factor per position, or by a scalar if all are equal."""
        if np.all(factors == factors[0, 0]):
            return SdpStage(type=StageFunction.MUL, mul_operand=float(factors[0, 0])), None
        operand = self.constant_cube(np.broadcast_to(factors, (1, channels, *factors.shape)))
        return SdpStage(type=StageFunction.MUL, mode=OperandMode.PER_POINT), operand

    def mean(self, source: Cube, pooled: SSAValue, factors: Array, shape: tuple[int, ...]) -> Cube:
        """
        Return means: a pooling result, whose factors are multiplied in by its reader, or in the pass of a 1x1
        convolution that follows.
        """
        return Cube(pooled, shape, None if np.all(factors == 1.0) else factors)

    def spread(self, found: Cube, factors: Array, addend: float) -> Cube:
        """Multiply by factors, like those of a mean; there is nothing to add to float numbers."""
        return Cube(found.value, found.shape, factors)

    def times(self, found: Cube, factor: float) -> Cube:
        """Multiply a mean by a factor."""
        ones = np.ones((1, 1)) if found.factors is None else found.factors
        return Cube(found.value, found.shape, ones * factor)

    def settled(self, found: Cube) -> Cube:
        """Multiply pending factors in."""
        if found.factors is None:
            return found
        return Cube(self.scaled(found.value, found.factors.astype(np.float32)), found.shape)

    def rounded(self, found: Cube, qparams: QuantizationParameters | None) -> Cube:
        """Return a cube, which is in memory."""
        return self.settled(found)

    def combined(
        self, stage: SdpStage, parts: Sequence[Cube], constants: Sequence[Array], shape: tuple[int, ...]
    ) -> Cube:
        """Apply a stage to cubes from the left, then to constants."""
        return combine(stage, parts, constants, shape, self)

    def clamped(self, found: Cube, low: float | None, high: float | None) -> Cube:
        """Clip in a pass of the SDP."""
        return Cube(self.sdp(found.value, bounds(low, high)), found.shape)

    def quotient(self, dividend: SSAValue, divisor: SSAValue, shape: tuple[int, ...]) -> Cube:
        """Multiply by the reciprocal, which the CPU emulator computes."""
        inverse, array = self.emulated(divisor, -1.0), self.constant(dividend)
        if array is not None:
            return self.combined(PRODUCT, [inverse], [array], shape)
        return self.combined(PRODUCT, [self.cube(dividend), inverse], [], shape)

    def emulated(self, value: SSAValue, exponent: float) -> Cube:
        """Raise each element to a power on the CPU emulator."""
        self.check(lacks_emulator(self.target))
        source = self.cube(value)
        return Cube(self(PowerOp(source.value, source.value.type, power=exponent)), source.shape)

    def function(self, value: SSAValue, function: Function) -> Cube:
        """Apply a function by a lookup table whose range and step minimize the error."""
        source = self.cube(value)
        return Cube(self.lookup(source.value, fp16_lut(function, self)), source.shape)

    def normalized(
        self, source: Cube, shape: tuple[int, ...], size: int, scale: float, bias: float, beta: float
    ) -> Cube:
        """Return `x (bias + scale * sum of squares)^-beta`, the power from a lookup table of the CDP."""
        lut = LutAttr(normalization_lut(scale, bias, beta))
        return Cube(self(CdpOp(source.value, source.value.type, local_size=size, lut=lut)), shape)


def fp16_lut(function: Function, builder: DlaBuilder) -> LutAttr:
    """Return the lookup table that approximates a function best; refuse if it is not good enough."""
    lut, error = function_lut(function)
    if error > MAX_ERROR:
        builder.refuse(f"the best lookup table has an error of {error:.2g} (at most {MAX_ERROR:.2g})")
    return LutAttr(lut)


def _plain(value: SSAValue) -> Cube:
    return Cube(value, (1, *cube_of(value.type)))


def _taps_of(made: Callable[[], Array], part: PartialConvolution) -> Array:
    rows, columns = part.rows, part.columns
    return made()[:, part.begin : part.end, rows.begin : rows.end, columns.begin : columns.end]


Fp16Lowering: TypeAlias = "Callable[[Any, Fp16Builder], Cube | Sequence[Cube]]"
FunctionT = TypeVar("FunctionT", bound=Fp16Lowering)


def lowers_fp16(*op_types: type[OnnxOp]) -> Callable[[FunctionT], FunctionT]:
    """Register the decorated function, which returns the results, as the FP16 lowering of `op_types`."""

    return registered(op_types, FP16_LOWERINGS)
