"""Generators of instances of fusions of operators that move elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import element_type_of, tensor_type, unranked
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.canonicalize_moving import RANGES, finite
from xonnc.fuzzing.rules.instances import EVERY, Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Concat, Reshape, Split, SplitV13, Squeeze
from xonnc.rewriting.onnx import Shape as ShapeOf
from xonnc.rewriting.patterns import Literal, Node, Pattern, Template, const, value
from xonnc.transforms.rules.fuse_movement import RESHAPING, are_of_one_opset

FLOATING: tuple[Kind, ...] = (np.float32, np.float64, np.float16)


def refactored(draw: Draw, shape: Shape) -> list[int]:
    """Return another shape with as many elements."""
    total = int(np.prod(shape))
    return draw.factors(total, draw.number_in(1, 4)) if total else list(shape)


def reshaping(draw: Draw, name: str, shape: Shape) -> tuple[list[int] | int, Shape]:
    """Return the shape, axes or axis operand of a reshaping operator, and its result's shape."""
    rank = len(shape)
    if name == "Reshape":
        made = refactored(draw, shape)
        return made, tuple(made)
    if name == "Flatten":
        axis = draw.number_in(0, rank)
        return axis, (int(np.prod(shape[:axis])), int(np.prod(shape[axis:])))
    if name.startswith("Squeeze"):
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        axes = ones[: draw.number_in(1, max(len(ones), 1))]
        return axes, tuple(size for axis, size in enumerate(shape) if axis not in axes)
    axes = draw.axes(rank + draw.number_in(1, 2), least=1, most=2, negative=False)
    new_rank = rank + len(axes)
    axes = sorted({axis % new_rank for axis in axes})
    new_rank = rank + len(axes)
    axes = [axis for axis in axes if axis < new_rank] or [0]
    made = list(shape)
    for axis in axes:
        made.insert(axis, 1)
    return axes, tuple(made)


def reshaped_twice(first: str, second: str) -> Generator:
    """Two reshaping operators in sequence, on data with some axes of size 1."""

    def make(draw: Draw) -> Example:
        shape = tuple(draw.pick(1, 1, 2, 3) for _ in range(draw.number_in(2, 4)))
        if 1 not in shape:
            shape = (1, *shape)
        if second.startswith("Squeeze"):
            shape = (1, *shape, 1, 1)
        properties, between = reshaping(draw, first, shape)
        if second.startswith("Squeeze") and 1 not in between:
            flat = first == "Flatten"
            between = (1, int(np.prod(between))) if flat else (*between, 1)
            properties = 0 if flat else list(between)
        then, _ = reshaping(draw, second, between)
        constants: dict[str, Given] = {"x": shape}
        node = step(first, value.x, properties, "said", constants)
        return Example(constants, pattern=step(second, node, then, "then", constants), own=("said", "then"))

    return make


def step(
    name: str, data: Pattern, properties: list[int] | int, called: str, constants: dict[str, Given]
) -> Node:
    """Return one reshaping operator on data."""
    made: Template = RESHAPING[name].template
    if isinstance(properties, int):
        return made(data, axis=properties)
    if name.endswith("V11"):
        return made(data, axes=properties)
    constants[called] = ints(*properties)
    operand = getattr(const, called)
    return made(data, operand, allowzero=0) if name == "Reshape" else made(data, operand)


def to_itself(draw: Draw) -> Example:
    """A Reshape to the same shape; dimensions may be 0 (copied), and one may be -1 (inferred)."""
    shape = draw.shape(1, empty=False)
    target = [draw.pick(size, size, 0) for size in shape]
    if draw.flag():
        target[draw.number_in(0, len(shape) - 1)] = -1
    return Example({"x": shape, "shape": ints(*target)}, {"allowzero": 0})


def to_known(draw: Draw) -> Example:
    """A Reshape to the shape of another value."""
    shape = draw.shape(1, empty=False)
    made = refactored(draw, shape)
    pattern = Reshape(value.x, ShapeOf(value.like, start=0), allowzero=0)
    types = [tensor_type(tuple(made), element_type_of(draw.dtype))]
    return Example({"x": shape, "like": tuple(made)}, pattern=pattern, types=types)


