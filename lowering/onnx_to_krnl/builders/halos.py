"""Halos: padding around images in memory, so that windows at the edges need no special case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import BufferType, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import ImageBuffer
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size

Read: TypeAlias = Callable[[KernelBuilder, SSAValue], SSAValue]
"""Converts a loaded element to the value that is stored."""


def fill_halo(
    images: ImageBuffer,
    shape: Sequence[Size],
    element: Attribute,
    number: float | tuple[SSAValue, Read],
    builder: LoweringBuilder,
) -> None:
    """
    Fill the halo of images with a constant, or with a converted run-time value (a zero point).

    `shape` is that of the buffer as four axes: planes, rows, columns, and contiguous elements of a pixel.
    """
    planes, rows, columns, lanes = shape
    types: list[BufferType] = [buffer_type([planes, rows, columns * lanes], element)]
    if isinstance(number, tuple):
        types.append(buffer_type([1], element))

    def build() -> KernelBuilder:
        kernel = KernelBuilder(types)
        with kernel.loops([planes]) as (plane,):
            if isinstance(number, tuple):
                fill = number[1](kernel, kernel.load(kernel.buffers[1], [kernel.index(0)]))
            else:
                fill = kernel.constant(number, element)
            _store_halo(kernel, plane, fill, (rows, columns, lanes), images.halo)
        return kernel

    if isinstance(number, tuple):
        builder.call("halo", build(), [images.buffer], [number[0]])
        return
    # 0 and -0 are equal, but not the same.
    key = tuple(shape), element, images.halo, repr(number)
    builder.call_built("halo", key, build, [images.buffer], [])


def _store_halo(
    kernel: KernelBuilder,
    plane: SSAValue,
    fill: SSAValue,
    sizes: Sequence[Size],
    halo: Sequence[int],
) -> None:
    """Store a value in the halo of a plane of rows, columns, and contiguous elements of a pixel."""
    out = kernel.buffers[0]
    rows, columns, lanes = sizes
    top, left, bottom, right = halo
    for first, count in ((0, top), (rows - bottom, bottom)):
        if count:
            with kernel.loops([count, columns * lanes]) as (row, index):
                kernel.store(fill, out, [plane, kernel.affine(row, 1, first), index])
    # The rows above have filled the corners.
    for first, count in ((0, left), (columns - right, right)):
        if count:
            with kernel.loops([rows - top - bottom, count * lanes]) as (row, index):
                indices = [plane, kernel.affine(row, 1, top), kernel.affine(index, 1, first * lanes)]
                kernel.store(fill, out, indices)
