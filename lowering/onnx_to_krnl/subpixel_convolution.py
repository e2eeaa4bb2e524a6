"""
Convolutions as several: phases.

A transposed convolution is one for each residue of rows and columns by the strides, a dilated one that is
padded widely one for each part of the result whose windows reach into the pads alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class SubConvolution:
    """Rows and columns of the result that lie a stride apart, and what they are computed from."""

    rows: Sequence[int]
    """Rows of the weights, in the order of the rows of the image; none: the result is the bias."""
    columns: Sequence[int]
    first: tuple[int, int]
    """Where the first window begins, from the first pixel of the image."""
    out_first: tuple[int, int]
    out: tuple[int, int]
    """How many rows and columns are computed."""
    out_strides: tuple[int, int] = (1, 1)

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of a window."""
        return max(1, len(self.rows)), max(1, len(self.columns))

    def beyond(self, sizes: Sequence[int]) -> tuple[int, int, int, int]:
        """Rows and columns that windows reach beyond an image: above, left, below, right."""
        ends = [
            first + count - 1 + length - size
            for first, count, length, size in zip(self.first, self.out, self.kernel, sizes, strict=True)
        ]
        top, left, bottom, right = (max(0, each) for each in (*(-first for first in self.first), *ends))
        return top, left, bottom, right


@dataclass(frozen=True)
class _Residue:
    """One axis of a phase."""

    number: int
    places: Sequence[int]
    first: int
    count: int


def transposed_sub_convolutions(
    kernel: Sequence[int], strides: Sequence[int], begins: Sequence[int], out: Sequence[int]
) -> list[SubConvolution]:
    """
    The phases of a transposed convolution with pads `begins`.

    Pixel `o` of the result is the sum of `x[i] w[k]` with `o = i stride + k - begin`: for all `o` of one
    residue by the stride, every `stride`-th `k`, which a larger `i` meets at a smaller `k`.
    """
    axes = [
        [_residue(number, *each) for number in range(min(each[1], each[3]))]
        for each in zip(kernel, strides, begins, out, strict=True)
    ]
    return [
        SubConvolution(
            rows=row.places,
            columns=column.places,
            first=(row.first, column.first),
            out_first=(row.number, column.number),
            out=(row.count, column.count),
            out_strides=(strides[0], strides[1]),
        )
        for row, column in product(*axes)
    ]


MIN_SAVED = 0.2
"""Part of the multiplications that cutting the pads off must save: narrow parts make narrow tiles."""


def dilated_sub_convolutions(
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    begins: Sequence[int],
    sizes: Sequence[int],
    out: Sequence[int],
) -> list[SubConvolution] | None:
    """
    The phases of a dilated convolution that read no pads; `None` if that is not worth it.

    Row `k` of the weights meets row `o stride + k dilation - begin` of an image of `sizes`; where that is
    outside, its products are zeros. A phase has the rows and columns of the result with the same ones inside.
    """
    axes = [_parts(*each) for each in zip(kernel, strides, dilations, begins, sizes, out, strict=True)]
    if not all(part.places for parts in axes for part in parts):
        return None
    used = [sum(part.count * len(part.places) for part in parts) for parts in axes]
    whole = [length * count for length, count in zip(kernel, out, strict=True)]
    if used[0] * used[1] > (1 - MIN_SAVED) * whole[0] * whole[1]:
        return None
    return [
        SubConvolution(
            rows=row.places,
            columns=column.places,
            first=(row.first, column.first),
            out_first=(row.number, column.number),
            out=(row.count, column.count),
        )
        for row, column in product(*axes)
    ]


def _parts(length: int, stride: int, dilation: int, begin: int, size: int, out: int) -> list[_Residue]:
    """Ranges of one axis of the result whose windows have the same places inside the image."""
    inside = [
        [place for place in range(length) if 0 <= number * stride + place * dilation - begin < size]
        for number in range(out)
    ]
    starts = [number for number in range(out) if number == 0 or inside[number] != inside[number - 1]]
    return [
        _Residue(
            number,
            inside[number],
            number * stride + (inside[number] or [0])[0] * dilation - begin,
            end - number,
        )
        for number, end in zip(starts, [*starts[1:], out], strict=True)
    ]


def _residue(number: int, length: int, stride: int, begin: int, size: int) -> _Residue:
    places = [place for place in reversed(range(length)) if (number + begin - place) % stride == 0]
    first = (number + begin - places[0]) // stride if places else 0
    return _Residue(number, places, first, -(-(size - number) // stride))
