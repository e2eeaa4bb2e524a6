"""Geometry of windows as TOSA takes it: no row or column may be left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xonnc.dialects.onnx.types import tensor_type
from xonnc.dialects.onnx.window_ops import WindowOp
from xonnc.dialects.tosa.data_movement import PadOp, SliceOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import window_of
from xonnc.lowering.onnx_to_tosa.tosa_builder import NHWC, TosaBuilder

SPATIAL = 2
"""Rows and columns; an operator on lines is one on images of one row."""


@dataclass(frozen=True)
class Window:
    """The window of an operator on NHWC images; `ends` below 0 are rows and columns that it leaves out."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Rows above and below, columns to the left and right."""
        return self.begins[0], max(self.ends[0], 0), self.begins[1], max(self.ends[1], 0)

    @property
    def rows_and_columns(self) -> tuple[int, int]:
        """The size of the kernel."""
        return self.kernel[0], self.kernel[1]


def window(op: WindowOp, kernel: Sequence[int], shape: Sequence[int], out: Sequence[int]) -> Window:
    """
    Return the window of an operator on an image or a line.

    `shape` and `out` are the sizes of the operand and the result without batch and channels.
    """
    found = window_of(op, kernel, shape, out)
    ends = tuple(
        (made - 1) * stride + (length - 1) * dilation + 1 - begin - size
        for made, stride, length, dilation, begin, size in zip(
            out, found.strides, kernel, found.dilations, found.begins, shape, strict=True
        )
    )
    front = SPATIAL - len(kernel)
    ones, zeros = (1,) * front, (0,) * front
    return Window(
        ones + found.kernel,
        ones + found.strides,
        ones + found.dilations,
        zeros + found.begins,
        zeros + ends,
    )


def image(value: SSAValue, builder: TosaBuilder) -> SSAValue:
    """Return a tensor `NxCxL` or `NxCxHxW` of the model as an NHWC image; refuse other ranks."""
    shape = shape_of(value)
    if len(shape) not in (3, 4):
        builder.refuse(f"{len(shape) - 2} spatial dimensions (TOSA has operators on images)")
    if len(shape) == 3:
        value = builder.reshape(value, (*shape[:2], 1, shape[2]))
    return builder.transpose(value, NHWC)


def used_part(value: SSAValue, window: Window, builder: TosaBuilder) -> SSAValue:
    """Return an NHWC image without the rows and columns that no window reaches."""
    shape = shape_of(value)
    cropped = (shape[0], *(s + min(end, 0) for s, end in zip(shape[1:3], window.ends, strict=True)), shape[3])
    return cut(value, (0, 0, 0, 0), cropped, builder)


def cut(value: SSAValue, start: Sequence[int], sizes: Sequence[int], builder: TosaBuilder) -> SSAValue:
    """Return a part of a TOSA value."""
    if shape_of(value) == tuple(sizes):
        return value
    type_ = tensor_type(tuple(sizes), element_of(value))
    return builder.emit(SliceOp, [value, builder.shape(start), builder.shape(sizes)], type_)


def padded(value: SSAValue, pads: Sequence[tuple[int, int]], with_: float, builder: TosaBuilder) -> SSAValue:
    """Return a TOSA value with elements `with_` before and after each dimension."""
    if not any(map(any, pads)):
        return value
    sizes = tuple(size + low + high for size, (low, high) in zip(shape_of(value), pads, strict=True))
    flat = [each for pair in pads for each in pair]
    operands = [value, builder.shape(flat), builder.scalar(with_, element_of(value))]
    return builder.emit(PadOp, operands, tensor_type(sizes, element_of(value)))
