"""Types and attributes of TOSA that xDSL lacks, and readers of shapes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, I64, DenseArrayBase, IntAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from xonnc.dialects.onnx.types import is_ranked


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """The type of a shape known at compile time, with its number of sizes: `!tosa.shape<4>`."""

    name = "tosa.shape"
    rank: IntAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.rank.data))


class ResizeMode(StrEnum):
    """How `tosa.resize` computes an element between others."""

    NEAREST_NEIGHBOR = "NEAREST_NEIGHBOR"
    BILINEAR = "BILINEAR"


@irdl_attr_definition
class ResizeModeAttr(EnumAttribute[ResizeMode]):
    """The mode of `tosa.resize`: `#tosa.resize_mode<BILINEAR>`."""

    name = "tosa.resize_mode"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResizeMode:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ResizeMode)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Return the sizes of a tensor value; a dynamic one is `DYNAMIC_INDEX`."""
    assert is_ranked(value.type)
    return value.type.get_shape()


def element_of(value: SSAValue) -> Attribute:
    """Return the element type of a tensor value."""
    assert is_ranked(value.type)
    return value.type.element_type


def require_shape(name: str, value: SSAValue, expected: Sequence[int]) -> None:
    """Raise `VerifyException` unless a result has the expected sizes, as far as both are known."""
    found = shape_of(value)
    pairs = zip(found, expected, strict=False)
    if len(found) != len(expected) or any(a != b and DYNAMIC_INDEX not in (a, b) for a, b in pairs):
        raise VerifyException(f"{name}: the result has shape {list(expected)}, found {list(found)}")


def require_rank(name: str, what: str, value: SSAValue, rank: int) -> tuple[int, ...]:
    """Return the shape of a value; raise `VerifyException` unless it has `rank` dimensions."""
    shape = shape_of(value)
    if len(shape) != rank:
        raise VerifyException(f"{name}: {what} has {rank} dimensions, found {list(shape)}")
    return shape


def sizes_of(name: str, what: str, values: DenseArrayBase[I64], count: int, least: int) -> tuple[int, ...]:
    """Return an array attribute; raise `VerifyException` unless it has `count` values of at least `least`."""
    found = tuple(values.get_values())
    if len(found) != count or min(found) < least:
        raise VerifyException(f"{name}: {what} holds {count} values of at least {least}, found {list(found)}")
    return found
