"""Generators of instances of the rules about shapes concatenated from dimensions."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64

from xonnc.dialects.onnx.types import tensor_type, unranked
from xonnc.fuzzing.rules.comparison import SAME, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Cast, Concat, ConstantOfShape, Dim, Gather, Reshape, Slice
from xonnc.rewriting.patterns import Node, Pattern, const, maybe, value

OWN = ("size", "other")


def sizes(draw: Draw, x: Shape, count: int) -> Node:
    """A shape concatenated from dimensions of the data and constants."""
    parts = [
        draw.pick(Dim(value.x, axis=draw.axis(len(x), negative=False)), const.size) for _ in range(count)
    ]
    return Concat(*parts, axis=0)


def given(draw: Draw, x: Shape) -> dict[str, Given]:
    """The data, and two of its dimensions."""
    return {"x": x, "size": ints(draw.number_in(0, 9)), "other": ints(draw.number_in(1, 9))}


def shape(draw: Draw) -> Example:
    """A Shape with start and end; the reference is wrong for a start before the first axis."""
    x = draw.shape()
    start, end = draw.number_in(-len(x), 5), draw.number_in(-len(x), 5)
    return Example({"x": x}, {"start": start, "end": end if draw.flag() else None})


def cast(draw: Draw) -> Example:
    """A cast of a shape to int32 or to a float."""
    x = draw.shape(1)
    to = draw.pick(i32, f32)
    pattern = Cast(sizes(draw, x, draw.number_in(1, 4)), to=to)
    return Example(given(draw, x), pattern=pattern, own=OWN, types=[unranked(to)])


def concatenation(draw: Draw) -> Example:
    """Concat of vectors of dimensions and of single ones."""
    x = draw.shape(1)
    parts: list[Pattern] = [sizes(draw, x, draw.number_in(1, 3)), draw.pick(const.size, value.other)]
    pattern = Concat(*(parts[index] for index in draw.perm(2)), axis=0)
    return Example(given(draw, x), pattern=pattern, own=OWN)


def gather(draw: Draw) -> Example:
    """A Gather of one dimension or several, with negative indices too, also from a vector of one."""
    x, count = draw.shape(1), draw.number_in(1, 4)
    chosen = sizes(draw, x, count) if count > 1 else Dim(value.x, axis=0)
    values = {**given(draw, x), "indices": draw.indices(count, draw.pick((), (1,), (2,), (0,)))}
    return Example(values, pattern=Gather(chosen, const.indices, axis=0), own=OWN)


def slicing(draw: Draw) -> Example:
    """A Slice of dimensions, forwards or backwards."""
    x, count = draw.shape(1), draw.number_in(1, 4)
    step = draw.pick(1, 2, -1)
    values: dict[str, Given] = {
        **given(draw, x),
        # With a negative step, a start before the first element gives nothing in the reference, as in NumPy.
        "starts": ints(draw.number_in(-5 if step > 0 else -count, 5)),
        "ends": ints(draw.pick(-(2**31), 2**31, draw.number_in(-5, 5))),
        "axes": ints(0) if draw.flag() else None,
        "steps": ints(step),
    }
    pattern = Slice(sizes(draw, x, count), const.starts, const.ends, maybe.axes, maybe.steps)
    return Example(values, pattern=pattern, own=OWN)


def reshape(draw: Draw) -> Example:
    """A Reshape to one dimension of the data and -1, without an inferred type."""
    x = draw.shape(1, empty=False)
    axis = draw.axis(len(x), negative=False)
    rest = int(np.prod(x)) // x[axis]
    size = Dim(value.x, axis=axis).typed(tensor_type((1,), i64))
    target = Concat(size, const.size, axis=0).typed(tensor_type((2,), i64))
    pattern = Reshape(value.x, target, allowzero=0)
    return Example(
        {"x": x, "size": ints(draw.pick(rest, -1, rest))}, pattern=pattern, own=OWN, inferred=False
    )


def constant(draw: Draw) -> Example:
    """A ConstantOfShape of dimensions, without an inferred type."""
    x = draw.shape(1)
    pattern = ConstantOfShape(sizes(draw, x, draw.number_in(2, 3)))
    return Example(given(draw, x), pattern=pattern, own=OWN, types=[unranked(f32)], inferred=False)


GENERATORS: dict[str, Generator] = {
    "ShapeToDimConcat": shape,
    "PassThroughCast": cast,
    "PassThroughConcat": concatenation,
    "PassThroughGather": gather,
    "PassThroughSlice": slicing,
    "UpdateReshape": reshape,
    "UpdateConstantOfShape": constant,
}

CLOSENESS: dict[str, Closeness] = dict.fromkeys(GENERATORS, SAME)

KINDS: dict[str, tuple[Kind, ...]] = {}
