"""
The integers in small tensors that are computed from shapes (docs/internals/onnx-rules.md §7.1, reading shape
operands).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64

from xonnc.dialects.onnx.elements import elements_array
from xonnc.transforms.dims.dim_context import Element, Elements, Node, elements_of, integer
from xonnc.transforms.dims.expressions import Form
from xonnc.transforms.shapes.inference_context import axis_slice, constant_array, shape_slice
from xonnc.transforms.shapes.movement import equal_parts

MOST_ELEMENTS = 64
"""Larger tensors are data, not shapes."""


@elements_of("Constant")
def constant(node: Node) -> Sequence[Elements | None]:
    """The elements."""
    array = constant_array(node.op.results[0])
    if array is None or array.ndim > 1 or array.size > MOST_ELEMENTS or array.dtype.kind not in "biu":
        return []
    return [tuple(integer(Form(number), False) for number in map(int, array.reshape(-1)))]


@elements_of("Shape")
def shape(node: Node) -> Sequence[Elements | None]:
    """The sizes from start to end."""
    sizes, static = node.sizes(0), node.site.shape(0)
    if sizes is None or static is None:
        return []
    kept = shape_slice(node.site, tuple(range(len(static))))
    return [tuple(Element(sizes[axis], True) for axis in kept)]


@elements_of("Size")
def size(node: Node) -> Sequence[Elements | None]:
    """The product of all sizes."""
    sizes = node.sizes(0)
    return [] if sizes is None else [(Element(node.symbols.product(sizes), True),)]


@elements_of("Dim")
def dim(node: Node) -> Sequence[Elements | None]:
    """One size."""
    sizes = node.sizes(0)
    return [] if sizes is None else [(Element(sizes[node.site.integer("axis")], True),)]


@elements_of("Cast", "Identity", "Reshape", "Squeeze", "SqueezeV11", "Transpose", "Unsqueeze", "UnsqueezeV11")
def same(node: Node) -> Sequence[Elements | None]:
    """The integers of the operand; sizes are taken to fit the type they are cast to, others may not."""
    found = node.elements(0)
    if found is None or node.site.name != "Cast" or node.site.op.properties["to"] == i64:
        return [found]
    numbers = [form.number for form, _ in found]
    if node.site.op.properties["to"] != i1:
        return [
            tuple(
                element if element.is_size or element.form.number is not None else node.unknown(place)
                for place, element in enumerate(found)
            )
        ]
    return [] if None in numbers else [tuple(Element(Form(int(number != 0)), True) for number in numbers)]


@elements_of("Concat")
def concat(node: Node) -> Sequence[Elements | None]:
    """One after the other."""
    parts = [node.elements(place) for place in range(len(node.op.operands))]
    known = [part for part in parts if part is not None]
    return [tuple(element for part in known for element in part)] if len(known) == len(parts) else []


@elements_of("Gather")
def gather(node: Node) -> Sequence[Elements | None]:
    """Element i for every index i."""
    data, indices = node.elements(0), node.site.numbers(1)
    if len(node.sizes(0) or ()) != 1:
        return []
    if data is None or indices is None or any(not -len(data) <= index < len(data) for index in indices):
        return []
    return [tuple(data[index] for index in indices)]


@elements_of("Slice")
def slice_(node: Node) -> Sequence[Elements | None]:
    """Every step-th element from start to end."""
    data, starts, ends = node.elements(0), node.site.numbers(1), node.site.numbers(2)
    steps = node.site.numbers(4) if node.site.has(4) else (1,)
    if data is None or not starts or not ends or not steps or steps[0] == 0:
        return []
    return [data[axis_slice(starts[0], ends[0], steps[0], len(data))]]


@elements_of("Split", "SplitV13")
def split(node: Node) -> Sequence[Elements | None]:
    """Consecutive parts."""
    data, parts = node.elements(0), len(node.op.results)
    if data is None:
        return []
    sizes = node.site.numbers(1) if node.site.has(1) else equal_parts(len(data), parts)
    if sizes is None or sum(sizes) != len(data) or len(sizes) != parts:
        return []
    cut: list[Elements] = []
    for number in sizes:
        cut.append(data[:number])
        data = data[number:]
    return cut


@elements_of("ConstantOfShape")
def constant_of_shape(node: Node) -> Sequence[Elements | None]:
    """One integer again and again."""
    count = node.site.numbers(0)
    value = node.op.properties.get("value")
    array = None if value is None else elements_array(value)
    if array is None or count is None or len(count) > 1 or array.dtype.kind not in "biu":
        return []
    times = count[0] if count else 1
    if not 0 <= times <= MOST_ELEMENTS:
        return []
    return [(integer(Form(int(array.reshape(-1)[0])), False),) * times]


@elements_of("Expand")
def expand(node: Node) -> Sequence[Elements | None]:
    """A vector as it is, or one integer again and again."""
    data, shape = node.elements(0), node.site.numbers(1)
    if data is None or shape is None or len(shape) > 1:
        return []
    times = shape[0] if shape else 1
    if times in (1, len(data)):
        return [data]
    return [data * times] if len(data) == 1 and 0 <= times <= MOST_ELEMENTS else []


@elements_of("Tile")
def tile(node: Node) -> Sequence[Elements | None]:
    """All integers again and again."""
    data, repeats = node.elements(0), node.site.numbers(1)
    if (
        data is None
        or repeats is None
        or len(repeats) != 1
        or not 0 <= repeats[0] * len(data) <= MOST_ELEMENTS
    ):
        return []
    return [data * repeats[0]]


@elements_of("Range")
def range_(node: Node) -> Sequence[Elements | None]:
    """start, start + delta, …"""
    start, limit, delta = (node.site.numbers(place) for place in range(3))
    if not start or not limit or not delta or delta[0] == 0:
        return []
    numbers = range(start[0], limit[0], delta[0])
    if len(numbers) > MOST_ELEMENTS:
        return []
    return [tuple(integer(Form(number), False) for number in numbers)]
