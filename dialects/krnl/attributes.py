"""Attributes that the conversion to krnl and the memory plan leave on ops of other dialects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

NO_KERNEL = "krnl.no_kernel"
"""Why an op was not converted: it runs on the host, one call a run."""

OFFSETS = "krnl.offsets"
"""Where in the arena each result of an op begins, in bytes; -1 for a result that lies elsewhere."""

BLOCKS = "krnl.blocks"
"""
In which block of the arena each result of an op lies, of dynamic sizes; -1 if elsewhere.

Blocks lie one after the other; each is as large as the largest of its buffers, which are alive at different
times.
"""

ARENA = "krnl.arena"
"""
What a function's memory plan takes, in bytes.

`size` is what the arena takes, `peak` the most that is alive at once in this order of calls: no plan for it
takes less. No order at all has a peak below `lower_bound`. For dynamic sizes there are `blocks`.
"""


def set_no_kernel(op: Operation, reason: str) -> None:
    """Says why an op was not converted."""
    op.attributes[NO_KERNEL] = StringAttr(reason)


def no_kernel(op: Operation) -> str:
    """Why an op was not converted; empty for others."""
    reason = op.attributes.get(NO_KERNEL)
    return reason.data if isinstance(reason, StringAttr) else ""


def ops_without_kernel(root: Operation) -> Iterator[Operation]:
    """The ops within `root`, itself included, that were not converted."""
    return (op for op in root.walk() if NO_KERNEL in op.attributes)


def set_locations(op: Operation, name: str, places: Sequence[int]) -> None:
    """Says where the results of an op lie: `OFFSETS` or `BLOCKS`."""
    op.attributes[name] = DenseArrayBase.from_list(i64, places)


def location_of(value: SSAValue, name: str) -> int | None:
    """The offset (`OFFSETS`) or block (`BLOCKS`) of a value; `None` if it has none."""
    held = value.owner.attributes.get(name) if isinstance(value.owner, Operation) else None
    if not isinstance(held, DenseArrayBase):
        return None
    places = [int(place) for place in held.get_values()]
    index = value.owner.results.index(value) if isinstance(value.owner, Operation) else 0
    return places[index] if index < len(places) and places[index] >= 0 else None


def set_arena(function: FuncOp, **sizes: int) -> None:
    """Says what the memory plan of a function takes."""
    function.attributes[ARENA] = DictionaryAttr(
        {name: IntegerAttr(size, i64) for name, size in sizes.items()}
    )


def arena_of(function: FuncOp) -> dict[str, int] | None:
    """What the memory plan of a function takes; `None` if there is no plan."""
    held = function.attributes.get(ARENA)
    if not isinstance(held, DictionaryAttr):
        return None
    return {name: size.value.data for name, size in held.data.items() if isinstance(size, IntegerAttr)}
