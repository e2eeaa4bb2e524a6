"""Attributes that MLIR has built in and xDSL 0.74 lacks; ONNX text needs them to be read and written."""

from __future__ import annotations

from io import StringIO
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntAttr,
    NoneAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute, TypedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.errors import XonncError

MAX_SPARSE_ELEMENTS = 1 << 30
"""The most bytes of a sparse tensor that is made dense: a short text must not exhaust the memory."""


@irdl_attr_definition
class StringElementsAttr(TypedAttribute, BuiltinAttribute):
    """A dense tensor of strings: `dense<["a", "b"]> : tensor<2x!onnx.String>`; a single string is a splat."""

    name = "builtin.dense_string_elements"

    type: TensorType[Attribute]
    strings: ArrayAttr[StringAttr | BytesAttr]

    def verify(self) -> None:
        """The number of strings fits the type."""
        size = prod(self.type.get_shape())
        if len(self.strings) != size and len(self.strings) != 1:
            raise VerifyException(f"{self.type} takes {size} strings, found {len(self.strings)}")

    def array(self) -> npt.NDArray[np.object_]:
        """The strings in the type's shape, read-only; bytes that are no UTF-8 stay bytes."""
        flat = np.empty(len(self.strings), np.object_)
        flat[:] = [string.data for string in self.strings]
        shape = self.type.get_shape()
        array = flat.reshape(shape) if flat.size == prod(shape) else np.broadcast_to(flat.reshape(()), shape)
        array.flags.writeable = False
        return array

    @staticmethod
    def parse_with_type(parser: AttrParser, type: Attribute) -> TypedAttribute:
        """Refuses: the type decides between strings and numbers, so the literal is read before it."""
        parser.raise_error("a dense literal of strings needs its type after it")

    def print_without_type(self, printer: Printer) -> None:
        """Print `dense<…>`."""
        printer.print_string("dense<")
        strings = list(self.strings)
        if len(set(strings)) == 1:
            printer.print_attribute(strings[0])
        elif strings:
            _print_nested(strings, self.type.get_shape(), printer)
        printer.print_string(">")

    def print_builtin(self, printer: Printer) -> None:
        """Print `dense<…> : type`."""
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


def _print_nested(strings: list[StringAttr | BytesAttr], shape: tuple[int, ...], printer: Printer) -> None:
    with printer.in_square_brackets():
        if len(shape) == 1:
            printer.print_list(strings, printer.print_attribute)
            return
        size = len(strings) // shape[0]
        parts = (strings[i : i + size] for i in range(0, len(strings), size))
        printer.print_list(parts, lambda part: _print_nested(part, shape[1:], printer))


