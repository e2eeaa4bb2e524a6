"""Hoist constants to the entry block of their function and merge equal ones, as MLIR's greedy driver does."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, Block, Operation
from xdsl.traits import IsolatedFromAbove

from xonnc.rewriting.editing import replace_uses
from xonnc.rewriting.patterns import DialectInterface


def hoist_constants(root: Operation, dialect: DialectInterface, drop: Callable[[Operation], None]) -> None:
    """
    Move the constants inside `root` to the start of the entry block of the nearest isolated op.

    A constant in the leading run of constants of that block stays; others are inserted before the first op.
    Constants of equal attribute and type are merged into the first in textual order.
    """
    homes: dict[Block, Block | None] = {}
    seen: dict[tuple[Block, Attribute, Attribute], Operation] = {}
    visited: set[Operation] = set()
    for op in [op for op in root.walk() if type(op) is dialect.constant]:
        block = op.parent
        elements = op.properties.get("value")
        if block is None or elements is None:
            continue
        home = homes[block] if block in homes else homes.setdefault(block, _home(block))
        if home is None:
            continue
        first = seen.setdefault((home, elements, op.results[0].type), op)
        if first is not op:
            replace_uses(op.results[0], first.results[0])
            drop(op)
            continue
        in_place = block is home and (op.prev_op is None or op.prev_op in visited)
        visited.add(op)
        if not in_place and home.first_op is not None:
            op.detach()
            home.insert_op_before(op, home.first_op)


def _home(block: Block) -> Block | None:
    """Return the entry block of the nearest op that is isolated from above, or `None` at module level."""
    region = block.parent
    while region is not None and region.parent is not None:
        owner = region.parent
        if owner.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            return region.blocks.first
        region = owner.parent.parent if owner.parent is not None else None
    return None
