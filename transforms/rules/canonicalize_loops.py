"""Loop-invariant values, and constant trip counts of counting loops (docs/internals/onnx-rules.md §3.4)."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.locations import location_of_results
from xonnc.dialects.onnx.ops.controlflow import LoopOp
from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.editing import replace_uses
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import ONNX, Loop
from xonnc.rewriting.patterns import (
    ImperativeRewrite,
    MatchFailure,
    RewriteResult,
    rest,
    value,
)
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.model_opsets import version_at
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.rules.op_builder import OpBuilder

CARRYING_NOTHING = 11
"""The first opset in which a loop may carry no value."""


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


def holds_floats(found: SSAValue) -> bool:
    """Return whether a value is a tensor of floats."""
    element = element_type(found.type)
    return element is not None and is_float(numpy_dtype(element))


def without_cast(found: SSAValue) -> SSAValue:
    """Return the operand of a Cast from an integer type to a float type, else the value itself."""
    cast = made_by(found, "onnx.Cast")
    if cast is None or not holds_floats(found):
        return found
    return cast.operands[0] if isinstance(element_type(cast.operands[0].type), IntegerType) else found


def limit_of(body: Block, found: SSAValue, initial: Sequence[SSAValue]) -> int | None:
    """
    Return the value of a loop-invariant constant that is an integer, or `None`.

    Comparisons of integers that were cast to floats have a limit in floats.
    """
    found = without_cast(found)
    constant = constant_of(ONNX, found)
    if constant is not None and holds_floats(found):
        value = float(constant.array.reshape(-1)[0]) if constant.array.size == 1 else float("nan")
        return int(value) if value.is_integer() else None
    return unchanging(body, found, initial)


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
    add = made_by(without_cast(less.operands[0]), "onnx.Add") if less is not None else None
    if end is None or less is None or add is None:
        return MatchFailure("the loop condition is not counter + step < limit")
    index = carried(body, add.operands[0])
    if index is None or end.operands[index + 1] is not add.results[0]:
        return MatchFailure("the counter is not carried to the next iteration")
    start, step = number(initial[index]), unchanging(body, add.operands[1], initial)
    limit = limit_of(body, less.operands[1], initial)
    element, compared = element_type(add.results[0].type), element_type(less.operands[0].type)
    if start is None or step is None or limit is None or element is None or compared is None:
        return MatchFailure("start, step or limit is not constant")
    # ⌈(limit - start) / step⌉; at least 1, because the body tests the condition after the first iteration.
    count = max(-((start - limit) // step), 1) if step > 0 else 0
    last = start + count * step
    if count == 0 or holds_floats(add.results[0]) or last > largest_exact(element):
        return MatchFailure("the count does not go up, or not without overflow")
    if max(abs(start), last, abs(limit)) > largest_exact(compared):
        return MatchFailure("the comparison rounds counter or limit")
    return count


def largest_exact(element: Attribute) -> int:
    """Return the integer up to which an element type has all non-negative integers."""
    dtype = numpy_dtype(element)
    if not is_float(dtype):
        return int(ml_dtypes.iinfo(dtype).max)
    one, two = np.array([1, 2], dtype)
    return int(2 / (float(np.nextafter(one, two)) - 1))


@rule(Loop(value.most, value.condition, rest.initial), bonus=-1)
def counted(root: Operation, most: SSAValue, initial: Sequence[SSAValue]) -> RewriteResult:
    """
    A loop that counts from start by step up to a limit has the trip count ⌈(limit - start) / step⌉

    Only for constants; the body then passes its condition through. A comparison of counter and limit cast to
    floats, as TensorFlow's loops have it, counts too, up to the integers that the floats hold exactly.
    onnx-mlir also folds dynamic values, in float32, which is wrong above 2^24.
    """
    body, constant = root.regions[0].blocks.first, constant_of(ONNX, most)
    if body is None or not (is_absent(most) or (constant is not None and constant.array.size == 1)):
        return MatchFailure("the loop has no body, or its maximum trip count is not constant")
    count = trip_count(body, initial)
    if isinstance(count, MatchFailure):
        return count
    trips = np.array(count if constant is None else min(int(constant.array.reshape(())), count), np.int64)

    def write(op: Operation) -> Sequence[SSAValue]:
        limit = OpBuilder(op).constant(trips)
        end = body.last_op
        assert end is not None
        # Pass the incoming condition through: the trip count alone ends the loop now.
        end.operands[0] = body.args[1]
        return replaced(op, [limit, *op.operands[1:]], range(len(op.results)))

    return ImperativeRewrite(write)


def replaced(op: Operation, operands: Sequence[SSAValue], kept: Sequence[int]) -> Sequence[SSAValue]:
    """Insert a loop of other operands with the body and some of the results of a loop; return its results."""
    made = LoopOp.create(
        operands=operands,
        result_types=[op.results[index].type for index in kept],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[op.detach_region(0)],
        location=location_of_results(op, kept),
    )
    parent = op.parent
    assert parent is not None
    parent.insert_op_before(made, op)
    return made.results


@rule(Loop(value.most, value.condition, rest.initial))
def invariant(root: Operation, initial: Sequence[SSAValue]) -> RewriteResult:
    """
    A carried value that each iteration passes on unchanged is its initial value, in the body and after it

    TensorFlow's loops carry the weights that their bodies read.
    """
    body = root.regions[0].blocks.first
    end = body.last_op if body is not None else None
    if body is None or end is None or len(body.args) != len(initial) + 2:
        return MatchFailure("the loop has no body of its operands")
    unchanged = {
        index: start for index, start in enumerate(initial) if end.operands[index + 1] is body.args[index + 2]
    }
    # Before opset 11 a loop carries at least one value.
    if unchanged and len(unchanged) == len(initial) and (version_at(root) or 0) < CARRYING_NOTHING:
        del unchanged[min(unchanged)]
    if not unchanged:
        return MatchFailure("every carried value changes, or is the only one")
    kept = [index for index in range(len(root.results)) if index not in unchanged]

    def write(op: Operation) -> Sequence[SSAValue]:
        for index, start in unchanged.items():
            replace_uses(body.args[index + 2], start)
        end.operands = [end.operands[0], *(end.operands[index + 1] for index in kept)]
        for index in reversed(unchanged):
            body.erase_arg(body.args[index + 2])
        operands = [*op.operands[:2], *(initial[index] for index in kept if index < len(initial))]
        results = dict(zip(kept, replaced(op, operands, kept), strict=True))
        return [results.get(index) or unchanged[index] for index in range(len(op.results))]

    return ImperativeRewrite(write)


RULES = rules(LoopOpRewriteMaxTripCountPattern=counted, LoopInvariantCarriedValuePattern=invariant)