@irdl_attr_definition
class SparseElementsAttr(TypedAttribute, BuiltinAttribute):
    """Mostly zeros: `sparse<[[0, 1], [2, 0]], [4, 5]> : tensor<3x4xi64>`."""

    name = "builtin.sparse_elements"

    type: TensorType[Attribute]
    indices: DenseIntOrFPElementsAttr
    values: DenseIntOrFPElementsAttr | StringElementsAttr

    def verify(self) -> None:
        """One index tuple of the type's rank, in range, per value."""
        shape = self.type.get_shape()
        found = self.indices.get_shape()
        count = self.values.type.get_shape()
        if self.indices.get_element_type() != i64 or len(found) != 2 or found != (*count, len(shape)):
            raise VerifyException(f"{self.indices.type} cannot index {self.values.type} in {self.type}")
        flat_indices = self._coordinates()
        if flat_indices.size and (flat_indices.min() < 0 or (flat_indices >= np.array(shape)).any()):
            raise VerifyException(f"sparse index out of range for {self.type}")

    def array(self) -> npt.NDArray[np.generic]:
        """All elements, zeros included, read-only; strings are empty where none is given."""
        dtype = numpy_dtype(self.type.element_type)
        if prod(self.type.get_shape()) * dtype.itemsize > MAX_SPARSE_ELEMENTS:
            raise XonncError(
                f"sparse elements of {self.type}: more than {MAX_SPARSE_ELEMENTS} bytes are not made dense"
            )
        array = np.full(self.type.get_shape(), "" if dtype == np.object_ else 0, dtype)
        array[tuple(self._coordinates().T)] = self._values(dtype)
        array.flags.writeable = False
        return array

    def _coordinates(self) -> npt.NDArray[np.int64]:
        found = self.indices.get_shape()
        flat = np.frombuffer(self.indices.data.data, np.int64)
        return np.broadcast_to(flat, (prod(found),)).reshape(found) if flat.size == 1 else flat.reshape(found)

    def _values(self, dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
        values = self.values
        if isinstance(values, StringElementsAttr):
            return values.array()
        raw = np.frombuffer(values.data.data, np.uint8)
        return raw != 0 if dtype == np.bool_ else raw.view(dtype)

    @staticmethod
    def parse_with_type(parser: AttrParser, type: Attribute) -> TypedAttribute:
        """Refuses: the literal is read before its type."""
        parser.raise_error("a sparse literal needs its type after it")

    def print_without_type(self, printer: Printer) -> None:
        """Print `sparse<…>`."""
        printer.print_string("sparse<")
        if prod(self.values.type.get_shape()):
            _print_bare(self.indices, printer)
            printer.print_string(", ")
            _print_bare(self.values, printer)
        printer.print_string(">")

    def print_builtin(self, printer: Printer) -> None:
        """Print `sparse<…> : type`."""
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


def _print_bare(elements: DenseIntOrFPElementsAttr | StringElementsAttr, printer: Printer) -> None:
    """The literal between the brackets of `dense<…>`."""
    text = StringIO()
    stream, printer.stream = printer.stream, text
    elements.print_without_type(printer)
    printer.stream = stream
    printer.print_string(text.getvalue()[len("dense<") : -len(">")])


@irdl_attr_definition
class ResourceElementsAttr(TypedAttribute, BuiltinAttribute):
    """
    A tensor whose bytes stand at the end of the file: `dense_resource<key> : tensor<4xf32>`.

    xDSL's `DenseResourceAttr` keeps them in a table of the process, where the next file overwrites them;
    here the attribute holds them itself, so two files may use one key. Without data it is an elided tensor.
    """

    name = "builtin.dense_resource_elements"

    type: TensorType[Attribute]
    key: StringAttr
    alignment: IntAttr
    data: BytesAttr

    def verify(self) -> None:
        """The bytes are as many as the type takes."""
        expected = prod(self.type.get_shape()) * numpy_dtype(self.type.element_type).itemsize
        if len(self.data.data) != expected:
            raise VerifyException(
                f"dense_resource<{self.key.data}>: {self.type} takes {expected} bytes,"
                f" found {len(self.data.data)}"
            )

    def array(self) -> npt.NDArray[np.generic]:
        """The elements, read-only; a view of the bytes."""
        raw = np.frombuffer(self.data.data, numpy_dtype(self.type.element_type))
        return raw.reshape(self.type.get_shape())

    @staticmethod
    def parse_with_type(parser: AttrParser, type: Attribute) -> TypedAttribute:
        """Refuses: the literal is read before its type."""
        parser.raise_error("a dense_resource needs its type after it")

    def print_without_type(self, printer: Printer) -> None:
        """Print `dense_resource<key>`; the data itself only `OnnxPrinter` prints, at the end."""
        printer.print_string("dense_resource<")
        printer.print_identifier_or_string_literal(self.key.data)
        printer.print_string(">")

    def print_builtin(self, printer: Printer) -> None:
        """Print `dense_resource<key> : type`."""
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


@irdl_attr_definition
class TypedStringAttr(TypedAttribute, BuiltinAttribute):
    """A string with a type: `"text" : !onnx.String`."""

    name = "builtin.typed_string"

    string: StringAttr
    type: Attribute

    @staticmethod
    def parse_with_type(parser: AttrParser, type: Attribute) -> TypedAttribute:
        """The string before a type that is known."""
        return TypedStringAttr(StringAttr(parser.parse_str_literal()), type)

    def print_without_type(self, printer: Printer) -> None:
        """Print the literal."""
        printer.print_attribute(self.string)

    def print_builtin(self, printer: Printer) -> None:
        """Print `"text" : type`."""
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


@irdl_attr_definition
class DistinctAttr(ParametrizedAttribute, BuiltinAttribute):
    """An attribute that equals no other one of the same content: `distinct[0]<"a">`."""

    name = "builtin.distinct"

    number: IntAttr
    referenced: Attribute
    """The wrapped attribute; `NoneAttr` for `distinct[0]<>`."""

    def print_builtin(self, printer: Printer) -> None:
        """Print `distinct[0]<attribute>`."""
        printer.print_string(f"distinct[{self.number.data}]<")
        if not isinstance(self.referenced, NoneAttr):
            printer.print_attribute(self.referenced)
        printer.print_string(">")


@irdl_attr_definition
class RangeMarkerAttr(ParametrizedAttribute, BuiltinAttribute):
    """
    Metadata of a fused location of two ends: `loc("f":1:2 to 3:4)`.

    xDSL's locations are points only, and its fused ones take no other kind of part.
    """

    name = "builtin.location_range"

    def print_builtin(self, printer: Printer) -> None:
        """Print a word; `OnnxPrinter` prints the range itself."""
        printer.print_string('"range"')
