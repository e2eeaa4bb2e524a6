"""
Conversion between `TensorProto` and NumPy arrays, for all element types; sizes are checked before allocation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import element_type_of
from xonnc.errors import XonncError
from xonnc.formats.arrays import MAX_RANK
from xonnc.formats.onnx.external_data import DataFolder, parse_external_data
from xonnc.formats.onnx.payload_extraction import DOUBLE_DATA, FLOAT_DATA, PayloadLocation, PayloadMarkers

AnyArray = npt.NDArray[Any]

MAX_SIZE = (1 << 63) - 1
"""The most bytes or elements of a tensor: sizes are signed 64-bit integers."""

_T = onnx.TensorProto

DTYPES: dict[int, np.dtype[np.generic]] = {
    number: np.dtype(dtype)
    for number, dtype in (
        (_T.FLOAT, np.float32),
        (_T.UINT8, np.uint8),
        (_T.INT8, np.int8),
        (_T.UINT16, np.uint16),
        (_T.INT16, np.int16),
        (_T.INT32, np.int32),
        (_T.INT64, np.int64),
        (_T.STRING, np.object_),
        (_T.BOOL, np.bool_),
        (_T.FLOAT16, np.float16),
        (_T.DOUBLE, np.float64),
        (_T.UINT32, np.uint32),
        (_T.UINT64, np.uint64),
        (_T.COMPLEX64, np.complex64),
        (_T.COMPLEX128, np.complex128),
        (_T.BFLOAT16, ml_dtypes.bfloat16),
        (_T.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (_T.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
        (_T.FLOAT8E5M2, ml_dtypes.float8_e5m2),
        (_T.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz),
        (_T.UINT4, ml_dtypes.uint4),
        (_T.INT4, ml_dtypes.int4),
        (_T.FLOAT4E2M1, ml_dtypes.float4_e2m1fn),
        (_T.FLOAT8E8M0, ml_dtypes.float8_e8m0fnu),
        (_T.UINT2, ml_dtypes.uint2),
        (_T.INT2, ml_dtypes.int2),
        (_T.FLOAT6E2M3, ml_dtypes.float6_e2m3fn),
        (_T.FLOAT6E3M2, ml_dtypes.float6_e3m2fn),
    )
}
"""The numpy type of every `TensorProto.DataType`."""

DATA_TYPES_BY_DTYPE = {dtype: number for number, dtype in DTYPES.items()}
"""The `TensorProto.DataType` of a numpy type."""

PACKED_BITS: dict[int, int] = {
    _T.UINT4: 4,
    _T.INT4: 4,
    _T.FLOAT4E2M1: 4,
    _T.UINT2: 2,
    _T.INT2: 2,
    _T.FLOAT6E2M3: 6,
    _T.FLOAT6E3M2: 6,
}
"""Bits of element types that files store packed, lowest bits first."""

ELEMENT_TYPES: dict[int, Attribute] = {number: element_type_of(dtype) for number, dtype in DTYPES.items()}
"""The MLIR element type of every `TensorProto.DataType`."""

DATA_TYPES: dict[Attribute, int] = {element: number for number, element in ELEMENT_TYPES.items()}
"""The `TensorProto.DataType` of an MLIR element type."""

_BITS_IN_INT32 = {1: np.uint8, 2: np.uint16}
"""Narrow types come one to an `int32_data` entry, as their bit patterns (onnx.proto, TensorProto)."""


@dataclass
class TensorReader:
    """Reads tensors of one file: extracted payloads, external data, and fields of the message."""

    content: memoryview = field(default_factory=lambda: memoryview(b""))
    """The file's bytes, into which payload markers point."""

    marks: PayloadMarkers = field(default_factory=PayloadMarkers)
    folder: DataFolder = field(default_factory=lambda: DataFolder(None))

    def array(self, tensor: onnx.TensorProto) -> AnyArray:
        """Return the elements of a tensor, as a view of the file if the encoding allows it."""
        number = tensor.data_type
        dtype = DTYPES.get(number)
        if dtype is None:
            raise XonncError(
                f"tensor '{tensor.name}': element type {number} is not one of ONNX's 1 to {max(DTYPES)}"
            )
        shape = tuple(tensor.dims)
        count = element_count(f"tensor '{tensor.name}'", shape)
        if number == _T.STRING:
            return _strings(tensor, shape, count)
        size = stored_size(number, count)
        payload = self._payload(tensor, number, size)
        if payload is None:
            return _typed(tensor, number, shape, count)
        if len(payload) != size:
            raise XonncError(
                f"tensor '{tensor.name}': {len(payload)} bytes of data, but type and shape ask for {size}"
            )
        if number in PACKED_BITS:
            return (
                unpack(np.frombuffer(payload, np.uint8), PACKED_BITS[number], count)
                .view(dtype)
                .reshape(shape)
            )
        return np.frombuffer(payload, dtype).reshape(shape)

    def _payload(self, tensor: onnx.TensorProto, number: int, size: int) -> bytes | memoryview | None:
        """Return the raw bytes of the elements, or `None` if they are in typed fields."""
        if tensor.data_location == _T.EXTERNAL:
            return self.folder.data(tensor.name, parse_external_data(tensor.name, tensor.external_data), size)
        if not tensor.HasField("raw_data"):
            return None
        raw_data = tensor.raw_data
        cut = self.marks.read(raw_data)
        if cut is None:
            return raw_data
        _check_field(tensor.name, number, cut)
        return self.content[cut.offset : cut.offset + cut.length]


