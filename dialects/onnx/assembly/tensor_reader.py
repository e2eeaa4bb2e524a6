"""Parse the contents of `dense<…>`, fast enough for a million elements."""

from __future__ import annotations

import binascii
import warnings
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IntegerType,
    RankedStructure,
    Signedness,
    i1,
)
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.assembly.numbers import FloatFormat, float_format
from xonnc.dialects.onnx.elements.dense import STORAGE_DTYPES, stored_form

Array = npt.NDArray[Any]

DENSE_LIMIT = 1 << 16
"""A splat of more bytes than these is held as its one element; `elements_array` knows both forms."""
PIECE = 1 << 20
"""Characters turned into numbers at a time, to bound the short-lived Python objects."""

_NUMBER_CHARACTERS = b"0123456789+-.eEabcdfABCDFx \t\r\n" + b"trulsf"
_BOOLEANS = {b"true": 1, b"false": 0}


class LiteralError(Exception):
    """A literal that does not match its type; the message is for the user."""


def is_readable(element_type: Attribute) -> bool:
    """Return whether `read_numbers` and `read_hex` support the element type."""
    return STORAGE_DTYPES.get(element_type, np.dtype(object)) != np.object_


def read_numbers(body: str, type_: RankedStructure[Any]) -> DenseIntOrFPElementsAttr:
    """
    Parse the text between `<` and `>`: nested lists, a splat, or nothing.

    Raises `LiteralError` if the brackets do not follow the shape or a number does not fit the element type.
    """
    shape = tuple(type_.get_shape())
    if "//" in body:
        body = "\n".join(line.partition("//")[0] for line in body.split("\n"))
    try:
        raw = body.encode("ascii")
    except UnicodeEncodeError:
        raise LiteralError(f"unexpected character in the elements of {type_}") from None
    skeleton = raw.translate(None, _NUMBER_CHARACTERS)
    if stray := skeleton.translate(None, b"[](),"):
        raise LiteralError(f"unexpected character '{stray[:1].decode()}' in the elements of {type_}")
    element_type = type_.get_element_type()
    is_complex = isinstance(element_type, ComplexType)
    is_splat = skeleton == (b"(,)" if is_complex else b"") and raw.strip() != b""
    if not is_splat:
        _check_brackets(raw, skeleton, shape, is_complex)
    flat = raw.translate(None, b"[]()")
    count = (1 if is_splat else prod(shape)) * (2 if is_complex else 1)
    return _attribute(type_, _numbers(flat, count, element_type))


def read_hex(digits: str, type_: RankedStructure[Any]) -> DenseIntOrFPElementsAttr:
    """
    Parse `dense<"0x…">`: little-endian bytes of all elements, or of a splat.

    `i1` is packed eight to a byte as MLIR does; `i2` and `i4`, a byte each in MLIR, may be packed too.
    """
    try:
        data = binascii.unhexlify(digits.removeprefix("0x"))
    except (ValueError, binascii.Error):
        raise LiteralError("a hexadecimal literal takes an even number of digits 0-9, A-F") from None
    element_type = type_.get_element_type()
    size = prod(type_.get_shape())
    dtype = STORAGE_DTYPES[element_type]
    if isa(element_type, IntegerType) and element_type.width.data < 8:
        elements = _unpacked(np.frombuffer(data, np.uint8), element_type, size)
        if elements is not None:
            return _attribute(type_, elements.astype(dtype))
    elif len(data) in (size * dtype.itemsize, dtype.itemsize):
        return _attribute(type_, np.frombuffer(data, dtype))
    raise LiteralError(
        f"{type_} takes {size * dtype.itemsize} bytes of elements, or {dtype.itemsize} for a splat;"
        f" found {len(data)}"
    )


def _attribute(type_: RankedStructure[Any], elements: Array) -> DenseIntOrFPElementsAttr:
    """Return the attribute of all elements, or of a splat."""
    size = prod(type_.get_shape())
    stored = stored_form(elements)
    if elements.size == 1 and size * stored.size <= DENSE_LIMIT:
        return DenseIntOrFPElementsAttr(type_, BytesAttr(stored.tobytes() * size))
    return DenseIntOrFPElementsAttr(type_, BytesAttr(stored.tobytes()))


def _check_brackets(raw: bytes, skeleton: bytes, shape: tuple[int, ...], is_complex: bool) -> None:
    size = prod(shape)
    if size == 0:
        if raw.translate(None, b"[], \t\r\n"):
            raise LiteralError(f"the type's shape {list(shape)} has no elements, but the literal has")
        return
    commas = skeleton.count(b",")
    found = (commas + 1) // 2 if is_complex else commas + 1
    if not raw.translate(None, b"[]() \t\r\n"):
        found = 0
    # Counted first: the brackets of an absurd shape must not be built.
    if found != size:
        raise LiteralError(f"the type's shape {list(shape)} takes {size} elements, the literal has {found}")
    leaf = b"(,)" if is_complex else b""
    for length in reversed(shape):
        leaf = b"[" + b",".join([leaf] * length) + b"]"
    if skeleton != leaf:
        raise LiteralError(f"the brackets of the literal do not follow the type's shape {list(shape)}")


def _numbers(flat: bytes, count: int, element_type: Attribute) -> Array:
    """Parse a comma-separated list to the NumPy type of its storage."""
    if count == 0:
        return np.zeros(0, STORAGE_DTYPES[element_type])
    if not isa(element_type, AnyFloat | ComplexType):
        return np.concatenate([_integers(piece, element_type) for piece in _pieces(flat)])
    if b"x" not in flat and (values := _plain_floats(flat, count)) is not None:
        return _rounded(values, element_type)
    return np.concatenate([_floats(piece, element_type) for piece in _pieces(flat)])


