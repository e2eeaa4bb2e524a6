"""Verification of single ops: types, properties and the checks of the op class, without nested ops."""

from __future__ import annotations

import re

from xdsl.ir import Operation
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.checks.verifier import OperandFault
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp, operator_name
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.rewriting.operand_types import operand_fault

_OP_PREFIX = re.compile(r"^'?onnx\.\w+'?(?: op |: )")
"""Prefix of a verifier message that already names the op, as MLIR's do."""

_OF_XDSL = re.compile(r" does not verify:")
"""Message of xDSL's about a type, which gives positions and IR types."""


def verification_error(op: Operation, in_model: bool = False) -> str | None:
    """
    Return the verifier's error for an op without its nested ops, or `None`.

    With `in_model`, operands and types have the names that they have in ONNX.
    """
    try:
        op.verify_()
        # Only terminators and branches have rules about their position.
        if op.successors or op.next_op is None:
            op.verify(verify_nested_ops=False)
    except VerifyException as error:
        if not in_model:
            return str(error)
        if isinstance(error, OperandFault):
            return error.for_model
        is_of_xdsl = _OF_XDSL.search(str(error)) is not None
        return (operand_fault(op) if is_of_xdsl and isinstance(op, OnnxOp) else None) or str(error)
    if in_model and isinstance(op, ConstantOp) and not op.properties:
        return "takes one value, found none"
    if op.has_trait(NoTerminator):
        return None
    for region in op.regions:
        if len(region.blocks) == 1 and region.block.is_empty:
            return f"operation {op.name} contains an empty block, which needs at least a terminator"
    return None


def unknown_attribute(op: OnnxOp) -> str | None:
    """Return the error for an attribute that the operator does not have, or `None`."""
    try:
        OnnxOp.verify_(op)
    except VerifyException as error:
        return str(error)
    return None


def node_message(op: Operation, reason: str) -> str:
    """Return a verifier's error for users of a model: node, operator, rule."""
    text = " ".join(_OP_PREFIX.sub("", reason).split())
    return f"{describe(op)}: {operator_name(op)}: {text}"
