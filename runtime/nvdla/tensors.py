"""
Bound inputs and outputs: NCHW arrays to and from the layouts of tensor descriptors
(docs/internals/nvdla-hardware.md §3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import DataCategory, DataType, PixelFormat
from xonnc.formats.nvdla.loadable import TensorDesc
from xonnc.formats.nvdla.pixel_normalization import Normalization
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.runtime.nvdla.array_types import I64, U8, AnyArray
from xonnc.runtime.nvdla.cube import CubeLayout, atoms
from xonnc.runtime.nvdla.memory import MemoryLocation, MemoryObject
from xonnc.runtime.nvdla.pixels import PIXEL_FORMATS, PixelPacking, Plane, pack_plane, unpack_plane

_ELEMENTS = {
    DataType.HALF: np.dtype(np.float16),
    DataType.INT16: np.dtype(np.int16),
    DataType.INT8: np.dtype(np.int8),
}
_FEATURE_FORMATS = (PixelFormat.FEATURE, PixelFormat.FEATURE_X8)


@dataclass(frozen=True)
class BoundTensor:
    """One input or output: shape NCHW, and where its elements lie in its memory object."""

    name: str
    shape: tuple[int, int, int, int]
    dtype: np.dtype[np.float16] | np.dtype[np.int16] | np.dtype[np.int8]
    pixel: PixelPacking | None
    atom: int
    line_stride: int
    surf_stride: int
    offset: int
    size: int
    grid: QuantizationParameters | None = None
    """Quantization parameters of integer elements, if the loadable has them."""
    pixels: Normalization | None = None
    """Normalisation of the pixels of an image, if the loadable has it."""

    @property
    def model_shape(self) -> tuple[int, int, int, int]:
        """`1xCxHxW` as the model has it: without a channel that only the pixel format has."""
        images, channels, height, width = self.shape
        return images, channels if self.pixels is None else self.pixels.channels, height, width

    @property
    def element_types(self) -> tuple[np.dtype[np.generic], ...]:
        """The element types that an input may have: those that lie there, floats that become them, pixels."""
        found: list[np.dtype[np.generic]] = [self.dtype]
        if self.dtype == np.float16 or self.grid is not None or self.pixels is not None:
            found += [np.dtype(np.float32), np.dtype(np.float16)]
        if self.pixel is not None:
            found.append(np.dtype(np.uint8))
        return tuple(dict.fromkeys(found))

    def pack(self, values: AnyArray, memory: MemoryObject) -> None:
        """
        Write an array of `shape` or `model_shape`; the bytes between rows and surfaces stay as they are.

        An image may also be bytes `HxWxC` (`HxW` of one channel): its pixels.
        """
        values = self._planes(values)
        if values.shape not in (self.shape, self.model_shape):
            taken = f"{list(self.model_shape)}"
            if self.pixel is not None:
                taken += f", or uint8 {[*self.model_shape[2:], self.model_shape[1]]}"
            raise XonncError(f"input {self.name}: shape {list(values.shape)}; the loadable takes {taken}")
        elements = self._elements(values)
        for image in range(self.shape[0]):
            if self.pixel is None:
                self._pack_features(elements[image], self._location(memory, image))
            else:
                self._pack_pixels(elements[image], self.pixel, self._location(memory, image))
        memory.generation += 1

    def unpack(self, memory: MemoryObject) -> AnyArray:
        """The tensor as an array of `shape`."""
        images = [self._unpack_image(self._location(memory, image)) for image in range(self.shape[0])]
        return np.stack(images)

    def _location(self, memory: MemoryObject, image: int) -> MemoryLocation:
        return MemoryLocation(memory, self.offset + image * (self.size // self.shape[0]))

    def _planes(self, values: AnyArray) -> AnyArray:
        """Transpose an image of bytes `HxWxC` or `HxW` to `1xCxHxW`; return other arrays unchanged."""
        if self.pixel is None or values.dtype != np.uint8 or values.ndim not in (2, 3):
            return values
        rows = values.reshape(*values.shape[:2], -1)
        return rows.transpose(2, 0, 1)[np.newaxis]

    def _elements(self, values: AnyArray) -> AnyArray:
        if self.pixels is not None and self.dtype == np.int8 and values.dtype.kind == "f":
            return self.pixels.pixels(values)
        if self.grid is not None and values.dtype != self.dtype and values.dtype.kind in "fiu":
            values = self.grid.quantize(values)
        if self.dtype == np.float16:
            if values.dtype.kind not in "fiu":
                raise XonncError(f"input {self.name}: {values.dtype} values; it takes numbers")
            with np.errstate(over="ignore"):
                return values.astype(np.float16)
        if values.dtype.kind not in "iu":
            raise XonncError(
                f"input {self.name}: {values.dtype} values; it takes {self.dtype}, quantize them first"
            )
        wide = values.astype(np.int64)
        bounds = np.iinfo(np.int8 if self.dtype == np.int8 else np.int16)
        # Pixels are bit patterns: accept the signed and the unsigned reading.
        high = 2 * bounds.max + 1 if self.pixel is not None else bounds.max
        if wide.size and (wide.min() < bounds.min or wide.max() > high):
            raise XonncError(
                f"input {self.name}: values {wide.min()} to {wide.max()}; it holds {bounds.min} to {high}"
            )
        return wide

    def _layout(self) -> CubeLayout:
        _, channels, height, width = self.shape
        surfaces = -(-channels // (self.atom // self.dtype.itemsize))
        return CubeLayout(width, height, surfaces, self.atom, self.line_stride, self.surf_stride)

    def _pack_features(self, image: AnyArray, location: MemoryLocation) -> None:
        view = atoms(location, self._layout(), self.dtype)
        surfaces, height, width, lanes = view.shape
        padded = np.zeros((surfaces * lanes, height, width), self.dtype)
        padded[: len(image)] = image
        view[...] = padded.reshape(surfaces, lanes, height, width).transpose(0, 2, 3, 1)

    def _pack_pixels(self, image: AnyArray, pixel: PixelPacking, location: MemoryLocation) -> None:
        bits: I64 = image.view(np.uint16).astype(np.int64) if pixel.is_float else image.astype(np.int64)
        for plane, rows in self._plane_rows(pixel, location):
            components = {
                c.letter: bits[pixel.channel(c)] if pixel.channel(c) < len(bits) else np.zeros_like(bits[0])
                for c in plane.components
            }
            rows[...] = pack_plane(components, plane)

    def _unpack_image(self, location: MemoryLocation) -> AnyArray:
        channels = self.shape[1]
        if self.pixel is None:
            view = atoms(location, self._layout(), self.dtype)
            surfaces, height, width, lanes = view.shape
            return view.transpose(0, 3, 1, 2).reshape(surfaces * lanes, height, width)[:channels].copy()
        pixel = self.pixel
        found: dict[int, I64] = {}
        for plane, rows in self._plane_rows(pixel, location):
            for letter, values in unpack_plane(rows, plane, signed=False).items():
                component = next(c for c in plane.components if c.letter == letter)
                found[pixel.channel(component)] = values
        bits = np.stack([found[c] for c in range(channels)])
        return bits.astype(np.uint16).view(np.float16) if pixel.is_float else bits.astype(self.dtype)

    def _plane_rows(self, pixel: PixelPacking, location: MemoryLocation) -> list[tuple[Plane, U8]]:
        """Every plane with a view `[height, width, bytes]` to write; the second follows the first surface."""
        _, _, height, width = self.shape
        rows: list[tuple[Plane, U8]] = []
        for number, plane in enumerate(pixel.planes):
            stride = self.line_stride if number == 0 else -(-width * plane.size // 32) * 32
            start = location.start + (self.surf_stride if number else 0)
            shape, strides = (height, width, plane.size), (stride, plane.size, 1)
            rows.append((plane, np.ndarray(shape, np.uint8, location.memory.data.data, start, strides)))
        return rows


def bound_tensor(desc: TensorDesc, memory_size: int, atom: int) -> BoundTensor:
    """Return the tensor of a descriptor, checked to fit a memory object of `memory_size` bytes."""
    where = f"tensor {desc.name}"
    dtype = next((element for number, element in _ELEMENTS.items() if number == desc.data_type), None)
    if dtype is None:
        raise XonncError(
            f"{where}: data type {desc.data_type}; bound tensors are half (2), int16 (3) or int8 (4)"
        )
    shape = (desc.n, desc.c, desc.h, desc.w)
    if min(shape) < 1:
        raise XonncError(f"{where}: dimensions {list(shape)}; every one is at least 1")
    is_feature = desc.pixel_format in _FEATURE_FORMATS
    if not is_feature and desc.pixel_format >= len(PIXEL_FORMATS):
        raise XonncError(f"{where}: pixel format {desc.pixel_format} does not exist")
    pixel = None if is_feature else PIXEL_FORMATS[desc.pixel_format]
    tensor = BoundTensor(
        name=desc.name,
        shape=shape,
        dtype=dtype,
        pixel=pixel,
        atom=_atom(desc, dtype.itemsize, atom),
        line_stride=desc.stride_1,
        surf_stride=desc.stride_2,
        offset=desc.offset,
        size=desc.size,
    )
    if pixel is not None and pixel.channels < desc.c:
        raise XonncError(f"{where}: {desc.c} channels in pixel format {pixel.name} of {pixel.channels}")
    extent = _extent(tensor)
    if desc.n > 1 and desc.size // desc.n < extent:
        raise XonncError(
            f"{where}: {desc.n} images of {extent} bytes in {desc.size} bytes; correct n or size"
        )
    last = desc.offset + (desc.n - 1) * (desc.size // desc.n) + extent
    if last > memory_size:
        raise XonncError(f"{where}: its elements end at byte {last}, its memory object at {memory_size}")
    return tensor


def _atom(desc: TensorDesc, element: int, atom: int) -> int:
    """Bytes of one pixel of one surface: a planar tensor (Rubik's, BDMA's) is a cube of one-element atoms."""
    atom = 8 if desc.pixel_format == PixelFormat.FEATURE_X8 else atom
    # Planar tensors come labelled as feature cubes; only their rows, too short for atoms, tell.
    is_planar = desc.data_category == DataCategory.PLANAR or desc.w * element <= desc.stride_1 < desc.w * atom
    return element if is_planar else atom


def _extent(tensor: BoundTensor) -> int:
    _, channels, height, width = tensor.shape
    if tensor.pixel is None:
        surfaces = -(-channels // (tensor.atom // tensor.dtype.itemsize))
        layout = CubeLayout(width, height, surfaces, tensor.atom, tensor.line_stride, tensor.surf_stride)
        layout.check(tensor.atom, f"tensor {tensor.name}")
        return layout.extent
    ends = [(height - 1) * tensor.line_stride + width * tensor.pixel.planes[0].size]
    for plane in tensor.pixel.planes[1:]:
        stride = -(-width * plane.size // 32) * 32
        ends.append(tensor.surf_stride + (height - 1) * stride + width * plane.size)
    return max(ends)
