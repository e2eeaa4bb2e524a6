"""
Edits of the IR that cost the same however often a value is read.

xDSL rebuilds a user's operand tuple for every operand replaced, which is quadratic for an op that reads
many values, and keeps erased ops alive in reference cycles, their attributes with them
(docs/internals/onnx-rules.md §10.3).
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
"""The operands of an op as they are stored: the public property builds a view object for every access."""


def retype(value: SSAValue, new_type: Attribute) -> None:
    """Gives `value` another type in place; xDSL's own way makes a new value and rewrites every reader."""
    object.__setattr__(value, "_type", new_type)


def retype_function(function: FuncOp) -> bool:
    """Makes the type of a function what its arguments and its end say; whether it has changed."""
    first, last = function.body.blocks.first, function.body.blocks.last
    end = None if last is None else last.last_op
    if first is None or end is None or not end.has_trait(IsTerminator):
        return False
    wanted = FunctionType.from_lists(
        [argument.type for argument in first.args], [each.type for each in end.operands]
    )
    if wanted == function.function_type:
        return False
    function.function_type = wanted
    return True


def transfer_results(op: Operation, new: Operation) -> None:
    """
    Makes the results of `op` the results of `new`, type by type, so that no reader has to be touched.

    `new` must have as many results as `op`, none of them read; `op` has none left afterwards.
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
    Replaces `old` by `new` everywhere; one rebuild of the operands for each reader.

    Where `new` is made by an op and of no known rank, the rank and sizes of `old` become its own.
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
    """Whether one type is a tensor of no known rank where the other is one of a known rank."""
    element = element_type(this)
    return element is not None and not is_ranked(this) and is_ranked(other) and element == element_type(other)


def erase(op: Operation) -> None:
    """Erases an op that nobody reads, and drops its attributes and those of all ops inside at once."""
    inner = list(op.walk()) if op.regions else [op]
    op.detach()
    op.erase(safe_erase=not op.regions)
    for erased in inner:
        drop_attributes(erased)


def drop_attributes(op: Operation) -> None:
    """Lets go of all attributes of an erased op, which itself lives until the next cyclic collection."""
    op.properties.clear()
    op.attributes.clear()


def insert_before(op: Operation, new: Sequence[Operation]) -> None:
    """Puts ops into the block of `op`, just before it."""
    block = op.parent
    assert block is not None
    block.insert_ops_before(new, op)
