"""Geometry of windows of convolutions and pools: strides, dilations and pads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.window_ops import WindowOp
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, max_size

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
    padded: tuple[Size, ...]

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


def has_static_pads(op: WindowOp, shape: Sequence[Size]) -> bool:
    """Whether the pads of an op are the same for all sizes of an input of a shape."""
    if all(map(is_static, shape)):
        return True
    strides = int_values(op.strides) or (1,) * len(shape)
    if op.auto_pad.data not in ("NOTSET", "VALID"):
        return all(is_static(size) or stride == 1 for size, stride in zip(shape, strides, strict=True))
    return min(int_values(op.pads) or (0,)) >= 0


def window_of(
    op: WindowOp, kernel: Sequence[int], shape: Sequence[Size], out: Sequence[Size]
) -> WindowGeometry:
    """
    Return the window of an op; pads at the end are what the last window needs.

    On an axis of dynamic size they are what it needs at most.
    """
    rank = len(kernel)
    strides = int_values(op.strides) or (1,) * rank
    dilations = int_values(op.dilations) or (1,) * rank
    given = int_values(op.pads) or (0,) * (2 * rank)
    if op.auto_pad.data != "NOTSET":
        given = (0,) * (2 * rank)
    ceil_mode = getattr(op, "ceil_mode", None)
    rounds_up = isinstance(ceil_mode, IntegerAttr) and ceil_mode.value.data != 0
    begins: list[int] = []
    ends: list[int] = []
    for axis, (size, count) in enumerate(zip(shape, out, strict=True)):
        # Input elements that all output windows span.
        needed = (count - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        begin = given[axis]
        if op.auto_pad.data.startswith("SAME"):
            total = max_size(needed - size, 0)
            assert is_static(total), "pads depend on dynamic sizes"
            begin = total // 2 if op.auto_pad.data == "SAME_UPPER" else -(-total // 2)
        beyond = needed - begin - size
        begins.append(begin)
        # The last window may end before the input does (stride remainder) or after it (implicit end pads).
        limit = given[rank + axis] + (strides[axis] - 1 if rounds_up else 0)
        ends.append(max(beyond, 0) if is_static(beyond) else limit)
    padded = tuple(begin + size + end for begin, size, end in zip(begins, shape, ends, strict=True))
    return WindowGeometry(tuple(kernel), strides, dilations, tuple(begins), tuple(ends), padded)
