"""What lies around images in memory, so that windows at their edges need no special case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.onnx_to_krnl.kernel_builder import BufferType, Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.layout_plan import Images
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, known

Read: TypeAlias = Callable[[Kernel, SSAValue], SSAValue]
"""What becomes of an element."""


def fill_halo(
    images: Images,
    shape: Sequence[Size],
    element: Attribute,
    number: float | tuple[SSAValue, Read],
    to: Lowering,
) -> None:
    """
    Fills the halo of images with a number, or with what becomes of the one element of a buffer.

    `shape` is that of their buffer with four axes: planes, rows, columns, and what lies side by side.
    """
    planes, (rows, columns, lanes) = shape[0], known(shape[1:])
    top, left, bottom, right = images.halo
    types: list[BufferType] = [buffer_type([planes, rows, columns * lanes], element)]
    kernel = Kernel([*types, buffer_type([1], element)] if isinstance(number, tuple) else types)
    out, *told = kernel.buffers
    with kernel.loops([planes]) as (plane,):
        if isinstance(number, tuple):
            held = number[1](kernel, kernel.load(told[0], [kernel.index(0)]))
        else:
            held = kernel.number(number, element)
        for first, count in ((0, top), (rows - bottom, bottom)):
            if count:
                with kernel.loops([count, columns * lanes]) as (row, place):
                    kernel.store(held, out, [plane, kernel.scaled(row, 1, first), place])
        for first, count in ((0, left), (columns - right, right)):
            if count:
                with kernel.loops([rows - top - bottom, count * lanes]) as (row, place):
                    places = [plane, kernel.scaled(row, 1, top), kernel.scaled(place, 1, first * lanes)]
                    kernel.store(held, out, places)
    to.call("halo", kernel, [images.buffer], [number[0]] if isinstance(number, tuple) else [])
