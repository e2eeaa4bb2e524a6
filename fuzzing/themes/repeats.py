"""The same thing twice: nodes, constants, readers, and calls of the model's own functions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from xonnc.fuzzing.draft import FLOATS, NUMBERS, Draft, Unfit, Value

REPEATABLE = frozenset("RandomUniform RandomNormal If Loop Scan Constant".split())
"""What is not repeated here: draws, which differ, graphs, whose names are theirs, and what is no work."""

DOMAIN = "local"


def same_node(draft: Draft) -> None:
    """A node that is there already, both results read."""
    made = {one.name: one for one in draft.values}
    found = [
        node
        for node in draft.nodes
        if node.op_type not in REPEATABLE and node.domain == "" and all(name in made for name in node.output)
    ]
    if not found:
        raise Unfit
    node = draft.random.choice(found)
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.name = ""
    kept = [made[name] for name in node.output]
    names = [draft.name("v") for _ in kept]
    copy.output[:] = names
    draft.nodes.append(copy)
    for value, name in zip(kept, names, strict=True):
        again = Value(name, value.dtype, value.shape, value.data, value.is_bounded, value.is_sequence)
        draft.keep(again)
        if value.dtype in FLOATS and draft.chance(0.5):
            draft.keep(draft.node("Add", value, again))


def same_constant(draft: Draft) -> None:
    """Two constants of the same numbers, and one of the same numbers in another shape."""
    x = draft.take(NUMBERS)
    numbers = draft.numbers(x.dtype, draft.broadcastable(x.shape))
    left, right = (draft.node("Add", x, draft.constant(numbers)) for _ in range(2))
    draft.keep(left, right)
    if draft.chance(0.5):
        draft.keep(draft.node("Mul", x, draft.constant(numbers.reshape(1, *numbers.shape))))


def almost_same_node(draft: Draft) -> None:
    """Two nodes that differ in one attribute alone, or in the sign of a zero."""
    x = draft.take(FLOATS, (1, 2, 3))
    if draft.chance(0.5):
        left = draft.node("LeakyRelu", x, alpha=0.0)
        right = draft.node("LeakyRelu", x, alpha=0.01 if draft.chance(0.5) else None)
    else:
        left, right = (
            draft.node("Div", draft.constant(np.array(1, x.dtype)), draft.constant(np.array(zero, x.dtype)))
            for zero in (0.0, -0.0)
        )
    draft.keep(left, right)


def common_part(draft: Draft) -> None:
    """An expression of two nodes that two others contain."""
    x = draft.take(FLOATS)
    c = draft.weights(x.dtype)
    for op_type in ("Exp", "Neg"):
        draft.keep(draft.node(op_type, draft.node("Mul", draft.node("Abs", x), c)))


def call(draft: Draft) -> None:
    """A call of a function of the model's own."""
    x = draft.take(FLOATS)
    if draft.outer is not None:
        raise Unfit
    label = draft.name("Function")
    made = Value("", x.dtype, x.shape)
    body = [
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Identity", ["d"], ["e"]),
    ]
    function = helper.make_function(
        DOMAIN, label, ["a", "b"], ["e"], body, [helper.make_opsetid("", draft.opset)]
    )
    draft.keep(draft.node(label, x, draft.weights(x.dtype), results=[made], domain=DOMAIN))
    draft.shared.functions.append(function)


MOTIFS = (same_node, same_node, same_node, same_constant, almost_same_node, common_part, call)