def _plain_floats(flat: bytes, count: int) -> npt.NDArray[np.float64] | None:
    """Parse decimals with NumPy; `None` for other text, which `_floats` reports."""
    try:
        with warnings.catch_warnings():
            # Older releases of numpy only warn of what they cannot read.
            warnings.simplefilter("error")
            values = np.fromstring(flat, np.float64, sep=",")
    except (ValueError, DeprecationWarning):
        return None
    return values if values.size == count else None


def _rounded(values: npt.NDArray[np.float64], element_type: Attribute) -> Array:
    """Round values to elements; complex ones from their parts."""
    with np.errstate(over="ignore"):
        return values.astype(_real_format(element_type).dtype).view(STORAGE_DTYPES[element_type])


def _pieces(flat: bytes) -> Iterator[list[bytes]]:
    begin = 0
    while begin <= len(flat):
        cut = flat.find(b",", begin + PIECE)
        end = len(flat) if cut < 0 else cut
        yield flat[begin:end].split(b",")
        begin = end + 1


def _real_format(element_type: Attribute) -> FloatFormat:
    inner = element_type.element_type if isa(element_type, ComplexType) else element_type
    format_ = float_format(inner) if isinstance(inner, AnyFloat) else None
    if format_ is None:
        raise LiteralError(f"no literals of {element_type}")
    return format_


def _floats(texts: list[bytes], element_type: Attribute) -> Array:
    """Parse decimals, and bit patterns in hexadecimal."""
    format_ = _real_format(element_type)
    hexadecimal = np.fromiter((b"0x" in text for text in texts), np.bool_, len(texts))
    decimal = [b"0" if is_hex else text for text, is_hex in zip(texts, hexadecimal.tolist(), strict=True)]
    patterns = [text for text, is_hex in zip(texts, hexadecimal.tolist(), strict=True) if is_hex]
    try:
        values = np.array(list(map(float, decimal)), np.float64)
        bits = [int(pattern, 16) for pattern in patterns]
    except ValueError:
        raise LiteralError(f"'{_wrong_number(texts)}' is no floating-point number") from None
    if bits and (min(bits) < 0 or max(bits) > int(np.iinfo(format_.bits).max)):
        raise LiteralError(f"a hexadecimal number does not fit the bits of {element_type}")
    with np.errstate(over="ignore"):
        rounded = values.astype(format_.dtype)
    rounded.view(format_.bits)[hexadecimal] = bits
    return rounded.view(STORAGE_DTYPES[element_type])


def _wrong_number(texts: list[bytes]) -> str:
    """Return the first text that is not a number."""
    for text in texts:
        try:
            if b"0x" in text:
                int(text, 16)
            else:
                float(text)
        except ValueError:
            return text.decode().strip()
    return ""


def _integers(texts: list[bytes], element_type: Attribute) -> Array:
    try:
        numbers = list(map(int, texts))
    except ValueError:
        numbers = [_integer(text, element_type) for text in texts]
    low, high = _limits(element_type)
    smallest, largest = min(numbers), max(numbers)
    if smallest < low or largest > high:
        value = smallest if smallest < low else largest
        raise LiteralError(f"{value} does not fit {element_type} ({low} to {high})")
    if element_type == i1:
        return np.array(numbers, np.int64) != 0
    wide = np.array(numbers, np.uint64 if largest >= 1 << 63 else np.int64)
    return wide.astype(STORAGE_DTYPES[element_type])


def _integer(text: bytes, element_type: Attribute) -> int:
    text = text.strip()
    if element_type == i1 and text in _BOOLEANS:
        return _BOOLEANS[text]
    digits = text.removeprefix(b"-").strip()
    try:
        value = int(digits, 16 if digits[:2] == b"0x" else 10)
    except ValueError:
        raise LiteralError(f"'{text.decode()}' is no {element_type}") from None
    return -value if text[:1] == b"-" else value


def _limits(element_type: Attribute) -> tuple[int, int]:
    """Return the range of an integer type; signless ones may be written signed or unsigned."""
    if not isa(element_type, IntegerType):
        return -(1 << 63), (1 << 63) - 1
    width = element_type.width.data
    signedness = element_type.signedness.data
    low = 0 if signedness == Signedness.UNSIGNED else -(1 << (width - 1))
    high = (1 << (width - 1)) - 1 if signedness == Signedness.SIGNED else (1 << width) - 1
    return low, high


def _unpacked(raw: npt.NDArray[np.uint8], type_: IntegerType, size: int) -> Array | None:
    """Return sub-byte elements from a splat, packed bytes, or a byte each; `None` for another length."""
    width = type_.width.data
    if type_ == i1 and raw.size == 1 and raw[0] in (0x00, 0xFF):
        return raw[:1] != 0
    if type_ != i1 and raw.size == 1:
        values = raw
    elif raw.size == -(-size * width // 8) and raw.size != size:
        shifts = np.arange(0, 8, width, dtype=np.uint8)
        values = (raw[:, None] >> shifts).reshape(-1)[:size]
    elif raw.size == size:
        values = raw
    else:
        return None
    if type_ == i1:
        # A byte an element is how xDSL prints i1: anything but zero is true.
        return values & 1 != 0 if raw.size != size or size == 1 else values != 0
    values = values & ((1 << width) - 1)
    if type_.signedness.data == Signedness.UNSIGNED:
        return values
    return (values << (8 - width)).view(np.int8) >> (8 - width)
