"""Shapes of data-movement operators, generators and shape operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from operator import itemgetter

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i64

from xonnc.dialects.onnx.elements import type_of_elements
from xonnc.rewriting.patterns import elements_type
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    InferenceContext,
    Shape,
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
def constant(ctx: InferenceContext) -> Types:
    """The type of the elements, dense or sparse."""
    properties = ctx.op.properties
    return [type_of_elements(properties.get("value", properties.get("sparse_value")))]


@infers("ConstantOfShape")
def constant_of_shape(ctx: InferenceContext) -> Types:
    """The value of the operand; an absent `value` becomes 0.0 : f32."""
    sizes = ctx.partly(0)
    value = ctx.op.properties.get("value")
    if value is None and ctx.shape(0) is not None:
        value = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [1]), [0.0])
        ctx.op.properties["value"] = value
    element = f32 if value is None else elements_type(value).element_type
    if sizes is None:
        return any_shape(element)
    if any(size < 0 and size != UNKNOWN for size in sizes):
        raise ctx.fail(f"{shown(sizes)} is no shape")
    return typed(sizes, element)


@infers("Shape")
def shape(ctx: InferenceContext) -> Types:
    """[end - start], int64."""
    data = ctx.shape(0)
    return [None] if data is None else typed((len(shape_slice(ctx, data)),), i64)


@infers("Size")
def size(ctx: InferenceContext) -> Types:
    """A scalar."""
    return typed((), i64)


@infers("Dim")
def dim(ctx: InferenceContext) -> Types:
    """[1]."""
    return typed((1,), i64)


@infers("Reshape")
def reshape(ctx: InferenceContext) -> Types:
    """The target: 0 copies a dimension unless `allowzero`, -1 is inferred."""
    wanted, data = ctx.partly(1), ctx.shape(0)
    if wanted is None:
        return any_shape(ctx.element())
    if data is None:
        return ctx.ranked(tuple(UNKNOWN if number in (0, -1) else number for number in wanted))
    copied = not ctx.integer("allowzero")
    sizes = list(wanted)
    left = list(data)
    for place, number in enumerate(wanted):
        if number == 0 and copied:
            if place >= len(data):
                raise ctx.fail(f"shape {shown(wanted)} copies axis {place} of {shown(data)}")
            sizes[place] = data[place]
            left[place] = 1
    if -1 in wanted:
        others = [number for number in wanted if number != -1 and not (number == 0 and copied)]
        sizes[wanted.index(-1)] = _rest(ctx, left, others, wanted)
    elif UNKNOWN not in (*sizes, *data) and product(sizes) != product(data):
        raise ctx.fail(f"{ctx.operand(0)} does not reshape to {shown(wanted)}")
    return ctx.ranked(tuple(sizes))


def _rest(ctx: InferenceContext, data: Sequence[int], others: Sequence[int], wanted: Shape) -> int:
    total, known = product(data), product(others)
    if UNKNOWN in (total, known) or wanted.count(-1) > 1:
        return UNKNOWN
    if known == 0 or total % known:
        raise ctx.fail(f"{total} elements of {ctx.operand(0)} do not reshape to {shown(wanted)}")
    return total // known


@infers("Flatten")
def flatten(ctx: InferenceContext) -> Types:
    """[product before `axis`, product from `axis` on]."""
    data = ctx.shape(0)
    if data is None:
        return [None]
    axis = ctx.integer("axis", 1)
    axis = len(data) if axis == len(data) else ctx.axis(axis, len(data))
    return ctx.ranked((product(data[:axis]), product(data[axis:])))


@infers("Transpose")
def transpose(ctx: InferenceContext) -> Types:
    """Axis i of the result is axis perm[i]; an absent perm reverses the axes."""
    data = ctx.shape(0)
    if data is None:
        return [None]
    perm = ctx.integers("perm") or tuple(reversed(range(len(data))))
    axes = [ctx.axis(axis, len(data)) for axis in perm]
    if sorted(axes) != list(range(len(data))):
        raise ctx.fail(f"perm {shown(perm)} is no permutation of {len(data)} axes")
    ctx.set("perm", perm)
    return ctx.ranked(tuple(data[axis] for axis in axes))


@infers("Concat")
def concat(ctx: InferenceContext) -> Types:
    """The dimensions along `axis` add up; a negative axis is normalised."""
    shapes = ctx.shapes()
    if shapes is None:
        return [None]
    full = [shape for shape in shapes if shape != (0,)] or shapes
    rank = len(full[0])
    axis = ctx.axis(ctx.integer("axis"), rank)
    if any(len(shape) != rank for shape in full):
        raise ctx.fail(f"{_differing(ctx, len)} have different ranks")
    sizes: list[int] = []
    for place in range(rank):
        column = [shape[place] for shape in full]
        if place == axis:
            sizes.append(UNKNOWN if UNKNOWN in column else sum(column))
            continue
        known = set(column) - {UNKNOWN}
        if len(known) > 1:
            raise ctx.fail(f"{_differing(ctx, itemgetter(place))} differ in axis {place}")
        sizes.append(known.pop() if known else UNKNOWN)
    ctx.set("axis", axis)
    return ctx.ranked(tuple(sizes))


def _differing(ctx: InferenceContext, kind: Callable[[Shape], int]) -> str:
    """Describe the first two operands of Concat known to differ; empty ones do not count."""
    chosen: dict[int, str] = {}
    for place in range(len(ctx.op.operands)):
        shape = ctx.shape(place)
        if shape is not None and shape != (0,) and kind(shape) != UNKNOWN:
            chosen.setdefault(kind(shape), ctx.operand(place))
    return " and ".join(list(chosen.values())[:2])


@infers("Split", "SplitV11", "SplitV13")
def split(ctx: InferenceContext) -> Types:
    """Parts of the given or of equal sizes; a negative axis is normalised."""
    data, parts = ctx.shape(0), len(ctx.op.results)
    if data is None:
        return [None] * parts
    axis = ctx.axis(ctx.integer("axis"), len(data))
    by_operand = ctx.name != "SplitV11"
    sizes = ctx.numbers(1) if by_operand else ctx.integers("split")
    if sizes is None:
        waits = (by_operand and ctx.has(1)) or data[axis] == UNKNOWN
        sizes = (UNKNOWN,) * parts if waits else equal_parts(data[axis], parts)
    if len(sizes) != parts or (UNKNOWN not in (data[axis], *sizes) and sum(sizes) != data[axis]):
        raise ctx.fail(f"axis {axis} of {data[axis]} does not split into {shown(sizes)} for {parts} results")
    ctx.set("axis", axis)
    return [each for size in sizes for each in ctx.ranked((*data[:axis], size, *data[axis + 1 :]))]


def equal_parts(size: int, parts: int) -> Shape:
    """Return the sizes of equal parts; the last is smaller if `size` is not divisible."""
    chunk = ceil(size / parts)
    return tuple(max(0, min(chunk, size - chunk * part)) for part in range(parts))


@infers("Gather")
def gather(ctx: InferenceContext) -> Types:
    """The axis is replaced by the axes of the indices."""
    data, indices = ctx.shape(0), ctx.shape(1)
    if data is None or indices is None:
        return [None]
    axis = ctx.axis(ctx.integer("axis"), len(data))
    return ctx.ranked((*data[:axis], *indices, *data[axis + 1 :]))


@infers("GatherElements")
def gather_elements(ctx: InferenceContext) -> Types:
    """The shape of the indices."""
    indices = ctx.shape(1)
    return [None] if indices is None else ctx.ranked(indices)


@infers("Squeeze", "SqueezeV11")
def squeeze(ctx: InferenceContext) -> Types:
    """Without the given axes, or all of length 1."""
    data = ctx.shape(0)
    if data is None:
        return [None]
    by_operand = ctx.name == "Squeeze"
    axes = ctx.numbers(1) if by_operand else ctx.integers("axes")
    if axes is None:
        if (by_operand and ctx.has(1)) or UNKNOWN in data:
            return [None]
        axes = tuple(axis for axis, size in enumerate(data) if size == 1)
    places = [ctx.axis(axis, len(data)) for axis in axes]
    gone = set(places)
    if any(data[axis] not in (1, UNKNOWN) for axis in gone):
        raise ctx.fail(f"axes {sorted(gone)} of {shown(data)} are not all of length one")
    if not by_operand and "axes" in ctx.op.properties:
        ctx.set("axes", places)
    return ctx.ranked(tuple(size for axis, size in enumerate(data) if axis not in gone))


@infers("Unsqueeze", "UnsqueezeV11")
def unsqueeze(ctx: InferenceContext) -> Types:
    """With axes of length 1 at the given positions."""
    data = ctx.shape(0)
    axes = ctx.numbers(1) if ctx.name == "Unsqueeze" else ctx.integers("axes")
    if data is None or axes is None:
        return [None]
    places = [ctx.axis(axis, len(data) + len(axes)) for axis in axes]
    new = set(places)
    if len(new) != len(axes):
        raise ctx.fail(f"axes {shown(axes)} name a place twice")
    if ctx.name == "UnsqueezeV11":
        ctx.set("axes", places)
    sizes = iter(data)
    return ctx.ranked(tuple(1 if axis in new else next(sizes) for axis in range(len(data) + len(axes))))


@infers("Slice")
def slice_(ctx: InferenceContext) -> Types:
    """Dimensions of start, end and step along some axes."""
    data, starts, ends = ctx.shape(0), ctx.partly(1), ctx.partly(2)
    axes, steps = ctx.numbers(3), ctx.numbers(4)
    if data is None:
        return [None]
    if (ctx.has(3) and axes is None) or (axes is None and starts is None):
        return ctx.ranked((UNKNOWN,) * len(data))
    places = [ctx.axis(axis, len(data)) for axis in (axes if axes is not None else range(len(starts or ())))]
    sizes = list(data)
    for number, place in enumerate(places):
        bounds = [known[number] if known else None for known in (ctx.numbers(1), ctx.numbers(2))]
        step = steps[number] if steps else (None if ctx.has(4) else 1)
        if step == 0:
            raise ctx.fail("steps must not be 0")
        start, end = bounds
        if start is None or end is None or step is None or data[place] == UNKNOWN or ends is None:
            sizes[place] = UNKNOWN
        else:
            sizes[place] = len(range(*axis_slice(start, end, step, data[place]).indices(data[place])))
    return ctx.ranked(tuple(sizes))


@infers("Pad")
def pad(ctx: InferenceContext) -> Types:
    """Each dimension plus its pads."""
    data, pads = ctx.shape(0), ctx.numbers(1)
    axes = ctx.numbers(3)
    if data is None:
        return [None]
    if pads is None or (ctx.has(3) and axes is None):
        return ctx.ranked((UNKNOWN,) * len(data))
    places = [ctx.axis(axis, len(data)) for axis in (axes if axes is not None else range(len(data)))]
    if len(pads) != 2 * len(places):
        raise ctx.fail(f"{len(pads)} pads do not fit {len(places)} axes")
    sizes = list(data)
    for number, place in enumerate(places):
        if data[place] != UNKNOWN:
            sizes[place] += pads[number] + pads[number + len(places)]
    return ctx.ranked(tuple(sizes))


@infers("Expand")
def expand(ctx: InferenceContext) -> Types:
    """The broadcast of shape and target."""
    data, wanted = ctx.shape(0), ctx.partly(1)
    if data is None or wanted is None:
        return any_shape(ctx.element())
    return ctx.ranked(broadcast(ctx, [data, wanted], lambda: [ctx.operand(0), f"shape {shown(wanted)}"]))


@infers("Tile")
def tile(ctx: InferenceContext) -> Types:
    """Each dimension times its repeats."""
    data, repeats = ctx.shape(0), ctx.numbers(1)
    if data is None:
        return [None]
    if repeats is None:
        return ctx.ranked((UNKNOWN,) * len(data))
    if len(repeats) != len(data):
        raise ctx.fail(f"{len(repeats)} repeats do not fit {len(data)} axes")
    pairs = zip(data, repeats, strict=True)
    return ctx.ranked(tuple(UNKNOWN if size == UNKNOWN else size * count for size, count in pairs))


@infers("Range")
def range_(ctx: InferenceContext) -> Types:
    """max(0, ceil((limit - start) / delta)) elements."""
    bounds = [ctx.constant(place) for place in range(3)]
    known = [float(bound.reshape(())) for bound in bounds if bound is not None]
    if len(known) < 3:
        return ctx.ranked((UNKNOWN,))
    start, limit, delta = known
    if delta == 0:
        raise ctx.fail("delta must not be 0")
    return ctx.ranked((max(0, ceil((limit - start) / delta)),))


@infers("DepthToSpace")
def depth_to_space(ctx: InferenceContext) -> Types:
    """[N, C / b², H b, W b]."""
    data, block = ctx.shape(0), ctx.integer("blocksize", 1)
    if data is None:
        return [None]
    n, c, h, w = data
    deep = UNKNOWN if c == UNKNOWN else c // (block * block)
    return ctx.ranked((n, deep, *(UNKNOWN if size == UNKNOWN else size * block for size in (h, w))))


@infers("SpaceToDepth")
def space_to_depth(ctx: InferenceContext) -> Types:
    """[N, C b², H / b, W / b]."""
    data, block = ctx.shape(0), ctx.integer("blocksize", 1)
    if data is None:
        return [None]
    n, c, h, w = data
    deep = UNKNOWN if c == UNKNOWN else c * block * block
    return ctx.ranked((n, deep, *(UNKNOWN if size == UNKNOWN else size // block for size in (h, w))))


@infers("NonZero")
def non_zero(ctx: InferenceContext) -> Types:
    """[rank, number of non-zero elements]."""
    data = ctx.shape(0)
    return [None] if data is None else typed((len(data), UNKNOWN), i64)
