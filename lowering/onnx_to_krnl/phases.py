"""Transposed convolutions as convolutions, one for each residue of rows and columns by the strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Phase:
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


def transposed_phases(
    kernel: Sequence[int], strides: Sequence[int], begins: Sequence[int], out: Sequence[int]
) -> list[Phase]:
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
        Phase(
            rows=row.places,
            columns=column.places,
            first=(row.first, column.first),
            out_first=(row.number, column.number),
            out=(row.count, column.count),
            out_strides=(strides[0], strides[1]),
        )
        for row, column in product(*axes)
    ]


def _residue(number: int, length: int, stride: int, begin: int, size: int) -> _Residue:
    places = [place for place in reversed(range(length)) if (number + begin - place) % stride == 0]
    first = (number + begin - places[0]) // stride if places else 0
    return _Residue(number, places, first, -(-(size - number) // stride))
