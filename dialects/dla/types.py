"""
Types of cubes: tensors and images before allocation, surfaces and packed constants after it, flows.

Before allocation a cube in memory is a plain `tensor<1xCxHxW>`, afterwards a `!dla.surface` with an address.
A cube that goes from one engine to the next on the fly is a `!dla.flow` at either level.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeGuard

from xdsl.dialects.builtin import IntAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import AnyAttr, BaseAttr, ParamAttrConstraint, irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class CubeShape(NamedTuple):
    """Channels, height and width of a cube; the batch is always one."""

    channels: int
    height: int
    width: int

    @property
    def positions(self) -> int:
        """Elements per channel."""
        return self.height * self.width

    @property
    def elements(self) -> int:
        """The number of elements."""
        return self.channels * self.positions


def _parse_tensor(parser: AttrParser) -> TensorType[Attribute]:
    type_ = parser.parse_type()
    if not is_tensor(type_):
        parser.raise_error("a tensor type expected")
    return type_


def is_tensor(type_: Attribute) -> TypeGuard[TensorType[Attribute]]:
    """Whether `type_` is a ranked tensor type."""
    return isinstance(type_, TensorType)


@irdl_attr_definition
class FlowType(ParametrizedAttribute, TypeAttribute):
    """
    A cube on its way from one engine to the next, never in memory: `!dla.flow<tensor<1x64x56x56xf32>>`.

    From the convolution to the SDP its elements are the accumulator's 32 bits, from the SDP to the PDP the
    SDP's result.
    """

    name = "dla.flow"
    tensor: TensorType[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (_parse_tensor(parser),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.tensor)


@cache
def flow_type(tensor: TensorType[Attribute]) -> FlowType:
    """`!dla.flow<tensor>`, memoised."""
    return FlowType(tensor)


@irdl_attr_definition
class ImageType(ParametrizedAttribute, TypeAttribute):
    """
    Rows of pixels, which convolutions alone read: `!dla.image<A8B8G8R8, tensor<1x4x16x16xi8>>`
    (docs/internals/nvdla-hardware.md §3.3).

    The format is called as the hardware calls it. The tensor has the channels that the format delivers, and
    elements of the type in which the engines compute.
    """

    name = "dla.image"
    format: StringAttr = param_def()
    tensor: TensorType[Attribute] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            name = StringAttr(parser.parse_identifier())
            parser.parse_punctuation(",")
            return (name, _parse_tensor(parser))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.format.data}, ")
            printer.print_attribute(self.tensor)


@irdl_attr_definition
class SurfaceType(ParametrizedAttribute, TypeAttribute):
    """
    A feature cube or an image at its location in memory (docs/internals/nvdla-hardware.md §3.2); offset and
    strides are bytes.

    `!dla.surface<tensor<1x64x56x56xf16>, "activations" at 4096, line 1792, surface 100352>`
    """

    name = "dla.surface"
    tensor: TensorType[Attribute] | ImageType = param_def()
    memory: StringAttr = param_def()
    offset: IntAttr = param_def()
    line_stride: IntAttr = param_def()
    surface_stride: IntAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            type_ = parser.parse_type()
            if not isinstance(type_, ImageType) and not is_tensor(type_):
                parser.raise_error("a tensor or image type expected")
            memory, offset = _parse_location(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("line")
            line_stride = IntAttr(parser.parse_integer())
            parser.parse_punctuation(",")
            parser.parse_keyword("surface")
            return (type_, memory, offset, line_stride, IntAttr(parser.parse_integer()))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_location(printer, self.tensor, self.memory, self.offset)
            printer.print_string(f", line {self.line_stride.data}, surface {self.surface_stride.data}")

    def verify(self) -> None:
        layout = self.offset.data, self.line_stride.data, self.surface_stride.data
        if min(layout) < 0:
            raise VerifyException(f"an offset or size cannot be negative: {min(layout)}")


@irdl_attr_definition
class PackedType(ParametrizedAttribute, TypeAttribute):
    """
    A constant in an engine's own order at its location in memory; offset and size are bytes.

    `!dla.packed<tensor<64x3x7x7xf16>, "constants" at 0, size 18816>`
    """

    name = "dla.packed"
    tensor: TensorType[Attribute] = param_def()
    memory: StringAttr = param_def()
    offset: IntAttr = param_def()
    size: IntAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            tensor = _parse_tensor(parser)
            memory, offset = _parse_location(parser)
            parser.parse_punctuation(",")
            parser.parse_keyword("size")
            return (tensor, memory, offset, IntAttr(parser.parse_integer()))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            _print_location(printer, self.tensor, self.memory, self.offset)
            printer.print_string(f", size {self.size.data}")

    def verify(self) -> None:
        if min(self.offset.data, self.size.data) < 0:
            raise VerifyException(
                f"an offset or size cannot be negative: {min(self.offset.data, self.size.data)}"
            )


def _parse_location(parser: AttrParser) -> tuple[StringAttr, IntAttr]:
    parser.parse_punctuation(",")
    memory = StringAttr(parser.parse_str_literal())
    parser.parse_keyword("at")
    return memory, IntAttr(parser.parse_integer())


def _print_location(printer: Printer, tensor: Attribute, memory: StringAttr, offset: IntAttr) -> None:
    printer.print_attribute(tensor)
    printer.print_string(", ")
    printer.print_string_literal(memory.data)
    printer.print_string(f" at {offset.data}")


IN_MEMORY = BaseAttr(TensorType) | ParamAttrConstraint(SurfaceType, (BaseAttr(TensorType), *[AnyAttr()] * 4))
"""A feature cube in memory, before or after allocation."""

CUBE_OR_IMAGE = BaseAttr(TensorType) | BaseAttr(SurfaceType) | BaseAttr(ImageType)
"""A feature cube or an image in memory, before or after allocation."""

CUBE = IN_MEMORY | BaseAttr(FlowType)
"""A cube in memory or on the fly."""

CONSTANT = BaseAttr(TensorType) | BaseAttr(SurfaceType) | BaseAttr(PackedType)
"""A constant, before or after allocation."""


def tensor_of(type_: Attribute) -> TensorType[Attribute]:
    """Return the tensor type within one of this dialect's types."""
    if isinstance(type_, SurfaceType):
        type_ = type_.tensor
    if isinstance(type_, FlowType | ImageType | PackedType):
        return type_.tensor
    if is_tensor(type_):
        return type_
    raise VerifyException(f"{type_} is no cube")


def image_of(type_: Attribute) -> ImageType | None:
    """Return the image type of a value, allocated or not; `None` for others."""
    tensor = type_.tensor if isinstance(type_, SurfaceType) else type_
    return tensor if isinstance(tensor, ImageType) else None


def shape_of(type_: Attribute) -> tuple[int, ...]:
    """Return the shape of the tensor within one of this dialect's types."""
    return tensor_of(type_).get_shape()


def cube_of(type_: Attribute) -> CubeShape:
    """Return channels, height and width; a verification error unless the shape is `1xCxHxW` and static."""
    shape = shape_of(type_)
    if len(shape) != 4 or shape[0] != 1 or min(shape) < 1:
        raise VerifyException(f"a cube is 1xCxHxW with sizes from 1, found {'x'.join(map(str, shape))}")
    return CubeShape(*shape[1:])
