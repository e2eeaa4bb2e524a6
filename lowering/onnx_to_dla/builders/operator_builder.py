"""
Builder that lowering functions are written against: one for each precision.

A lowering function says which windows, slices and passes an operator takes, once for all precisions. What a
tensor is between two operators is the builder's `TensorT`: a cube in FP16 (`fp16_builder.py`), in INT8
integers or an expression that the following QuantizeLinear ends (`quantized_builder.py`). Arithmetic is in
the builders' methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.dla.attributes import SdpStage
from xonnc.dialects.dla.types import CubeShape, ImageType
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import Function
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import (
    FLOATS,
    Array,
    Cube,
    DlaBuilder,
    ImageValue,
    cube_shape,
)
from xonnc.lowering.onnx_to_dla.builders.image_inputs import ImageInput
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels
from xonnc.lowering.onnx_to_dla.builders.pixel_convolution import PixelConvolution
from xonnc.targets import NvdlaTarget

CHANNELS_OF_PIXELS = {1: (1,), 4: (3, 4)}
"""Allowed channels of the model's input by channels of the pixel format: alpha may be left out."""

UINT8_OFFSET = 128


class Tensor(Protocol):
    """What a tensor of the model was lowered to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model's tensor."""
        ...


TensorT = TypeVar("TensorT", bound=Tensor)


