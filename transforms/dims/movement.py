"""Sizes of ops that move elements about or make them up."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import Element, Elements, Forms, Node, Partly, sizes_of
from xonnc.transforms.dims.expressions import ONE, ZERO, Form, Symbols
from xonnc.transforms.shapes.inference_context import axis_slice


@sizes_of("Transpose")
def transpose(node: Node) -> Sequence[Partly | None]:
    """Axis i of the result is axis perm[i]."""
    data = node.sizes(0)
    if data is None:
        return []
    perm = node.site.integers("perm") or tuple(reversed(range(len(data))))
    return [tuple(data[axis] for axis in perm)]


@sizes_of("Reshape")
def reshape(node: Node) -> Sequence[Partly | None]:
    """Sizes of the shape operand; 0 copies a size, -1 takes what is left."""
    data, wanted = node.sizes(0), node.elements(1)
    if data is None or wanted is None:
        return []
    copied = not node.site.integer("allowzero")
    sizes: list[Form | None] = []
    for place, (form, is_size) in enumerate(wanted):
        if form.number == 0 and copied:
            sizes.append(data[place] if place < len(data) else None)
        else:
            sizes.append(form if is_size and form.number != -1 else None)
    if sizes.count(None) == 1:
        place = sizes.index(None)
        inferred = wanted[place].form.number == -1
        sizes[place] = _rest(node, data, [size for size in sizes if size is not None], inferred)
    return [sizes]


def _rest(node: Node, data: Forms, others: Sequence[Form], inferred: bool) -> Form | None:
    """
    The size that is left: result and data have the same number of elements.

    A size that may be 0 can be divided out only if a 0 is an error, as it is next to a -1.
    """
    left = list(data)
    missing: list[Form] = []
    for other in others:
        if other in left and (inferred or other.number):
            left.remove(other)
        else:
            missing.append(other)
    divisor = node.symbols.product(missing)
    return node.symbols.product(left).divided_by(divisor) if inferred or divisor.number else None


@sizes_of("Flatten")
def flatten(node: Node) -> Sequence[Partly | None]:
    """Two axes: all before the axis, all from it on."""
    data = node.sizes(0)
    if data is None:
        return []
    axis = node.site.integer("axis", 1)
    axis = len(data) if axis == len(data) else node.site.axis(axis, len(data))
    return [(node.symbols.product(data[:axis]), node.symbols.product(data[axis:]))]


@sizes_of("Squeeze", "SqueezeV11")
def squeeze(node: Node) -> Sequence[Partly | None]:
    """Without the axes given."""
    data = node.sizes(0)
    axes = node.site.numbers(1) if node.site.name == "Squeeze" else node.site.integers("axes")
    if data is None or axes is None:
        return []
    gone = {node.site.axis(axis, len(data)) for axis in axes}
    return [tuple(size for axis, size in enumerate(data) if axis not in gone)]


@sizes_of("Unsqueeze", "UnsqueezeV11")
def unsqueeze(node: Node) -> Sequence[Partly | None]:
    """With axes of length one at the places given."""
    data = node.sizes(0)
    axes = node.site.numbers(1) if node.site.name == "Unsqueeze" else node.site.integers("axes")
    if data is None or axes is None:
        return []
    rank = len(data) + len(axes)
    new = {node.site.axis(axis, rank) for axis in axes}
    sizes = iter(data)
    return (
        [tuple(ONE if axis in new else next(sizes) for axis in range(rank))] if len(new) == len(axes) else []
    )


@sizes_of("Concat")
def concat(node: Node) -> Sequence[Partly | None]:
    """The sizes along the axis add up; all others must be equal."""
    shapes = node.all_sizes()
    if not shapes or len({len(shape) for shape in shapes}) > 1:
        return []
    first = shapes[0]
    axis = node.axis(len(first))
    total = Form(0)
    for shape in shapes:
        total += shape[axis]
        node.equal.extend(
            (one, other)
            for place, (one, other) in enumerate(zip(first, shape, strict=True))
            if place != axis and one != other
        )
    return [(*first[:axis], node.symbols.product([total]), *first[axis + 1 :])]


@sizes_of("Split", "SplitV11", "SplitV13")
def split(node: Node) -> Sequence[Partly | None]:
    """Parts as given, else equal ones."""
    data, parts = node.sizes(0), len(node.op.results)
    if data is None:
        return []
    axis = node.axis(len(data))
    sizes: Sequence[Form | None] = (None,) * parts
    by_property = node.site.name == "SplitV11"
    given = node.site.integers("split") if by_property else None
    wanted = None if by_property else node.elements(1)
    if given is not None and len(given) == parts:
        sizes = [Form(size) for size in given]
        node.equal.append((data[axis], sum((Form(size) for size in given), ZERO)))
    elif wanted is not None and len(wanted) == parts:
        sizes = [form for form, _ in wanted]
        node.equal.append((data[axis], sum((form for form, _ in wanted), ZERO)))
    elif given is None and (by_property or not node.site.has(1)):
        sizes = _even(node, data[axis], parts)
    return [(*data[:axis], size, *data[axis + 1 :]) for size in sizes]


def _even(node: Node, size: Form, parts: int) -> Sequence[Form]:
    """Equal parts; of a size that does not divide evenly the last one is smaller, since opset 18."""
    exact = size.divided_by(Form(parts))
    if exact is not None:
        return [exact] * parts
    if node.site.name != "Split":
        return [node.symbols.floor(size, parts)] * parts
    whole = node.symbols.floor(size + Form(parts - 1), parts)
    return [*[whole] * (parts - 1), size - whole * Form(parts - 1)]


@sizes_of("Slice")
def slice_(node: Node) -> Sequence[Partly | None]:
    """Every step-th element from start to end, along some axes."""
    data, axes, steps = node.sizes(0), node.site.numbers(3), node.site.numbers(4)
    starts, ends = node.elements(1), node.elements(2)
    if data is None or starts is None or ends is None or (node.site.has(3) and axes is None):
        return []
    sizes: list[Form | None] = list(data)
    places = axes if axes is not None else range(len(starts))
    if not len(starts) == len(ends) == len(places):
        return []
    for number, place in enumerate(places):
        step = steps[number] if steps else None if node.site.has(4) else 1
        axis = node.site.axis(place, len(data))
        sizes[axis] = _sliced(node, data[axis], starts[number], ends[number], step)
    return [sizes]


def _sliced(node: Node, size: Form, start: Element, end: Element, step: int | None) -> Form | None:
    if not step:
        return None
    first, last, whole = start.form.number, end.form.number, size.number
    if first is not None and last is not None and whole is not None:
        return Form(len(range(*axis_slice(first, last, step, whole).indices(whole))))
    found = _cut(node.symbols, size, first, end) if step == 1 and first is not None else None
    # The same cut of the same size leaves the same.
    return node.symbols.symbol(("slice", size, start.form, end.form, step)) if found is None else found


def _cut(symbols: Symbols, size: Form, first: int, end: Element) -> Form | None:
    """How many elements there are from one on, until another one or the end of all."""
    last = end.form.number
    goes_on = end.form == size or (last is not None and last >= 2**31 - 1)
    if goes_on and first >= 0:
        return symbols.maximum(size - Form(first), ZERO) if first else size
    if goes_on:
        return symbols.minimum(size, Form(-first))
    if first == 0 and end.is_size:
        return symbols.minimum(size, end.form)
    if first == 0 and last is not None and last < 0:
        return symbols.maximum(size + Form(last), ZERO)
    return None


@sizes_of("Pad", "PadV11", "PadV13", "PadV18", "PadV19")
def pad(node: Node) -> Sequence[Partly | None]:
    """Every axis grows by what is before and after."""
    data, pads, axes = node.sizes(0), node.elements(1), node.site.numbers(3)
    if data is None or pads is None or (node.site.has(3) and axes is None):
        return []
    places = axes if axes is not None else range(len(data))
    if len(pads) != 2 * len(places):
        return []
    sizes = list(data)
    for number, place in enumerate(places):
        axis = node.site.axis(place, len(data))
        sizes[axis] = sizes[axis] + pads[number].form + pads[number + len(places)].form
    return [sizes]


@sizes_of("Expand")
def expand(node: Node) -> Sequence[Partly | None]:
    """Broadcast to a shape."""
    data, wanted = node.sizes(0), node.elements(1)
    if data is None or wanted is None or not all(is_size for _, is_size in wanted):
        return []
    return [node.broadcast([data, tuple(form for form, _ in wanted)])]


@sizes_of("Tile")
def tile(node: Node) -> Sequence[Partly | None]:
    """Every size times its repeats."""
    data, repeats = node.sizes(0), node.elements(1)
    if data is None or repeats is None or len(repeats) != len(data):
        return []
    pairs = zip(data, repeats, strict=True)
    return [[node.symbols.product([size, count.form]) for size, count in pairs]]


@sizes_of("ConstantOfShape")
def constant_of_shape(node: Node) -> Sequence[Partly | None]:
    """The shape is the operand."""
    return [_as_sizes(node.elements(0))]


@sizes_of("MaxUnpool")
def max_unpool(node: Node) -> Sequence[Partly | None]:
    """The shape is the last operand, if it is there."""
    return [_as_sizes(node.elements(2)) if len(node.op.operands) > 2 else None]


def _as_sizes(wanted: Elements | None) -> Forms | None:
    return None if wanted is None else tuple(form for form, _ in wanted)


@sizes_of("CenterCropPad")
def center_crop_pad(node: Node) -> Sequence[Partly | None]:
    """Some axes get the sizes of the shape operand."""
    data, wanted = node.sizes(0), node.elements(1)
    if data is None or wanted is None:
        return []
    axes = node.site.integers("axes") or tuple(range(len(data)))
    if len(axes) != len(wanted):
        return []
    sizes = list(data)
    for axis, element in zip(axes, wanted, strict=True):
        sizes[node.site.axis(axis, len(data))] = element.form
    return [sizes]


@sizes_of("Gather")
def gather(node: Node) -> Sequence[Partly | None]:
    """The axis is replaced by the axes of the indices."""
    data, indices = node.sizes(0), node.sizes(1)
    if data is None or indices is None:
        return []
    axis = node.axis(len(data))
    return [(*data[:axis], *indices, *data[axis + 1 :])]


@sizes_of("GatherElements")
def gather_elements(node: Node) -> Sequence[Partly | None]:
    """The sizes of the indices."""
    return [node.sizes(1)]


@sizes_of("GatherND")
def gather_nd(node: Node) -> Sequence[Partly | None]:
    """The axes of the indices but the last, then what the indices leave of the data."""
    data, indices = node.sizes(0), node.sizes(1)
    depth = indices[-1].number if indices else None
    if data is None or indices is None or depth is None:
        return []
    return [(*indices[:-1], *data[node.site.integer("batch_dims") + depth :])]


@sizes_of("OneHot")
def one_hot(node: Node) -> Sequence[Partly | None]:
    """The sizes of the indices, and the depth as a new axis."""
    indices, depth = node.sizes(0), node.elements(1)
    if indices is None:
        return []
    axis = node.axis(len(indices) + 1, -1)
    size = depth[0].form if depth else None
    return [(*indices[:axis], size, *indices[axis:])]


@sizes_of("Range")
def range_(node: Node) -> Sequence[Partly | None]:
    """ceil((limit - start) / delta) elements, at least none."""
    start, limit, delta = (node.elements(place) for place in range(3))
    step = delta[0].form.number if delta else None
    if not start or not limit or step is None or step <= 0:
        return []
    difference = limit[0].form - start[0].form
    if start[0].form != ZERO or not limit[0].is_size:
        difference = node.symbols.maximum(difference, ZERO)
    return [(node.symbols.floor(difference + Form(step - 1), step),)]


@sizes_of("DepthToSpace")
def depth_to_space(node: Node) -> Sequence[Partly | None]:
    """N, C / b², H b, W b."""
    data, block = node.sizes(0), Form(node.site.integer("blocksize", 1))
    if data is None or len(data) != 4:
        return []
    n, c, h, w = data
    return [(n, c.divided_by(block * block), h * block, w * block)]


@sizes_of("SpaceToDepth")
def space_to_depth(node: Node) -> Sequence[Partly | None]:
    """N, C b², H / b, W / b."""
    data, block = node.sizes(0), node.site.integer("blocksize", 1)
    if data is None or len(data) != 4:
        return []
    n, c, h, w = data
    return [(n, c * Form(block * block), node.symbols.floor(h, block), node.symbols.floor(w, block))]
