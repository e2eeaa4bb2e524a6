"""Symbolic dimensions of data-movement operators and generators."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, DimExprs, Element, Elements, Partly, sizes_of
from xonnc.transforms.dims.expressions import ONE, ZERO, DimExpr, DimSymbols
from xonnc.transforms.shapes.inference_context import axis_slice


@sizes_of("Transpose")
def transpose(ctx: DimContext) -> Sequence[Partly | None]:
    """Axis i of the result is axis perm[i]."""
    data = ctx.sizes(0)
    if data is None:
        return []
    perm = ctx.shape_ctx.integers("perm") or tuple(reversed(range(len(data))))
    return [tuple(data[axis] for axis in perm)]


@sizes_of("Reshape")
def reshape(ctx: DimContext) -> Sequence[Partly | None]:
    """Elements of the target; 0 copies a dimension, -1 is inferred."""
    data, wanted = ctx.sizes(0), ctx.elements(1)
    if data is None or wanted is None:
        return []
    copied = not ctx.shape_ctx.integer("allowzero")
    sizes: list[DimExpr | None] = []
    for place, (expr, is_size) in enumerate(wanted):
        if expr.number == 0 and copied:
            sizes.append(data[place] if place < len(data) else None)
        else:
            sizes.append(expr if is_size and expr.number != -1 else None)
    if sizes.count(None) == 1:
        place = sizes.index(None)
        inferred = wanted[place].expr.number == -1
        sizes[place] = _rest(ctx, data, [size for size in sizes if size is not None], inferred)
    return [sizes]


def _rest(ctx: DimContext, data: DimExprs, others: Sequence[DimExpr], inferred: bool) -> DimExpr | None:
    """
    Return the inferred dimension: result and data have equal numbers of elements.

    A dimension that may be 0 is divided out only where a 0 is an error, as it is next to a -1.
    """
    left = list(data)
    missing: list[DimExpr] = []
    for other in others:
        if other in left and (inferred or other.number):
            left.remove(other)
        else:
            missing.append(other)
    divisor = ctx.symbols.product(missing)
    return ctx.symbols.product(left).divided_by(divisor) if inferred or divisor.number else None


@sizes_of("Flatten")
def flatten(ctx: DimContext) -> Sequence[Partly | None]:
    """[product before `axis`, product from `axis` on]."""
    data = ctx.sizes(0)
    if data is None:
        return []
    axis = ctx.shape_ctx.integer("axis", 1)
    axis = len(data) if axis == len(data) else ctx.shape_ctx.axis(axis, len(data))
    return [(ctx.symbols.product(data[:axis]), ctx.symbols.product(data[axis:]))]


@sizes_of("Squeeze", "SqueezeV11")
def squeeze(ctx: DimContext) -> Sequence[Partly | None]:
    """Without the given axes."""
    data = ctx.sizes(0)
    axes = ctx.shape_ctx.numbers(1) if ctx.shape_ctx.name == "Squeeze" else ctx.shape_ctx.integers("axes")
    if data is None or axes is None:
        return []
    gone = {ctx.shape_ctx.axis(axis, len(data)) for axis in axes}
    return [tuple(size for axis, size in enumerate(data) if axis not in gone)]


@sizes_of("Unsqueeze", "UnsqueezeV11")
def unsqueeze(ctx: DimContext) -> Sequence[Partly | None]:
    """With axes of length 1 at the given positions."""
    data = ctx.sizes(0)
    axes = ctx.shape_ctx.numbers(1) if ctx.shape_ctx.name == "Unsqueeze" else ctx.shape_ctx.integers("axes")
    if data is None or axes is None:
        return []
    rank = len(data) + len(axes)
    new = {ctx.shape_ctx.axis(axis, rank) for axis in axes}
    sizes = iter(data)
    return (
        [tuple(ONE if axis in new else next(sizes) for axis in range(rank))] if len(new) == len(axes) else []
    )


@sizes_of("Concat")
def concat(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions along `axis` add up; the others must be equal."""
    shapes = ctx.all_sizes()
    if not shapes or len({len(shape) for shape in shapes}) > 1:
        return []
    first = shapes[0]
    axis = ctx.axis(len(first))
    total = DimExpr(0)
    for shape in shapes:
        total += shape[axis]
        ctx.equal.extend(
            (one, other)
            for place, (one, other) in enumerate(zip(first, shape, strict=True))
            if place != axis and one != other
        )
    return [(*first[:axis], ctx.symbols.product([total]), *first[axis + 1 :])]


