"""
IR edits in time linear in the number of uses.

xDSL rebuilds the operand tuple of a user at each replaced operand (quadratic for ops with many operands), and
erased ops stay in reference cycles with their attributes until the cyclic garbage collector runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.types import element_type, is_ranked

operands_of: Callable[[Operation], Sequence[SSAValue]] = attrgetter("_operands")
"""Stored operands of an op; the public property creates a view object at each access."""


def retype(value: SSAValue, new_type: Attribute) -> None:
    """
    Change the type of `value` in place. xDSL's `Rewriter` would create a new value and replace all uses.
    """
    object.__setattr__(value, "_type", new_type)


def retype_function(function: FuncOp) -> bool:
    """Update the type of a function to its arguments and returned values; return whether it changed."""
    first, last = function.body.blocks.first, function.body.blocks.last
    end = None if last is None else last.last_op
    if first is None or end is None or not end.has_trait(IsTerminator):
        return False
    function_type = FunctionType.from_lists(
        [argument.type for argument in first.args], [each.type for each in end.operands]
    )
    if function_type == function.function_type:
        return False
    function.function_type = function_type
    return True


def transfer_results(op: Operation, new: Operation) -> None:
    """
    Make the results of `op` the results of `new`, so that no user has to be updated.

    `new` must have as many results as `op`, without uses; afterwards `op` has none.
    """
    results = op.results
    for result, fresh in zip(results, new.results, strict=True):
        if result.type != fresh.type:
            retype(result, fresh.type)
        result.op = new
    new.results = results
    op.results = SSAValues[OpResult](())


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """
    Replace all uses of `old` by `new`, with one operand rebuild per user.

    If `new` is an op result of unknown rank, it takes the more refined type of `old`.
    """
    if old is new:
        return
    if new.type is not old.type and isinstance(new, OpResult) and _is_less_refined(new.type, old.type):
        retype(new, old.type)
    readers = {use.operation: None for use in old.uses}
    for reader in readers:
        reader.operands = [new if operand is old else operand for operand in reader.operands]
    if new.name_hint is None:
        new.name_hint = old.name_hint


def _is_less_refined(this: Attribute, other: Attribute) -> bool:
    """Return whether `this` is an unranked tensor and `other` a ranked one of the same element type."""
    element = element_type(this)
    return element is not None and not is_ranked(this) and is_ranked(other) and element == element_type(other)


def erase(op: Operation) -> None:
    """Erase an op without uses; release its attributes and those of nested ops at once."""
    inner = list(op.walk()) if op.regions else [op]
    op.detach()
    op.erase(safe_erase=not op.regions)
    for erased in inner:
        drop_attributes(erased)


def drop_attributes(op: Operation) -> None:
    """Release all attributes of an erased op, which itself stays alive until the next cyclic collection."""
    op.properties.clear()
    op.attributes.clear()


def insert_before(op: Operation, new: Sequence[Operation]) -> None:
    """Insert ops into the block of `op`, just before it."""
    block = op.parent
    assert block is not None
    block.insert_ops_before(new, op)
