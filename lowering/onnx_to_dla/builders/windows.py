"""Explicit windows (kernel, strides, dilations, pads) of ONNX's convolution and pooling operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xonnc.dialects.dla.types import CubeShape
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.window_ops import WindowOp
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder


def window_of(op: WindowOp, kernel: Sequence[int], source: CubeShape, builder: DlaBuilder) -> Window2D:
    """Return the window of `op`; with one spatial dimension the height is 1."""
    rank = len(kernel)
    if rank not in (1, 2):
        builder.refuse(f"{rank} spatial dimensions (1 or 2 are supported)")
    strides = _pair(int_values(op.strides) or (1,) * rank)
    # A single tap has no distance to others.
    given = int_values(op.dilations) or (1,) * rank
    dilations = _pair([step if taps > 1 else 1 for step, taps in zip(given, kernel, strict=True)])
    pads = int_values(op.pads) or (0,) * (2 * rank)
    begins, ends = _pair(pads[:rank], 0), _pair(pads[rank:], 0)
    window = Window2D(_pair(kernel), strides, dilations, (*begins, *ends))
    auto_pad = op.auto_pad.data
    if auto_pad == "NOTSET":
        return window
    if auto_pad == "VALID":
        return replace(window, pads=(0, 0, 0, 0))
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        builder.refuse(f"auto_pad {auto_pad} (ONNX has NOTSET, VALID, SAME_UPPER, SAME_LOWER); give pads")
    return _same(window, (source.height, source.width), auto_pad == "SAME_LOWER")


def _pair(values: Sequence[int], default: int = 1) -> tuple[int, int]:
    """Return height and width; a single value is the width."""
    return (default, values[0]) if len(values) == 1 else (values[0], values[1])


def _same(window: Window2D, sizes: tuple[int, int], lower: bool) -> Window2D:
    """
    Resolve auto_pad SAME: pads for `ceil(size / stride)` windows, the odd one at the end (`lower`: at the
    start).
    """
    begins: list[int] = []
    ends: list[int] = []
    for size, stride, reach in zip(sizes, window.strides, window.dilated_kernel, strict=True):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        begins.append(-(-total // 2) if lower else total // 2)
        ends.append(total - begins[-1])
    return replace(window, pads=(begins[0], begins[1], ends[0], ends[1]))


def output_size(window: Window2D, source: CubeShape, builder: DlaBuilder) -> tuple[int, int]:
    """Return rows and columns of the result; refuse if there are none."""
    rows, columns = window.output_size(source)
    if min(rows, columns) < 1:
        kernel = "x".join(map(str, window.kernel))
        builder.refuse(f"the kernel {kernel} is larger than the padded input; increase the pads or the input")
    return rows, columns


def trim_padding(window: Window2D, source: CubeShape) -> Window2D:
    """Return the window without padding at bottom and right that no window reads."""
    rows, columns = window.output_size(source)
    top, left = window.pads[:2]
    bottom = (rows - 1) * window.strides[0] + window.dilated_kernel[0] - source.height - top
    right = (columns - 1) * window.strides[1] + window.dilated_kernel[1] - source.width - left
    return replace(window, pads=(top, left, max(bottom, 0), max(right, 0)))
