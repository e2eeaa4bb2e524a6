"""Generators of instances of the patterns of constant propagation that move elements, or count."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, f32

from xonnc.dialects.onnx.elements.dense import stored_form
from xonnc.dialects.onnx.types import element_type_of, tensor_type, unranked
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.instances import Example, ints
from xonnc.fuzzing.rules.values import KINDS, is_float, is_integer


def concatenation(draw: Draw) -> Example:
    """Parts of different lengths, also without elements."""
    shape, count = list(draw.shape(1)), draw.number_in(1, 4)
    axis = draw.axis(len(shape))
    parts: dict[str, tuple[int, ...]] = {}
    for index in range(count):
        shape[axis] = draw.size(empty=True)
        parts[f"constants{index}"] = tuple(shape)
    return Example(parts, {"axis": axis}, counts={"constants": count})


def constant_of_shape(draw: Draw) -> Example:
    """Of each element type there is a value of; zeros without one."""
    shape = ints(*draw.shape())
    kinds = [kind for kind in KINDS if is_float(np.dtype(kind)) or is_integer(np.dtype(kind))]
    dtype = np.dtype(kinds[draw.number % len(kinds)])
    if draw.number % 5 == 0:
        return Example({"shape": shape}, {"value": None}, types=[unranked(f32)])
    element = element_type_of(dtype)
    stored = stored_form(np.array([draw.number_in(0, 7)]).astype(dtype))
    value = DenseIntOrFPElementsAttr.new((tensor_type((1,), element), BytesAttr(stored.tobytes())))
    return Example({"shape": shape}, {"value": value}, types=[unranked(element)])


def expansion(draw: Draw) -> Example:
    """To more axes, or to fewer, which broadcast too."""
    shape = draw.shape()
    return Example({"c": draw.narrower(shape), "shape": ints(*draw.narrower(shape))})


def gather(draw: Draw) -> Example:
    """Indices of any rank from either end; none if there is nothing to take."""
    shape = draw.shape(1)
    axis = draw.axis(len(shape))
    indices = draw.shape(0, 2) if shape[axis] else (0,)
    kind = draw.pick(np.int64, np.int32)
    indices_drawn = draw.indices(max(1, shape[axis]), indices).astype(kind)
    return Example({"c": shape, "indices": indices_drawn}, {"axis": axis})


def padding(draw: Draw) -> Example:
    """More elements in each mode, on some axes or all; the reference takes none away."""
    shape = draw.shape(1, 3, empty=False)
    mode = draw.pick("constant", "constant", "reflect", "edge", "wrap")
    axes = draw.axes(len(shape), 1) if draw.flag() else None
    count = len(shape) if axes is None else len(axes)
    most = {"constant": 3, "edge": 3, "reflect": 0, "wrap": 1}[mode]
    sizes = [shape[axis] for axis in axes or range(count)]
    limits = [max(0, size - 1) if mode == "reflect" else most for size in sizes]
    pads = [draw.number_in(0, limit) for _ in range(2) for limit in limits]
    # Without a fill the reference puts numbers among text.
    filled = mode == "constant" and (draw.flag() or draw.dtype == np.object_)
    fill = draw.array(draw.pick((), (1,))) if filled else None
    return Example(
        {"c": shape, "pads": ints(*pads), "fill": fill, "axes": None if axes is None else ints(*axes)},
        {"mode": mode},
    )


def counting(draw: Draw) -> Example:
    """Upwards and downwards, also past the limit, which gives nothing."""
    step = draw.pick(-3, -2, -1, 1, 2, 3)
    if draw.is_float:
        start, span, step = draw.pick(-1.5, 0.0, 0.25, 2.0), draw.pick(0.0, 1.25, 4.0, 7.5), step / 4
    else:
        start, span = draw.number_in(4, 30), draw.number_in(0, 9)
    limit = max(start + np.sign(step) * span * draw.pick(1, 1, 1, -1), 0 if draw.is_integer else -99)
    return Example({"start": np.array(start), "limit": np.array(limit), "delta": np.array(step)})


def reshape(draw: Draw) -> Example:
    """Other factors, one of them left to be found, or copied, or 0 and meant."""
    shape, zero = draw.shape(), draw.flag()
    total = int(np.prod(shape))
    if total == 0:
        target = list(draw.random.permutation(shape)) if zero else list(shape)
        return Example({"c": shape, "shape": ints(*map(int, target))}, {"allowzero": zero})
    target = draw.factors(total, draw.number_in(0 if total == 1 else 1, 4))
    axis = draw.number_in(0, max(0, len(target) - 1))
    if target and draw.flag():
        copies = not zero and axis < len(shape) and shape[axis] == target[axis]
        target[axis] = 0 if copies else -1
    return Example({"c": shape, "shape": ints(*target)}, {"allowzero": zero})


def scatter(draw: Draw) -> Example:
    """Distinct indices of slices of any depth."""
    shape = draw.shape(1, 3, empty=False)
    depth = draw.number_in(1, len(shape))
    every = np.array(list(np.ndindex(*shape[:depth])))
    chosen = every[draw.random.permutation(len(every))[: draw.number_in(0, len(every))]]
    back = draw.random.integers(0, 2, chosen.shape) * np.array(shape[:depth])
    return Example(
        {"c": shape, "indices": (chosen - back).astype(np.int64), "updates": (len(chosen), *shape[depth:])},
        {"reduction": "none"},
    )


def cuts(draw: Draw, shape: tuple[int, ...]) -> dict[str, np.ndarray | None]:
    """
    Starts, ends, axes and steps: past the ends too, backwards too.

    Backwards from before the front the reference takes nothing, as numpy; ONNX has it begin with the first.
    """
    named = draw.flag()
    axes = draw.axes(len(shape)) if named else list(range(draw.number_in(0, len(shape))))
    far = draw.pick(1000, 2**31 - 1, 2**63 - 1)
    starts = [draw.pick(0, 1, -1, 2, -far, far, draw.number_in(-6, 6)) for _ in axes]
    ends = [draw.pick(0, -1, 3, -far, far, draw.number_in(-6, 6)) for _ in axes]
    steps = [draw.pick(1, 2, -1, -2, 3) for _ in axes] if draw.flag() else None
    for index, step in enumerate(steps or ()):
        if step < 0:
            starts[index] = max(starts[index], -shape[axes[index]])
    return {
        "starts": ints(*starts),
        "ends": ints(*ends),
        "axes": ints(*axes) if named else None,
        "steps": None if steps is None else ints(*steps),
    }


def slicing(draw: Draw) -> Example:
    """Any slice."""
    shape = draw.shape(1)
    return Example({"c": shape, **cuts(draw, shape)})


def split(draw: Draw) -> Example:
    """In two, by sizes that are given, or in equal parts."""
    shape = list(draw.shape(1))
    axis = draw.axis(len(shape))
    first, second = draw.size(empty=True), draw.size(empty=True)
    shape[axis] = first + second
    is_equal = first == second and draw.flag()
    return Example({"c": tuple(shape), "sizes": None if is_equal else ints(first, second)}, {"axis": axis})


def with_ones(draw: Draw) -> tuple[tuple[int, ...], list[int]]:
    """A shape, and some of its axes, which have length 1."""
    inner = draw.shape(0, 3)
    axes = draw.axes(len(inner) + 2, 1, 2)
    rank = len(inner) + len(axes)
    inserted = {axis % (len(inner) + 2) for axis in axes}
    chosen = sorted(index % rank for index in inserted)
    chosen = list(dict.fromkeys(chosen))
    rank = len(inner) + len(chosen)
    rest = iter(inner)
    shape = tuple(1 if index in chosen else next(rest) for index in range(rank))
    return shape, [
        index - rank if draw.flag() else index for index in draw.random.permutation(chosen).tolist()
    ]


def squeezing(draw: Draw) -> Example:
    """Some axes of length 1, or all of them."""
    shape, axes = with_ones(draw)
    return Example({"c": shape, "axes": ints(*axes) if draw.number_in(0, 3) else None})


def squeezing_by_property(draw: Draw) -> Example:
    """The same with axes as a property, in order and from the front, as old operators have them."""
    shape, axes = with_ones(draw)
    axes = sorted(axis % len(shape) for axis in axes)
    return Example({"c": shape}, {"axes": axes if draw.number_in(0, 3) else None})


def unsqueezing(draw: Draw) -> Example:
    """Axes at any positions."""
    shape, count = draw.shape(0, 3), draw.number_in(0, 3)
    axes = draw.axes(len(shape) + count, count, count)
    return Example({"c": shape, "axes": ints(*axes)})


def unsqueezing_by_property(draw: Draw) -> Example:
    """The same with axes as a property, in order and from the front, as old operators have them."""
    shape, count = draw.shape(0, 3), draw.number_in(1, 3)
    axes = draw.axes(len(shape) + count, count, count, negative=False)
    return Example({"c": shape}, {"axes": sorted(axes)})


def tiling(draw: Draw) -> Example:
    """Often, once, or not at all along each axis."""
    shape = draw.shape(1, 3)
    return Example({"c": shape, "repeats": ints(*(draw.number_in(0, 3) for _ in shape))})


def transposition(draw: Draw) -> Example:
    """In any order; reversed if none is given."""
    shape = draw.shape()
    return Example({"c": shape}, {"perm": draw.perm(len(shape)) if shape and draw.number_in(0, 3) else None})


def non_zero(draw: Draw) -> Example:
    """Zeros in between."""
    shape = draw.shape(1)
    if draw.dtype == np.object_:
        return Example({"c": shape})
    return Example({"c": np.where(draw.random.integers(0, 2, shape), draw.array(shape), 0)})


def shape_of(draw: Draw) -> Example:
    """From some axis to another, counted from either end; past the front the reference is wrong."""
    shape = draw.shape()
    start, end = draw.number_in(-len(shape), 5), draw.number_in(-len(shape), 5)
    return Example({"x": shape}, {"start": start, "end": end if draw.flag() else None})


GENERATORS: dict[str, Generator] = {
    "ConcatofConst": concatenation,
    "ConstantOfShapeofConst": constant_of_shape,
    "ExpandofConst": expansion,
    "GatherofConst": gather,
    "NonZeroOfConst": non_zero,
    "PadOfConst": padding,
    "RangeConstProp": counting,
    "ReshapeofConst": reshape,
    "ScatterNDOfConst": scatter,
    "ShapeToConstantPattern": shape_of,
    "SliceofConst": slicing,
    "SplitOfConst": split,
    "SplitV13OfConst": split,
    "SqueezeofConst": squeezing,
    "SqueezeV11ofConst": squeezing_by_property,
    "TileofConst": tiling,
    "TransposeofConst": transposition,
    "UnsqueezeofConst": unsqueezing,
    "UnsqueezeV11ofConst": unsqueezing_by_property,
}
