"""Control flow: branches and loops that read values from the graphs around them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from xonnc.fuzzing.model_builder import (
    BOOL,
    F32,
    F64,
    FLOATS,
    I32,
    I64,
    ModelBuilder,
    ModelValue,
    NotApplicable,
)
from xonnc.fuzzing.motifs import elementwise

INSIDE = (
    elementwise.unary,
    elementwise.binary,
    elementwise.chain_with_constants,
    elementwise.neutral_constant,
    elementwise.limits,
    elementwise.choice,
    elementwise.constant_arithmetic,
    elementwise.no_ops,
)
"""What bodies are made of besides the nodes that give their results."""


def graph(
    builder: ModelBuilder, inputs: Sequence[ModelValue], outputs: Sequence[ModelValue]
) -> onnx.GraphProto:
    """A draft as a graph."""
    return helper.make_graph(
        builder.nodes,
        builder.name("body"),
        [helper.make_value_info(one.name, one.type_proto()) for one in inputs],
        [helper.make_value_info(one.name, one.type_proto()) for one in outputs],
        builder.initializers,
    )


def derived_value(body: ModelBuilder, x: ModelValue) -> ModelValue:
    """A value of the same type and shape, computed in a body from `x` and what is around."""
    for _ in range(body.random.randint(0, 2)):
        body.attempt(body.random.choice(INSIDE))
    fitting = [one for one in body.readable() if one.dtype == x.dtype and one.shape == x.shape]
    other = body.random.choice(fitting) if fitting and body.chance(0.6) else body.weights(x.dtype, *x.shape)
    op_type = body.random.choice(("Add", "Sub", "Mul", "Max", "Identity"))
    if op_type == "Identity" or x.dtype.kind not in "fiu":
        return body.node("Identity", x)
    return body.node(op_type, x, other)


def condition(builder: ModelBuilder) -> ModelValue:
    """A boolean condition: an input, a constant, or computed."""
    kind = builder.random.randrange(4)
    if kind == 0:
        return builder.constant(np.array(builder.chance(0.5)))
    if kind == 1:
        return builder.node("Less", builder.input(F32, ()), builder.constant(np.array(0.5, np.float32)))
    if kind == 2:
        return builder.node(
            "Equal", builder.constant(np.array(3, np.int64)), builder.constant(np.array(4, np.int64))
        )
    return builder.input(BOOL, ())


def branches(builder: ModelBuilder) -> None:
    """If with one or two results; one branch may give a captured value or a constant as it is."""
    results = [builder.take((*FLOATS, I32, I64)) for _ in range(builder.random.randint(1, 2))]
    graphs: list[onnx.GraphProto] = []
    for _ in range(2):
        body = builder.body()
        made: list[ModelValue] = []
        for result in results:
            if body.chance(0.15):
                made.append(body.weights(result.dtype, *result.shape))
            elif body.chance(0.2):
                made.append(body.node("Identity", result))
            else:
                made.append(derived_value(body, result))
        if len({one.name for one in made}) < len(made):
            raise NotApplicable
        graphs.append(graph(body, (), made))
    types = [ModelValue("", one.dtype, one.shape) for one in results]
    builder.keep(
        *builder.node_with_outputs(
            "If", condition(builder), results=types, then_branch=graphs[0], else_branch=graphs[1]
        )
    )


def loop(builder: ModelBuilder) -> None:
    """Loop with a loop-carried value, sometimes a scan output, and a constant or dynamic trip count."""
    start = builder.take((F32, F64, I32, I64), (0, 1, 2))
    iterations = builder.random.randint(0, 3)
    body = builder.body()
    index = ModelValue(builder.name("i"), I64, (), is_bounded=True)
    going = ModelValue(builder.name("going"), BOOL, ())
    carried = ModelValue(builder.name("carried"), start.dtype, start.shape)
    body.keep(carried)
    result = derived_value(body, carried)
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
    types = [ModelValue("", start.dtype, start.shape)]
    if still.name and body.nodes[-1].op_type == "Less":
        iterations = min(iterations, 2)
    if stacked is not None:
        types.append(ModelValue("", stacked.dtype, (iterations, *stacked.shape)))
    made = graph(body, (index, going, carried), outputs)
    count = (
        builder.constant(np.array(iterations, np.int64))
        if builder.chance(0.6)
        else builder.input(I64, (), iterations, iterations)
    )
    first = builder.constant(np.array(True)) if builder.chance(0.6) else None
    builder.keep(*builder.node_with_outputs("Loop", count, first, start, results=types, body=made))


def scan(builder: ModelBuilder) -> None:
    """Scan with a running value over the first axis of another."""
    x = builder.take((F32, F64), (2, 3))
    if not x.shape[0]:
        raise NotApplicable
    state = builder.weights(x.dtype, *x.shape[1:])
    body = builder.body()
    carried = ModelValue(builder.name("carried"), x.dtype, x.shape[1:])
    row = ModelValue(builder.name("row"), x.dtype, x.shape[1:])
    body.keep(carried, row)
    total = body.node("Add", carried, row)
    output = derived_value(body, total)
    made = graph(body, (carried, row), (body.node("Identity", total), output))
    types = [ModelValue("", x.dtype, x.shape[1:]), ModelValue("", x.dtype, x.shape)]
    directions = [builder.random.choice((0, 1))] if builder.chance(0.4) else None
    builder.keep(
        *builder.node_with_outputs(
            "Scan", state, x, results=types, body=made, num_scan_inputs=1, scan_input_directions=directions
        )
    )


def nested(builder: ModelBuilder) -> None:
    """An If within an If, which reads values two graphs out."""
    x = builder.take(FLOATS)
    outer_condition = condition(builder)
    outer = builder.body()
    inner = [outer.body() for _ in range(2)]
    graphs = [graph(one, (), (derived_value(one, x),)) for one in inner]
    result = ModelValue("", x.dtype, x.shape)
    value = outer.node("If", outer_condition, results=[result], then_branch=graphs[0], else_branch=graphs[1])
    other = builder.body()
    branches_ = [graph(outer, (), (value,)), graph(other, (), (derived_value(other, x),))]
    chosen = condition(builder)
    builder.keep(
        builder.node("If", chosen, results=[result], then_branch=branches_[0], else_branch=branches_[1])
    )


MOTIFS = (branches, branches, loop, loop, scan, nested)
