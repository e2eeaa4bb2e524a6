"""Parallelization: kernels that run a range of iterations of their outermost loop, given as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, Region, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp
from xonnc.dialects.krnl.memory import LoadOp, StoreOp, TransposeOp
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size

PRELUDE = (arith.ConstantOp, arith.IndexCastOp, arith.SIToFPOp, DefineLoopsOp, ShapedOp)
"""Ops before a kernel's loops that compute no elements."""


MIN_CHUNK = 16
"""Elements of a chunk at least: a full vector of most types and processors."""


def split_into_chunks(size: int, most: int) -> tuple[int, int]:
    """
    Split a loop into (chunks, elements per chunk); one chunk if no divisor fits.

    The innermost loop is vectorized, so that only a loop around it can be parallel.
    """
    widths = [width for width in range(MIN_CHUNK, min(size, most) + 1) if size % width == 0]
    width = max([width for width in widths if width % MIN_CHUNK == 0] or widths or [size])
    return (size // width, width) if size else (1, size)


def parallelize(kernel: KernelBuilder) -> Size:
    """
    Make a kernel take a range of iterations, if these are independent; return their number, or 0.

    It is the outermost loop with more than one iteration; a loop of dynamic length only if there is no other.
    """
    loops = [op for op in kernel.entry.ops if not isinstance(op, PRELUDE)]
    nest = loops[0] if len(loops) == 1 else None
    if not isinstance(nest, IterateOp) or nest.returned:
        return 0
    bounds = [(lower, upper) for _, lower, upper in nest.input_loops()]
    place = _parallel_loop(nest, bounds)
    # The caller must know the number of iterations: a constant, or a size that is an argument.
    if place is None or not (
        isinstance(bounds[place][1], int) or bounds[place][1] in kernel.extents.values()
    ):
        return 0
    _, iterations = bounds[place]
    first, end = kernel.add_range_arguments()
    bounds[place] = first, end
    ranged = IterateOp(
        list(nest.optimized_loops),
        [lower for lower, _ in bounds],
        [upper for _, upper in bounds],
        nest.detach_region(0),
    )
    kernel.entry.insert_op_before(ranged, nest)
    nest.detach()
    nest.erase()
    if isinstance(iterations, int):
        return iterations
    return next(extent for extent, argument in kernel.extents.items() if argument is iterations)


def _parallel_loop(nest: IterateOp, bounds: Sequence[tuple[int | SSAValue, int | SSAValue]]) -> int | None:
    """Return the index of the loop to parallelize, or None."""
    places = [place for place, (_, upper) in enumerate(bounds) if upper != 1]
    fixed = [place for place in places if isinstance(bounds[place][1], int)]
    if len(fixed) < len(places):
        # The innermost loop is vectorized, which is best with a static length.
        last = len(bounds) - 1
        places = [place for place in fixed if place != last or _has_loops(nest)] or [
            place for place in places if place not in fixed
        ]
    if not places or not _is_independent(nest, nest.body.block.args[places[0]]):
        return None
    lower, iterations = bounds[places[0]]
    is_known = isinstance(iterations, int)
    if lower != 0 or (
        is_known and (iterations < 2 or (places[0] == len(bounds) - 1 and not _has_loops(nest)))
    ):
        return None
    return places[0]


def _has_loops(nest: IterateOp) -> bool:
    """Whether there are inner loops; an innermost loop is vectorized and must stay whole."""
    return any(isinstance(op, IterateOp) for op in nest.body.block.ops)


class _Access(NamedTuple):
    """A read or write of a buffer."""

    buffer: SSAValue
    indices: Sequence[SSAValue]
    is_write: bool


def _accesses(region: Region) -> Iterator[_Access]:
    for op in region.walk():
        match op:
            case LoadOp() | StoreOp():
                yield _Access(op.memref, op.indices, isinstance(op, StoreOp))
            case TransposeOp():
                yield _Access(op.dest, op.dest_indices, True)
                yield _Access(op.src, op.src_indices, False)
            case _:
                pass


def _is_independent(nest: IterateOp, index: SSAValue) -> bool:
    """
    Whether iterations of a loop access different elements of every written buffer.

    Conservative dependence test: on some axis, all accesses of the buffer have the same affine index `factor
    · i + offset`, with a nonzero factor and no other index added.
    """
    accesses = list(_accesses(nest.body))
    for buffer in {access.buffer for access in accesses if access.is_write}:
        axes: set[int] | None = None
        factors: set[tuple[int, int]] = set()
        for access in accesses:
            if access.buffer is buffer:
                found = {axis: _affine_index(place, index) for axis, place in enumerate(access.indices)}
                own = {axis for axis, multiple in found.items() if multiple is not None}
                axes = own if axes is None else axes & own
                factors |= {multiple for multiple in found.values() if multiple is not None}
        if not axes or len(factors) != 1:
            return False
    return True


def _affine_index(place: SSAValue, index: SSAValue) -> tuple[int, int] | None:
    """Return (factor, offset) if an index is `factor · i + offset`, or None."""
    if place is index:
        return 1, 0
    owner = place.owner
    if not isinstance(owner, arith.AddiOp | arith.MuliOp):
        return None
    number = _number(owner.rhs)
    inner = _affine_index(owner.lhs, index)
    if number is None or inner is None:
        return None
    factor, offset = inner
    if isinstance(owner, arith.AddiOp):
        return factor, offset + number
    # A factor of 0 would map all iterations to one element.
    return (factor * number, offset * number) if number else None


def _number(value: SSAValue) -> int | None:
    owner: Operation | object = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
