"""Constant trip counts of counting loops (docs/internals/onnx-rules.md §3.4)."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.ops.controlflow import LoopOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import ONNX, Loop
from xonnc.rewriting.patterns import (
    Constant,
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    const,
    rest,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.op_builder import OpBuilder


def made_by(operand: SSAValue, name: str) -> Operation | None:
    """Return the defining op of a value, if it has this name."""
    return operand.op if isinstance(operand, OpResult) and operand.op.name == name else None


def number(found: SSAValue) -> int | None:
    """Return the value of an integer scalar constant."""
    constant = constant_of(ONNX, found)
    if constant is None or not isinstance(element_type(found.type), IntegerType) or constant.array.size != 1:
        return None
    return int(constant.array.reshape(()))


def carried(body: Block, argument: SSAValue) -> int | None:
    """Return the index of a value among the loop-carried ones, or `None`."""
    if not isinstance(argument, BlockArgument) or argument.block is not body:
        return None
    return argument.index - 2 if argument.index >= 2 else None


def unchanging(body: Block, found: SSAValue, initial: Sequence[SSAValue]) -> int | None:
    """Return the value of a loop-invariant integer constant, or `None`."""
    index, end = carried(body, found), body.last_op
    if index is None or end is None:
        return number(found)
    return number(initial[index]) if end.operands[index + 1] is found else None


def trip_count(body: Block, initial: Sequence[SSAValue]) -> int | MatchFailure:
    """Return the trip count of a loop that ends once `counter + step < limit` fails: at least 1."""
    end = body.last_op
    less = made_by(end.operands[0], "onnx.Less") if end is not None else None
    add = made_by(less.operands[0], "onnx.Add") if less is not None else None
    if end is None or less is None or add is None:
        return MatchFailure("the loop condition is not counter + step < limit")
    index = carried(body, add.operands[0])
    if index is None or end.operands[index + 1] is not add.results[0]:
        return MatchFailure("the counter is not carried to the next iteration")
    start, step = number(initial[index]), unchanging(body, add.operands[1], initial)
    limit = unchanging(body, less.operands[1], initial)
    element = element_type(add.results[0].type)
    if start is None or step is None or limit is None or element is None:
        return MatchFailure("start, step or limit is not constant")
    # ⌈(limit - start) / step⌉; at least 1, because the body tests the condition after the first iteration.
    count = max(-((start - limit) // step), 1) if step > 0 else 0
    if count == 0 or start + count * step > int(ml_dtypes.iinfo(numpy_dtype(element)).max):
        return MatchFailure("the count does not go up, or not without overflow")
    return count


@rule(Loop(const.most, value.condition, rest.initial), bonus=-1)
def counted(root: Operation, most: Constant, initial: Sequence[SSAValue]) -> RewriteResult:
    """
    A loop that counts from start by step up to a limit has the trip count ⌈(limit - start) / step⌉

    Only for constants; the body then passes its condition through. onnx-mlir also folds dynamic values, in
    float32, which is wrong above 2^24.
    """
    body = root.regions[0].blocks.first
    if body is None or most.array.size != 1:
        return MatchFailure("the loop has no body, or no maximum trip count")
    count = trip_count(body, initial)
    if isinstance(count, MatchFailure):
        return count
    trips = np.minimum(most.array, count).astype(most.array.dtype).reshape(())

    def write(op: Operation) -> Sequence[SSAValue]:
        limit = OpBuilder(op).constant(trips)
        end = body.last_op
        assert end is not None
        # Pass the incoming condition through: the trip count alone ends the loop now.
        end.operands[0] = body.args[1]
        made = LoopOp.create(
            operands=[limit, *op.operands[1:]],
            result_types=op.result_types,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[op.detach_region(0)],
            location=op.location,
        )
        parent = op.parent
        assert parent is not None
        parent.insert_op_before(made, op)
        return made.results

    return ImperativeRewrite(write)


RULES = rules(LoopOpRewriteMaxTripCountPattern=counted)
