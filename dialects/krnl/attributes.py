"""Attributes that the conversion to krnl and the memory plan set on ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

NO_KERNEL = "krnl.no_kernel"
"""The reason why an op has no kernel; the runtime executes it."""

CUT = "krnl.cut"
"""
Of a Slice of one axis: the size of its result is data-dependent; it is computed at full size and cut then.
"""

OPERAND_TYPE = "krnl.operand_type"
"""Of a product of float32 with a constant: the element type that its operands may be rounded to."""

WINOGRAD = "krnl.winograd"
"""Of a 3x3 convolution: rows and columns of the tiles of results that Winograd's filtering computes."""

OFFSETS = "krnl.offsets"
"""The offset of each result in the arena, in bytes; -1 for results elsewhere."""

BLOCKS = "krnl.blocks"
"""
With dynamic shapes: the block of the arena that each result is in; -1 for results elsewhere.

Blocks are consecutive, and each is as large as the largest of its buffers, whose lifetimes do not overlap.
"""

ARENA = "krnl.arena"
"""
Memory use of a function, in bytes.

`size` of the arena; `peak`, the most bytes alive at once in this order of calls, below which no plan gets;
`lower_bound` of the peak over all orders; with dynamic shapes, `blocks`.
"""

C_SOURCE = "krnl.c_source"
"""On the declaration of a kernel written in C: the source with the functions that it calls."""

C_KERNEL = "krnl.c_kernel"
"""On the same declaration: the definition of the kernel in C, which calls a function of `C_SOURCE`."""


def set_no_kernel(op: Operation, reason: str) -> None:
    """Set the reason why an op has no kernel."""
    op.attributes[NO_KERNEL] = StringAttr(reason)


def no_kernel(op: Operation) -> str:
    """Return the reason why an op has no kernel, or ""."""
    reason = op.attributes.get(NO_KERNEL)
    return reason.data if isinstance(reason, StringAttr) else ""


def ops_without_kernel(root: Operation) -> Iterator[Operation]:
    """Yield the ops within `root`, itself included, that have no kernel."""
    return (op for op in root.walk() if NO_KERNEL in op.attributes)


def set_locations(op: Operation, name: str, indices: Sequence[int]) -> None:
    """Set the offsets or blocks of an op's results (`OFFSETS` or `BLOCKS`)."""
    op.attributes[name] = DenseArrayBase.from_list(i64, indices)


def location_of(value: SSAValue, name: str) -> int | None:
    """Return the offset (`OFFSETS`) or block (`BLOCKS`) of a value, or None."""
    attribute = value.owner.attributes.get(name) if isinstance(value.owner, Operation) else None
    if not isinstance(attribute, DenseArrayBase):
        return None
    indices = [int(position) for position in attribute.get_values()]
    index = value.owner.results.index(value) if isinstance(value.owner, Operation) else 0
    return indices[index] if index < len(indices) and indices[index] >= 0 else None


def set_arena(function: FuncOp, **sizes: int) -> None:
    """Set the memory use of a function."""
    function.attributes[ARENA] = DictionaryAttr(
        {name: IntegerAttr(size, i64) for name, size in sizes.items()}
    )


def arena_of(function: FuncOp) -> dict[str, int] | None:
    """Return the memory use of a function, or None."""
    attribute = function.attributes.get(ARENA)
    if not isinstance(attribute, DictionaryAttr):
        return None
    return {name: size.value.data for name, size in attribute.data.items() if isinstance(size, IntegerAttr)}
