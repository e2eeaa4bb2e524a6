"""Windows of convolutions and pools: their places, and the pads that they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xonnc.dialects.onnx.attributes import int_values
from xonnc.dialects.onnx.window_ops import WindowOp

MAX_UNROLLED_WINDOW = 64
"""Places of a window that are written out one by one."""


@dataclass(frozen=True)
class Window:
    """Sizes by spatial axis; `begins` are the pads before, `padded` the input's sizes with all pads."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    padded: tuple[int, ...]

    @property
    def is_padded(self) -> bool:
        """Whether a window reaches over the edge."""
        return any(self.begins) or any(self.ends)


def window_of(op: WindowOp, kernel: Sequence[int], shape: Sequence[int], out: Sequence[int]) -> Window:
    """The window of an op; the pads at the end are as many as the last window needs."""
    rank = len(kernel)
    strides = int_values(op.strides) or (1,) * rank
    dilations = int_values(op.dilations) or (1,) * rank
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
    sizes = [max(begin + length, size) for begin, length, size in zip(begins, shape, needed, strict=True)]
    ends = tuple(size - begin - length for size, begin, length in zip(sizes, begins, shape, strict=True))
    return Window(tuple(kernel), strides, dilations, begins, ends, tuple(sizes))