@sizes_of("Split", "SplitV11", "SplitV13")
def split(ctx: DimContext) -> Sequence[Partly | None]:
    """Parts of the given or of equal sizes."""
    data, parts = ctx.sizes(0), len(ctx.op.results)
    if data is None:
        return []
    axis = ctx.axis(len(data))
    sizes: Sequence[DimExpr | None] = (None,) * parts
    by_property = ctx.shape_ctx.name == "SplitV11"
    given = ctx.shape_ctx.integers("split") if by_property else None
    wanted = None if by_property else ctx.elements(1)
    if given is not None and len(given) == parts:
        sizes = [DimExpr(size) for size in given]
        ctx.equal.append((data[axis], sum((DimExpr(size) for size in given), ZERO)))
    elif wanted is not None and len(wanted) == parts:
        sizes = [expr for expr, _ in wanted]
        ctx.equal.append((data[axis], sum((expr for expr, _ in wanted), ZERO)))
    elif given is None and (by_property or not ctx.shape_ctx.has(1)):
        sizes = _even(ctx, data[axis], parts)
    return [(*data[:axis], size, *data[axis + 1 :]) for size in sizes]


def _even(ctx: DimContext, size: DimExpr, parts: int) -> Sequence[DimExpr]:
    """Return equal parts; since opset 18 the last is smaller if the size is not divisible."""
    exact = size.divided_by(DimExpr(parts))
    if exact is not None:
        return [exact] * parts
    if ctx.shape_ctx.name != "Split":
        return [ctx.symbols.floor(size, parts)] * parts
    whole = ctx.symbols.floor(size + DimExpr(parts - 1), parts)
    return [*[whole] * (parts - 1), size - whole * DimExpr(parts - 1)]


@sizes_of("Slice")
def slice_(ctx: DimContext) -> Sequence[Partly | None]:
    """Dimensions of start, end and step along some axes."""
    data, axes, steps = ctx.sizes(0), ctx.shape_ctx.numbers(3), ctx.shape_ctx.numbers(4)
    starts, ends = ctx.elements(1), ctx.elements(2)
    if data is None or starts is None or ends is None or (ctx.shape_ctx.has(3) and axes is None):
        return []
    sizes: list[DimExpr | None] = list(data)
    places = axes if axes is not None else range(len(starts))
    if not len(starts) == len(ends) == len(places):
        return []
    for number, place in enumerate(places):
        step = steps[number] if steps else None if ctx.shape_ctx.has(4) else 1
        axis = ctx.shape_ctx.axis(place, len(data))
        sizes[axis] = _sliced(ctx, data[axis], starts[number], ends[number], step)
    return [sizes]


def _sliced(ctx: DimContext, size: DimExpr, start: Element, end: Element, step: int | None) -> DimExpr | None:
    if not step:
        return None
    first, last, whole = start.expr.number, end.expr.number, size.number
    if first is not None and last is not None and whole is not None:
        return DimExpr(len(range(*axis_slice(first, last, step, whole).indices(whole))))
    found = _cut(ctx.symbols, size, first, end) if step == 1 and first is not None else None
    # One symbol per (dimension, start, end, step): equal slices of equal dimensions are equal.
    return ctx.symbols.symbol(("slice", size, start.expr, end.expr, step)) if found is None else found


def _cut(symbols: DimSymbols, size: DimExpr, first: int, end: Element) -> DimExpr | None:
    """Return the number of elements from `first` to `end`, clamped to the dimension."""
    last = end.expr.number
    goes_on = end.expr == size or (last is not None and last >= 2**31 - 1)
    if goes_on and first >= 0:
        return symbols.maximum(size - DimExpr(first), ZERO) if first else size
    if goes_on:
        return symbols.minimum(size, DimExpr(-first))
    if first == 0 and end.is_size:
        return symbols.minimum(size, end.expr)
    if first == 0 and last is not None and last < 0:
        return symbols.maximum(size + DimExpr(last), ZERO)
    return None


@sizes_of("Pad", "PadV11", "PadV13", "PadV18", "PadV19")
def pad(ctx: DimContext) -> Sequence[Partly | None]:
    """Each dimension plus its pads."""
    data, pads, axes = ctx.sizes(0), ctx.elements(1), ctx.shape_ctx.numbers(3)
    if data is None or pads is None or (ctx.shape_ctx.has(3) and axes is None):
        return []
    places = axes if axes is not None else range(len(data))
    if len(pads) != 2 * len(places):
        return []
    sizes = list(data)
    for number, place in enumerate(places):
        axis = ctx.shape_ctx.axis(place, len(data))
        sizes[axis] = sizes[axis] + pads[number].expr + pads[number + len(places)].expr
    return [sizes]


