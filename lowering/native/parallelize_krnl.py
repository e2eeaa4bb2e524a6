"""
Parallelize kernels: a loop with independent iterations runs a range of them, given as arguments.

```mlir
"krnl.call"(%y, %x) {funcName = "row_sums"} : (memref<8xf32>, memref<8x64xf32>) -> ()
func.func private @row_sums(%y: memref<8xf32>, %x: memref<8x64xf32>) {
  krnl.iterate(%i) with (%i -> %row = 0 to 8) { … }
```

becomes

```mlir
"krnl.call"(%y, %x) {funcName = "row_sums", iterations = 8 : i64} : (memref<8xf32>, memref<8x64xf32>) -> ()
func.func private @row_sums(%y: memref<8xf32>, %x: memref<8x64xf32>, %begin: index, %end: index) {
  krnl.iterate(%i) with (%i -> %row = %begin to %end) { … }
```

The thread pool divides the iterations of a call among the threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp
from xonnc.dialects.krnl.memory import CallOp, LoadOp, StoreOp, TransposeOp
from xonnc.lowering.native.called_kernels import called_kernels

PRELUDE = (arith.ConstantOp, arith.IndexCastOp, arith.SIToFPOp, DefineLoopsOp, ShapedOp)
"""Ops before a kernel's loops that compute no elements."""


@dataclass(frozen=True)
class ParallelizeKrnl(ModulePass):
    """
    Let kernels run a range of iterations of a loop, given as arguments, and divide it among threads.

    It is the outermost loop with more than one iteration, if no iteration reads or writes what another one
    writes. Kernels that take a range already are left unchanged.
    """

    name = "parallelize-krnl"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Parallelize the kernels that the module's functions call."""
        for kernel, calls in called_kernels(op):
            if not any(map(_has_range, calls)):
                _parallelize(kernel, calls)


def _has_range(call: CallOp) -> bool:
    return call.iterations is not None or call.iterations_parameter is not None


def _parallelize(kernel: FuncOp, calls: Iterable[CallOp]) -> None:
    """Let a kernel take a range of iterations, and its calls pass their number, if a loop permits."""
    entry = kernel.body.block
    loops = [op for op in entry.ops if not isinstance(op, PRELUDE) and op is not entry.last_op]
    nest = loops[0] if len(loops) == 1 else None
    if not isinstance(nest, IterateOp) or nest.returned:
        return
    bounds = [(lower, upper) for _, lower, upper in nest.input_loops()]
    index = _parallel_loop(nest, bounds)
    if index is None:
        return
    _, iterations = bounds[index]
    # The caller must know the number of iterations: a constant, or a dimension that it passes.
    if isinstance(iterations, SSAValue) and not (
        isinstance(iterations, BlockArgument) and iterations.block is entry
    ):
        return
    bounds[index] = _add_range_arguments(kernel, entry)
    _set_bounds(nest, bounds)
    for call in calls:
        if isinstance(iterations, int):
            call.iterations = IntegerAttr(iterations, i64)
        else:
            assert isinstance(iterations, BlockArgument)
            call.iterations_parameter = IntegerAttr(iterations.index, i64)


def _add_range_arguments(kernel: FuncOp, entry: Block) -> tuple[SSAValue, SSAValue]:
    """Add the range of iterations to run as last arguments: first, and end (exclusive)."""
    begin, end = (entry.insert_arg(IndexType(), len(entry.args)) for _ in range(2))
    outputs = kernel.function_type.outputs
    kernel.function_type = FunctionType.from_lists([each.type for each in entry.args], outputs.data)
    return begin, end


def _set_bounds(nest: IterateOp, bounds: Sequence[tuple[int | SSAValue, int | SSAValue]]) -> None:
    """Replace a loop nest by one with other bounds."""
    block = nest.parent
    assert block is not None
    lower, upper = [each for each, _ in bounds], [each for _, each in bounds]
    ranged = IterateOp(list(nest.optimized_loops), lower, upper, nest.detach_region(0))
    block.insert_op_before(ranged, nest)
    nest.detach()
    nest.erase()


def _parallel_loop(nest: IterateOp, bounds: Sequence[tuple[int | SSAValue, int | SSAValue]]) -> int | None:
    """
    Return the index of the loop to parallelize, or None.

    A loop of dynamic length is taken only if there is no other.
    """
    innermost = len(bounds) - 1
    candidates = [index for index, (_, upper) in enumerate(bounds) if upper != 1]
    static = [index for index in candidates if isinstance(bounds[index][1], int)]
    if len(static) < len(candidates):
        # The innermost loop is vectorized, which is best with a static length.
        outer = [index for index in static if index != innermost or _has_loops(nest)]
        candidates = outer or [index for index in candidates if index not in static]
    if not candidates or not _is_independent(nest, nest.body.block.args[candidates[0]]):
        return None
    chosen = candidates[0]
    lower, iterations = bounds[chosen]
    is_vectorized = chosen == innermost and not _has_loops(nest)
    if lower != 0 or (isinstance(iterations, int) and (iterations < 2 or is_vectorized)):
        return None
    return chosen


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


def _is_independent(nest: IterateOp, variable: SSAValue) -> bool:
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
                found = {axis: _affine_index(index, variable) for axis, index in enumerate(access.indices)}
                own = {axis for axis, multiple in found.items() if multiple is not None}
                axes = own if axes is None else axes & own
                factors |= {multiple for multiple in found.values() if multiple is not None}
        if not axes or len(factors) != 1:
            return False
    return True


def _affine_index(index: SSAValue, variable: SSAValue) -> tuple[int, int] | None:
    """Return (factor, offset) if an index is `factor · variable + offset`, or None."""
    if index is variable:
        return 1, 0
    owner = index.owner
    if not isinstance(owner, arith.AddiOp | arith.MuliOp):
        return None
    number = _constant(owner.rhs)
    inner = _affine_index(owner.lhs, variable)
    if number is None or inner is None:
        return None
    factor, offset = inner
    if isinstance(owner, arith.AddiOp):
        return factor, offset + number
    # A factor of 0 would map all iterations to one element.
    return (factor * number, offset * number) if number else None


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None