def element_count(location: str, shape: Iterable[int]) -> int:
    """
    Return the product of the dimensions; `XonncError` for a negative dimension or an overflow of 64 bits.
    """
    shape = tuple(shape)
    check_rank(location, len(shape))
    if shape and min(shape) < 0:
        raise XonncError(f"{location}: dimension {min(shape)}; a dimension is 0 or more")
    count = math.prod(shape)
    if count * 16 > MAX_SIZE:
        raise XonncError(f"{location}: shape {list(shape)} overflows: more elements than 64 bits can count")
    return count


def check_rank(location: str, rank: int) -> None:
    """Raise `XonncError` for a rank above NumPy's limit."""
    if rank > MAX_RANK:
        raise XonncError(f"{location}: rank {rank}; tensors have up to {MAX_RANK} axes here")


def stored_size(data_type: int, count: int) -> int:
    """Return the bytes of `count` elements in a file."""
    bits = PACKED_BITS.get(data_type)
    return count * DTYPES[data_type].itemsize if bits is None else (count * bits + 7) // 8


def unpack(data: npt.NDArray[np.uint8], bits: int, count: int) -> npt.NDArray[np.uint8]:
    """Unpack `count` elements of `bits` bits each, lowest bits first, to one per byte."""
    if bits == 6:
        spread = np.unpackbits(data, count=count * 6, bitorder="little").reshape(-1, 6)
        return np.packbits(spread, axis=1, bitorder="little").reshape(-1)
    per_byte = 8 // bits
    unpacked = np.empty((data.size, per_byte), np.uint8)
    for index in range(per_byte):
        unpacked[:, index] = data >> (bits * index) & (1 << bits) - 1
    return unpacked.reshape(-1)[:count]