class OperatorBuilder(DlaBuilder, ABC, Generic[TensorT]):
    """Builds one operator after another from tensors of a network in one precision."""

    def __init__(self, target: NvdlaTarget, pool: DisposablePool, precision: Precision):
        super().__init__(target, pool, precision)
        self.qparams_by_value: dict[SSAValue, QuantizationParameters] = {}
        """Quantization parameters of integer inputs and outputs."""
        self.pixels: dict[SSAValue, Normalization] = {}
        """Normalizations of inputs that are images."""
        self._image_values: dict[SSAValue, ImageValue] = {}

    @property
    def weight_type(self) -> np.dtype[Any]:
        """The element type of stored weights."""
        return np.dtype(np.float16 if self.precision is Precision.FP16 else np.int8)

    @abstractmethod
    def add_input(self, argument: SSAValue, shape: tuple[int, ...], cube: CubeShape) -> str | None:
        """Accept a network input; return the reason if it cannot be taken."""

    @abstractmethod
    def lower(self, op: OnnxOp) -> None:
        """Lower one operator."""

    @abstractmethod
    def output(self, value: SSAValue) -> SSAValue:
        """Return the cube of an output."""

    @abstractmethod
    def define_placeholder(self, value: SSAValue) -> None:
        """Define the result of a refused operator, so that its readers are still checked."""

    @abstractmethod
    def lowered(self, value: SSAValue) -> TensorT:
        """Return what the model's `value` was lowered to."""

    @abstractmethod
    def tensor(self, value: SSAValue) -> TensorT:
        """Return the model's float tensor `value`."""

    @abstractmethod
    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the model's shape of a value."""

    def image_cube(self, value: SSAValue) -> CubeShape:
        """Return channels, rows and columns of a value for an operator on rows and columns."""
        cube = cube_shape(self.shape(value))
        if cube is None:
            self.refuse(f"a tensor of shape {list(self.shape(value))} has no elements")
        return cube

    @abstractmethod
    def source(self, value: SSAValue) -> Cube:
        """Return the model's `value` for an engine that reads it from memory."""

    def matrix_product(self, first: SSAValue, second: SSAValue, shape: tuple[int, ...]) -> TensorT:
        """Return the product of two computed matrices."""
        self.refuse("B is computed at run time (the convolution core takes constant weights)")

    def exchanged(self, source: Cube, perm: Sequence[int], shape: tuple[int, ...]) -> TensorT | None:
        """Return a tensor whose channels and positions are exchanged, `None` if nothing computes that."""
        return None

    def unscaled_source(self, value: SSAValue) -> Cube:
        """Like `source`, but factors may still have to be multiplied in."""
        return self.source(value)

    def spatial_source(self, value: SSAValue) -> Cube:
        """Return the model's `value` for an engine that depends on rows and columns."""
        found = self.source(value)
        self.check_spatial(found)
        return found

    @abstractmethod
    def stored(
        self, value: SSAValue, shape: tuple[int, ...], qparams: QuantizationParameters | None
    ) -> TensorT:
        """Return the tensor that a cube in memory is, integers with these parameters."""

    @abstractmethod
    def moved(self, value: SSAValue, shape: tuple[int, ...], move: Callable[[SSAValue], SSAValue]) -> TensorT:
        """Apply data movement, or a comparison of elements, to rows and columns of `value`."""

    @abstractmethod
    def selected(
        self,
        source: TensorT,
        shape: tuple[int, ...],
        select: Callable[[SSAValue, float], SSAValue],
        fill: float,
    ) -> TensorT:
        """Select elements of a tensor; `select` takes its cube and the stored number of padding."""

    @abstractmethod
    def joined(
        self,
        parts: Sequence[TensorT],
        shape: tuple[int, ...],
        join: Callable[[list[SSAValue]], SSAValue],
        group_channels: int = 0,
    ) -> TensorT:
        """Join the cubes of parts to one; `group_channels` is how many each has if they are groups."""

    @abstractmethod
    def reshaped(self, value: SSAValue, shape: tuple[int, ...]) -> TensorT:
        """
        Return the same elements in the same order with another shape.

        Height and width may change for free. Any other reshape leaves the cube as stored: operators that
        depend on rows and columns check that they are those of the shape (`check_spatial`).
        """

    @abstractmethod
    def real_constant(self, value: SSAValue) -> Array | None:
        """Return the values of a constant, dequantized if needed; `None` for other values."""

    def numbers(self, value: SSAValue, what: str) -> Array:
        """Return the values of an operand that must be constant, dequantized if needed."""
        array = self.real_constant(value)
        if array is None:
            self.refuse_computed(what)
        return array

    def bias(self, value: SSAValue, what: str = "the bias") -> Array | None:
        """Return the values of an optional operand that must be constant."""
        return None if value.type == NONE else self.numbers(value, what)

    @abstractmethod
    def kernels_of(self, value: SSAValue, outputs: int, what: str) -> Kernels:
        """Return constant weights with axis `outputs` first."""

    @abstractmethod
    def fractions(self, numerators: Array, denominator: float) -> Kernels:
        """Return kernels of small integers over a denominator."""

    @abstractmethod
    def convolution(
        self,
        source: Cube,
        kernels: Kernels,
        bias: Array | None,
        window: Window2D,
        shape: tuple[int, ...],
        groups: int = 1,
    ) -> TensorT:
        """Build a convolution with bias from kernels `KxCxRxS`, `groups` groups as one dense layer."""

    @abstractmethod
    def pixel_convolution(self, found: PixelConvolution, shape: tuple[int, ...]) -> TensorT:
        """Build a convolution with bias over pixels."""

    def check_pixels(self, image_value: ImageValue) -> None:
        """Refuse an image that convolutions cannot read."""

    @abstractmethod
    def one_hot_convolution(
        self,
        source: SSAValue,
        weights: Array,
        window: Window2D,
        added: Array | None = None,
        padding: int = 0,
    ) -> SSAValue:
        """
        Build a convolution with one-hot kernels, which moves elements without changing them; `added` is added
        to the stored numbers of each channel. `padding` is the stored number around the source.
        """

    @abstractmethod
    def filled(self, cube: CubeShape, number: float) -> SSAValue:
        """Build a cube of one stored number."""

    @abstractmethod
    def mean(self, source: Cube, pooled: SSAValue, factors: Array, shape: tuple[int, ...]) -> TensorT:
        """Return means of a cube: the pooling result times a factor for each position."""

    @abstractmethod
    def spread(self, found: TensorT, factors: Array, addend: float) -> TensorT:
        """Multiply the result of a convolution without bias by a factor for each position, then add."""

    @abstractmethod
    def times(self, found: TensorT, factor: float) -> TensorT:
        """Multiply a mean by a factor."""

    def settled(self, found: TensorT) -> TensorT:
        """Multiply pending factors in."""
        return found

    @abstractmethod
    def rounded(self, found: TensorT, qparams: QuantizationParameters | None) -> Cube:
        """Return a tensor in memory, integers with these parameters."""

    @abstractmethod
    def combined(
        self, stage: SdpStage, parts: Sequence[TensorT], constants: Sequence[Array], shape: tuple[int, ...]
    ) -> TensorT:
        """Apply a stage of the SDP (`sdp_stages.py`) to one or more tensors and constants, elementwise."""

    @abstractmethod
    def clamped(self, found: TensorT, low: float | None, high: float | None) -> TensorT:
        """Return a tensor within bounds."""

    @abstractmethod
    def quotient(self, dividend: SSAValue, divisor: SSAValue, shape: tuple[int, ...]) -> TensorT:
        """Divide by a computed tensor."""

    @abstractmethod
    def function(self, value: SSAValue, function: Function) -> TensorT:
        """Apply a function to each element by a lookup table."""

    @abstractmethod
    def normalized(
        self, source: Cube, shape: tuple[int, ...], size: int, scale: float, bias: float, beta: float
    ) -> TensorT:
        """Return `x (bias + scale * sum of squares)^-beta`, the sum over `size` channels."""

    def reader_qparams(self, value: SSAValue) -> QuantizationParameters | None:
        """Return the parameters of the only QuantizeLinear that reads a value, `None` for other readers."""
        return None

    def add_image_input(self, argument: SSAValue, shape: tuple[int, ...], image: ImageInput) -> str | None:
        """Accept an input in a pixel format; return the reason if it cannot be taken."""
        if len(shape) != 4 or shape[0] != 1 or shape[1] not in CHANNELS_OF_PIXELS[image.channels]:
            channels = " or ".join(map(str, CHANNELS_OF_PIXELS[image.channels]))
            return f"{list(shape)} as {image.format} (1xCxHxW of {channels} channels); take another format"
        if image.precision is not self.precision:
            return (
                f"{image.format} where convolutions compute in {self.precision.name.lower()} (its pixels are "
                f"for {image.precision.name.lower()}); take another format, or calibrate for int8"
            )
        if (pixels := image.normalization(shape[1])) is None:
            return (
                f"{len(image.mean)} means and {len(image.std)} deviations for {shape[1]} channels; give one "
                "or one for each"
            )
        if (refusal := self.image_refusal(argument, image, pixels)) is not None:
            return refusal
        is_bytes = element_type(argument.type) not in FLOATS
        cube = CubeShape(image.channels, shape[2], shape[3])
        image_type = ImageType(StringAttr(image.format), self.cube_type(cube))
        placed = Rewriter.replace_value_with_new_type(argument, image_type)
        self.pixels[placed] = pixels
        self._image_values[placed] = ImageValue(
            placed, shape, pixels, offset=UINT8_OFFSET if is_bytes else None
        )
        return None

    @abstractmethod
    def image_refusal(self, argument: SSAValue, image: ImageInput, pixels: Normalization) -> str | None:
        """Return why an input of this type cannot be an image."""

    def image_value(self, value: SSAValue) -> ImageValue | None:
        """Return the image that the model's `value` is, or `None`."""
        return self._image_values.get(value)

    def define_image(self, value: SSAValue, image_value: ImageValue) -> None:
        """Define the model's `value` as an image."""
        self._image_values[value] = image_value

    def refuse_image(self, value: SSAValue) -> None:
        """Refuse the current operator if it reads an image."""
        if value in self._image_values:
            self.refuse(
                "the input has an image format, which only convolutions read; take it as a feature cube"
            )


