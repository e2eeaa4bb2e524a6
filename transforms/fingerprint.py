"""Structural hash of a module, to detect changes without a copy."""

from __future__ import annotations

from itertools import count

from xdsl.ir import Block, Operation, SSAValue


def fingerprint(root: Operation) -> int:
    """Return a hash of the ops in `root`, their operands, attributes and types."""
    numbers = count()
    values: dict[SSAValue, int] = {}
    blocks: dict[Block, int] = {}

    def numbered(value: SSAValue) -> int:
        return values.setdefault(value, len(values))

    parts: list[int] = []
    for op in root.walk():
        block = op.parent_block()
        if block is not None and block not in blocks:
            blocks[block] = next(numbers)
            parts.append(hash(tuple((numbered(value), value.type) for value in block.args)))
        parts.append(
            hash(
                (
                    op.name,
                    -1 if block is None else blocks[block],
                    tuple(numbered(operand) for operand in op.operands),
                    tuple((numbered(result), result.type) for result in op.results),
                    frozenset(op.properties.items()),
                    frozenset(op.attributes.items()),
                )
            )
        )
    return hash(tuple(parts))
