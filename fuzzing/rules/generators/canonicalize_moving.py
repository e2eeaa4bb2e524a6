"""Generators of instances of canonicalizations that move elements or erase no-ops."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import element_type_of
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.constprop_moving import cuts, shape_of, with_ones
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import KINDS as ALL
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Concat, LeakyRelu, Relu, Reshape, Split, Transpose
from xonnc.rewriting.patterns import Literal, Node, Template, const, value
from xonnc.transforms.rules.canonicalize_movement import THROUGH

NUMBERS = tuple(kind for kind in ALL if np.dtype(kind).kind not in "cO" and np.dtype(kind).itemsize)
"""Types for casts; not strings, whose text would have to be numeric, nor complex types."""

WHOLE = tuple(kind for kind in NUMBERS if np.dtype(kind).name not in ("int4", "uint4"))

RANGES: tuple[Kind, ...] = (
    np.float32,
    np.float64,
    np.float16,
    ml_dtypes.bfloat16,
    np.int32,
    np.int64,
    np.bool_,
)
"""Target types that represent small random values, negative ones included."""


def target(draw: Draw) -> dict[str, Literal | Attribute]:
    """Return the attributes of a Cast."""
    return {"to": element_type_of(np.dtype(draw.pick(*RANGES)))}


def finite(draw: Draw, shape: Shape) -> np.ndarray:
    """Return values that every type represents."""
    return draw.random.integers(0, 7, shape) if not draw.is_float else draw.reals(-6, 6, shape)


def transposed(draw: Draw) -> Example:
    """An operator between two transposes."""
    # The reference evaluator's Softsign fails for rank 0.
    shape = draw.shape(1)
    first, second = draw.perm(len(shape)), draw.perm(len(shape))
    return Example({"x": shape}, {"first": first, "second": second})


def transposed_cast(draw: Draw) -> Example:
    """A cast between two transposes."""
    shape = draw.shape()
    first, second = draw.perm(len(shape)), draw.perm(len(shape))
    return Example({"x": finite(draw, shape)}, {"first": first, "second": second}, {"Cast": target(draw)})


def transposed_parts(draw: Draw) -> Example:
    """A Concat of transposed operands, which differ in the concatenated axis only."""
    shape, count = draw.shape(1), draw.number_in(1, 3)
    axis, values, parts = draw.axis(len(shape), negative=False), dict[str, Given](), list[Node]()
    for index in range(count):
        made = list(shape)
        made[axis] = draw.size(empty=True)
        perm = draw.perm(len(shape))
        before = [0] * len(shape)
        for result, source in enumerate(perm):
            before[source] = made[result]
        values[f"part{index}"] = tuple(before)
        parts.append(Transpose(getattr(value, f"part{index}"), perm=perm))
    return Example(values, pattern=Transpose(Concat(*parts, axis=axis), perm=draw.perm(len(shape))))


def identity_transpose(draw: Draw) -> Example:
    """A transpose with the identity permutation."""
    shape = draw.shape()
    return Example({"x": shape}, {"perm": list(range(len(shape)))})


def unwritten_transpose(draw: Draw) -> Example:
    """A transpose without `perm`, which shape inference would fill in."""
    return Example({"x": draw.shape()}, inferred=False)


def joined(draw: Draw, count: int, least: int = 1) -> tuple[list[Shape], int]:
    """Return shapes of operands of a Concat, and its axis."""
    shape = list(draw.shape(least))
    axis = draw.axis(len(shape))
    found: list[Shape] = []
    for _ in range(count):
        shape[axis] = draw.size(empty=True)
        found.append(tuple(shape))
    return found, axis


def cast_of_parts(draw: Draw) -> Example:
    """A cast of a Concat of operands of any length."""
    shapes, axis = joined(draw, draw.number_in(1, 4))
    values: dict[str, Given] = {f"parts{index}": finite(draw, shape) for index, shape in enumerate(shapes)}
    return Example(values, {"axis": axis}, {"Cast": target(draw)}, counts={"parts": len(shapes)})


def cast_of_slice(draw: Draw) -> Example:
    """A cast of any slice."""
    shape = draw.shape(1)
    return Example({"x": finite(draw, shape), **cuts(draw, shape)}, properties={"Cast": target(draw)})


def joined_pattern(shapes: Sequence[Shape], axis: int) -> Example:
    """A Concat of operands of the given shapes."""
    parts = [getattr(value, f"part{index}") for index in range(len(shapes))]
    values: dict[str, Given] = {f"part{index}": shape for index, shape in enumerate(shapes)}
    return Example(values, pattern=Concat(*parts, axis=axis))


def with_empty_lists(draw: Draw) -> Example:
    """A Concat of vectors, at least one of them empty and one not."""
    lengths = [0, draw.size(), *(draw.size(empty=True) for _ in range(draw.number_in(0, 2)))]
    return joined_pattern([(lengths[index],) for index in draw.perm(len(lengths))], draw.pick(0, -1))


def with_empty_parts(draw: Draw) -> Example:
    """A Concat of operands of any rank, at least one of them of size 0 along the axis and one not."""
    shapes, axis = joined(draw, draw.number_in(2, 4))
    for index, size in ((0, 0), (1, draw.size())):
        changed = list(shapes[index])
        changed[axis] = size
        shapes[index] = tuple(changed)
    return joined_pattern([shapes[index] for index in draw.perm(len(shapes))], axis)


def nested_parts(draw: Draw) -> Example:
    """Nested Concats along the same axis, or a Concat of a single operand."""
    shapes, axis = joined(draw, draw.number_in(1, 4))
    names = [getattr(value, f"part{index}") for index in range(len(shapes))]
    values: dict[str, Given] = {f"part{index}": shape for index, shape in enumerate(shapes)}
    cut = draw.number_in(1, len(shapes))
    inner, outer = names[:cut], names[cut:]
    return Example(values, pattern=Concat(*outer, Concat(*inner, axis=axis), axis=axis))


def refactored(draw: Draw, shape: Shape) -> list[int]:
    """Return another shape with as many elements."""
    total = int(np.prod(shape))
    if total == 0:
        return [0, *(draw.size() for _ in range(draw.number_in(0, 2)))]
    return draw.factors(total, draw.number_in(1, 4))


def two_reshapes_allowing_zero(draw: Draw) -> Example:
    """Two reshapes; the second one may have dimensions of 0, or one of -1."""
    shape = draw.shape()
    first, second = (refactored(draw, shape) if 0 not in shape else list(shape)), refactored(draw, shape)
    if 0 not in second and draw.flag():
        second[draw.number_in(0, len(second) - 1)] = -1
    return Example({"x": shape, "first": ints(*first), "second": ints(*second)})


def two_reshapes(draw: Draw) -> Example:
    """The second one with zeros that copy what the first one makes."""
    shape = draw.shape(1, empty=False)
    first = refactored(draw, shape)
    second = refactored(draw, shape)
    for index, size in enumerate(first[: len(second)]):
        if second[index] == size and draw.flag():
            second[index] = 0
    rest = [index for index, size in enumerate(second) if size]
    if rest and draw.flag():
        second[draw.pick(*rest)] = -1
    if draw.flag():
        first = [
            0 if index < len(shape) and shape[index] == size else size for index, size in enumerate(first)
        ]
    pattern = Reshape(Reshape(value.x, const.first, allowzero=0), const.second, allowzero=0)
    return Example({"x": shape, "first": ints(*first), "second": ints(*second)}, pattern=pattern)


def same_reshape(draw: Draw) -> Example:
    """To the shape that the data have, in any spelling."""
    shape = draw.shape(1)
    target = [draw.pick(size, 0, size) for size in shape]
    if 0 not in shape and draw.flag():
        target[draw.number_in(0, len(shape) - 1)] = -1
    return Example({"x": shape, "shape": ints(*target)}, pattern=Reshape(value.x, const.shape))


def reshape_allowing_zero(draw: Draw) -> Example:
    """To another shape, zeros allowed, whether there are any or not."""
    shape = draw.shape()
    target = ints(*refactored(draw, shape))
    return Example({"x": shape, "shape": target}, pattern=Reshape(value.x, const.shape, allowzero=1))


def blocks(deep: bool) -> Generator:
    """Images that blocks divide."""

    def make(draw: Draw) -> Example:
        batch, channels, height, width = (draw.size() for _ in range(4))
        block = draw.number_in(1, 3)
        shape = (batch, channels * block * block, height, width)
        if not deep:
            shape = (batch, channels, height * block, width * block)
        return Example({"x": shape}, {"block": block})

    return make


def spelled(draw: Draw, axes: Sequence[int], rank: int, properties: bool) -> list[int]:
    """Axes in another order, some from the back; in order and from the front if old operators have them."""
    front = sorted(axis % rank for axis in axes)
    if properties:
        return front
    return [front[index] - (rank if draw.flag() else 0) for index in draw.perm(len(front))]


def cancelling(squeezes_first: bool, properties: bool) -> Generator:
    """The same axes, spelled in two ways."""

    def make(draw: Draw) -> Example:
        shape, axes = with_ones(draw)
        if not squeezes_first:
            removed = {axis % len(shape) for axis in axes}
            x = tuple(size for index, size in enumerate(shape) if index not in removed)
        else:
            x = shape
        inner, outer = (spelled(draw, axes, len(shape), properties) for _ in range(2))
        cast = {"Cast": target(draw)}
        data = finite(draw, x)
        if properties:
            return Example({"x": data}, {"inner": inner, "outer": outer}, cast)
        return Example({"x": data, "inner": ints(*inner), "outer": ints(*outer)}, properties=cast)

    return make


def before_split(op: Template) -> Generator:
    """Two parts, both read by one operator."""

    def make(draw: Draw) -> Example:
        shape, first, second = list(draw.shape(1)), draw.size(), draw.size()
        axis = draw.axis(len(shape))
        shape[axis] = first + second
        properties = {"LeakyRelu": {"alpha": draw.real()}}
        pattern = op(Split(value.x, value.sizes, axis=axis))
        return Example(
            {"x": tuple(shape), "sizes": ints(first, second)}, properties=properties, pattern=pattern
        )

    return make


def identity_expand(draw: Draw) -> Example:
    """To a shape that broadcasts to that of the data."""
    shape = draw.shape()
    return Example({"x": shape, "shape": ints(*draw.narrower(shape))})


def identity_pad(draw: Draw) -> Example:
    """By nothing, in any mode, on some axes or all."""
    shape = draw.shape(1)
    axes = draw.axes(len(shape), 1) if draw.flag() else None
    zeros = ints(*(0,) * 2 * len(shape if axes is None else axes))
    fill = draw.array(()) if draw.flag() else None
    return Example(
        {"x": shape, "c": zeros, "fill": fill, "axes": None if axes is None else ints(*axes)}, own=("c",)
    )


def identity_slice(draw: Draw) -> Example:
    """From the first to the last along some axes, or past them."""
    shape = draw.shape(1)
    axes = draw.axes(len(shape), 1)
    far = draw.pick(1000, 2**31 - 1, 2**63 - 1)
    starts = [draw.pick(0, -shape[axis], -far) for axis in axes]
    ends = [draw.pick(shape[axis], far) for axis in axes]
    steps = ints(*(1 for _ in axes)) if draw.flag() else None
    return Example(
        {"x": shape, "starts": ints(*starts), "ends": ints(*ends), "axes": ints(*axes), "steps": steps}
    )


def identity_tile(draw: Draw) -> Example:
    """Once."""
    shape = draw.shape(1)
    return Example({"x": shape, "c": ints(*(1 for _ in shape))}, own=("c",))


def one_size(draw: Draw) -> Example:
    """Any axis."""
    shape = draw.shape(1)
    return Example({"x": shape}, {"axis": draw.axis(len(shape), negative=False)})


def identity_cast(draw: Draw) -> Example:
    """To the type of the data; infinities of 8 bits stay only if they do not saturate."""
    return Example({"x": draw.shape()}, {"to": element_type_of(draw.dtype), "saturate": draw.flag()})


def dropout(draw: Draw) -> Example:
    """Not while the model is trained."""
    training = np.array(False) if draw.flag() else None
    ratio = np.array(0.25, np.float32) if draw.flag() else None
    return Example({"x": draw.shape(), "ratio": ratio, "training": training}, own=("ratio", "training"))


def old_dropout(draw: Draw) -> Example:
    """Of what is not trained any more."""
    return Example({"x": draw.shape()})


THROUGH_CASTS: dict[str, tuple[bool, bool]] = {
    f"Remove{first}{version}{cast}{second}{version}Pattern": (first == "Unsqueeze", bool(version))
    for first, second in (("Squeeze", "Unsqueeze"), ("Unsqueeze", "Squeeze"))
    for version in ("", "V11")
    for cast in ("", "Cast")
}
"""Rules about axes that come and go: whether they go first, and whether they are properties."""

SPLIT: tuple[tuple[str, Template], ...] = (("Relu", Relu), ("LeakyRelu", LeakyRelu))

GENERATORS: dict[str, Generator] = {
    **{f"FuseTransposeAnd{name}Pattern": transposed for name in THROUGH.split()},
    "FuseTransposeAndCastPattern": transposed_cast,
    "FuseTransposePattern": transposed,
    "SwapTransposeConcatPattern": transposed_parts,
    "RemoveIdentityTransposePattern": identity_transpose,
    "HandleNegativePermutePatternInTranspose": unwritten_transpose,
    "SwapCastConcatPattern": cast_of_parts,
    "SwapCastSlicePattern": cast_of_slice,
    "RemoveEmptyInputInConcatPattern": with_empty_lists,
    "RemoveDimZeroInputInConcatPattern": with_empty_parts,
    "RecomposeConcatPattern": nested_parts,
    "FuseTwoReshapesAllowZeroPattern": two_reshapes_allowing_zero,
    "FuseTwoReshapesPattern": two_reshapes,
    "RemoveIdentityReshapePattern2": same_reshape,
    "RewriteReshapeAllowZeroPattern": reshape_allowing_zero,
    "RemoveDepthToSpaceSpaceToDepthPattern": blocks(False),
    "RemoveSpaceToDepthDepthToSpacePattern": blocks(True),
    **{name: cancelling(*case) for name, case in THROUGH_CASTS.items()},
    **{f"PullOpThroughSplitPattern{name}": before_split(op) for name, op in SPLIT},
    "RemoveIdentityExpandPattern": identity_expand,
    "RemoveIdentityPadPattern": identity_pad,
    "RemoveIdentitySlicePattern": identity_slice,
    "RemoveIdentityTilePattern": identity_tile,
    "DimOpToConstantPattern": one_size,
    "ShapeToConstantPattern": shape_of,
    "CastEliminationPattern": identity_cast,
    "DropoutEliminationPattern": dropout,
    "DropoutV10EliminationPattern": old_dropout,
    "DropoutV7EliminationPattern": old_dropout,
}

KINDS: dict[str, tuple[Kind, ...]] = {
    name: WHOLE for name in GENERATORS if "Cast" in name and name != "CastEliminationPattern"
} | {
    # The reference casts text to text by way of ASCII.
    "CastEliminationPattern": tuple(kind for kind in ALL if kind is not np.object_),
    # The reference computes with no bfloat16 here.
    "FuseTransposeAndSoftsignPattern": (np.float32, np.float16, np.float64),
}
