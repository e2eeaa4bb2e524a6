"""
Weight packing: constants in the order in which the engines read them (docs/internals/nvdla-hardware.md §3.2,
§3.4, §3.5).

A constant keeps the model's elements until the file is written; then one constant at a time is converted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from xonnc.dialects.dla.attributes import ConstantLayout
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.dla.types import shape_of, tensor_of
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import (
    WINOGRAD_SIDE,
    ceil_div,
    kernel_group,
    round_up,
    weight_bytes,
    winograd_channels,
)
from xonnc.lowering.dla_planning.precision import MAX_FP16, precision_of
from xonnc.targets import NvdlaTarget

WINOGRAD_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
"""The transformation of kernels for F(2x2, 3x3)."""

WINOGRAD_BLOCK = 4
"""Channels that Winograd's algorithm multiplies at once."""

OPERAND_UNIT = 32
"""The SDP's operand DMA reads whole units of 32 bytes (docs/internals/nvdla-hardware.md §3.5)."""


def constant_bytes(op: ConstantOp, target: NvdlaTarget) -> int:
    """Return the packed size of a constant."""
    shape = shape_of(op.result.type)
    bpe = numpy_dtype(tensor_of(op.result.type).element_type).itemsize
    match op.layout:
        case ConstantLayout.KERNELS:
            return weight_bytes(target, shape[0], prod(shape[1:]) * bpe)
        case ConstantLayout.COMPRESSED_KERNELS:
            return CompressedSizes.of(op, target).total
        case ConstantLayout.WINOGRAD_KERNELS:
            channels = winograd_channels(precision_of(op.result.type), shape[1])
            return weight_bytes(target, shape[0], channels * WINOGRAD_SIDE**2 * bpe)
        case ConstantLayout.PER_KERNEL:
            row = shape[1] if len(shape) == 2 else 1
            # Integers of either width go with INT8 cubes, whose groups have a channel for every byte.
            is_half = precision_of(op.result.type) is Precision.FP16
            group = target.memory_atom_bytes // bpe if is_half else target.memory_atom_bytes
            return round_up(round_up(shape[0], group) * row * bpe, OPERAND_UNIT)
        case ConstantLayout.CUBE:
            lanes = target.memory_atom_bytes // bpe
            return round_up(shape[1], lanes) * shape[2] * shape[3] * bpe


class CompressedSizes(NamedTuple):
    """
    Bytes of the parts of compressed kernels, which follow each other: the elements that are not zero, the
    mask with a bit for each element, and the table with the bytes of each kernel group.
    """

    elements: int
    mask: int
    table: int

    @staticmethod
    def of(op: ConstantOp, target: NvdlaTarget) -> CompressedSizes:
        """Return the sizes for a constant of compressed kernels."""
        assert op.nonzero is not None, "compressed kernels"
        shape, precision = shape_of(op.result.type), precision_of(op.result.type)
        entry = target.cbuf_entry_bytes
        return CompressedSizes(
            max(round_up(op.nonzero.value.data * precision.bytes, entry), entry),
            round_up(ceil_div(prod(shape), 8), entry),
            4 * ceil_div(shape[0], kernel_group(target, precision)),
        )

    @property
    def total(self) -> int:
        """The bytes of all parts."""
        return self.elements + self.mask + self.table


def count_nonzero(op: ConstantOp) -> int:
    """Return how many elements of a constant are not zero in its type."""
    array = elements_array(op.value)
    assert array is not None, "the value of dla.constant holds elements"
    return int(np.count_nonzero(converted(array, numpy_dtype(tensor_of(op.result.type).element_type))))


@dataclass(frozen=True)
class PackedConstant:
    """The bytes of a constant, packed on demand."""

    value: Attribute
    layout: ConstantLayout
    tensor: TensorType[Attribute]
    size: int
    target: NvdlaTarget
    compressed: CompressedSizes | None = None

    @staticmethod
    def of(op: ConstantOp, target: NvdlaTarget) -> PackedConstant:
        """Return the bytes of `op`."""
        return PackedConstant(
            op.value,
            op.layout,
            tensor_of(op.result.type),
            constant_bytes(op, target),
            target,
            None if op.nonzero is None else CompressedSizes.of(op, target),
        )

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        array = elements_array(self.value)
        assert array is not None, "the value of dla.constant holds elements"
        dtype, precision = numpy_dtype(self.tensor.element_type), precision_of(self.tensor)
        match self.layout:
            case ConstantLayout.KERNELS | ConstantLayout.COMPRESSED_KERNELS:
                group = kernel_group(self.target, precision)
                packed = pack_kernels(array, dtype, group, self.target.atomic_c)
                if self.compressed is not None:
                    return compress(packed, group * prod(array.shape[1:]), self.compressed)
            case ConstantLayout.WINOGRAD_KERNELS:
                channels = winograd_channels(precision, array.shape[1])
                packed = pack_winograd(array, dtype, kernel_group(self.target, precision), channels)
            case ConstantLayout.PER_KERNEL:
                packed = converted(array, dtype).reshape(-1)
            case ConstantLayout.CUBE:
                packed = pack_cube(array, dtype, self.target.memory_atom_bytes)
        data = packed.tobytes()
        return data + bytes(self.size - len(data))