def squeezed_twice(by_property: bool, adds: bool) -> Generator:
    """Two Squeezes, or two Unsqueezes."""

    def make(draw: Draw) -> Example:
        shape = (1, 1, draw.size(), 1, draw.size(), 1)
        if adds:
            shape = shape[2 : draw.number_in(2, 5)]
            first = draw.axes(len(shape) + 2, least=2, most=2)
            second = draw.axes(len(shape) + 3, least=1, most=1)
        else:
            first = [axis - 6 * draw.flag() for axis in draw.pick((0, 3), (1, 0), (5,), (3, 5))]
            left = [size for axis, size in enumerate(shape) if axis not in {each % 6 for each in first}]
            ones = [axis for axis, size in enumerate(left) if size == 1]
            second = [draw.pick(*ones) - len(left) * draw.flag()] if ones else []
        if by_property:
            # The reference requires sorted, nonnegative axes for old versions.
            between = len(shape) + (len(first) if adds else -len(first))
            after = between + (len(second) if adds else 0)
            old = {
                "first": sorted(axis % max(len(shape), between) for axis in first),
                "second": sorted(axis % after for axis in second),
            }
            return Example({"x": shape}, old)
        return Example({"x": shape, "first": ints(*first), "second": ints(*second)})

    return make


def sliced_twice(draw: Draw) -> Example:
    """Two slices, along different axes or the same ones."""
    shape = draw.shape(2, 4, empty=False)
    order = [int(axis) for axis in draw.random.permutation(len(shape))]
    middle = draw.number_in(1, len(shape) - 1)
    again = order[middle - (draw.number_in(0, 5) == 0) :][: draw.number_in(1, 2)]
    values: dict[str, Given] = {"x": shape}
    for suffix, axes in (("", order[:middle]), ("2", again)):
        count = len(axes)
        values |= {
            f"starts{suffix}": ints(*(draw.pick(0, 1, -2, -100) for _ in axes)),
            f"ends{suffix}": ints(*(draw.pick(2, 3, -1, 1000) for _ in axes)),
            f"axes{suffix}": ints(*(axis - len(shape) * draw.flag() for axis in axes)),
            f"steps{suffix}": draw.pick(
                None, ints(*draw.pick((1, 2), (2, 3), (1, 1))[:count] * count)[:count]
            ),
        }
    return Example(values, own=[name for name in values if name != "x"])


def one_part(by_property: bool) -> Generator:
    """A Split into one part with an explicit size."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(1)
        axis = draw.axis(len(shape))
        types = [unranked(element_type_of(draw.dtype))]
        if by_property:
            properties: dict[str, Literal] = {"axis": axis % len(shape), "split": [shape[axis]]}
            return Example({"x": shape}, properties={"SplitV11": properties}, types=types)
        properties = {"axis": axis % len(shape)}
        values: dict[str, Given] = {"x": shape, "sizes": ints(shape[axis])}
        return Example(values, properties={"Split": properties, "SplitV13": properties}, types=types)

    return make


def parts(draw: Draw) -> Example:
    """A Concat of both results of a Split, in either order, along the same axis or another one."""
    shape, size = list(draw.shape(1, empty=False)), draw.size()
    axis = draw.axis(len(shape))
    shape[axis] = 2 * size
    template = draw.pick(Split, SplitV13)
    split = template(value.x, const.sizes, axis=axis % len(shape)).named("split")
    found = [split, replace(split, result=1)]
    order = draw.pick(found, found, found, found[::-1])
    split_axis = draw.pick(axis, axis, axis, 0)
    return Example(
        {"x": tuple(shape), "sizes": ints(size, size)}, pattern=Concat(*order, axis=split_axis), dtypes=EVERY
    )


def squeezed(draw: Draw) -> Example:
    """A Squeeze of a result of a Split into two parts of size 1."""
    shape = list(draw.shape(1))
    axis = draw.axis(len(shape), negative=False)
    shape[axis] = 2
    split = Split(value.x, const.sizes, axis=axis).named("split")
    cut = ints(axis - len(shape) * draw.flag())
    return Example({"x": tuple(shape), "sizes": ints(1, 1), "axes": cut}, pattern=Squeeze(split, const.axes))


def gathered(draw: Draw) -> Example:
    """A Gather of a scalar index, and an Unsqueeze of its axis."""
    shape = draw.shape(1, empty=False)
    axis = draw.axis(len(shape))
    again = draw.pick(axis % len(shape), axis % len(shape), axis % len(shape) - len(shape), 0)
    index = draw.indices(shape[axis], ())
    return Example({"x": shape, "index": index, "axes": ints(again)}, {"axis": axis}, own=("index",))


def transposed(left: bool) -> Generator:
    """A transposed operand of a Gemm."""

    def make(draw: Draw) -> Example:
        m, k, n = draw.size(), draw.size(), draw.size()
        rows, columns = draw.flag(), draw.flag()
        a, b = ((k, m) if rows else (m, k)), ((n, k) if columns else (k, n))
        perm: list[int] | None = draw.pick([1, 0], [1, 0], None)
        if left:
            properties: dict[str, Literal] = {"alpha": draw.real(), "beta": draw.real(), "transB": columns}
            values: dict[str, Given] = {"a": a[::-1], "b": b, "c": draw.pick(None, (n,), (m, n))}
            return Example(
                values, {"perm": perm, "transposed": rows}, {"Gemm": properties}, inferred=perm is None
            )
        properties = {"alpha": draw.real(), "beta": draw.real(), "transA": rows}
        values = {"a": a, "b": b[::-1], "c": draw.pick(None, (n,), (m, n))}
        return Example(values, {"perm": perm, "transposed": columns}, {"Gemm": properties})

    return make


def flat(draw: Draw) -> Example:
    """A value of rank 2, or of another rank."""
    shape = draw.pick(*(draw.shape(2, most, empty=False) for most in (2, 2, 3)), (1, draw.size()))
    return Example({"x": shape}, {"axis": draw.pick(1, 1, -1, 0)})


def cast_twice(draw: Draw) -> Example:
    """Two casts, the first of which may or may not be lossless."""
    first, second = (element_type_of(np.dtype(draw.pick(*RANGES))) for _ in range(2))
    properties: dict[str, Literal | Attribute] = {"first": first, "second": second}
    return Example({"x": finite(draw, draw.shape())}, {**properties, "saturated": 1, "saturate": 1})


def unpadded(axes: bool, by_property: bool = False) -> Generator:
    """A Pad by zero elements, or by some."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(1, empty=False)
        amount = draw.pick(0, 0, 0, 1)
        attributes: dict[str, Literal] = {"mode": "constant"}
        if by_property:
            return Example({"x": shape}, {"pads": [amount] * 2 * len(shape)}, {"PadV2": attributes})
        names = ints(*range(len(shape))) if axes and draw.flag() else None
        values: dict[str, Given] = {"x": shape, "c": ints(*[amount] * 2 * len(shape))}
        values |= {"fill": None, "axes": names}
        properties = {f"PadV{version}": attributes for version in (11, 13, 18, 19)}
        return Example(values, properties=properties, own=("c",))

    return make


