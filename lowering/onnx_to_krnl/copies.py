"""Elements that go to other places: each axis of the source and of the result is a sum of loop indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import element_of
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering


@dataclass(frozen=True)
class Along:
    """A place on an axis: `offset`, and the indices of some loops, each times a factor."""

    terms: tuple[tuple[int, int], ...] = ()
    """Loops by number, with their factors."""
    offset: int = 0

    def emit(self, kernel: Kernel, loops: Sequence[SSAValue]) -> SSAValue:
        """The index."""
        total: SSAValue | None = None
        for loop, factor in self.terms:
            part = kernel.scaled(loops[loop], factor)
            total = part if total is None else kernel.plus(total, part)
        if total is None:
            return kernel.index(self.offset)
        return kernel.plus(total, kernel.index(self.offset)) if self.offset else total


def loop(number: int, factor: int = 1, offset: int = 0) -> Along:
    """The index of one loop, times `factor`, plus `offset`."""
    return Along(((number, factor),), offset)


def plain(rank: int) -> list[Along]:
    """Each axis along its own loop."""
    return [loop(axis) for axis in range(rank)]


@dataclass(frozen=True)
class Side:
    """A buffer, the shape it is read or written as, and a place on each axis of it."""

    buffer: SSAValue
    shape: Sequence[int]
    places: Sequence[Along]

    def type_like(self) -> MemRefType:
        """The buffer's type in the shape."""
        return buffer_type(self.shape, element_of(self.buffer))


def copy(name: str, sizes: Sequence[int], target: Side, source: Side, to: Lowering) -> None:
    """Copies one element a turn of the loops `sizes`."""
    kernel = Kernel([target.type_like(), source.type_like()])
    out, read = kernel.buffers
    with kernel.loops(sizes) as loops:
        value = kernel.load(read, [place.emit(kernel, loops) for place in source.places])
        kernel.store(value, out, [place.emit(kernel, loops) for place in target.places])
    to.call(name, kernel, [target.buffer], [source.buffer])


def fill(buffer: SSAValue, count: int, value: float, to: Lowering) -> None:
    """Sets all `count` elements of a buffer."""
    side = Side(buffer, [count], plain(1))
    type_ = side.type_like()
    kernel = Kernel([type_])
    with kernel.loops([count]) as loops:
        kernel.store(kernel.number(value, type_.element_type), kernel.buffers[0], loops)
    to.call("fill", kernel, [buffer], [])
