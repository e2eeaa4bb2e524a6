"""Shapes of data-movement operators, generators and shape operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from operator import itemgetter

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32, i64

from xonnc.dialects.onnx.elements import type_of_elements
from xonnc.rewriting.patterns import elements_type
from xonnc.transforms.dims.expressions import ZERO, DimExpr, number
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dim,
    Dims,
    InferenceContext,
    Shape,
    Types,
    any_shape,
    differ,
    form,
    infers,
    infers_dims,
    product,
    shape_slice,
    shown,
    static,
    typed,
)


@infers("Constant")
def constant(ctx: InferenceContext) -> Types:
    """The type of the elements, dense or sparse."""
    properties = ctx.op.properties
    return [type_of_elements(properties.get("value", properties.get("sparse_value")))]


@infers_dims("ConstantOfShape")
def constant_of_shape(ctx: InferenceContext) -> Types:
    """The value of the operand; an absent `value` becomes 0.0 : f32."""
    sizes = ctx.values(0)
    value = ctx.op.properties.get("value")
    if value is None and ctx.shape(0) is not None:
        value = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [1]), [0.0])
        ctx.write("value", value)
    element = f32 if value is None else elements_type(value).element_type
    if sizes is None:
        return any_shape(element)
    if any(size < 0 and size != UNKNOWN for size in static(sizes)):
        raise ctx.fail(f"All values of the input tensor must be >=0: {shown(sizes)}")
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


@infers_dims("Reshape")
def reshape(ctx: InferenceContext) -> Types:
    """The target: 0 copies a dimension unless `allowzero`, -1 is inferred."""
    target, data = ctx.known_sizes(1), ctx.dims(0)
    if target is None:
        return any_shape(ctx.element())
    if data is None:
        return ctx.ranked(tuple(UNKNOWN if size in (0, -1) else size for size in target))
    copied = not ctx.integer("allowzero")
    sizes = list(target)
    for index, size in enumerate(target):
        if size == 0 and copied:
            if index >= len(data):
                raise ctx.fail(f"shape {shown(target)} copies axis {index} of {shown(data)}")
            sizes[index] = data[index]
    open_axes = [index for index, size in enumerate(target) if size in (-1, UNKNOWN)]
    if len(open_axes) == 1:
        axis = open_axes[0]
        others = [*sizes[:axis], *sizes[axis + 1 :]]
        sizes[axis] = _rest(ctx, data, others, target, is_inferred=target[axis] == -1)
    elif open_axes:
        sizes = [UNKNOWN if size == -1 else size for size in sizes]
    elif UNKNOWN not in (*static(sizes), *static(data)) and differ(ctx.product(sizes), ctx.product(data)):
        raise ctx.fail(f"{ctx.operand(0)} does not reshape to {shown(target)}")
    return ctx.ranked(tuple(sizes))


def _rest(
    ctx: InferenceContext, data: Sequence[Dim], others: Sequence[Dim], target: Dims, is_inferred: bool
) -> Dim:
    """
    Return the missing dimension: result and data have equal numbers of elements.

    A dimension that may be 0 is divided out only where a 0 is an error, as it is next to a -1.
    """
    left, missing = list(data), list[Dim]()
    for other in others:
        if other in left and (is_inferred or (other != UNKNOWN and form(other).number)):
            left.remove(other)
        else:
            missing.append(other)
    total, divisor = ctx.product(left), ctx.product(missing)
    if UNKNOWN in (total, divisor) or not (is_inferred or form(divisor).number):
        return UNKNOWN
    exact = form(total).divided_by(form(divisor))
    if exact is None and is_inferred and isinstance(total, int) and isinstance(divisor, int):
        raise ctx.fail(
            f"{product(static(data))} elements of {ctx.operand(0)} do not reshape to {shown(target)}"
        )
    return UNKNOWN if exact is None else exact if exact.number is None else exact.number


@infers_dims("Flatten")
def flatten(ctx: InferenceContext) -> Types:
    """[product before `axis`, product from `axis` on]."""
    data = ctx.dims(0)
    if data is None:
        return [None]
    axis = ctx.integer("axis", 1)
    axis = len(data) if axis == len(data) else ctx.axis(axis, len(data))
    return ctx.ranked((ctx.product(data[:axis]), ctx.product(data[axis:])))


@infers_dims("Transpose")
def transpose(ctx: InferenceContext) -> Types:
    """Axis i of the result is axis perm[i]; an absent perm reverses the axes."""
    data = ctx.dims(0)
    return [None] if data is None else ctx.ranked(permuted(ctx, data))


def permuted(ctx: InferenceContext, data: Dims) -> Dims:
    """Return dimensions permuted by the property `perm`; an absent one is written."""
    perm = ctx.integers("perm") or tuple(reversed(range(len(data))))
    axes = [ctx.axis(axis, len(data)) for axis in perm]
    if sorted(axes) != list(range(len(data))):
        raise ctx.fail(f"perm {shown(perm)} is no permutation of {len(data)} axes")
    ctx.set("perm", perm)
    return tuple(data[axis] for axis in axes)


@infers_dims("Concat")
def concat(ctx: InferenceContext) -> Types:
    """The dimensions along `axis` add up; a negative axis is normalised."""
    whole = joined(ctx)
    return [None] if whole is None else ctx.ranked(whole)


def joined(ctx: InferenceContext) -> Dims | None:
    """Return the dimensions of the concatenation of all operands, or `None` if a rank is unknown."""
    shapes = ctx.all_dims()
    if not shapes:
        return None
    full = [shape for shape in shapes if shape != (0,)] or shapes
    rank = len(full[0])
    axis = ctx.own_axis(rank)
    if any(len(shape) != rank for shape in full):
        raise ctx.fail(f"{_differing(ctx, len)} have different ranks")
    # Kernels, as those of onnxruntime, skip operands without elements, whatever their other sizes.
    filled = [shape for shape in full if 0 not in shape] or full
    sizes: list[Dim] = []
    for index in range(rank):
        if index == axis:
            sizes.append(ctx.total([shape[index] for shape in full]))
            continue
        if len(set(static([shape[index] for shape in full])) - {UNKNOWN}) > 1:
            raise ctx.fail(f"{_differing(ctx, itemgetter(index))} differ in axis {index}")
        column = [shape[index] for shape in filled]
        known = set(static(column)) - {UNKNOWN}
        sizes.append(column[0] if isinstance(column[0], DimExpr) else known.pop() if known else UNKNOWN)
        for other in column[1:]:
            if column[0] != other:
                ctx.equate(column[0], other)
    ctx.set("axis", axis)
    return tuple(sizes)


def _differing(ctx: InferenceContext, kind: Callable[[Shape], int]) -> str:
    """Describe the first two operands of Concat known to differ; empty ones do not count."""
    chosen: dict[int, str] = {}
    for index in range(len(ctx.op.operands)):
        shape = ctx.shape(index)
        if shape is not None and shape != (0,) and kind(shape) != UNKNOWN:
            chosen.setdefault(kind(shape), ctx.operand(index))
    return " and ".join(list(chosen.values())[:2])


@infers_dims("Gather")
def gather(ctx: InferenceContext) -> Types:
    """The axis is replaced by the axes of the indices."""
    data, indices = ctx.dims(0), ctx.dims(1)
    if data is None or indices is None:
        return [None]
    axis = ctx.own_axis(len(data))
    return ctx.ranked((*data[:axis], *indices, *data[axis + 1 :]))


@infers_dims("GatherElements")
def gather_elements(ctx: InferenceContext) -> Types:
    """The shape of the indices."""
    indices = ctx.dims(1)
    return [None] if indices is None else ctx.ranked(indices)


@infers_dims("Squeeze", "SqueezeV11")
def squeeze(ctx: InferenceContext) -> Types:
    """Without the given axes, or all of length 1."""
    data = ctx.dims(0)
    if data is None:
        return [None]
    by_operand = ctx.name == "Squeeze"
    axes = ctx.numbers(1) if by_operand else ctx.integers("axes")
    if axes is None:
        if (by_operand and ctx.has(1)) or UNKNOWN in static(data):
            return [None]
        axes = tuple(axis for axis, size in enumerate(data) if size == 1)
    squeezed = [ctx.axis(axis, len(data), "Invalid axis value") for axis in axes]
    removed = set(squeezed)
    if any(differ(data[axis], 1) for axis in removed):
        raise ctx.fail(f"axes {sorted(removed)} of {shown(data)} are not all of length one")
    if not by_operand and "axes" in ctx.op.properties:
        ctx.set("axes", squeezed)
    return ctx.ranked(tuple(size for axis, size in enumerate(data) if axis not in removed))


@infers_dims("Unsqueeze", "UnsqueezeV11")
def unsqueeze(ctx: InferenceContext) -> Types:
    """With axes of length 1 at the given positions."""
    data = ctx.dims(0)
    axes = ctx.numbers(1) if ctx.name == "Unsqueeze" else ctx.integers("axes")
    if data is None or axes is None:
        return [None]
    inserted = [ctx.axis(axis, len(data) + len(axes), "Invalid axis value") for axis in axes]
    new = set(inserted)
    if len(new) != len(axes):
        raise ctx.fail(f"Duplicated axes {shown(axes)}")
    if ctx.name == "UnsqueezeV11":
        ctx.set("axes", inserted)
    sizes = iter(data)
    return ctx.ranked(tuple(1 if axis in new else next(sizes) for axis in range(len(data) + len(axes))))


@infers_dims("Pad", "PadV11", "PadV13", "PadV18", "PadV19")
def pad(ctx: InferenceContext) -> Types:
    """Each dimension plus its pads."""
    data, pads = ctx.dims(0), ctx.values(1)
    axes = ctx.numbers(3)
    if data is None:
        return [None]
    if pads is None or (ctx.has(3) and axes is None):
        return ctx.ranked((UNKNOWN,) * len(data))
    padded_axes = [ctx.axis(axis, len(data)) for axis in (axes if axes is not None else range(len(data)))]
    if len(pads) != 2 * len(padded_axes):
        raise ctx.fail(f"{len(pads)} pads do not fit {len(padded_axes)} axes")
    sizes = list(data)
    for position, index in enumerate(padded_axes):
        sizes[index] = ctx.total((sizes[index], pads[position], pads[position + len(padded_axes)]))
    return ctx.ranked(tuple(sizes))


@infers_dims("Expand")
def expand(ctx: InferenceContext) -> Types:
    """The broadcast of shape and target."""
    data, target = ctx.dims(0), ctx.values(1)
    if data is None or target is None:
        return any_shape(ctx.element())
    return ctx.ranked(ctx.broadcast([data, target], lambda: [ctx.operand(0), f"shape {shown(target)}"]))


@infers_dims("Tile")
def tile(ctx: InferenceContext) -> Types:
    """Each dimension times its repeats."""
    data, repeats = ctx.dims(0), ctx.values(1)
    if data is None:
        return [None]
    if repeats is None:
        return ctx.ranked((UNKNOWN,) * len(data))
    if len(repeats) != len(data):
        raise ctx.fail(f"{len(repeats)} repeats do not fit {len(data)} axes")
    pairs = zip(data, repeats, strict=True)
    return ctx.ranked(tuple(ctx.product(pair) for pair in pairs))


@infers_dims("Range")
def range_(ctx: InferenceContext) -> Types:
    """max(0, ceil((limit - start) / delta)) elements."""
    bounds = [ctx.constant(index) for index in range(3)]
    known = [float(bound.reshape(())) for bound in bounds if bound is not None]
    if len(known) < 3:
        return ctx.ranked((_steps_to_limit(ctx),))
    start, limit, delta = known
    if delta == 0:
        raise ctx.fail("delta must not be 0")
    return ctx.ranked((max(0, ceil((limit - start) / delta)),))


def _steps_to_limit(ctx: InferenceContext) -> Dim:
    """Return the length of a Range of integers that are not all constant."""
    start, limit, delta = (ctx.values(index) for index in range(3))
    step = delta[0] if delta else None
    if ctx.symbols is None or not start or not limit or not isinstance(step, int) or step <= 0:
        return UNKNOWN
    difference = form(limit[0]) - form(start[0])
    if start[0] != 0 or isinstance(limit[0], int) or UNKNOWN in (ctx.known_sizes(1) or ()):
        difference = ctx.symbols.maximum(difference, ZERO)
    return ctx.floor(difference + number(step - 1), step)


@infers_dims("DepthToSpace")
def depth_to_space(ctx: InferenceContext) -> Types:
    """[N, C / b², H b, W b]."""
    data, block = ctx.dims(0), ctx.integer("blocksize", 1)
    if data is None or len(data) != 4:
        return [None]
    n, c, h, w = data
    exact = c // (block * block) if isinstance(c, int) else c.divided_by(number(block * block))
    deep = UNKNOWN if c == UNKNOWN or exact is None else exact
    return ctx.ranked((n, deep, *(ctx.product((size, block)) for size in (h, w))))


@infers_dims("SpaceToDepth")
def space_to_depth(ctx: InferenceContext) -> Types:
    """[N, C b², H / b, W / b]."""
    data, block = ctx.dims(0), ctx.integer("blocksize", 1)
    if data is None or len(data) != 4:
        return [None]
    n, c, h, w = data
    deep = ctx.product((c, block * block))
    return ctx.ranked((n, deep, *(ctx.floor(size, block) for size in (h, w))))


@infers_dims("Unique")
def unique(ctx: InferenceContext) -> Types:
    """Elements or slices in a number that depends on data; an index of each is in the inverse."""
    data, axis = ctx.dims(0), ctx.property("axis")
    counts = typed((UNKNOWN,), i64)
    if data is None:
        return [*(ctx.ranked((UNKNOWN,)) if axis is None else any_shape(ctx.element())), *counts * 3]
    if axis is None:
        return [*ctx.ranked((UNKNOWN,)), *counts, *typed((ctx.product(data),), i64), *counts]
    at = ctx.own_axis(len(data))
    return [
        *ctx.ranked((*data[:at], UNKNOWN, *data[at + 1 :])),
        *counts,
        *typed((data[at],), i64),
        *counts,
    ]


@infers("NonZero")
def non_zero(ctx: InferenceContext) -> Types:
    """[rank, number of non-zero elements]."""
    data = ctx.shape(0)
    return [None] if data is None else typed((len(data), UNKNOWN), i64)
