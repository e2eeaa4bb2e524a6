"""
Symbolic values of small integer tensors that are computed from shapes (docs/internals/onnx-rules.md §7.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, i1, i64

from xonnc.dialects.onnx.elements import elements_array
from xonnc.transforms.dims.dim_context import DimContext, Element, Elements, elements_of, integer
from xonnc.transforms.dims.expressions import DimExpr
from xonnc.transforms.dims.fractions import whole_elements
from xonnc.transforms.dims.moved_elements import MAX_ELEMENTS, moved_elements
from xonnc.transforms.shapes.inference_context import axis_slice, constant_array, shape_slice
from xonnc.transforms.shapes.slicing import equal_parts


@elements_of("Constant")
def constant(ctx: DimContext) -> Sequence[Elements | None]:
    """The constant elements."""
    array = constant_array(ctx.op.results[0])
    if array is None or array.ndim > 1 or array.size > MAX_ELEMENTS or array.dtype.kind not in "biu":
        return []
    return [tuple(integer(DimExpr(number), False) for number in map(int, array.reshape(-1)))]


@elements_of("Shape")
def shape(ctx: DimContext) -> Sequence[Elements | None]:
    """Dimensions from `start` to `end`."""
    sizes, static = ctx.sizes(0), ctx.shape(0)
    if sizes is None or static is None:
        return []
    selected = shape_slice(ctx, tuple(range(len(static))))
    return [tuple(Element(sizes[axis], True) for axis in selected)]


@elements_of("Size")
def size(ctx: DimContext) -> Sequence[Elements | None]:
    """The product of all dimensions."""
    sizes = ctx.sizes(0)
    return [] if sizes is None else [(Element(ctx.symbols.product(sizes), True),)]


@elements_of("Dim")
def dim(ctx: DimContext) -> Sequence[Elements | None]:
    """One dimension."""
    sizes = ctx.sizes(0)
    return [] if sizes is None else [(Element(sizes[ctx.integer("axis")], True),)]


@elements_of(
    "Cast",
    "Flatten",
    "Identity",
    "Reshape",
    "Squeeze",
    "SqueezeV11",
    "Transpose",
    "Unsqueeze",
    "UnsqueezeV11",
)
def same(ctx: DimContext) -> Sequence[Elements | None]:
    """The operand's elements; dimensions are assumed to fit the type of a Cast, other elements may wrap."""
    found = ctx.elements(0)
    if found is None and ctx.name != "Cast":
        return [moved_elements(ctx)]
    if found is None and ctx.op.properties["to"] != i1:
        found = whole_elements(ctx)
    if found is None or ctx.name != "Cast" or ctx.op.properties["to"] == i64:
        return [found]
    numbers = [expr.number for expr, _ in found]
    if ctx.op.properties["to"] != i1:
        return [
            tuple(
                element if element.is_size or element.expr.number is not None else ctx.unknown(index)
                for index, element in enumerate(found)
            )
        ]
    return [] if None in numbers else [tuple(Element(DimExpr(int(number != 0)), True) for number in numbers)]


@elements_of("Concat")
def concat(ctx: DimContext) -> Sequence[Elements | None]:
    """The concatenation."""
    parts = [ctx.elements(index) for index in range(len(ctx.op.operands))]
    known = [part for part in parts if part is not None]
    return [tuple(element for part in known for element in part)] if len(known) == len(parts) else []


@elements_of("Gather")
def gather(ctx: DimContext) -> Sequence[Elements | None]:
    """The elements at constant indices."""
    data, indices = ctx.elements(0), ctx.numbers(1)
    if len(ctx.sizes(0) or ()) != 1:
        return [moved_elements(ctx)]
    if data is None or indices is None or any(not -len(data) <= index < len(data) for index in indices):
        return []
    return [tuple(data[index] for index in indices)]


@elements_of("ScatterElements", "ScatterND")
def scatter(ctx: DimContext) -> Sequence[Elements | None]:
    """A vector with elements at constant indices replaced; torch builds the shapes of indices so."""
    data, indices, updates = ctx.elements(0), ctx.numbers(1), ctx.elements(2)
    reduction = ctx.op.properties.get("reduction")
    if len(ctx.sizes(0) or ()) != 1 or (isinstance(reduction, StringAttr) and reduction.data != "none"):
        return []
    if data is None or indices is None or updates is None or len(indices) != len(updates):
        return []
    if any(not -len(data) <= index < len(data) for index in indices):
        return []
    replaced = {index % len(data): element for index, element in zip(indices, updates, strict=True)}
    # Which of several elements for one index counts is undefined.
    if len(replaced) != len(indices):
        return []
    return [tuple(replaced.get(index, element) for index, element in enumerate(data))]


@elements_of("Slice")
def slice_(ctx: DimContext) -> Sequence[Elements | None]:
    """The slice of constant starts, ends and steps."""
    data, starts, ends = ctx.elements(0), ctx.numbers(1), ctx.numbers(2)
    steps = ctx.numbers(4) if ctx.has(4) else (1,)
    if data is None or not starts or not ends or not steps or steps[0] == 0:
        return []
    return [data[axis_slice(starts[0], ends[0], steps[0], len(data))]]


@elements_of("Split", "SplitV13")
def split(ctx: DimContext) -> Sequence[Elements | None]:
    """Consecutive parts."""
    data, parts = ctx.elements(0), len(ctx.op.results)
    if data is None:
        return []
    sizes = ctx.numbers(1) if ctx.has(1) else equal_parts(len(data), parts)
    if sizes is None or sum(sizes) != len(data) or len(sizes) != parts:
        return []
    cut: list[Elements] = []
    for number in sizes:
        cut.append(data[:number])
        data = data[number:]
    return cut


@elements_of("ConstantOfShape")
def constant_of_shape(ctx: DimContext) -> Sequence[Elements | None]:
    """One repeated element."""
    count = ctx.numbers(0)
    value = ctx.op.properties.get("value")
    array = None if value is None else elements_array(value)
    if array is None or count is None or len(count) > 1 or array.dtype.kind not in "biu":
        return []
    times = count[0] if count else 1
    if not 0 <= times <= MAX_ELEMENTS:
        return []
    return [(integer(DimExpr(int(array.reshape(-1)[0])), False),) * times]


@elements_of("Expand")
def expand(ctx: DimContext) -> Sequence[Elements | None]:
    """A vector unchanged, or one repeated element."""
    data, shape = ctx.elements(0), ctx.numbers(1)
    if data is None or shape is None or len(shape) > 1:
        return []
    times = shape[0] if shape else 1
    if times in (1, len(data)):
        return [data]
    return [data * times] if len(data) == 1 and 0 <= times <= MAX_ELEMENTS else []


@elements_of("Tile")
def tile(ctx: DimContext) -> Sequence[Elements | None]:
    """All elements repeated."""
    data, repeats = ctx.elements(0), ctx.numbers(1)
    if (
        data is None
        or repeats is None
        or len(repeats) != 1
        or not 0 <= repeats[0] * len(data) <= MAX_ELEMENTS
    ):
        return []
    return [data * repeats[0]]


@elements_of("Range")
def range_(ctx: DimContext) -> Sequence[Elements | None]:
    """start, start + delta, …"""
    start, limit, delta = (ctx.numbers(index) for index in range(3))
    if not start or not limit or not delta or delta[0] == 0:
        return []
    numbers = range(start[0], limit[0], delta[0])
    if len(numbers) > MAX_ELEMENTS:
        return []
    return [tuple(integer(DimExpr(number), False) for number in numbers)]