LoweringFunction: TypeAlias = Callable[[Any, Any], Any]

FP16_LOWERINGS: dict[type[OnnxOp], LoweringFunction] = {}
"""The FP16 lowering function of each supported operator."""

INT8_LOWERINGS: dict[type[OnnxOp], LoweringFunction] = {}
"""The int8 lowering function of each supported operator."""

LoweringT = TypeVar("LoweringT", bound=LoweringFunction)


def registered(
    op_types: Sequence[type[OnnxOp]], *tables: dict[type[OnnxOp], LoweringFunction]
) -> Callable[[LoweringT], LoweringT]:
    """Return a decorator that adds a lowering function of some operators to tables."""

    def register(function: LoweringT) -> LoweringT:
        for table in tables:
            table.update((op_type, function) for op_type in op_types)
        return function

    return register


GenericLowering: TypeAlias = "Callable[[Any, OperatorBuilder[Any]], Tensor | Sequence[Tensor]]"
FunctionT = TypeVar("FunctionT", bound=GenericLowering)


def lowers(*op_types: type[OnnxOp]) -> Callable[[FunctionT], FunctionT]:
    """Register the decorated function, which returns the results, as the lowering in all precisions."""

    return registered(op_types, FP16_LOWERINGS, INT8_LOWERINGS)
