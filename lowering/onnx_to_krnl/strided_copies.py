"""Copies between buffers by affine indexing maps, with in-register transposition of tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.memory import TransposeOp, element_of
from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.onnx_to_krnl.kernel_builder import BufferType, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, are_static, is_static


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
    after, before = target.strides(len(sizes)), source.strides(len(sizes))
    rows = [number for number, size in enumerate(sizes) if after[number] == 1 and size != 1]
    columns = [number for number, size in enumerate(sizes) if before[number] == 1 and size != 1]
    if len(rows) == len(columns) == 1 and rows != columns:
        size = builder.tiles.square(size_of(element_of(source.buffer)))
        _copy_transposed(name, sizes, (target, source), (rows[0], columns[0]), size, builder)
    else:
        _copy(name, sizes, target, source, builder)


def _copy_transposed(
    name: str,
    sizes: Sequence[Size],
    sides: tuple[AffineAccess, AffineAccess],
    loops: tuple[int, int],
    size: int,
    builder: LoweringBuilder,
) -> None:
    """Copy by square tiles of `size` along two loops, and the remainders by smaller ones."""
    if size < MIN_TRANSPOSE_TILE:
        _copy(name, sizes, *sides, builder)
        return
    tile_counts = {number: sizes[number] // size for number in loops}
    if 0 in tile_counts.values():
        _copy_transposed(name, sizes, sides, loops, size // 2, builder)
        return
    _transpose_tiles(
        name,
        [tile_counts.get(number, count) for number, count in enumerate(sizes)],
        sides,
        loops,
        size,
        builder,
    )
    counts = list(sizes)
    for number, count in tile_counts.items():
        done = count * size
        left = sizes[number] - done
        if left != 0:
            rest = list(counts)
            rest[number] = left
            target, source = (side.shifted({number: done}, {}) for side in sides)
            # A remainder of dynamic size is copied element by element.
            if are_static(rest):
                _copy_transposed(name, rest, (target, source), loops, size // 2, builder)
            else:
                _copy(name, rest, target, source, builder)
        counts[number] = done


def _transpose_tiles(
    name: str,
    counts: Sequence[Size],
    sides: tuple[AffineAccess, AffineAccess],
    loops: tuple[int, int],
    size: int,
    builder: LoweringBuilder,
) -> None:
    """Transpose square tiles along two loops."""
    row, column = loops
    target, source = (side.shifted({}, {row: size, column: size}) for side in sides)
    strides = sides[0].strides(len(counts))[column], sides[1].strides(len(counts))[row]
    kernel = KernelBuilder([target.buffer_type_of(), source.buffer_type_of()])
    out, read = kernel.buffers
    with kernel.loops(counts) as indices:
        starts = [[index.emit(kernel, indices) for index in side.exprs] for side in (target, source)]
        given = [stride if is_static(stride) else DYNAMIC_INDEX for stride in strides]
        open_strides = [kernel.size(stride) for stride in strides if not is_static(stride)]
        properties = {"size": IntegerAttr(size, i64), "strides": DenseArrayBase.from_list(i64, given)}
        kernel.block.add_op(TransposeOp(operands=[out, read, *starts, open_strides], properties=properties))
    builder.call(name, kernel, [target.buffer], [source.buffer])


def _copy(
    name: str, sizes: Sequence[Size], target: AffineAccess, source: AffineAccess, builder: LoweringBuilder
) -> None:
    kernel = KernelBuilder([target.buffer_type_of(), source.buffer_type_of()])
    out, read = kernel.buffers
    with kernel.loops(sizes) as loops:
        value = kernel.load(read, [index.emit(kernel, loops) for index in source.exprs])
        kernel.store(value, out, [index.emit(kernel, loops) for index in target.exprs])
    builder.call(name, kernel, [target.buffer], [source.buffer])


def fill(buffer: SSAValue, count: Size, value: float, builder: LoweringBuilder) -> None:
    """Set all `count` elements of a buffer."""
    kernel = KernelBuilder([AffineAccess.whole(buffer, [count]).buffer_type_of()])
    with kernel.loops([count]) as loops:
        kernel.store(kernel.constant(value, element_of(kernel.buffers[0])), kernel.buffers[0], loops)
    builder.call("fill", kernel, [buffer], [])