@sizes_of("Expand")
def expand(ctx: DimContext) -> Sequence[Partly | None]:
    """The broadcast of shape and target."""
    data, wanted = ctx.sizes(0), ctx.elements(1)
    if data is None or wanted is None or not all(is_size for _, is_size in wanted):
        return []
    return [ctx.broadcast([data, tuple(expr for expr, _ in wanted)])]


@sizes_of("Tile")
def tile(ctx: DimContext) -> Sequence[Partly | None]:
    """Each dimension times its repeats."""
    data, repeats = ctx.sizes(0), ctx.elements(1)
    if data is None or repeats is None or len(repeats) != len(data):
        return []
    pairs = zip(data, repeats, strict=True)
    return [[ctx.symbols.product([size, count.expr]) for size, count in pairs]]


@sizes_of("ConstantOfShape")
def constant_of_shape(ctx: DimContext) -> Sequence[Partly | None]:
    """The value of the operand."""
    return [_as_sizes(ctx.elements(0))]


@sizes_of("MaxUnpool")
def max_unpool(ctx: DimContext) -> Sequence[Partly | None]:
    """The last operand, if present."""
    return [_as_sizes(ctx.elements(2)) if len(ctx.op.operands) > 2 else None]


def _as_sizes(wanted: Elements | None) -> DimExprs | None:
    return None if wanted is None else tuple(expr for expr, _ in wanted)


@sizes_of("CenterCropPad")
def center_crop_pad(ctx: DimContext) -> Sequence[Partly | None]:
    """Some axes have the dimensions of the shape operand."""
    data, wanted = ctx.sizes(0), ctx.elements(1)
    if data is None or wanted is None:
        return []
    axes = ctx.shape_ctx.integers("axes") or tuple(range(len(data)))
    if len(axes) != len(wanted):
        return []
    sizes = list(data)
    for axis, element in zip(axes, wanted, strict=True):
        sizes[ctx.shape_ctx.axis(axis, len(data))] = element.expr
    return [sizes]


@sizes_of("Gather")
def gather(ctx: DimContext) -> Sequence[Partly | None]:
    """The axis is replaced by the axes of the indices."""
    data, indices = ctx.sizes(0), ctx.sizes(1)
    if data is None or indices is None:
        return []
    axis = ctx.axis(len(data))
    return [(*data[:axis], *indices, *data[axis + 1 :])]


@sizes_of("GatherElements")
def gather_elements(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the indices."""
    return [ctx.sizes(1)]


@sizes_of("GatherND")
def gather_nd(ctx: DimContext) -> Sequence[Partly | None]:
    """The leading axes of the indices, then the remaining axes of the data."""
    data, indices = ctx.sizes(0), ctx.sizes(1)
    depth = indices[-1].number if indices else None
    if data is None or indices is None or depth is None:
        return []
    return [(*indices[:-1], *data[ctx.shape_ctx.integer("batch_dims") + depth :])]


@sizes_of("OneHot")
def one_hot(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the indices, with the depth as a new axis."""
    indices, depth = ctx.sizes(0), ctx.elements(1)
    if indices is None:
        return []
    axis = ctx.axis(len(indices) + 1, -1)
    size = depth[0].expr if depth else None
    return [(*indices[:axis], size, *indices[axis:])]


@sizes_of("Range")
def range_(ctx: DimContext) -> Sequence[Partly | None]:
    """max(0, ceil((limit - start) / delta)) elements."""
    start, limit, delta = (ctx.elements(place) for place in range(3))
    step = delta[0].expr.number if delta else None
    if not start or not limit or step is None or step <= 0:
        return []
    difference = limit[0].expr - start[0].expr
    if start[0].expr != ZERO or not limit[0].is_size:
        difference = ctx.symbols.maximum(difference, ZERO)
    return [(ctx.symbols.floor(difference + DimExpr(step - 1), step),)]


@sizes_of("DepthToSpace")
def depth_to_space(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, C / b², H b, W b]."""
    data, block = ctx.sizes(0), DimExpr(ctx.shape_ctx.integer("blocksize", 1))
    if data is None or len(data) != 4:
        return []
    n, c, h, w = data
    return [(n, c.divided_by(block * block), h * block, w * block)]


@sizes_of("SpaceToDepth")
def space_to_depth(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, C b², H / b, W / b]."""
    data, block = ctx.sizes(0), ctx.shape_ctx.integer("blocksize", 1)
    if data is None or len(data) != 4:
        return []
    n, c, h, w = data
    return [(n, c * DimExpr(block * block), ctx.symbols.floor(h, block), ctx.symbols.floor(w, block))]
