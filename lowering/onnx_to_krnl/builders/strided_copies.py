"""Copies between buffers by affine indexing maps, with in-register transposition of tiles."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import TransposeOp, element_of
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import BufferType, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, are_static, is_static, static_or_dynamic


@dataclass(frozen=True)
class IndexExpr:
    """An affine index expression over loop indices: `offset + Σ factor · loop`."""

    terms: tuple[tuple[int, Size], ...] = ()
    """Loop numbers and factors."""
    offset: Size = 0

    def emit(self, kernel: KernelBuilder, loops: Sequence[SSAValue]) -> SSAValue:
        """Emit the index."""
        total: SSAValue | None = None
        for dim, factor in self.terms:
            part = kernel.affine(loops[dim], factor)
            total = part if total is None else kernel.plus(total, part)
        if total is None:
            return kernel.size(self.offset)
        return kernel.affine(total, 1, self.offset)


def dim(number: int, factor: Size = 1, offset: Size = 0) -> IndexExpr:
    """Return the expression `factor · d + offset` of one loop `d`."""
    return IndexExpr(((number, factor),), offset)


def identity_map(rank: int) -> list[IndexExpr]:
    """Return the identity map of a rank: axis i is indexed by loop i."""
    return [dim(axis) for axis in range(rank)]


@dataclass(frozen=True)
class AffineAccess:
    """A buffer, the shape it is accessed as, and its indexing map."""

    buffer: SSAValue
    shape: Sequence[Size]
    exprs: Sequence[IndexExpr]

    @classmethod
    def whole(cls, buffer: SSAValue, shape: Sequence[Size]) -> AffineAccess:
        """Return the access to all elements in order: axis i is indexed by loop i."""
        return cls(buffer, shape, identity_map(len(shape)))

    def buffer_type_of(self) -> BufferType:
        """Return the buffer type in this shape."""
        return buffer_type(self.shape, element_of(self.buffer))

    @property
    def key(self) -> Hashable:
        """What a kernel that accesses the buffer depends on."""
        return tuple(self.shape), tuple(self.exprs), element_of(self.buffer)

    def strides(self, count: int) -> list[Size]:
        """Return how many elements the address advances per iteration of each loop."""
        found: list[Size] = [0] * count
        step: Size = 1
        for size, index in zip(reversed(self.shape), reversed(self.exprs), strict=True):
            for number, factor in index.terms:
                found[number] += factor * step
            step *= size
        return found

    def shifted(self, starts: Mapping[int, Size], steps: Mapping[int, int]) -> AffineAccess:
        """Return the access with loops that start later, or with larger steps."""
        exprs: list[IndexExpr] = []
        for index in self.exprs:
            offset = index.offset
            for number, factor in index.terms:
                offset = offset + factor * starts.get(number, 0)
            exprs.append(
                IndexExpr(
                    tuple((number, factor * steps.get(number, 1)) for number, factor in index.terms), offset
                )
            )
        return AffineAccess(self.buffer, self.shape, exprs)

    def joined(self, number: int, length: Size) -> AffineAccess | None:
        """
        Return the access with a loop and the next one as one; None if they are not of adjacent whole axes.

        `length` is that of the next loop.
        """
        axes = [axis for axis, index in enumerate(self.exprs) if index.terms == ((number, 1),)]
        used = [loop for index in self.exprs for loop, _ in index.terms if loop in (number, number + 1)]
        axis = axes[0] if axes else len(self.exprs)
        if len(used) != 2 or list(self.exprs[axis + 1 : axis + 2]) != [dim(number + 1)]:
            return None
        if self.shape[axis + 1] != length:
            return None
        shape = [*self.shape[:axis], self.shape[axis] * length, *self.shape[axis + 2 :]]
        exprs = [
            IndexExpr(tuple((loop - (loop > number), factor) for loop, factor in index.terms), index.offset)
            for index in self.exprs
        ]
        exprs[axis : axis + 2] = [dim(number, offset=self.exprs[axis].offset * length)]
        return AffineAccess(self.buffer, shape, exprs)


MIN_TRANSPOSE_TILE = 4
"""Smallest tile that is transposed in registers."""


def copy(
    name: str, sizes: Sequence[Size], target: AffineAccess, source: AffineAccess, builder: LoweringBuilder
) -> None:
    """
    Copy one element per iteration of the loop nest `sizes`.

    Where the source is contiguous along one loop and the target along another, square tiles are transposed in
    registers.
    """
    sizes, target, source = _with_longer_loops(sizes, target, source)
    after, before = target.strides(len(sizes)), source.strides(len(sizes))
    rows = [number for number, size in enumerate(sizes) if after[number] == 1 and size != 1]
    columns = [number for number, size in enumerate(sizes) if before[number] == 1 and size != 1]
    if len(rows) == len(columns) == 1 and rows != columns:
        size = builder.tiles.square(size_of(element_of(source.buffer)))
        _copy_transposed(name, sizes, (target, source), (rows[0], columns[0]), size, builder)
    else:
        _copy(name, sizes, target, source, builder)


def _with_longer_loops(
    sizes: Sequence[Size], target: AffineAccess, source: AffineAccess
) -> tuple[Sequence[Size], AffineAccess, AffineAccess]:
    """
    Make one loop of neighboring ones along which both accesses are contiguous.

    Two loops remain: the last one is vectorized, and threads divide one of the others.
    """
    for number in reversed(range(len(sizes) - 1)):
        to, of = (side.joined(number, sizes[number + 1]) for side in (target, source))
        if to is not None and of is not None and sum(size != 1 for size in sizes) > 2:
            sizes = [*sizes[:number], sizes[number] * sizes[number + 1], *sizes[number + 2 :]]
            target, source = to, of
    return sizes, target, source


@dataclass(frozen=True)
class _Tiles:
    """Square tiles of a transposition: where they start along its two loops, and how far they go."""

    starts: tuple[Size, Size]
    sizes: tuple[Size, Size]
    tile: int
    """Rows of a tile, which is transposed in registers; 1: elements are copied one by one."""


def _tiles(sizes: tuple[Size, Size], tile: int, starts: tuple[Size, Size] = (0, 0)) -> Sequence[_Tiles]:
    """Divide two loops into tiles of a size, and the remainders into smaller ones."""
    if tile < MIN_TRANSPOSE_TILE:
        return [_Tiles(starts, sizes, 1)]
    whole = sizes[0] // tile * tile, sizes[1] // tile * tile
    if 0 in whole:
        return _tiles(sizes, tile // 2, starts)
    found = [_Tiles(starts, whole, tile)]
    below = (starts[0] + whole[0], starts[1]), (sizes[0] - whole[0], sizes[1])
    beside = (starts[0], starts[1] + whole[1]), (whole[0], sizes[1] - whole[1])
    for start, rest in (below, beside):
        if 0 not in rest:
            # A remainder of dynamic size is copied element by element.
            found += _tiles(rest, tile // 2 if are_static(rest) else 1, start)
    return found


def _copy_transposed(
    name: str,
    sizes: Sequence[Size],
    sides: tuple[AffineAccess, AffineAccess],
    loops: tuple[int, int],
    size: int,
    builder: LoweringBuilder,
) -> None:
    """
    Copy by square tiles of `size` along two loops, and the remainders by smaller ones.

    One kernel copies tiles of all sizes in each iteration of the loops around both, since they share cache
    lines. Without such loops each size has a kernel of its own, which threads divide.
    """
    tiles = _tiles((sizes[loops[0]], sizes[loops[1]]), size)
    outer = sizes[: min(loops)]
    if len(tiles) == 1 or all(count == 1 for count in outer):
        outer = sizes[:0]
    for group in [tiles] if outer else [[each] for each in tiles]:

        def build(group: Sequence[_Tiles] = group) -> KernelBuilder:
            kernel = KernelBuilder([side.buffer_type_of() for side in sides])
            with kernel.loops(outer) if outer else nullcontext[Sequence[SSAValue]](()) as around:
                for each in group:
                    _copy_tiles(kernel, sizes, sides, loops, each, around)
            return kernel

        key = tuple(sizes), sides[0].key, sides[1].key, loops, tuple(outer), tuple(group)
        builder.call_built(name, key, build, [sides[0].buffer], [sides[1].buffer])


def _copy_tiles(
    kernel: KernelBuilder,
    sizes: Sequence[Size],
    sides: tuple[AffineAccess, AffineAccess],
    loops: tuple[int, int],
    tiles: _Tiles,
    around: Sequence[SSAValue],
) -> None:
    """Copy tiles of one size in the loops that are not opened yet; `around` are the indices of the others."""
    counts, tile = list(sizes), tiles.tile
    for number, count in zip(loops, tiles.sizes, strict=True):
        counts[number] = count // tile
    starts = dict(zip(loops, tiles.starts, strict=True))
    target, source = (side.shifted(starts, dict.fromkeys(loops, tile)) for side in sides)
    out, read = kernel.buffers
    with kernel.loops(counts[len(around) :]) as inner:
        positions = [
            [index.emit(kernel, [*around, *inner]) for index in side.exprs] for side in (target, source)
        ]
        if tile == 1:
            kernel.store(kernel.load(read, positions[1]), out, positions[0])
            return
        row, column = loops
        strides = sides[0].strides(len(counts))[column], sides[1].strides(len(counts))[row]
        given = [static_or_dynamic(stride) for stride in strides]
        open_strides = [kernel.size(stride) for stride in strides if not is_static(stride)]
        properties = {"size": IntegerAttr(tile, i64), "strides": DenseArrayBase.from_list(i64, given)}
        kernel.block.add_op(
            TransposeOp(operands=[out, read, *positions, open_strides], properties=properties)
        )


def _copy(
    name: str, sizes: Sequence[Size], target: AffineAccess, source: AffineAccess, builder: LoweringBuilder
) -> None:
    def build() -> KernelBuilder:
        kernel = KernelBuilder([target.buffer_type_of(), source.buffer_type_of()])
        out, read = kernel.buffers
        with kernel.loops(sizes) as loops:
            value = kernel.load(read, [index.emit(kernel, loops) for index in source.exprs])
            kernel.store(value, out, [index.emit(kernel, loops) for index in target.exprs])
        return kernel

    builder.call_built(name, (tuple(sizes), target.key, source.key), build, [target.buffer], [source.buffer])


def fill(buffer: SSAValue, count: Size, value: float, builder: LoweringBuilder) -> None:
    """Set all `count` elements of a buffer."""
    kernel = KernelBuilder([AffineAccess.whole(buffer, [count]).buffer_type_of()])
    with kernel.loops([count]) as loops:
        kernel.store(kernel.constant(value, element_of(kernel.buffers[0])), kernel.buffers[0], loops)
    builder.call("fill", kernel, [buffer], [])
