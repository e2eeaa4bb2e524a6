"""
Which dimensions of a model are equal, or apart by a constant (spec/onnx-rules-passes-shapes-krnl.md §2.6).

Every dynamic dimension gets a form over symbols in one walk from the arguments on; sizes that an op requires
to be equal are taken for equal, and the walk is repeated while that makes more of them equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type, is_ranked
from xonnc.transforms.dims import contents, contraction, elementwise, movement, windows
from xonnc.transforms.dims.forms import Form, Symbols
from xonnc.transforms.dims.node import ELEMENTS, SIZES, Element, Elements, Forms, Node, Partly
from xonnc.transforms.shapes.site import UNKNOWN

THEMES = (contents, contraction, elementwise, movement, windows)
"""The modules whose rules are in `SIZES` and `ELEMENTS`."""

DIM_PARAMS = "onnx.dim_params"
"""The attribute of arguments and results that names their dimensions: `0:batch,1:seq`."""

WIDE_INTEGERS = (i32, i64)
"""Elements that sizes fit into."""

_DIM_PARAM = re.compile(r"(?:^|,)(\d+):")

MOST_WALKS = 4
"""Walks through a function; every one after the first must have had a new fact to begin with."""


@dataclass(frozen=True)
class Member:
    """A dynamic dimension, and the number of the group of dimensions that are equal to it."""

    value: SSAValue
    axis: int
    group: int


class DimAnalysis:
    """
    The dimensions of everything inside `root`.

    What it says holds for every run that succeeds. Names of dimensions are taken at their word; that of a
    result counts only where nothing else is known of its dimension. A size in the shape operand of a Reshape
    is taken to be no 0, which would copy another size instead (as in the peer).
    """

    def __init__(self, root: Operation) -> None:
        self.symbols = Symbols()
        self._sizes: dict[SSAValue, Forms] = {}
        self._elements: dict[SSAValue, Elements] = {}
        self._functions = [op for op in root.walk() if isinstance(op, FuncOp) and op.body.blocks]
        for function in self._functions:
            for _ in range(MOST_WALKS):
                if not self._function(function):
                    break

    def look_again(self, op: Operation) -> None:
        """Finds what the results of an op are after the op or its operands have changed."""
        certain = isinstance(op.parent_op(), FuncOp)
        for left, right in self._op(op):
            if certain:
                self.symbols.equate(left, right)

    def sizes(self, value: SSAValue) -> Forms | None:
        """The sizes of a value, `None` if its rank is unknown."""
        known = self._sizes.get(value)
        if known is None:
            if not is_ranked(value.type):
                return None
            known = self._sizes[value] = self._merged(value, value.type.get_shape(), None)
        return tuple(self.symbols.resolve(size) for size in known)

    def elements(self, value: SSAValue) -> Elements | None:
        """The integers in a value of rank 0 or 1, `None` if their number is unknown or large."""
        known = self._elements.get(value)
        if known is not None:
            return tuple(Element(self.symbols.resolve(form), is_size) for form, is_size in known)
        if not _holds_integers(value):
            return None
        sizes = self.sizes(value)
        count = sizes[0].number if sizes else 1
        if sizes is None or count is None or count > contents.MOST_ELEMENTS:
            return None
        return tuple(
            Element(self.symbols.symbol(("element", value, place)), is_size=False) for place in range(count)
        )

    def size(self, value: SSAValue, axis: int) -> Form | None:
        """The size of a value along an axis, which may count from the back."""
        sizes = self.sizes(value)
        return sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else None

    def same_dim(self, a: SSAValue, axis: int, b: SSAValue, other: int) -> bool:
        """Whether two sizes are known to be equal."""
        return self.offset(a, axis, b, other) == 0

    def same_shape(self, a: SSAValue, b: SSAValue) -> bool:
        """Whether two values are known to have the same shape."""
        sizes = self.sizes(a)
        return sizes is not None and sizes == self.sizes(b)

    def offset(self, a: SSAValue, axis: int, b: SSAValue, other: int) -> int | None:
        """By how much the first size exceeds the second, `None` if it is not known."""
        first, second = self.size(a, axis), self.size(b, other)
        return None if first is None or second is None else (first - second).number

    def members(self) -> Iterator[Member]:
        """
        Every dynamic dimension of arguments and results of ops, in textual order.

        Groups are numbered as in the peer: every dimension takes a number, those of the function and the
        names of dimensions last, and a group has its least.
        """
        numbers = self._numbers()
        for function in self._functions:
            yield from self._members(function.body.block.args, numbers)
            for op in function.walk():
                if op is not function:
                    yield from self._members(op.results, numbers)

    def _members(self, values: Sequence[SSAValue], numbers: dict[Form, int]) -> Iterator[Member]:
        for value, axis in _dynamic(values):
            size = self.size(value, axis)
            if size is not None:
                yield Member(value, axis, numbers[size])

    def _numbers(self) -> dict[Form, int]:
        numbers: dict[Form, int] = {}
        taken = 0
        for function in self._functions:
            inner = [result for op in _post_order(function) for result in op.results]
            ends = [(value, names) for value, names in _named(function) if is_ranked(value.type)]
            found = [self.size(value, axis) for value, axis in _dynamic(inner)]
            found += [
                self.size(value, axis)
                for value, names in ends
                for _, axis in _dynamic([value])
                if axis not in names
            ]
            names = {
                name: self.size(value, axis)
                for value, known in ends
                for axis, name in known.items()
                if (value, axis) in set(_dynamic([value]))
            }
            found += [names[name] for name in sorted(names)]
            for size in found:
                if size is not None:
                    numbers.setdefault(size, taken)
                    taken += 1
        return numbers

    def _function(self, function: FuncOp) -> bool:
        """Walks through a function once; whether a new fact asks for another walk."""
        ends = list(_named(function))
        block = function.body.block
        parameters: set[Form] = set()
        for value, names in ends[: len(block.args)]:
            if is_ranked(value.type):
                shape = value.type.get_shape()
                named = [self._name(function, names.get(axis)) for axis in range(len(shape))]
                self._sizes[value] = self._merged(value, shape, named)
                parameters.update(size for size in named if size is not None)
        learned = self._block(block, certain=True)
        for value, names in ends[len(block.args) :]:
            for axis, name in names.items():
                size, named = self.size(value, axis), self._name(function, name)
                if size is None or named is None or size.symbol is None or size in parameters:
                    continue
                self.symbols.equate(named, size)
        return learned

    def _name(self, function: FuncOp, name: str | None) -> Form | None:
        """The symbol for a named dimension."""
        return None if name is None else self.symbols.symbol(("name", function, name))

    def _block(self, block: Block, certain: bool) -> bool:
        """Walks through a block; `certain` says whether it runs whenever the function does."""
        learned = False
        for op in block.ops:
            for region in op.regions:
                for inner in region.blocks:
                    learned |= self._block(inner, certain=False)
            if isinstance(op, OnnxOp) and op.results:
                for left, right in self._op(op):
                    learned |= certain and self.symbols.equate(left, right)
        return learned

    def _op(self, op: Operation) -> Sequence[tuple[Form, Form]]:
        """Finds the sizes and integers of an op's results; which sizes must be equal."""
        name = op.name.removeprefix("onnx.")
        node = Node(op, self, [])
        rule = SIZES.get(name)
        found = rule(node) if rule is not None else self._branches(op) if name == "If" else ()
        for place, result in enumerate(op.results):
            if is_ranked(result.type):
                sizes = found[place] if place < len(found) else None
                self._sizes[result] = self._merged(result, result.type.get_shape(), sizes)
        if name in ELEMENTS and _holds_integers(op.results[0]):
            for result, elements in zip(op.results, ELEMENTS[name](node), strict=False):
                if elements is not None and _count(self.sizes(result)) in (None, len(elements)):
                    self._elements[result] = elements
        return node.equal

    def _branches(self, op: Operation) -> Sequence[Partly | None]:
        """The sizes that both branches of an If give."""
        ends = [region.block.last_op for region in op.regions]
        found: list[Partly | None] = []
        for place in range(len(op.results)):
            left, right = (
                self.sizes(end.operands[place]) if end is not None and place < len(end.operands) else None
                for end in ends
            )
            if left is None or right is None or len(left) != len(right):
                found.append(None)
            else:
                found.append([a if a == b else None for a, b in zip(left, right, strict=True)])
        return found

    def _merged(self, value: SSAValue, shape: Sequence[int], found: Partly | None) -> Forms:
        """What the type says, then what was found; a symbol of its own for every other dimension."""
        if found is None or len(found) != len(shape):
            found = (None,) * len(shape)
        return tuple(
            Form(static)
            if static != UNKNOWN
            else size
            if size is not None
            else self.symbols.symbol(("size", value, axis))
            for axis, (static, size) in enumerate(zip(shape, found, strict=True))
        )


