"""The integers in small tensors that are computed from shapes (spec §3.1, reading shape operands)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xonnc.transforms.dims.forms import Form
from xonnc.transforms.dims.node import Element, Elements, Node, elements_of
from xonnc.transforms.shapes.site import axis_slice, constant_array, shape_slice

MOST_ELEMENTS = 64
"""Larger tensors are data, not shapes."""


@elements_of("Constant")
def constant(node: Node) -> Sequence[Elements | None]:
    """The elements."""
    array = constant_array(node.op.results[0])
    if array is None or array.ndim > 1 or array.size > MOST_ELEMENTS or array.dtype.kind not in "iu":
        return []
    return [tuple(Element(Form(number), number >= 0) for number in map(int, array.reshape(-1)))]


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


@elements_of("Cast", "Identity", "Reshape", "Squeeze", "SqueezeV11", "Unsqueeze", "UnsqueezeV11")
def same(node: Node) -> Sequence[Elements | None]:
    """The integers of the operand; sizes are taken to fit the type they are cast to."""
    return [node.elements(0)]


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
    data, sizes = node.elements(0), node.site.numbers(1)
    if data is None or sizes is None or sum(sizes) != len(data):
        return []
    parts: list[Elements] = []
    for number in sizes:
        parts.append(data[:number])
        data = data[number:]
    return parts


@elements_of("ReduceProd", "ReduceProdV13")
def product(node: Node) -> Sequence[Elements | None]:
    """The product of all: a vector has one axis to reduce."""
    data = node.elements(0)
    if data is None or len(node.sizes(0) or ()) != 1 or node.site.integer("noop_with_empty_axes"):
        return []
    made = node.symbols.product(form for form, _ in data)
    return [(Element(made, all(is_size for _, is_size in data)),)]


def _pairwise(node: Node, compute: Callable[[Element, Element], Element | None]) -> Sequence[Elements | None]:
    left, right = node.elements(0), node.elements(1)
    if left is None or right is None:
        return []
    longer = max(len(left), len(right))
    if 1 not in (len(left), len(right)) and len(left) != len(right):
        return []
    made = (
        [compute(left[i % len(left)], right[i % len(right)]) for i in range(longer)] if left and right else []
    )
    known = [element for element in made if element is not None]
    return [tuple(known)] if len(known) == len(made) else []


@elements_of("Add")
def add(node: Node) -> Sequence[Elements | None]:
    """a + b"""
    return _pairwise(node, lambda a, b: Element(a.form + b.form, a.is_size and b.is_size))


@elements_of("Sub")
def sub(node: Node) -> Sequence[Elements | None]:
    """a - b"""
    return _pairwise(node, lambda a, b: Element(a.form - b.form, False))


@elements_of("Mul")
def mul(node: Node) -> Sequence[Elements | None]:
    """a b"""
    product = node.symbols.product
    return _pairwise(node, lambda a, b: Element(product([a.form, b.form]), a.is_size and b.is_size))


@elements_of("Div")
def div(node: Node) -> Sequence[Elements | None]:
    """a / b rounded down, for sizes and positive numbers; ONNX rounds to zero, which is the same for them."""

    def quotient(a: Element, b: Element) -> Element | None:
        divisor = b.form.number
        if not a.is_size or divisor is None or divisor <= 0:
            return None
        return Element(node.symbols.floor(a.form, divisor), True)

    return _pairwise(node, quotient)
