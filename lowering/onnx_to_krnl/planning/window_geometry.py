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
    """
    A window per spatial axis: `begins` and `ends` are pads, `padded` the input's sizes with pads.

    With `auto_pad` SAME and strides, pads of an axis of dynamic size depend on it: `begins` and `ends` are
    then the most that there are, and the first window leaves out `skipped` of those at the begin.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    padded: tuple[Size, ...]
    skipped: tuple[Size, ...]

    def first(self, image: Sequence[int]) -> tuple[Size, ...]:
        """
        Return the position of the first window.

        Parameters:
            image: the position of the image, with all pads before it.
        """
        axes = zip(image, self.begins, self.skipped, strict=True)
        return tuple(start - begin + skipped for start, begin, skipped in axes)

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
            (0, *self.skipped),
        )


def has_pads(op: WindowOp, shape: Sequence[Size]) -> bool:
    """Whether the window of an op on an input of a shape is known: no axis of dynamic size is cropped."""
    is_given = op.auto_pad.data == "NOTSET"
    return all(map(is_static, shape)) or not is_given or min(int_values(op.pads) or (0,)) >= 0


def window_of(
    op: WindowOp, kernel: Sequence[int], shape: Sequence[Size], out: Sequence[Size]
) -> WindowGeometry:
    """
    Return the window of an op; pads at the end are what the last window needs.

    On an axis of dynamic size they are what it needs at most, and so are those at the begin.
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
    skipped: list[Size] = []
    # SAME divides pads evenly; a last one is at the end (SAME_UPPER) or at the begin.
    is_lower = op.auto_pad.data == "SAME_LOWER"
    for axis, (size, count) in enumerate(zip(shape, out, strict=True)):
        span = (kernel[axis] - 1) * dilations[axis] + 1
        # Input elements that all output windows span.
        needed = (count - 1) * strides[axis] + span
        begin: Size = given[axis]
        limits = begin, given[rank + axis] + (strides[axis] - 1 if rounds_up else 0)
        if op.auto_pad.data.startswith("SAME"):
            begin = (max_size(needed - size, 0) + is_lower) // 2 if span > 1 else 0
            limits = (span - 1 + is_lower) // 2, (span - is_lower) // 2
        begins.append(begin if is_static(begin) else limits[0])
        skipped.append(begins[-1] - begin)
        # The last window may end before the input does (stride remainder) or after it (implicit end pads).
        beyond = needed - begin - size
        ends.append(max(beyond, 0) if is_static(beyond) else limits[1])
    padded = tuple(begin + size + end for begin, size, end in zip(begins, shape, ends, strict=True))
    return WindowGeometry(
        tuple(kernel), strides, dilations, tuple(begins), tuple(ends), padded, tuple(skipped)
    )
