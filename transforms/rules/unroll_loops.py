"""Unroll loops of few iterations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import is_ranked, static_shape
from xonnc.rewriting.editing import insert_before
from xonnc.rewriting.onnx import Concat, Loop, Unsqueeze
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, rest, value
from xonnc.rewriting.rules import RuleSet, rule, rules
from xonnc.transforms.model_opsets import version_at
from xonnc.transforms.rules.canonicalize_loops import number
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.rules.op_builder import OpBuilder

MAX_OPS = 64
"""
Default limit of ops that a loop may become.

A loop that becomes many ops is slower to compile, and no faster to run: the time of an iteration is mostly
that of its ops.
"""

AXES_ARE_OPERANDS = 13
"""The first opset whose Unsqueeze takes its axes as an operand."""


def count_of(root: Operation, body: Block) -> int | MatchFailure:
    """Return how many iterations a loop has that no condition ends."""
    most, condition, again = root.operands[0], root.operands[1], body.last_op
    first = 1 if is_absent(condition) else number(condition)
    if first == 0:
        return 0
    count = number(most)
    if count is None or first is None:
        return MatchFailure("the trip count or the first condition is not constant")
    if again is None or (again.operands[0] is not body.args[1] and not number(again.operands[0])):
        return MatchFailure("the condition may end the loop")
    return max(count, 0)


def size_of(body: Block) -> int:
    """Return the number of ops of a body, nested ones included."""
    passive = (ConstantOp, NoValueOp, YieldOp)
    return sum(
        isinstance(op, OnnxOp) and not isinstance(op, passive) for each in body.ops for op in each.walk()
    )


def unrolled(max_ops: int, root: Operation, initial: Sequence[SSAValue]) -> RewriteResult:
    """A loop of n iterations is n copies of its body, and scan outputs are concatenations"""
    body = root.regions[0].blocks.first
    if body is None or len(body.args) != len(initial) + 2:
        return MatchFailure("the loop has no body, or one of other arguments")
    count = count_of(root, body)
    if isinstance(count, MatchFailure):
        return count
    carried = len(initial)
    collected = [result for result in root.results[carried:] if result.first_use is not None]
    if count * size_of(body) > max_ops:
        return MatchFailure(f"there would be more than {max_ops} ops")
    if collected and count == 0:
        return MatchFailure("there is no iteration, and a scan output is read")
    if collected and (version_at(root) or 0) < AXES_ARE_OPERANDS:
        return MatchFailure(f"a scan output is read, in an opset below {AXES_ARE_OPERANDS}")
    if any(shape_of_counter(argument) is None for argument in body.args[:2]):
        return MatchFailure("the iteration number or the condition has no known shape")
    return ImperativeRewrite(partial(write_iterations, count, carried))


def shape_of_counter(argument: SSAValue) -> tuple[int, ...] | None:
    """Return the shape of an iteration number or condition: that of a scalar, or `(1,)` as tf2onnx has it."""
    return static_shape(argument.type) if is_ranked(argument.type) else ()


def write_iterations(count: int, carried: int, op: Operation) -> Sequence[SSAValue]:
    """Write copies of the body before a loop; return the values that replace its results."""
    builder, body = OpBuilder(op), op.regions[0].block
    end = body.last_op
    assert end is not None
    values: list[SSAValue] = list(op.operands[2:])
    collected: list[list[SSAValue]] = [[] for _ in op.results[carried:]]
    for iteration in range(count):
        mapping: dict[SSAValue, SSAValue] = dict(zip(body.args[2:], values, strict=True))
        for argument, known in ((body.args[0], np.int64(iteration)), (body.args[1], np.bool_(True))):
            if argument.first_use is not None:
                shape = shape_of_counter(argument) or ()
                mapping[argument] = builder.constant(np.full(shape, known))
        copies = [each.clone(value_mapper=mapping) for each in body.ops if each is not end]
        for copy in copies:
            for each in copy.walk():
                # Each name of a value is there once; the loop's results keep theirs.
                each.location = derived(each.location)
        insert_before(op, copies)
        results = [mapping.get(each, each) for each in end.operands[1:]]
        values = results[:carried]
        for rows, row in zip(collected, results[carried:], strict=True):
            rows.append(row)
    for result, rows in zip(op.results[carried:], collected, strict=True):
        if result.first_use is None:
            values.append(builder.none())
            continue
        axis = builder.ints(0)
        expanded = [builder(Unsqueeze, row, axis) for row in rows]
        values.append(builder(Concat, *expanded, axis=0) if len(expanded) > 1 else expanded[0])
    return values


@cache
def unrolling(max_ops: int = MAX_OPS) -> RuleSet:
    """Return the rule that unrolls loops that become at most this many ops."""

    @rule(Loop(value.most, value.condition, rest.initial))
    def unroll(root: Operation, initial: Sequence[SSAValue]) -> RewriteResult:
        """A loop of n iterations is n copies of its body, and scan outputs are concatenations"""
        return unrolled(max_ops, root, initial)

    return rules(UnrollLoop=unroll)


RULES = unrolling()
