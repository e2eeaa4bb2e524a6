"""Control flow: branches and loops that read values from the graphs around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from xonnc.fuzzing.draft import BOOL, F32, F64, FLOATS, I32, I64, Draft, Unfit, Value
from xonnc.fuzzing.themes import elementwise

INSIDE = (
    elementwise.unary,
    elementwise.binary,
    elementwise.chain_with_constants,
    elementwise.neutral_constant,
    elementwise.limits,
    elementwise.choice,
    elementwise.constants_alone,
    elementwise.nothing_done,
)
"""What bodies are made of besides the nodes that give their results."""


def graph(draft: Draft, inputs: Sequence[Value], outputs: Sequence[Value]) -> onnx.GraphProto:
    """A draft as a graph."""
    return helper.make_graph(
        draft.nodes,
        draft.name("body"),
        [helper.make_value_info(one.name, one.type_proto()) for one in inputs],
        [helper.make_value_info(one.name, one.type_proto()) for one in outputs],
        draft.initializers,
    )


def worked_on(body: Draft, x: Value) -> Value:
    """A value of the same type and shape, computed in a body from `x` and what is around."""
    for _ in range(body.random.randint(0, 2)):
        body.attempt(body.random.choice(INSIDE))
    fitting = [one for one in body.readable() if one.dtype == x.dtype and one.shape == x.shape]
    other = body.random.choice(fitting) if fitting and body.chance(0.6) else body.weights(x.dtype, *x.shape)
    op_type = body.random.choice(("Add", "Sub", "Mul", "Max", "Identity"))
    if op_type == "Identity" or x.dtype.kind not in "fiu":
        return body.node("Identity", x)
    return body.node(op_type, x, other)


def condition(draft: Draft) -> Value:
    """A truth value: an input, a constant, or computed."""
    kind = draft.random.randrange(4)
    if kind == 0:
        return draft.constant(np.array(draft.chance(0.5)))
    if kind == 1:
        return draft.node("Less", draft.input(F32, ()), draft.constant(np.array(0.5, np.float32)))
    if kind == 2:
        return draft.node(
            "Equal", draft.constant(np.array(3, np.int64)), draft.constant(np.array(4, np.int64))
        )
    return draft.input(BOOL, ())


def branches(draft: Draft) -> None:
    """If with one or two results; one branch may give a captured value or a constant as it is."""
    results = [draft.take((*FLOATS, I32, I64)) for _ in range(draft.random.randint(1, 2))]
    graphs: list[onnx.GraphProto] = []
    for _ in range(2):
        body = draft.body()
        made: list[Value] = []
        for result in results:
            if body.chance(0.15):
                made.append(body.weights(result.dtype, *result.shape))
            elif body.chance(0.2):
                made.append(body.node("Identity", result))
            else:
                made.append(worked_on(body, result))
        if len({one.name for one in made}) < len(made):
            raise Unfit
        graphs.append(graph(body, (), made))
    types = [Value("", one.dtype, one.shape) for one in results]
    draft.keep(
        *draft.several("If", condition(draft), results=types, then_branch=graphs[0], else_branch=graphs[1])
    )


def loop(draft: Draft) -> None:
    """Loop with a carried value, in part one that is stacked, the number of turns constant or not."""
    start = draft.take((F32, F64, I32, I64), (0, 1, 2))
    turns = draft.random.randint(0, 3)
    body = draft.body()
    index = Value(draft.name("i"), I64, (), is_bounded=True)
    going = Value(draft.name("going"), BOOL, ())
    carried = Value(draft.name("carried"), start.dtype, start.shape)
    body.keep(carried)
    result = worked_on(body, carried)
    stacked = (
        body.node("Cast", index, to=onnx.TensorProto.FLOAT)
        if body.chance(0.5)
        else body.node("Neg", result)
        if result.dtype.kind != "u"
        else None
    )
    still = (
        body.node("Identity", going)
        if body.chance(0.7)
        else body.node("Less", index, body.constant(np.array(1, np.int64)))
    )
    outputs = [still, result, *([stacked] if stacked is not None else [])]
    types = [Value("", start.dtype, start.shape)]
    if still.name and body.nodes[-1].op_type == "Less":
        turns = min(turns, 2)
    if stacked is not None:
        types.append(Value("", stacked.dtype, (turns, *stacked.shape)))
    made = graph(body, (index, going, carried), outputs)
    count = (
        draft.constant(np.array(turns, np.int64)) if draft.chance(0.6) else draft.input(I64, (), turns, turns)
    )
    first = draft.constant(np.array(True)) if draft.chance(0.6) else None
    draft.keep(*draft.several("Loop", count, first, start, results=types, body=made))


def scan(draft: Draft) -> None:
    """Scan with a running value over the first axis of another."""
    x = draft.take((F32, F64), (2, 3))
    if not x.shape[0]:
        raise Unfit
    state = draft.weights(x.dtype, *x.shape[1:])
    body = draft.body()
    carried = Value(draft.name("carried"), x.dtype, x.shape[1:])
    row = Value(draft.name("row"), x.dtype, x.shape[1:])
    body.keep(carried, row)
    total = body.node("Add", carried, row)
    output = worked_on(body, total)
    made = graph(body, (carried, row), (body.node("Identity", total), output))
    types = [Value("", x.dtype, x.shape[1:]), Value("", x.dtype, x.shape)]
    directions = [draft.random.choice((0, 1))] if draft.chance(0.4) else None
    draft.keep(
        *draft.several(
            "Scan", state, x, results=types, body=made, num_scan_inputs=1, scan_input_directions=directions
        )
    )


def nested(draft: Draft) -> None:
    """An If within an If, which reads values two graphs out."""
    x = draft.take(FLOATS)
    kept = condition(draft)
    outer = draft.body()
    inner = [outer.body() for _ in range(2)]
    graphs = [graph(one, (), (worked_on(one, x),)) for one in inner]
    result = Value("", x.dtype, x.shape)
    value = outer.node("If", kept, results=[result], then_branch=graphs[0], else_branch=graphs[1])
    other = draft.body()
    branches_ = [graph(outer, (), (value,)), graph(other, (), (worked_on(other, x),))]
    chosen = condition(draft)
    draft.keep(draft.node("If", chosen, results=[result], then_branch=branches_[0], else_branch=branches_[1]))


MOTIFS = (branches, branches, loop, loop, scan, nested)
