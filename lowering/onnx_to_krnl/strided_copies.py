"""Elements that go to other places: each axis of the source and of the result is a sum of loop indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import TransposeOp, element_of
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.onnx_to_krnl.kernel_builder import BufferType, Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, are_known, is_known


@dataclass(frozen=True)
class Along:
    """A place on an axis: `offset`, and the indices of some loops, each times a factor."""

    terms: tuple[tuple[int, Size], ...] = ()
    """Loops by number, with their factors."""
    offset: Size = 0

    def emit(self, kernel: Kernel, loops: Sequence[SSAValue]) -> SSAValue:
        """The index."""
        total: SSAValue | None = None
        for loop, factor in self.terms:
            part = kernel.scaled(loops[loop], factor)
            total = part if total is None else kernel.plus(total, part)
        if total is None:
            return kernel.size(self.offset)
        return kernel.scaled(total, 1, self.offset)


def loop(number: int, factor: Size = 1, offset: Size = 0) -> Along:
    """The index of one loop, times `factor`, plus `offset`."""
    return Along(((number, factor),), offset)


def plain(rank: int) -> list[Along]:
    """Each axis along its own loop."""
    return [loop(axis) for axis in range(rank)]


@dataclass(frozen=True)
class Side:
    """A buffer, the shape it is read or written as, and a place on each axis of it."""

    buffer: SSAValue
    shape: Sequence[Size]
    places: Sequence[Along]

    def type_like(self) -> BufferType:
        """The buffer's type in the shape."""
        return buffer_type(self.shape, element_of(self.buffer))

    def strides(self, count: int) -> list[Size]:
        """How many elements each of so many loops moves on in an iteration."""
        found: list[Size] = [0] * count
        step: Size = 1
        for size, place in zip(reversed(self.shape), reversed(self.places), strict=True):
            for number, factor in place.terms:
                found[number] += factor * step
            step *= size
        return found

    def part(self, starts: Mapping[int, Size], steps: Mapping[int, int]) -> Side:
        """The side where some loops begin later, or move in steps."""
        places: list[Along] = []
        for place in self.places:
            offset = place.offset
            for number, factor in place.terms:
                offset = offset + factor * starts.get(number, 0)
            places.append(
                Along(
                    tuple((number, factor * steps.get(number, 1)) for number, factor in place.terms), offset
                )
            )
        return Side(self.buffer, self.shape, places)


LEAST_TURNED = 4
"""Elements in a row of a square that is turned in registers, at least."""


def copy(name: str, sizes: Sequence[Size], target: Side, source: Side, to: Lowering) -> None:
    """
    Copies one element an iteration of the loops `sizes`.

    Where elements lie side by side along one loop before and along another behind, squares of them are turned
    in registers.
    """
    after, before = target.strides(len(sizes)), source.strides(len(sizes))
    rows = [number for number, size in enumerate(sizes) if after[number] == 1 and size != 1]
    columns = [number for number, size in enumerate(sizes) if before[number] == 1 and size != 1]
    if len(rows) == len(columns) == 1 and rows != columns:
        size = to.tiles.square(size_of(element_of(source.buffer)))
        _copy_turned(name, sizes, (target, source), (rows[0], columns[0]), size, to)
    else:
        _copy(name, sizes, target, source, to)


def _copy_turned(
    name: str,
    sizes: Sequence[Size],
    sides: tuple[Side, Side],
    loops: tuple[int, int],
    size: int,
    to: Lowering,
) -> None:
    """In squares of `size` along two loops, what is left behind the last in smaller ones."""
    if size < LEAST_TURNED:
        _copy(name, sizes, *sides, to)
        return
    whole = {number: sizes[number] // size for number in loops}
    if 0 in whole.values():
        _copy_turned(name, sizes, sides, loops, size // 2, to)
        return
    _turn(name, [whole.get(number, count) for number, count in enumerate(sizes)], sides, loops, size, to)
    counts = list(sizes)
    for number, count in whole.items():
        done = count * size
        left = sizes[number] - done
        if left != 0:
            rest = list(counts)
            rest[number] = left
            target, source = (side.part({number: done}, {}) for side in sides)
            # Of how many are left only a run tells, one by one is as good as any.
            if are_known(rest):
                _copy_turned(name, rest, (target, source), loops, size // 2, to)
            else:
                _copy(name, rest, target, source, to)
        counts[number] = done


def _turn(
    name: str,
    counts: Sequence[Size],
    sides: tuple[Side, Side],
    loops: tuple[int, int],
    size: int,
    to: Lowering,
) -> None:
    """Squares of elements along two loops."""
    row, column = loops
    target, source = (side.part({}, {row: size, column: size}) for side in sides)
    strides = sides[0].strides(len(counts))[column], sides[1].strides(len(counts))[row]
    kernel = Kernel([target.type_like(), source.type_like()])
    out, read = kernel.buffers
    with kernel.loops(counts) as indices:
        places = [[place.emit(kernel, indices) for place in side.places] for side in (target, source)]
        given = [stride if is_known(stride) else DYNAMIC_INDEX for stride in strides]
        open_strides = [kernel.size(stride) for stride in strides if not is_known(stride)]
        properties = {"size": IntegerAttr(size, i64), "strides": DenseArrayBase.from_list(i64, given)}
        kernel.block.add_op(TransposeOp(operands=[out, read, *places, open_strides], properties=properties))
    to.call(name, kernel, [target.buffer], [source.buffer])


def _copy(name: str, sizes: Sequence[Size], target: Side, source: Side, to: Lowering) -> None:
    kernel = Kernel([target.type_like(), source.type_like()])
    out, read = kernel.buffers
    with kernel.loops(sizes) as loops:
        value = kernel.load(read, [place.emit(kernel, loops) for place in source.places])
        kernel.store(value, out, [place.emit(kernel, loops) for place in target.places])
    to.call(name, kernel, [target.buffer], [source.buffer])


def fill(buffer: SSAValue, count: Size, value: float, to: Lowering) -> None:
    """Sets all `count` elements of a buffer."""
    kernel = Kernel([Side(buffer, [count], plain(1)).type_like()])
    with kernel.loops([count]) as loops:
        kernel.store(kernel.number(value, element_of(kernel.buffers[0])), kernel.buffers[0], loops)
    to.call("fill", kernel, [buffer], [])
