"""Conversion between xDSL's dense attributes, which store bytes, and NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from math import prod
from typing import TypeAlias

import ml_dtypes
import numpy as np
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IndexType,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute

from xonnc.dialects.onnx.builtin_attributes import StringElementsAttr
from xonnc.dialects.onnx.elements.blocks import narrow
from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.elements.loop import DType
from xonnc.dialects.onnx.elements.payload import Payload
from xonnc.dialects.onnx.types import ELEMENT_DTYPES, is_ranked
from xonnc.errors import XonncError

_SUB_BYTE_SIGNED = (np.dtype(ml_dtypes.int2), np.dtype(ml_dtypes.int4))
_SUB_BYTE_UNSIGNED = (np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4))


PlainElementsAttr: TypeAlias = DenseIntOrFPElementsAttr | StringElementsAttr
"""Attributes that own their elements: what `dense<…>` reads as."""

STORAGE_DTYPES: dict[Attribute, DType] = {
    **ELEMENT_DTYPES,
    **{IntegerType(size * 8, Signedness.SIGNED): np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    IndexType(): np.dtype(np.int64),
}
"""The numpy type of one element of a dense attribute, by element type; other element types have none."""


_REWRITTEN = (np.dtype(np.bool_), *_SUB_BYTE_SIGNED, *_SUB_BYTE_UNSIGNED)


def dense_array(attr: DenseIntOrFPElementsAttr) -> Array:
    """
    Return the elements of a dense attribute, a read-only view of its bytes.

    `i1` that is stored as all ones (xDSL's way) rather than as one is converted, hence copied. Bytes for
    a single element stand for a splat. Raises `XonncError` if the number of bytes fits neither.
    """
    dtype = STORAGE_DTYPES.get(attr.get_element_type())
    if dtype is None:
        raise XonncError(f"{attr.get_element_type()} is no element type of an ONNX tensor")
    return _elements(memoryview(attr.data.data), dtype, attr.get_shape(), str(attr.type))


def resource_array(attr: DenseResourceAttr) -> Array:
    """Return the elements of a `dense_resource` (hexadecimal text in xDSL); `XonncError` if absent."""
    interface = Builtin.get_interface(OpAsmDialectInterface)
    key = attr.resource_handle.data
    blob = interface.lookup(key) if interface else None
    type_ = attr.get_type()
    dtype = STORAGE_DTYPES.get(type_.element_type) if is_ranked(type_) else None
    if not blob or dtype is None:
        raise XonncError(f"dense_resource<{key}>: no data in this file; its elements cannot be read")
    # The first four bytes are the blob's alignment.
    data = memoryview(bytes.fromhex(blob.removeprefix("0x")))[4:]
    return _elements(data, dtype, attr.type.get_shape(), f"dense_resource<{key}>")


def plain_attribute(payload: Payload, type_: TensorType[Attribute]) -> PlainElementsAttr:
    """Return a dense attribute that owns a copy of the elements."""
    if payload.dtype == np.object_:
        strings = narrow(payload.array(), len(payload.shape)).reshape(-1).tolist()
        return StringElementsAttr(type_, ArrayAttr(_text(string) for string in strings))
    return DenseIntOrFPElementsAttr.new((type_, BytesAttr(_packed(payload))))


def stored_form(block: Array) -> Array:
    """Return a flat block as bytes of xDSL's dense attributes: `i1` as 0 or 255, `i4` sign-extended."""
    flat = np.ascontiguousarray(block).reshape(-1)
    if flat.dtype == np.bool_:
        return np.negative(flat.view(np.int8)).view(np.uint8)
    if flat.dtype in _SUB_BYTE_SIGNED:
        return flat.astype(np.int8).view(np.uint8)
    if flat.dtype in _SUB_BYTE_UNSIGNED:
        return flat.astype(np.uint8)
    return flat.view(np.uint8)


def stored_blocks(payload: Payload) -> Iterator[Array]:
    """Iterate over the bytes that a dense attribute would store, block by block."""
    return (stored_form(block) for block in payload.blocks())


def _text(text: str | bytes) -> StringAttr | BytesAttr:
    return StringAttr(text) if isinstance(text, str) else BytesAttr(text)


def _packed(payload: Payload) -> bytes:
    if payload.is_structural_splat():
        return stored_form(payload.array().reshape(-1)[:1]).tobytes() * prod(payload.shape)
    if not payload.is_pending and payload.dtype not in _REWRITTEN:
        return payload.array().tobytes()
    # `BytesIO.getbuffer` does not copy.
    out = BytesIO()
    for block in stored_blocks(payload):
        out.write(block.data)
    return out.getvalue()


def _elements(data: memoryview, dtype: DType, shape: tuple[int, ...], context: str) -> Array:
    size = prod(shape)
    if len(data) not in (size * dtype.itemsize, dtype.itemsize):
        raise XonncError(f"{context}: {size * dtype.itemsize} bytes of elements expected, found {len(data)}")
    raw = np.frombuffer(data, np.uint8)
    if dtype == np.bool_ and raw.size and raw.max() > 1:
        array: Array = raw != 0
        array.flags.writeable = False
    else:
        array = raw.view(dtype)
    return array.reshape(shape) if array.size == size else np.broadcast_to(array.reshape(()), shape)
