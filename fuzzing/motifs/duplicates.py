"""Common subexpressions: repeated nodes and constants, and calls of local functions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from xonnc.fuzzing.model_builder import FLOATS, NUMBERS, ModelBuilder, ModelValue, NotApplicable

REPEATABLE = frozenset("RandomUniform RandomNormal If Loop Scan Constant".split())
"""What is not repeated here: draws, which differ, graphs, whose names are theirs, and what is no work."""

DOMAIN = "local"


def same_node(builder: ModelBuilder) -> None:
    """A node that is there already, both results read."""
    made = {one.name: one for one in builder.values}
    found = [
        node
        for node in builder.nodes
        if node.op_type not in REPEATABLE and node.domain == "" and all(name in made for name in node.output)
    ]
    if not found:
        raise NotApplicable
    node = builder.random.choice(found)
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = ""
    duplicates = [made[name] for name in node.output]
    names = [builder.name("v") for _ in duplicates]
    copy.output[:] = names
    builder.nodes.append(copy)
    for value, name in zip(duplicates, names, strict=True):
        again = ModelValue(name, value.dtype, value.shape, value.data, value.is_bounded, value.is_sequence)
        builder.keep(again)
        if value.dtype in FLOATS and builder.chance(0.5):
            builder.keep(builder.node("Add", value, again))


def same_constant(builder: ModelBuilder) -> None:
    """Two constants of the same numbers, and one of the same numbers in another shape."""
    x = builder.take(NUMBERS)
    numbers = builder.numbers(x.dtype, builder.broadcastable(x.shape))
    left, right = (builder.node("Add", x, builder.constant(numbers)) for _ in range(2))
    builder.keep(left, right)
    if builder.chance(0.5):
        builder.keep(builder.node("Mul", x, builder.constant(numbers.reshape(1, *numbers.shape))))


def almost_same_node(builder: ModelBuilder) -> None:
    """Two nodes that differ in one attribute alone, or in the sign of a zero."""
    x = builder.take(FLOATS, (1, 2, 3))
    if builder.chance(0.5):
        left = builder.node("LeakyRelu", x, alpha=0.0)
        right = builder.node("LeakyRelu", x, alpha=0.01 if builder.chance(0.5) else None)
    else:
        left, right = (
            builder.node(
                "Div", builder.constant(np.array(1, x.dtype)), builder.constant(np.array(zero, x.dtype))
            )
            for zero in (0.0, -0.0)
        )
    builder.keep(left, right)


def common_part(builder: ModelBuilder) -> None:
    """An expression of two nodes that two others contain."""
    x = builder.take(FLOATS)
    c = builder.weights(x.dtype)
    for op_type in ("Exp", "Neg"):
        builder.keep(builder.node(op_type, builder.node("Mul", builder.node("Abs", x), c)))


def call(builder: ModelBuilder) -> None:
    """A call of a function of the model's own."""
    x = builder.take(FLOATS)
    if builder.outer is not None:
        raise NotApplicable
    label = builder.name("Function")
    made = ModelValue("", x.dtype, x.shape)
    body = [
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Identity", ["d"], ["e"]),
    ]
    function = helper.make_function(
        DOMAIN, label, ["a", "b"], ["e"], body, [helper.make_opsetid("", builder.opset)]
    )
    builder.keep(builder.node(label, x, builder.weights(x.dtype), results=[made], domain=DOMAIN))
    builder.shared.functions.append(function)


MOTIFS = (same_node, same_node, same_node, same_constant, almost_same_node, common_part, call)
