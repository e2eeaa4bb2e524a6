"""The constant attribute that looks like `dense<…>` and whose payload is shared, lazy and freed early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, count
from math import prod
from typing import Any, BinaryIO, Protocol

import numpy as np
from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BuiltinAttribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.elements.loop import DType, ElementwiseFunction
from xonnc.dialects.onnx.elements.payload import Payload
from xonnc.dialects.onnx.elements.printing import print_elements
from xonnc.dialects.onnx.types import element_type_of, numpy_dtype, tensor_type

_SERIAL_NUMBERS = count(1)


class DisposedElementsError(RuntimeError):
    """A constant was used after its disposal: a bug of the compiler, not of the user's model."""


class Maker(Protocol):
    """The interface of the pool that constants use to create others."""

    def compute(
        self, function: ElementwiseFunction, operands: Sequence[Payload], dtype: DType | None
    ) -> Payload:
        """Return the payload of an elementwise function."""
        ...

    def wrap(self, payload: Payload, type_: TensorType[Attribute]) -> DisposableElementsAttr:
        """Return a constant with this payload."""
        ...


class DisposableReader(DialectInterface, ABC):
    """The interface of a dialect that parses constants printed as `#onnx.dense_disposable<…>`."""

    @abstractmethod
    def read(self, parser: AttrParser) -> DisposableElementsAttr:
        """Parse a constant; the parser is after its name."""


class Elements:
    """The identity of one constant: its serial number, type and pool, and its payload until disposal."""

    __slots__ = ("_payload", "number", "pool", "type")

    def __init__(self, pool: Maker, type_: TensorType[Attribute], payload: Payload):
        self.number = next(_SERIAL_NUMBERS)
        self.pool = pool
        self.type = type_
        self._payload: Payload | None = payload

    @property
    def payload(self) -> Payload:
        """The elements; `DisposedElementsError` after `dispose`."""
        if self._payload is None:
            raise DisposedElementsError(
                f"constant {self.number} ({self.type}) was disposed of and used again"
            )
        return self._payload

    @property
    def is_disposed(self) -> bool:
        """Return whether the payload was freed."""
        return self._payload is None

    def dispose(self) -> None:
        """Free the payload; buffers that other constants share stay alive."""
        self._payload = None


