"""Which ops break rules of their own: those of types and properties, and those that their class lists."""

from __future__ import annotations

import re

from xdsl.ir import Operation
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp

_OP_PREFIX = re.compile(r"^'?onnx\.\w+'?(?: op |: )")
"""How rules begin that say whom they are about, as MLIR's do."""


def verification_error(op: Operation) -> str | None:
    """The rule an op breaks, its regions' ops apart."""
    try:
        op.verify_()
        # Only the end of a block and what branches have rules about their place.
        if op.successors or op.next_op is None:
            op.verify(verify_nested_ops=False)
    except VerifyException as error:
        return str(error)
    if op.has_trait(NoTerminator):
        return None
    for region in op.regions:
        if len(region.blocks) == 1 and region.block.is_empty:
            return f"operation {op.name} contains an empty block, which needs at least a terminator"
    return None


def unknown_attribute(op: OnnxOp) -> str | None:
    """The attribute that the operator of an op does not have, whatever its operands are."""
    try:
        OnnxOp.verify_(op)
    except VerifyException as error:
        return str(error)
    return None


def node_message(op: Operation, reason: str) -> str:
    """A broken rule as users of a model read it: the node, the operator, the rule."""
    told = " ".join(_OP_PREFIX.sub("", reason).split())
    return f"{describe(op)}: {op.name.removeprefix('onnx.')}: {told}"
