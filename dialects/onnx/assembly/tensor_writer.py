"""Print the contents of `dense<…>` as MLIR (docs/internals/onnx-rules.md §4.3), streamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import AnyFloat, ComplexType, DenseIntOrFPElementsAttr, IntegerType, i1
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.assembly.numbers import float_format, float_texts
from xonnc.dialects.onnx.assembly.strings import quoted
from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr
from xonnc.dialects.onnx.elements.dense import STORAGE_DTYPES, dense_array

Array = npt.NDArray[Any]

BLOCK = 1 << 16


def is_writable(element_type: Attribute) -> bool:
    """Return whether `elements_text` supports the element type."""
    return element_type in STORAGE_DTYPES


def is_splat(attr: DisposableElementsAttr | DenseIntOrFPElementsAttr) -> bool:
    """Return whether all elements have the same bits; false if there are none."""
    if isinstance(attr, DisposableElementsAttr):
        return attr.is_splat
    array = dense_array(attr)
    if array.size == 0 or not any(array.strides):
        return array.size > 0
    flat = array.reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)
    return all((flat[i : i + BLOCK] == flat[0]).all() for i in range(0, len(flat), BLOCK))


def elements_text(
    attr: DisposableElementsAttr | DenseIntOrFPElementsAttr, hex_larger: int, portable: bool = False
) -> Iterator[str]:
    """
    Iterate over the text between `<` and `>`; hexadecimal above `hex_larger` elements (-1: never).

    Text is `portable` if xDSL's own parser reads what MLIR reads: it takes the bit pattern `0x7F800000` in a
    list of floats for an integer, and a byte of hexadecimal data for one i1. Such floats are then written as
    data, and i1 in lists.
    """
    element_type = attr.get_element_type()
    shape = attr.get_shape()
    size = int(np.prod(shape, dtype=object))
    if size == 0:
        return
    if is_splat(attr):
        array = attr.array() if isinstance(attr, DisposableElementsAttr) else dense_array(attr)
        first = array.reshape(-1)[:1]
        texts = element_texts(first, element_type)
        yield from _hexadecimal([first], element_type) if portable and _has_pattern(texts, first) else texts
    elif (
        0 <= hex_larger < size
        and STORAGE_DTYPES[element_type] != np.object_
        and not (portable and element_type == i1)
    ):
        blocks = attr.blocks() if isinstance(attr, DisposableElementsAttr) else _blocks(dense_array(attr))
        yield from _hexadecimal(blocks, element_type)
    else:
        array = attr.array() if isinstance(attr, DisposableElementsAttr) else dense_array(attr)
        texts = element_texts(array, element_type)
        if portable and _has_pattern(texts, array):
            yield from _hexadecimal(_blocks(np.ascontiguousarray(array)), element_type)
        else:
            yield from _nested(texts, shape)


def _has_pattern(texts: Sequence[str], array: Array) -> bool:
    """Return whether an element is printed as its bit pattern."""
    return array.dtype != np.object_ and any("0x" in text for text in texts)


def _hexadecimal(blocks: Iterable[Array], element_type: Attribute) -> Iterator[str]:
    """Iterate over the text of a tensor's data."""
    yield '"0x'
    for block in blocks:
        yield _packed(block, element_type).tobytes().hex().upper()
    yield '"'


def element_texts(array: Array, element_type: Attribute) -> list[str]:
    """Return each element, row-major, as MLIR prints it in a list."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype == np.object_:
        return [quoted(text) for text in flat.tolist()]
    if isa(element_type, ComplexType):
        parts = element_texts(flat.view(np.dtype(f"f{flat.itemsize // 2}")), element_type.element_type)
        return [f"({real},{imag})" for real, imag in zip(parts[::2], parts[1::2], strict=True)]
    if isinstance(element_type, AnyFloat):
        format_ = float_format(element_type)
        return [] if format_ is None else float_texts(flat, format_)
    if element_type == i1:
        return ["true" if bit else "false" for bit in flat.tolist()]
    wide = flat if flat.dtype.kind in "iu" else flat.astype(np.int64)
    return list(map(str, wide.tolist()))


def _nested(texts: Sequence[str], shape: Sequence[int]) -> Iterable[str]:
    """Return texts in nested brackets, by shape."""
    if not shape:
        return texts
    rows = texts
    for length in reversed(shape):
        rows = [f"[{', '.join(rows[i : i + length])}]" for i in range(0, len(rows), length)]
    return rows


def _blocks(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    return (flat[i : i + BLOCK] for i in range(0, flat.size, BLOCK))


def _packed(block: Array, element_type: Attribute) -> Array:
    """Return the bytes of elements: `i1` eight to a byte, `i2` and `i4` one each, zero-extended."""
    if element_type == i1:
        return np.packbits(block.view(np.bool_), bitorder="little")
    if isa(element_type, IntegerType) and element_type.width.data < 8:
        return block.astype(np.int8).view(np.uint8) & ((1 << element_type.width.data) - 1)
    return block