# `Data` must come first: `BuiltinAttribute` brings an equality without fields, under which all are equal.
@irdl_attr_definition
class DisposableElementsAttr(Data[Elements], BuiltinAttribute):
    """
    A compile-time tensor: printed as `dense<…> : tensor<2x3xf32>`.

    Attributes are compared by identity, not by content. Views (`transpose`, `reshape`,
    `expand`, `slice`, …) share memory; elementwise functions (`map`, `cast`, `DisposablePool.combine`)
    are deferred until the first read.
    """

    name = "onnx.dense_disposable"

    @property
    def type(self) -> TensorType[Attribute]:
        """The tensor type."""
        return self.data.type

    def get_type(self) -> TensorType[Attribute]:
        """The tensor type, as xDSL's typed attributes spell it."""
        return self.data.type

    def get_element_type(self) -> Attribute:
        """The type of one element."""
        return self.data.type.element_type

    def get_shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.data.payload.shape

    @property
    def number(self) -> int:
        """The serial number: unique in the process, never reused."""
        return self.data.number

    @property
    def pool(self) -> Maker:
        """The pool that made this constant and counts its bytes."""
        return self.data.pool

    @property
    def payload(self) -> Payload:
        """The payload; raises `DisposedElementsError` after disposal."""
        return self.data.payload

    @property
    def is_disposed(self) -> bool:
        """Return whether the payload was freed; its use then raises `DisposedElementsError`."""
        return self.data.is_disposed

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.payload.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.payload.shape)

    @property
    def dtype(self) -> DType:
        """The numpy type of one element (`xonnc.dialects.onnx.types.ELEMENT_DTYPES`)."""
        return self.payload.dtype

    @property
    def is_splat(self) -> bool:
        """Return whether all elements have the same bits (false if empty); stops at the first difference."""
        return self.payload.is_splat()

    def splat(self) -> Any:
        """The element of a splat as a NumPy scalar (`str` for strings)."""
        if not self.payload.is_splat():
            raise ValueError(f"constant {self.number} ({self.type}) has differing elements: no splat")
        return self.payload.array()[(0,) * len(self.shape)]

    def array(self) -> Array:
        """The elements in the type's shape, read-only; evaluates a pending expression, once."""
        return self.payload.array()

    def sample(self, index: tuple[slice, ...]) -> Array:
        """Return the elements at `index`, a slice per axis; evaluates a pending expression only for these."""
        return self.payload.sample(index)

    def blocks(self) -> Iterator[Array]:
        """Iterate over the elements in row-major order, in flat blocks of up to 64 Ki; nothing is cached."""
        return self.payload.blocks()

    def write_to(self, file: BinaryIO) -> int:
        """
        Stream the elements to `file`, row-major, little-endian, one element per `dtype.itemsize` bytes.

        Returns the number of bytes written. Raises `TypeError` for strings, which have no fixed width.
        """
        if self.dtype == np.object_:
            raise TypeError(
                f"constant {self.number} ({self.type}) holds strings: they have no fixed-width form"
            )
        return sum(file.write(np.ascontiguousarray(block).view(np.uint8).data) for block in self.blocks())

    def retyped(self, type_: TensorType[Attribute]) -> DisposableElementsAttr:
        """Return the same elements under another type of the same shape and element width."""
        return self.pool.wrap(self.payload, type_)

    def transpose(self, permutation: Sequence[int]) -> DisposableElementsAttr:
        """Return a transposed view: axis `i` of the result is axis `permutation[i]`."""
        axes = tuple(permutation)
        return self._seen(lambda array: array.transpose(axes), tuple(self.shape[axis] for axis in axes))

    def reshape(self, shape: Sequence[int]) -> DisposableElementsAttr:
        """Return the same elements in row-major order in `shape`; a copy only if strides permit no view."""
        target = tuple(shape)
        if prod(target) != self.size:
            raise ValueError(f"constant {self.number}: {list(self.shape)} does not reshape to {list(target)}")
        return self._seen(lambda array: array.reshape(target), target)

    def expand(self, shape: Sequence[int]) -> DisposableElementsAttr:
        """Return a view broadcast to `shape`, in one direction: the result has exactly this shape."""
        target = tuple(shape)
        if np.broadcast_shapes(self.shape, target) != target:
            raise ValueError(f"constant {self.number}: {list(self.shape)} does not expand to {list(target)}")
        return self._seen(lambda array: np.broadcast_to(array, target), target)

    def slice(self, slices: Sequence[slice]) -> DisposableElementsAttr:
        """Return a sliced view: one Python slice per leading axis, negative steps included."""
        cuts = tuple(slices)
        sliced = tuple(len(range(*cut.indices(size))) for cut, size in zip(cuts, self.shape, strict=False))
        return self._seen(lambda array: array[(*cuts, ...)], sliced + self.shape[len(cuts) :])

    def split(self, axis: int, sizes: Sequence[int]) -> list[DisposableElementsAttr]:
        """Return views of consecutive ranges of `sizes` along `axis` (may be negative)."""
        axis %= len(self.shape)
        if sum(sizes) != self.shape[axis]:
            raise ValueError(f"constant {self.number}: {list(sizes)} does not split {self.shape[axis]}")
        ends = list(accumulate(sizes))
        leading = (slice(None),) * axis
        return [self.slice((*leading, slice(end - size, end))) for end, size in zip(ends, sizes, strict=True)]

    def squeeze(self, axes: Sequence[int]) -> DisposableElementsAttr:
        """Return a view without the given axes of size 1 (may be negative)."""
        removed = {axis % len(self.shape) for axis in axes}
        if any(self.shape[axis] != 1 for axis in removed):
            raise ValueError(
                f"constant {self.number}: axes {sorted(removed)} of {list(self.shape)} are not all 1"
            )
        return self.reshape([size for axis, size in enumerate(self.shape) if axis not in removed])

    def unsqueeze(self, axes: Sequence[int]) -> DisposableElementsAttr:
        """Return a view with axes of size 1 inserted; `axes` are those of the result (may be negative)."""
        rank = len(self.shape) + len(axes)
        new = {axis % rank for axis in axes}
        sizes = iter(self.shape)
        return self.reshape([1 if axis in new else next(sizes) for axis in range(rank)])

    def cast(self, element_type: Attribute) -> DisposableElementsAttr:
        """Convert elements as NumPy's `astype` (integers wrap), deferred until the first read."""
        dtype = numpy_dtype(element_type)
        if dtype == self.dtype:
            return self
        return self.map(_unchanged, element_type)

    def map(self, function: ElementwiseFunction, to: Attribute | None = None) -> DisposableElementsAttr:
        """Apply `function` to each element, then convert to the element type `to`; deferred until read."""
        dtype = None if to is None else numpy_dtype(to)
        payload = self.pool.compute(function, (self.payload,), dtype)
        return self.pool.wrap(payload, _type_of(payload))

    def _seen(self, view: Callable[[Array], Array], shape: tuple[int, ...]) -> DisposableElementsAttr:
        payload = self.payload.seen(view, shape)
        return self.pool.wrap(payload, tensor_type(shape, self.type.element_type))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Elements:
        """Parse `<12:"0x…"> : type` for xDSL's own parser; `OnnxParser` uses `DisposableReader`."""
        for dialect in parser.ctx.loaded_dialects:
            if reader := dialect.get_interface(DisposableReader):
                return reader.read(parser).data
        parser.raise_error(f"#{cls.name} belongs to the onnx dialect, which is not loaded")

    def print_parameter(self, printer: Printer) -> None:
        """Print `dense<…>`, the form that can be parsed again."""
        print_elements(self.payload, self.type, printer)

    def print_builtin(self, printer: Printer) -> None:
        """Print `dense<…> : type`."""
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)

    def print_without_type(self, printer: Printer) -> None:
        """Print `dense<…>`."""
        self.print_parameter(printer)


def _unchanged(array: Array) -> Array:
    return array


def _type_of(payload: Payload) -> TensorType[Attribute]:
    return tensor_type(payload.shape, element_type_of(payload.dtype))
