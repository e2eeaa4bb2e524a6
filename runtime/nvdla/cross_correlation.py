"""Sums of products over windows of an image, as matrix products over blocks of output rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from xonnc.runtime.nvdla.array_types import I64

Float = TypeVar("Float", np.float32, np.float64)
AnyInteger: TypeAlias = npt.NDArray[np.signedinteger]

# Elements of the gathered windows kept at once (16 MB of float32): they stay near the cache.
_BLOCK_ELEMENTS = 1 << 22
_SINGLE_EXACT = float(1 << 24)


@dataclass(frozen=True)
class WindowMap:
    """The map from output positions to windows of a padded image."""

    out_height: int
    out_width: int
    rows: int
    columns: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int

    def one_column(self) -> WindowMap:
        """The same windows when their columns have become channels of a single column."""
        return replace(self, columns=1, stride_x=1, dilation_x=1)

    @property
    def height(self) -> int:
        """Rows the padded image needs."""
        return (self.out_height - 1) * self.stride_y + (self.rows - 1) * self.dilation_y + 1

    @property
    def width(self) -> int:
        """Columns the padded image needs."""
        return (self.out_width - 1) * self.stride_x + (self.columns - 1) * self.dilation_x + 1


def correlate(
    image: npt.NDArray[Float], weights: npt.NDArray[Float], windows: WindowMap
) -> npt.NDArray[Float]:
    """
    `out[y, x, k]` = sum over rows, columns, channels of `image[window(y, x)] * weights[k]`.

    image `[windows.height, windows.width, channels]` (contiguous),
    weights `[kernels, rows, columns, channels]`.
    """
    channels = image.shape[2]
    kernels = len(weights)
    matrix = weights.reshape(kernels, -1).T
    depth = windows.rows * windows.columns * channels
    if windows.rows == windows.columns == windows.stride_y == windows.stride_x == 1:
        flat = np.empty((windows.out_height * windows.out_width, kernels), image.dtype)
        np.matmul(image.reshape(-1, channels), matrix, out=flat)
        return flat.reshape(windows.out_height, windows.out_width, kernels)
    row, pixel, element = image.strides
    view = np.lib.stride_tricks.as_strided(
        image,
        (windows.out_height, windows.out_width, windows.rows, windows.columns, channels),
        (
            row * windows.stride_y,
            pixel * windows.stride_x,
            row * windows.dilation_y,
            pixel * windows.dilation_x,
            element,
        ),
        writeable=False,
    )
    out = np.empty((windows.out_height, windows.out_width, kernels), image.dtype)
    for rows, columns in _blocks(windows, depth):
        part = view[rows, columns]
        products = np.ascontiguousarray(part).reshape(-1, depth) @ matrix
        out[rows, columns] = products.reshape(part.shape[0], part.shape[1], kernels)
    return out


def _blocks(windows: WindowMap, depth: int) -> list[tuple[slice, slice]]:
    """Rectangles of output positions whose windows together stay below the block size."""
    positions = max(1, _BLOCK_ELEMENTS // depth)
    columns = min(positions, windows.out_width)
    rows = max(1, positions // windows.out_width)
    return [
        (slice(y, y + rows), slice(x, x + columns))
        for y in range(0, windows.out_height, rows)
        for x in range(0, windows.out_width, columns)
    ]


def correlate_integers(image: AnyInteger, weights: AnyInteger, windows: WindowMap) -> I64:
    """
    `correlate` on 8- or 16-bit integers, exact.

    A float product sums integers exactly as long as no partial sum can leave the significand.
    """
    wide = weights.astype(np.float64)
    heaviest = np.abs(wide).reshape(len(wide), -1).sum(axis=1).max(initial=0.0)
    reach = heaviest * float(np.abs(image.astype(np.int32)).max(initial=0))
    if reach < _SINGLE_EXACT:
        return correlate(image.astype(np.float32), weights.astype(np.float32), windows).astype(np.int64)
    return correlate(image.astype(np.float64), wide, windows).astype(np.int64)
