"""Creation of `krnl.fused` groups, and the reordering of blocks that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from xdsl.ir import Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.dialects.krnl.loops import YieldOp
from xonnc.dialects.onnx.locations import joined
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionGroup
from xonnc.rewriting.editing import operands_of


def put_groups(block: Block, groups: Sequence[FusionGroup]) -> None:
    """Put the members of groups into `krnl.fused` ops, and the block in topological order."""
    if not groups:
        return
    chosen = {member: group for group in groups for member in group.members}
    units = _ordered(block, chosen)
    for op in list(block.ops):
        op.detach()
    for unit in units:
        block.add_op(_fused(unit) if isinstance(unit, FusionGroup) else unit)


def _fused(group: FusionGroup) -> FusedOp:
    """Return the detached members as one op whose results are the values that others read."""
    inside = set(group.members)
    read = [
        result
        for member in group.members
        for result in member.results
        if member is group.members[-1] or any(use.operation not in inside for use in result.uses)
    ]
    read.reverse()
    body = Block([*group.members, YieldOp.create(operands=read)])
    fused = FusedOp.of(group.kind, Region(body))
    # The name of its last node, and those of all others that it does the work of.
    fused.location = reduce(joined, (member.location for member in reversed(group.members)))
    for value, result in zip(read, fused.results, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation.parent is not body)
    return fused


def _ordered(block: Block, chosen: dict[Operation, FusionGroup]) -> list[Operation | FusionGroup]:
    """
    Return the ops of a block in topological order, each group as one.

    A group stands where its last member did, or before the first reader of another member. A group on a cycle
    (an operand is computed from a member's result) is removed from `chosen`, and the order starts over.
    """
    # Each round drops one cyclic group, so this terminates.
    while True:
        order: dict[Operation | FusionGroup, None] = {}
        for op in block.ops:
            group = chosen.get(op)
            if group is None or op is group.members[-1]:
                circular = _emit(op if group is None else group, block, chosen, order)
                if circular is not None:
                    for member in circular.members:
                        del chosen[member]
                    break
        else:
            return list(order)


def _emit(
    unit: Operation | FusionGroup,
    block: Block,
    chosen: dict[Operation, FusionGroup],
    order: dict[Operation | FusionGroup, None],
) -> FusionGroup | None:
    """Append a unit after what it reads (depth-first); return a group on a cycle, if there is one."""
    under_way: dict[Operation | FusionGroup, Iterator[Operation | FusionGroup]] = {}
    waiting = [unit]
    while waiting:
        last = waiting[-1]
        if last in order:
            waiting.pop()
            continue
        if last not in under_way:
            under_way[last] = _sources(last, block, chosen)
        source = next((each for each in under_way[last] if each not in order), None)
        if source is None:
            order[last] = None
            waiting.pop()
        elif source in under_way:
            circle = waiting[waiting.index(source) :]
            return next(each for each in circle if isinstance(each, FusionGroup))
        else:
            waiting.append(source)
    return None


def _sources(
    unit: Operation | FusionGroup, block: Block, chosen: dict[Operation, FusionGroup]
) -> Iterator[Operation | FusionGroup]:
    """The units whose results a unit reads."""
    for value in _captured(unit):
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is block:
            source = chosen.get(owner, owner)
            if source is not unit:
                yield source


def _captured(unit: Operation | FusionGroup) -> Iterator[SSAValue]:
    for op in unit.members if isinstance(unit, FusionGroup) else (unit,):
        for each in op.walk() if op.regions else (op,):
            yield from operands_of(each)