GENERATORS: dict[str, Generator] = {
    **{
        f"Join{second}Of{first}": reshaped_twice(first, second)
        for first in RESHAPING
        for second in RESHAPING
        if are_of_one_opset(first, second) and first != second
    },
    "ReshapeToItself": to_itself,
    "ReshapeToKnownTarget": to_known,
    "JoinSqueezes": squeezed_twice(by_property=False, adds=False),
    "JoinSqueezesV11": squeezed_twice(by_property=True, adds=False),
    "JoinUnsqueezes": squeezed_twice(by_property=False, adds=True),
    "JoinUnsqueezesV11": squeezed_twice(by_property=True, adds=True),
    "JoinSlices": sliced_twice,
    "SplitIntoOnePart": one_part(False),
    "SplitV13IntoOnePart": one_part(False),
    "SplitV11IntoOnePart": one_part(True),
    "ConcatOfSplit": parts,
    "GatherOfSqueezedPart": squeezed,
    "GatherOfOneIndex": gathered,
    "TransposeIntoGemmLeft": transposed(True),
    "TransposeIntoGemmRight": transposed(False),
    "RemoveIdentityFlatten": flat,
    "JoinCasts": cast_twice,
    "RemoveIdentityPadV19": unpadded(axes=True),
    "RemoveIdentityPadV18": unpadded(axes=True),
    "RemoveIdentityPadV13": unpadded(axes=False),
    "RemoveIdentityPadV11": unpadded(axes=False),
    "RemoveIdentityPadV2": unpadded(axes=False, by_property=True),
}

KINDS: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(GENERATORS, EVERY),
    **dict.fromkeys(("TransposeIntoGemmLeft", "TransposeIntoGemmRight"), FLOATING),
    "RemoveIdentityPadV2": FLOATING,
}

FINITE = {
    "JoinCasts": "what casts make of numbers that do not fit is not defined",
    **dict.fromkeys(("TransposeIntoGemmLeft", "TransposeIntoGemmRight"), "sums of infinities are NaN"),
}

EXACT = [name for name in GENERATORS if name not in FINITE or name == "JoinCasts"]
"""Rules that only move elements."""
