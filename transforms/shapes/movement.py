"""Shapes of ops that move elements about, make them up, or talk about shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from operator import itemgetter

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i64

from xonnc.dialects.onnx.elements import type_of_elements
from xonnc.rewriting.patterns import elements_type
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Shape,
    Site,
    Types,
    any_shape,
    axis_slice,
    broadcast,
    infers,
    product,
    shape_slice,
    shown,
    typed,
)


@infers("Constant")
def constant(site: Site) -> Types:
    """The type of the elements."""
    return [type_of_elements(site.op.properties.get("value"))]


@infers("ConstantOfShape")
def constant_of_shape(site: Site) -> Types:
    """The shape is the operand; an absent value becomes one 0.0 : f32."""
    sizes = site.partly(0)
    value = site.op.properties.get("value")
    if value is None and site.shape(0) is not None:
        value = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [1]), [0.0])
        site.op.properties["value"] = value
    element = f32 if value is None else elements_type(value).element_type
    if sizes is None:
        return any_shape(element)
    if any(size < 0 and size != UNKNOWN for size in sizes):
        raise site.fail(f"{shown(sizes)} is no shape")
    return typed(sizes, element)


@infers("Shape")
def shape(site: Site) -> Types:
    """One number for every axis from start to end."""
    data = site.shape(0)
    return [None] if data is None else typed((len(shape_slice(site, data)),), i64)


@infers("Size")
def size(site: Site) -> Types:
    """A scalar."""
    return typed((), i64)


@infers("Dim")
def dim(site: Site) -> Types:
    """One number."""
    return typed((1,), i64)


@infers("Reshape")
def reshape(site: Site) -> Types:
    """0 copies a size unless allowzero, -1 takes what is left."""
    wanted, data = site.partly(1), site.shape(0)
    if wanted is None:
        return any_shape(site.element())
    if data is None:
        return site.ranked(tuple(UNKNOWN if number in (0, -1) else number for number in wanted))
    copied = not site.integer("allowzero")
    sizes = list(wanted)
    left = list(data)
    for place, number in enumerate(wanted):
        if number == 0 and copied:
            if place >= len(data):
                raise site.fail(f"shape {shown(wanted)} copies axis {place} of {shown(data)}")
            sizes[place] = data[place]
            left[place] = 1
    if -1 in wanted:
        others = [number for number in wanted if number != -1 and not (number == 0 and copied)]
        sizes[wanted.index(-1)] = _rest(site, left, others, wanted)
    elif UNKNOWN not in (*sizes, *data) and product(sizes) != product(data):
        raise site.fail(f"{site.operand(0)} does not reshape to {shown(wanted)}")
    return site.ranked(tuple(sizes))


def _rest(site: Site, data: Sequence[int], others: Sequence[int], wanted: Shape) -> int:
    total, known = product(data), product(others)
    if UNKNOWN in (total, known) or wanted.count(-1) > 1:
        return UNKNOWN
    if known == 0 or total % known:
        raise site.fail(f"{total} elements of {site.operand(0)} do not reshape to {shown(wanted)}")
    return total // known


@infers("Flatten")
def flatten(site: Site) -> Types:
    """Two axes: all before the axis, all from it on."""
    data = site.shape(0)
    if data is None:
        return [None]
    axis = site.integer("axis", 1)
    axis = len(data) if axis == len(data) else site.axis(axis, len(data))
    return site.ranked((product(data[:axis]), product(data[axis:])))


@infers("Transpose")
def transpose(site: Site) -> Types:
    """Axis i of the result is axis perm[i]; an absent perm becomes the reversed order."""
    data = site.shape(0)
    if data is None:
        return [None]
    perm = site.integers("perm") or tuple(reversed(range(len(data))))
    axes = [site.axis(axis, len(data)) for axis in perm]
    if sorted(axes) != list(range(len(data))):
        raise site.fail(f"perm {shown(perm)} is no permutation of {len(data)} axes")
    site.set("perm", perm)
    return site.ranked(tuple(data[axis] for axis in axes))


@infers("Concat")
def concat(site: Site) -> Types:
    """The sizes along the axis add up; a negative axis is written as a positive one."""
    shapes = site.shapes()
    if shapes is None:
        return [None]
    full = [shape for shape in shapes if shape != (0,)] or shapes
    rank = len(full[0])
    axis = site.axis(site.integer("axis"), rank)
    if any(len(shape) != rank for shape in full):
        raise site.fail(f"{_differing(site, len)} have different ranks")
    sizes: list[int] = []
    for place in range(rank):
        column = [shape[place] for shape in full]
        if place == axis:
            sizes.append(UNKNOWN if UNKNOWN in column else sum(column))
            continue
        known = set(column) - {UNKNOWN}
        if len(known) > 1:
            raise site.fail(f"{_differing(site, itemgetter(place))} differ in axis {place}")
        sizes.append(known.pop() if known else UNKNOWN)
    site.set("axis", axis)
    return site.ranked(tuple(sizes))


def _differing(site: Site, kind: Callable[[Shape], int]) -> str:
    """The first two operands of Concat of which it is known that they differ; empty ones do not count."""
    chosen: dict[int, str] = {}
    for place in range(len(site.op.operands)):
        shape = site.shape(place)
        if shape is not None and shape != (0,) and kind(shape) != UNKNOWN:
            chosen.setdefault(kind(shape), site.operand(place))
    return " and ".join(list(chosen.values())[:2])


@infers("Split", "SplitV11", "SplitV13")
def split(site: Site) -> Types:
    """Parts as given, else equal ones; a negative axis is written as a positive one."""
    data, parts = site.shape(0), len(site.op.results)
    if data is None:
        return [None] * parts
    axis = site.axis(site.integer("axis"), len(data))
    by_operand = site.name != "SplitV11"
    sizes = site.numbers(1) if by_operand else site.integers("split")
    if sizes is None:
        waits = (by_operand and site.has(1)) or data[axis] == UNKNOWN
        sizes = (UNKNOWN,) * parts if waits else equal_parts(data[axis], parts)
    if len(sizes) != parts or (UNKNOWN not in (data[axis], *sizes) and sum(sizes) != data[axis]):
        raise site.fail(f"axis {axis} of {data[axis]} does not split into {shown(sizes)} for {parts} results")
    site.set("axis", axis)
    return [each for size in sizes for each in site.ranked((*data[:axis], size, *data[axis + 1 :]))]


def equal_parts(size: int, parts: int) -> Shape:
    """The sizes of equal parts; the last ones are smaller if they must."""
    chunk = ceil(size / parts)
    return tuple(max(0, min(chunk, size - chunk * part)) for part in range(parts))


@infers("Gather")
def gather(site: Site) -> Types:
    """The axis is replaced by the axes of the indices."""
    data, indices = site.shape(0), site.shape(1)
    if data is None or indices is None:
        return [None]
    axis = site.axis(site.integer("axis"), len(data))
    return site.ranked((*data[:axis], *indices, *data[axis + 1 :]))


@infers("GatherElements")
def gather_elements(site: Site) -> Types:
    """The shape of the indices."""
    indices = site.shape(1)
    return [None] if indices is None else site.ranked(indices)


@infers("Squeeze", "SqueezeV11")
def squeeze(site: Site) -> Types:
    """Without the axes given, or all of length one."""
    data = site.shape(0)
    if data is None:
        return [None]
    by_operand = site.name == "Squeeze"
    axes = site.numbers(1) if by_operand else site.integers("axes")
    if axes is None:
        if (by_operand and site.has(1)) or UNKNOWN in data:
            return [None]
        axes = tuple(axis for axis, size in enumerate(data) if size == 1)
    gone = {site.axis(axis, len(data)) for axis in axes}
    if any(data[axis] not in (1, UNKNOWN) for axis in gone):
        raise site.fail(f"axes {sorted(gone)} of {shown(data)} are not all of length one")
    return site.ranked(tuple(size for axis, size in enumerate(data) if axis not in gone))


@infers("Unsqueeze", "UnsqueezeV11")
def unsqueeze(site: Site) -> Types:
    """With axes of length one at the places given."""
    data = site.shape(0)
    axes = site.numbers(1) if site.name == "Unsqueeze" else site.integers("axes")
    if data is None or axes is None:
        return [None]
    new = {site.axis(axis, len(data) + len(axes)) for axis in axes}
    if len(new) != len(axes):
        raise site.fail(f"axes {shown(axes)} name a place twice")
    sizes = iter(data)
    return site.ranked(tuple(1 if axis in new else next(sizes) for axis in range(len(data) + len(axes))))


@infers("Slice")
def slice_(site: Site) -> Types:
    """Every step-th element from start to end, along some axes."""
    data, starts, ends = site.shape(0), site.partly(1), site.partly(2)
    axes, steps = site.numbers(3), site.numbers(4)
    if data is None:
        return [None]
    if (site.has(3) and axes is None) or (axes is None and starts is None):
        return site.ranked((UNKNOWN,) * len(data))
    places = [site.axis(axis, len(data)) for axis in (axes if axes is not None else range(len(starts or ())))]
    sizes = list(data)
    for number, place in enumerate(places):
        bounds = [known[number] if known else None for known in (site.numbers(1), site.numbers(2))]
        step = steps[number] if steps else (None if site.has(4) else 1)
        if step == 0:
            raise site.fail("a step of 0 leads nowhere")
        start, end = bounds
        if start is None or end is None or step is None or data[place] == UNKNOWN or ends is None:
            sizes[place] = UNKNOWN
        else:
            sizes[place] = len(range(*axis_slice(start, end, step, data[place]).indices(data[place])))
    return site.ranked(tuple(sizes))


@infers("Pad")
def pad(site: Site) -> Types:
    """Every axis grows by what is before and after."""
    data, pads = site.shape(0), site.numbers(1)
    axes = site.numbers(3)
    if data is None:
        return [None]
    if pads is None or (site.has(3) and axes is None):
        return site.ranked((UNKNOWN,) * len(data))
    places = [site.axis(axis, len(data)) for axis in (axes if axes is not None else range(len(data)))]
    if len(pads) != 2 * len(places):
        raise site.fail(f"{len(pads)} pads do not fit {len(places)} axes")
    sizes = list(data)
    for number, place in enumerate(places):
        if data[place] != UNKNOWN:
            sizes[place] += pads[number] + pads[number + len(places)]
    return site.ranked(tuple(sizes))


@infers("Expand")
def expand(site: Site) -> Types:
    """Broadcast to a shape."""
    data, wanted = site.shape(0), site.partly(1)
    if data is None or wanted is None:
        return any_shape(site.element())
    return site.ranked(broadcast(site, [data, wanted], lambda: [site.operand(0), f"shape {shown(wanted)}"]))


@infers("Tile")
def tile(site: Site) -> Types:
    """Every size times its repeats."""
    data, repeats = site.shape(0), site.numbers(1)
    if data is None:
        return [None]
    if repeats is None:
        return site.ranked((UNKNOWN,) * len(data))
    if len(repeats) != len(data):
        raise site.fail(f"{len(repeats)} repeats do not fit {len(data)} axes")
    pairs = zip(data, repeats, strict=True)
    return site.ranked(tuple(UNKNOWN if size == UNKNOWN else size * count for size, count in pairs))


@infers("Range")
def range_(site: Site) -> Types:
    """ceil((limit - start) / delta) elements, at least none."""
    bounds = [site.constant(place) for place in range(3)]
    known = [float(bound.reshape(())) for bound in bounds if bound is not None]
    if len(known) < 3:
        return site.ranked((UNKNOWN,))
    start, limit, delta = known
    if delta == 0:
        raise site.fail("a delta of 0 leads nowhere")
    return site.ranked((max(0, ceil((limit - start) / delta)),))


@infers("DepthToSpace")
def depth_to_space(site: Site) -> Types:
    """N, C / b², H b, W b."""
    data, block = site.shape(0), site.integer("blocksize", 1)
    if data is None:
        return [None]
    n, c, h, w = data
    deep = UNKNOWN if c == UNKNOWN else c // (block * block)
    return site.ranked((n, deep, *(UNKNOWN if size == UNKNOWN else size * block for size in (h, w))))


@infers("SpaceToDepth")
def space_to_depth(site: Site) -> Types:
    """N, C b², H / b, W / b."""
    data, block = site.shape(0), site.integer("blocksize", 1)
    if data is None:
        return [None]
    n, c, h, w = data
    deep = UNKNOWN if c == UNKNOWN else c * block * block
    return site.ranked((n, deep, *(UNKNOWN if size == UNKNOWN else size // block for size in (h, w))))


@infers("NonZero")
def non_zero(site: Site) -> Types:
    """One row for every axis, as many columns as there are hits."""
    data = site.shape(0)
    return [None] if data is None else typed((len(data), UNKNOWN), i64)