def pack(data: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Pack elements, the inverse of `unpack`; bits above `bits` are ignored, the last byte is zero-padded."""
    flat = data.reshape(-1) & np.uint8((1 << bits) - 1)
    if bits == 6:
        spread = np.unpackbits(flat.reshape(-1, 1), axis=1, count=6, bitorder="little")
        return np.packbits(spread.reshape(-1), bitorder="little")
    per_byte = 8 // bits
    padded = np.pad(flat, (0, -flat.size % per_byte)).reshape(-1, per_byte)
    packed = np.zeros(len(padded), np.uint8)
    for index in range(per_byte):
        packed |= padded[:, index] << np.uint8(bits * index)
    return packed


def payload(array: AnyArray) -> memoryview:
    """Return the bytes of an array as a file stores them, without a copy if possible; not for strings."""
    bits = PACKED_BITS.get(DATA_TYPES_BY_DTYPE[array.dtype])
    if bits is not None:
        return pack(np.ascontiguousarray(array).view(np.uint8), bits).data
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def header(array: AnyArray, name: str = "") -> onnx.TensorProto:
    """Return a `TensorProto` with type, shape and, for strings, elements of an array."""
    tensor = _T(data_type=DATA_TYPES_BY_DTYPE[array.dtype], dims=array.shape)
    if name:
        tensor.name = name
    if tensor.data_type == _T.STRING:
        tensor.string_data.extend(encode(text) for text in array.reshape(-1).tolist())
    return tensor


def proto(array: AnyArray, name: str = "") -> onnx.TensorProto:
    """Return a `TensorProto` with the elements in `raw_data`."""
    tensor = header(array, name)
    if tensor.data_type != _T.STRING:
        tensor.raw_data = payload(array).tobytes()
    return tensor


def decode(text: bytes) -> str | bytes:
    """Decode an ONNX string, which may be any bytes: `str` if it is UTF-8, else `bytes`."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text


def encode(text: str | bytes) -> bytes:
    """The inverse of `decode`."""
    return text.encode("utf-8") if isinstance(text, str) else text


def _check_field(name: str, data_type: int, cut: PayloadLocation) -> None:
    fits = {FLOAT_DATA: (_T.FLOAT, _T.COMPLEX64), DOUBLE_DATA: (_T.DOUBLE, _T.COMPLEX128)}.get(cut.field)
    if fits is not None and data_type not in fits:
        raise XonncError(
            f"tensor '{name}': elements of type {_T.DataType.Name(data_type)} in field {cut.field} of floats"
        )


def _strings(tensor: onnx.TensorProto, shape: tuple[int, ...], count: int) -> AnyArray:
    if len(tensor.string_data) != count:
        raise XonncError(
            f"tensor '{tensor.name}': {len(tensor.string_data)} strings, but the shape asks for {count}"
        )
    array = np.empty(count, np.object_)
    array[:] = [decode(text) for text in tensor.string_data]
    return array.reshape(shape)


def _typed(tensor: onnx.TensorProto, number: int, shape: tuple[int, ...], count: int) -> AnyArray:
    """Elements that protobuf holds one by one, in the field that belongs to the type."""
    dtype = DTYPES[number]
    elements = _entries(tensor, number)
    bits = PACKED_BITS.get(number)
    per_entry = 8 // bits if bits in (2, 4) else 1
    expected = count * 2 if dtype.kind == "c" else -(-count // per_entry)
    if elements.size != expected:
        raise XonncError(
            f"tensor '{tensor.name}': {elements.size} elements of data, but the shape asks for {expected}"
        )
    if bits is not None:
        narrow = elements.astype(np.uint8)
        return (narrow & 63 if bits == 6 else unpack(narrow, bits, count)).view(dtype).reshape(shape)
    if dtype.kind in "cfiub" and elements.dtype != np.int32:
        return (elements.view(dtype) if dtype.kind == "c" else elements.astype(dtype)).reshape(shape)
    if dtype.itemsize in _BITS_IN_INT32:
        return elements.astype(_BITS_IN_INT32[dtype.itemsize]).view(dtype).reshape(shape)
    return elements.view(dtype).reshape(shape)


def _entries(tensor: onnx.TensorProto, number: int) -> AnyArray:
    if number in (_T.FLOAT, _T.COMPLEX64):
        return np.array(tensor.float_data, np.float32)
    if number in (_T.DOUBLE, _T.COMPLEX128):
        return np.array(tensor.double_data, np.float64)
    if number == _T.INT64:
        return np.array(tensor.int64_data, np.int64)
    if number in (_T.UINT64, _T.UINT32):
        return np.array(tensor.uint64_data, np.uint64)
    return np.array(tensor.int32_data, np.int32)
