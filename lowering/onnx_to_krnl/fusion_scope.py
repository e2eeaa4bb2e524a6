"""Which operators one kernel may compute together."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOfShapeOp, ConstantOp
from xonnc.dialects.onnx.ops.generator import RangeOp
from xonnc.dialects.onnx.ops.math import ExpandOp
from xonnc.dialects.onnx.ops.tensor import ReshapeOp, SliceOp
from xonnc.dialects.onnx.types import NONE

SHAPE_OPERANDS: dict[type[Operation], Sequence[int]] = {
    ConstantOfShapeOp: (0,),
    ExpandOp: (1,),
    RangeOp: (1,),
    ReshapeOp: (1,),
    SliceOp: (2,),
}
"""Operands of which the sizes of the result say all."""


@dataclass(frozen=True, eq=False)
class Group:
    """Operators of one block that one kernel computes."""

    kind: str
    members: Sequence[Operation]
    """In the order of the block; the last gives what the group is for."""


@dataclass(frozen=True)
class FusionScope:
    """What may be fused: everything when groups are chosen, the members of a group when it is lowered."""

    groups: Mapping[Operation, Group] | None = None
    """The group of each operator that is in one; `None` while groups are chosen."""
    ignored: Container[Operation] = field(default_factory=frozenset[Operation])
    """Operators that only sizes are computed by, which kernels for any sizes do without."""

    def may_join(self, op: Operation, other: Operation) -> bool:
        """Whether a kernel may compute both."""
        if self.groups is None:
            return True
        group = self.groups.get(op)
        return group is not None and group is self.groups.get(other)

    def users(self, value: SSAValue) -> list[Operation]:
        """The operators that read a value, one for each use."""
        return [use.operation for use in value.uses if use.operation not in self.ignored]

    def only_user(self, value: SSAValue) -> Operation | None:
        """The operator that alone reads a value, once."""
        users = self.users(value)
        return users[0] if len(users) == 1 else None


def dissolve_groups(module: ModuleOp) -> dict[Operation, Group]:
    """Puts the operators of each group in its place; the group of each."""
    found: dict[Operation, Group] = {}
    for fused in [op for op in module.walk() if isinstance(op, FusedOp)]:
        block = fused.parent
        assert block is not None
        *members, end = fused.body.block.ops
        group = Group(fused.kind.data, members)
        for member in members:
            member.detach()
            found[member] = group
        block.insert_ops_before(members, fused)
        for result, value in zip(fused.results, end.operands, strict=True):
            result.replace_all_uses_with(value)
        fused.detach()
        fused.erase()
    return found


def shape_operands(op: Operation) -> list[int]:
    """The places of operands that say no more than the sizes of the result do."""
    if isinstance(op, SliceOp) and not isinstance(op.starts.owner, ConstantOp):
        return []
    return [
        place
        for place in SHAPE_OPERANDS.get(type(op), ())
        if op.operands[place].type != NONE and not isinstance(op.operands[place].owner, ConstantOp)
    ]


def shape_computations(block: Block) -> set[Operation]:
    """The operators of a block that only compute operands of `sizes_told_twice`."""
    found: set[Operation] = set()
    for op in reversed(list(block.ops)):
        if isinstance(op, OnnxOp) and op.results and not op.regions:
            uses = [use for result in op.results for use in result.uses]
            if all(use.operation in found or use.index in shape_operands(use.operation) for use in uses):
                found.add(op)
    return found