def converted(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Convert `array` to `dtype`; values beyond float16 saturate as in the engines (§4.0)."""
    if dtype != np.float16 or array.dtype == np.float16:
        return array.astype(dtype, copy=False)
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float16)
    if np.isinf(narrow).any():
        narrow = np.clip(narrow, np.float16(-MAX_FP16), np.float16(MAX_FP16))
    return narrow


def pack_kernels(weights: npt.NDArray[Any], dtype: np.dtype[Any], group: int, block: int) -> npt.NDArray[Any]:
    """
    Pack weights `KxCxRxS` of a direct convolution: groups of `group` kernels, within them blocks of `block`
    channels, within those rows, columns, kernels, channels.
    """
    kernels, channels = weights.shape[:2]
    packed = np.empty(weights.size, dtype)
    position = 0
    ends = [*range(0, channels, block), channels]
    for first in range(0, kernels, group):
        here = converted(weights[first : first + group], dtype)
        for begin, end in pairwise(ends):
            part = here[:, begin:end].transpose(2, 3, 0, 1)
            packed[position : position + part.size].reshape(part.shape)[...] = part
            position += part.size
    return packed


def winograd_transformed(kernels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return `G g G^T` of kernels `KxCx3x3`, which Winograd's algorithm multiplies by: `KxCx4x4`."""
    return WINOGRAD_G @ kernels.astype(np.float64) @ WINOGRAD_G.T


def pack_winograd(
    weights: npt.NDArray[Any], dtype: np.dtype[Any], group: int, channels: int
) -> npt.NDArray[Any]:
    """
    Transform and pack weights `KxCx3x3` of a Winograd convolution: groups of `group` kernels, within them
    blocks of 4 of the `channels`, those added 0, within those kernels, rows, columns, channels.
    """
    kernels, given = weights.shape[:2]
    packed = np.zeros((kernels, channels * WINOGRAD_SIDE**2), dtype)
    for first in range(0, kernels, group):
        here = weights[first : first + group]
        padded = np.zeros((len(here), channels, WINOGRAD_SIDE, WINOGRAD_SIDE), dtype)
        padded[:, :given] = converted(winograd_transformed(here), dtype)
        blocks = padded.reshape(len(here), -1, WINOGRAD_BLOCK, WINOGRAD_SIDE, WINOGRAD_SIDE)
        packed[first : first + group] = blocks.transpose(1, 0, 3, 4, 2).reshape(len(here), -1)
    return packed.reshape(-1)


def compress(packed: npt.NDArray[Any], group: int, sizes: CompressedSizes) -> bytes:
    """Return compressed kernels: `packed` ones, of which `group` elements are a kernel group."""
    is_nonzero = packed != 0
    counts = np.add.reduceat(is_nonzero, np.arange(0, packed.size, group), dtype=np.uint32)
    parts = (packed[is_nonzero], np.packbits(is_nonzero, bitorder="little"), counts * packed.dtype.itemsize)
    data = [part.tobytes() for part in (*parts[:2], parts[2].astype("<u4"))]
    return b"".join(part + bytes(size - len(part)) for part, size in zip(data, sizes, strict=True))


def pack_cube(array: npt.NDArray[Any], dtype: np.dtype[Any], atom: int) -> npt.NDArray[Any]:
    """
    Pack `1xCxHxW` as a feature cube without gaps: surfaces of `atom / bytes` channels, lanes beyond C zero.
    """
    _, channels, height, width = array.shape
    lanes = atom // dtype.itemsize
    surfaces = -(-channels // lanes)
    padded = np.zeros((surfaces * lanes, height, width), dtype)
    padded[:channels] = converted(array[0], dtype)
    return padded.reshape(surfaces, lanes, height, width).transpose(0, 2, 3, 1)
