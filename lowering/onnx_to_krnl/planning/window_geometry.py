"""Geometry of windows of convolutions and pools: strides, dilations and pads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.window_ops import WindowOp

MAX_UNROLLED_WINDOW = 64
"""Elements of a window that is unrolled at most."""


@dataclass(frozen=True)
class WindowGeometry:
    """A window per spatial axis: `begins` and `ends` are pads, `padded` the input's sizes with pads."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    padded: tuple[int, ...]

    @property
    def is_padded(self) -> bool:
        """Whether a window reaches over an edge."""
        return any(self.begins) or any(self.ends)

    @property
    def of_image(self) -> WindowGeometry:
        """The window in an image; one along a single axis is a row of it."""
        if len(self.kernel) != 1:
            return self
        return WindowGeometry(
            (1, *self.kernel),
            (1, *self.strides),
            (1, *self.dilations),
            (0, *self.begins),
            (0, *self.ends),
            (1, *self.padded),
        )


def window_of(
    op: WindowOp, kernel: Sequence[int], shape: Sequence[int], out: Sequence[int]
) -> WindowGeometry:
    """Return the window of an op; pads at the end are what the last window needs."""
    rank = len(kernel)
    strides = int_values(op.strides) or (1,) * rank
    dilations = int_values(op.dilations) or (1,) * rank
    # Input elements that all output windows span: (out - 1) stride + (kernel - 1) dilation + 1.
    needed = [
        (size - 1) * stride + (length - 1) * dilation + 1
        for size, stride, length, dilation in zip(out, strides, kernel, dilations, strict=True)
    ]
    begins = (int_values(op.pads) or (0,) * (2 * rank))[:rank]
    if op.auto_pad.data == "VALID":
        begins = (0,) * rank
    elif op.auto_pad.data != "NOTSET":
        totals = [max(size - length, 0) for size, length in zip(needed, shape, strict=True)]
        upper = op.auto_pad.data == "SAME_UPPER"
        begins = tuple(total // 2 if upper else -(-total // 2) for total in totals)
    # The last window may end before the input does (stride remainder) or after it (implicit end pads).
    sizes = [max(begin + length, size) for begin, length, size in zip(begins, shape, needed, strict=True)]
    ends = tuple(size - begin - length for size, begin, length in zip(sizes, begins, shape, strict=True))
    return WindowGeometry(tuple(kernel), strides, dilations, begins, ends, tuple(sizes))
