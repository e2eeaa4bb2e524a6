"""
What follows from numbers of elements that a run finds (NonZero, NonMaxSuppression) as a function of its own.

Its sizes are open: the session calls it with what was found, and its kernels are for any sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.memory import LaterOp
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.lowering import FINDS
from xonnc.lowering.session_ops import is_session_op

LATER = "found"
"""The name of the function."""


def finds_sizes(module: ModuleOp) -> bool:
    """Whether anything follows from a number of elements that a run finds."""
    function = _model(module)
    return function is not None and bool(_followers(function.body.block, set()).later)


@dataclass(frozen=True)
class Cut:
    """The function that ops were moved to, and the numbers of all ops in the function that they were in."""

    function: FuncOp
    numbers: Mapping[Operation, int]


def cut_behind_found(module: ModuleOp, left: AbstractSet[int]) -> Cut | None:
    """
    Moves what follows from sizes that a run finds to a function of its own, and calls it when it may be.

    Ops with numbers that are `left` stay, and so does what follows from them. `None`, and the module is as it
    was, if nothing is moved.
    """
    function = _model(module)
    if function is None:
        return None
    block = function.body.block
    numbers = {op: number for number, op in enumerate(block.ops)}
    followers = _followers(block, left)
    later = followers.later
    moved = set(later)
    if not later:
        return None
    read = dict.fromkeys(value for op in later for value in op.operands if value.owner not in moved)
    inputs = [value for value in read if not isinstance(value.owner, ConstantOp | NoValueOp)]
    given = [
        result
        for op in later
        for result in op.results
        if any(use.operation not in moved for use in result.uses)
    ]
    end = block.last_op
    assert isinstance(end, ReturnOp)
    body = Block(arg_types=[value.type for value in inputs])
    inside = dict[SSAValue, SSAValue](zip(inputs, body.args, strict=True))
    for value in read:
        if value not in inside and isinstance(value.owner, Operation):
            copy = value.owner.clone()
            body.add_op(copy)
            inside[value] = copy.results[0]
    call = LaterOp(LATER, inputs, [value.type for value in given])
    block.insert_op_before(call, end)
    for op in followers.left:
        op.detach()
        block.insert_op_before(op, end)
    for value, made in zip(given, call.results, strict=True):
        value.replace_uses_with_if(made, lambda use: use.operation not in moved)
    for op in later:
        op.detach()
        op.operands = [inside.get(value, value) for value in op.operands]
        body.add_op(op)
    body.add_op(ReturnOp.create(operands=given))
    type_ = FunctionType.from_lists([each.type for each in body.args], [each.type for each in given])
    made = FuncOp(LATER, type_, Region(body), "private")
    module.body.block.add_op(made)
    return Cut(made, numbers)


def _model(module: ModuleOp) -> FuncOp | None:
    return next((op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks), None)


@dataclass(frozen=True)
class _Followers:
    """The ops that follow from sizes that a run finds, in order: those to move, and those that stay."""

    later: list[Operation]
    left: list[Operation]


def _followers(block: Block, left: AbstractSet[int]) -> _Followers:
    found: set[SSAValue] = set()
    stuck: set[SSAValue] = set()
    followers = _Followers([], [])
    for number, op in enumerate(block.ops):
        read = set(_read(op))
        if isinstance(op, ReturnOp):
            continue
        if read & stuck or (read & found and (number in left or not _may_move(op))):
            followers.left.append(op)
            stuck.update(op.results)
        elif read & found:
            followers.later.append(op)
            found.update(op.results)
        elif type(op) in FINDS and all(map(_is_known, op.operands)):
            found.update(result for result in op.results if not _is_known(result))
    return followers


def _may_move(op: Operation) -> bool:
    """Whether an op is an ONNX operator on tensors, without a body."""
    is_operator = isinstance(op, OnnxOp) and not is_session_op(op) and not op.regions
    values = [value for value in (*op.operands, *op.results) if value.type != NONE]
    return is_operator and all(
        element_type(each.type) is not None and is_ranked(each.type) for each in values
    )


def _is_known(value: SSAValue) -> bool:
    return value.type == NONE or static_shape(value.type) is not None


def _read(op: Operation) -> Iterator[SSAValue]:
    """What an op reads, in its bodies too."""
    for inner in op.walk():
        yield from inner.operands