def _named(function: FuncOp) -> Iterator[tuple[SSAValue, dict[int, str]]]:
    """Arguments and returned values with the names of their dimensions."""
    block = function.body.block
    end = block.last_op
    returned = end.operands if end is not None and end.has_trait(IsTerminator) else ()
    for values, attributes in (block.args, function.arg_attrs), (returned, function.res_attrs):
        held = list(attributes) if attributes is not None else []
        for place, value in enumerate(values):
            names = held[place].data.get(DIM_PARAMS) if place < len(held) else None
            yield value, _dim_params(names.data) if isinstance(names, StringAttr) else {}


def _dim_params(text: str) -> dict[int, str]:
    """`0:batch,1:seq` as names by axis."""
    parts = _DIM_PARAM.split(text)
    return {int(axis): name for axis, name in zip(parts[1::2], parts[2::2], strict=True)}


def _dynamic(values: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, int]]:
    """The dynamic dimensions of values."""
    for value in values:
        if is_ranked(value.type):
            for axis, size in enumerate(value.type.get_shape()):
                if size == UNKNOWN:
                    yield value, axis


def _post_order(root: Operation) -> Iterator[Operation]:
    """The ops inside an op, each after those inside it."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _post_order(op)
                yield op


def _holds_integers(value: SSAValue) -> bool:
    rank = len(value.type.get_shape()) if is_ranked(value.type) else None
    return rank in (0, 1) and element_type(value.type) in WIDE_INTEGERS


def _count(sizes: Forms | None) -> int | None:
    """The number of elements of a scalar or vector."""
    return (sizes[0].number if sizes else 1) if sizes is not None else None
