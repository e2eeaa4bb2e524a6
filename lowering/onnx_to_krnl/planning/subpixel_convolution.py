"""
Convolutions split into several of other outputs: polyphase decomposition.

A transposed convolution becomes one convolution per residue of the output position modulo the strides
(sub-pixel convolution). A dilated convolution with wide pads becomes one per region of the output whose
windows overlap the pads alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, is_static, static_sizes


@dataclass(frozen=True)
class SubConvolution:
    """Rows and columns of the result a stride apart, and the window they are computed from."""

    rows: Sequence[int]
    """Rows of the weights, in the order of image rows; none: the result is the bias."""
    columns: Sequence[int]
    first: tuple[int, int]
    """Position of the first window, relative to the first pixel."""
    out_first: tuple[int, int]
    out: tuple[Size, Size]
    """Rows and columns that are computed."""
    out_strides: tuple[int, int] = (1, 1)

    @property
    def kernel(self) -> tuple[int, int]:
        """Rows and columns of the window."""
        return max(1, len(self.rows)), max(1, len(self.columns))

    def beyond(self, sizes: Sequence[Size]) -> tuple[int, int, int, int] | None:
        """
        Return rows and columns that windows reach beyond an image: top, left, bottom, right.

        None if they depend on dynamic sizes.
        """
        ends = [
            first + count - 1 + length - size
            for first, count, length, size in zip(self.first, self.out, self.kernel, sizes, strict=True)
        ]
        if not are_static(ends):
            return None
        starts = (-first for first in self.first)
        top, left, bottom, right = (max(0, each) for each in (*starts, *static_sizes(ends)))
        return top, left, bottom, right


@dataclass(frozen=True)
class _Residue:
    """One axis of a sub-convolution."""

    number: int
    taps: Sequence[int]
    first: int
    count: Size


def transposed_sub_convolutions(
    kernel: Sequence[int], strides: Sequence[int], begins: Sequence[int], out: Sequence[Size]
) -> list[SubConvolution]:
    """
    Return the sub-convolutions of a transposed convolution with pads `begins`.

    Output `o` is the sum of `x[i] w[k]` with `o = i stride + k - begin`. Outputs of one residue modulo the
    stride use every `stride`-th `k`; a larger `i` meets a smaller `k`, so the weights are reversed.
    """
    axes = [
        [
            _residue(number, *each)
            for number in range(min(each[1], each[3]) if is_static(each[3]) else each[1])
        ]
        for each in zip(kernel, strides, begins, out, strict=True)
    ]
    return _sub_convolutions(axes, (strides[0], strides[1]))


MIN_SAVED = 0.5
"""
Fraction of the multiplications that must be saved: narrow parts have narrow, slower tiles, and each reads the
weights. Kernels of whole images skip rows and columns of windows that read only pads.
"""

MIN_SAVED_DEPTHWISE = 0.2
"""The same for depthwise convolutions, whose kernels skip none."""


def dilated_sub_convolutions(
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    begins: Sequence[int],
    sizes: Sequence[Size],
    out: Sequence[Size],
    min_saved: float = MIN_SAVED,
) -> list[SubConvolution] | None:
    """
    Return the sub-convolutions of a dilated convolution that read no pads; None if not worthwhile.

    Weight row `k` of output row `o` reads image row `o stride + k dilation - begin`; outside, its products
    are 0. Each part has output rows and columns whose windows have the same rows and columns inside.
    """
    if not are_static((*sizes, *out)):
        return None
    image, count = static_sizes(sizes), static_sizes(out)
    axes = [_parts(*each) for each in zip(kernel, strides, dilations, begins, image, count, strict=True)]
    if not all(part.taps for parts in axes for part in parts):
        return None
    used = [sum(is_static(part.count) and part.count * len(part.taps) for part in parts) for parts in axes]
    dense_taps = [length * each for length, each in zip(kernel, count, strict=True)]
    if used[0] * used[1] > (1 - min_saved) * dense_taps[0] * dense_taps[1]:
        return None
    return _sub_convolutions(axes, (1, 1))


def _sub_convolutions(
    axes: Sequence[Sequence[_Residue]], out_strides: tuple[int, int]
) -> list[SubConvolution]:
    return [
        SubConvolution(
            rows=row.taps,
            columns=column.taps,
            first=(row.first, column.first),
            out_first=(row.number, column.number),
            out=(row.count, column.count),
            out_strides=out_strides,
        )
        for row, column in product(*axes)
    ]


def _parts(length: int, stride: int, dilation: int, begin: int, size: int, out: int) -> list[_Residue]:
    """Return ranges of output positions on one axis whose windows have the same elements inside."""
    inside = [
        [index for index in range(length) if 0 <= number * stride + index * dilation - begin < size]
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


def _residue(number: int, length: int, stride: int, begin: int, size: Size) -> _Residue:
    taps = [index for index in reversed(range(length)) if (number + begin - index) % stride == 0]
    first = (number + begin - taps[0]) // stride if taps else 0
    return _Residue(number, taps, first, (size - number + stride - 1) // stride)
