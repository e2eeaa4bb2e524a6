"""The operators that may share a kernel."""

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
from xonnc.dialects.onnx.ops.tensor import (
    CastLikeOp,
    ReshapeOp,
    ResizeOp,
    ResizeV11Op,
    ResizeV13Op,
    ResizeV18Op,
    SliceOp,
)
from xonnc.dialects.onnx.types import NONE

SHAPE_OPERANDS: dict[type[Operation], Sequence[int]] = {
    CastLikeOp: (1,),
    ConstantOfShapeOp: (0,),
    ExpandOp: (1,),
    RangeOp: (1,),
    ReshapeOp: (1,),
    ResizeOp: (3,),
    ResizeV11Op: (3,),
    ResizeV13Op: (3,),
    ResizeV18Op: (3,),
    SliceOp: (2,),
}
"""Operands that only repeat the shape or the element type of the result."""


@dataclass(frozen=True, eq=False)
class FusionGroup:
    """Operators of one block that one kernel computes."""

    kind: str
    members: Sequence[Operation]
    """In program order; the last one's result is the group's main result."""


@dataclass(frozen=True)
class FusionScope:
    """The ops that may be fused: any while groups are chosen, members of one group when it is lowered."""

    groups: Mapping[Operation, FusionGroup] | None = None
    """The group of each operator that is in one; None while groups are chosen."""
    ignored: Container[Operation] = field(default_factory=frozenset[Operation])
    """Operators that only compute shapes, which dynamic kernels do without."""

    def may_join(self, op: Operation, other: Operation) -> bool:
        """Whether one kernel may compute both ops."""
        if self.groups is None:
            return True
        group = self.groups.get(op)
        return group is not None and group is self.groups.get(other)

    def users(self, value: SSAValue) -> list[Operation]:
        """Return the operators that read a value, once for each use."""
        return [use.operation for use in value.uses if use.operation not in self.ignored]

    def only_user(self, value: SSAValue) -> Operation | None:
        """Return the only reader of a value, or None."""
        users = self.users(value)
        return users[0] if len(users) == 1 else None


def dissolve_groups(module: ModuleOp) -> dict[Operation, FusionGroup]:
    """Inline the bodies of `krnl.fused` ops that kernels compute; return the group of each operator."""
    found: dict[Operation, FusionGroup] = {}
    for fused in [op for op in module.walk() if isinstance(op, FusedOp) and not op.is_of_strings]:
        block = fused.parent
        assert block is not None
        *members, end = fused.body.block.ops
        # Where the kernel is called: the call has the names of all nodes that it computes.
        members[-1].location = fused.location
        group = FusionGroup(fused.kind.data, members)
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
    """Return the indices of operands that only repeat the shape or element type of the result."""
    if isinstance(op, SliceOp) and not isinstance(op.starts.owner, ConstantOp):
        return []
    if isinstance(op, ResizeOp | ResizeV18Op) and op.keep_aspect_ratio_policy.data != "stretch":
        # The result is smaller or larger than these.
        return []
    return [
        index
        for index in SHAPE_OPERANDS.get(type(op), ())
        if op.operands[index].type != NONE and not isinstance(op.operands[index].owner, ConstantOp)
    ]


def shape_computations(block: Block) -> set[Operation]:
    """Return the operators of a block that only compute `shape_operands`."""
    found: set[Operation] = set()
    for op in reversed(list(block.ops)):
        if isinstance(op, OnnxOp) and op.results and not op.regions:
            uses = [use for result in op.results for use in result.uses]
            if all(use.operation in found or use.index in shape_operands(use.operation) for use in uses):
                found.add(op)
    return found
