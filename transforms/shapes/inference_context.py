"""The context of shape functions, and their registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr, NoneType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.locations import describe, output_names
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, is_ranked, tensor_type, unranked
from xonnc.errors import XonncError
from xonnc.rewriting.attribute_conversion import Decoded, decode, encode
from xonnc.rewriting.patterns import Array

UNKNOWN = DYNAMIC_INDEX
"""A dynamic dimension, as in MLIR's tensor types."""

Shape: TypeAlias = tuple[int, ...]
Types: TypeAlias = "Sequence[Attribute | None]"
"""One type per result; `None` leaves a result unchanged."""

Integers: TypeAlias = "Callable[[SSAValue], Shape | None]"
"""
Elements of an integer tensor of rank 0 or 1, `UNKNOWN` where not constant; `None` if their number is unknown.
"""


_VALUES = (
    ("value_ints", np.int64),
    ("value_int", np.int64),
    ("value_floats", np.float32),
    ("value_float", np.float32),
)
"""Properties by which a Constant may hold numbers besides `value`."""


class ShapeError(XonncError):
    """Contradicting shapes in a model."""


@dataclass(frozen=True)
class InferenceContext:
    """An op under shape inference (ONNX: `InferenceContext`); operands are addressed by index."""

    op: Operation
    known: Integers | None = None
    """Elements of integer tensors known from the shape analysis."""

    def fail(self, problem: str) -> ShapeError:
        """Return an error that names the node."""
        return ShapeError(f"{describe(self.op)}: {self.name}: {problem}", self.op)

    @cached_property
    def name(self) -> str:
        """Return the op name without the dialect."""
        return self.op.name.removeprefix("onnx.")

    @property
    def definition(self) -> OpDef:
        """Return the op definition."""
        assert isinstance(self.op, IRDLOperation)
        return self.op.get_irdl_definition()

    def operand(self, place: int) -> str:
        """Describe an operand for messages: its ONNX name, its name in the model, its shape."""
        value, shape = self.op.operands[place], self.shape(place)
        names = [name for name, _ in self.definition.operands]
        name = names[place] if place < len(names) - 1 or len(self.op.operands) == len(names) else None
        title = name or f"{names[-1]}[{place - len(names) + 1}]"
        called = f" '{found}'" if (found := _name(value)) else ""
        return f"{title}{called} {'of unknown rank' if shape is None else shown(shape)}"

    def operands(self) -> list[str]:
        """Describe the present operands for messages."""
        return [self.operand(place) for place in range(len(self.op.operands)) if self.has(place)]

    def has(self, place: int) -> bool:
        """Return whether the operand is present."""
        return place < len(self.op.operands) and not isinstance(self.op.operands[place].type, NoneType)

    def shape(self, place: int) -> Shape | None:
        """Return the shape of an operand, or `None` if its rank is unknown."""
        type_ = self.op.operands[place].type
        return type_.get_shape() if is_ranked(type_) else None

    def shapes(self) -> list[Shape] | None:
        """Return the shapes of all present operands, or `None` if a rank is unknown."""
        found = [self.shape(place) for place in range(len(self.op.operands)) if self.has(place)]
        known = [shape for shape in found if shape is not None]
        return known if len(known) == len(found) else None

    def element(self, place: int = 0) -> Attribute | None:
        """Return the element type of an operand."""
        return element_type(self.op.operands[place].type)

    def result_element(self, place: int = 0) -> Attribute | None:
        """Return the current element type of a result."""
        return element_type(self.op.results[place].type)

    def constant(self, place: int) -> Array | None:
        """Return the elements of a constant operand, else `None`."""
        return constant_array(self.op.operands[place]) if self.has(place) else None

    def numbers(self, place: int) -> Shape | None:
        """Return the elements of an integer operand if all are known, else `None`."""
        array = self.constant(place)
        if array is not None:
            return tuple(array.reshape(-1).astype(np.int64).tolist())
        found = self.partly(place)
        return None if found is None or UNKNOWN in found else found

    def partly(self, place: int) -> Shape | None:
        """Return the known elements of an integer operand, `UNKNOWN` for others."""
        if not self.has(place):
            return None
        array = self.constant(place)
        if array is not None:
            return self.numbers(place) if array.ndim <= 1 else None
        return None if self.known is None else self.known(self.op.operands[place])

    def property(self, name: str) -> Decoded:
        """Return a property as a Python value."""
        return decode(self.op.properties.get(name))

    def integer(self, name: str, default: int = 0) -> int:
        """Return an INT property."""
        found = self.property(name)
        return found if isinstance(found, int) else default

    def integers(self, name: str) -> Shape | None:
        """Return an INTS property, or `None` if absent."""
        found = self.property(name)
        return (
            tuple(number for number in found if isinstance(number, int)) if isinstance(found, tuple) else None
        )

    def text(self, name: str, default: str = "") -> str:
        """Return a STRING property."""
        found = self.property(name)
        return found if isinstance(found, str) else default

    def set(self, name: str, given: int | str | Sequence[int]) -> None:
        """Write a property that inference has resolved (docs/internals/onnx-rules.md §1.5)."""
        wanted = encode(given)
        if self.op.properties.get(name) != wanted and name in self.definition.properties:
            self.op.properties[name] = wanted

    def axis(self, axis: int, rank: int) -> int:
        """Normalise an axis to be non-negative; raise if it is out of range."""
        if not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is not in [{-rank}, {rank - 1}]")
        return axis % rank

    def ranked(self, shape: Shape, like: int = 0) -> list[Attribute | None]:
        """Return one result type of `shape` with the element type of operand `like`."""
        return typed(shape, self.element(like))


def typed(shape: Shape, element: Attribute | None) -> list[Attribute | None]:
    """Return one result of a shape and an element type."""
    return [None if element is None else tensor_type(shape, element)]


def any_shape(element: Attribute | None) -> list[Attribute | None]:
    """Return one unranked result."""
    return [None if element is None else unranked(element)]


ShapeFunction: TypeAlias = Callable[[InferenceContext], Types]
SHAPE_FUNCTIONS: dict[str, ShapeFunction] = {}
"""Shape function of each op, by name without the dialect."""

_FunctionT = TypeVar("_FunctionT", bound=ShapeFunction)


def infers(*names: str) -> Callable[[_FunctionT], _FunctionT]:
    """Register the shape function of some ops."""

    def register(function: _FunctionT) -> _FunctionT:
        for name in names:
            if name in SHAPE_FUNCTIONS:
                raise ValueError(f"{name} has two shape functions")
            SHAPE_FUNCTIONS[name] = function
        return function

    return register


def constant_array(value: SSAValue) -> Array | None:
    """Return the elements of a constant value, else `None`."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return None
    elements = owner.properties.get("value")
    if elements is not None:
        return elements_array(elements)
    for name, dtype in _VALUES:
        numbers = decode(owner.properties.get(name))
        if numbers is not None:
            return np.asarray(numbers, dtype)
    return None


def shape_slice(ctx: InferenceContext, shape: Shape) -> Shape:
    """Apply `start` and `end` of Shape to `shape`."""
    rank = len(shape)
    start, end = ctx.integer("start"), ctx.integer("end", rank)
    begin = min(max(start + rank if start < 0 else start, 0), rank)
    stop = min(max(end + rank if end < 0 else end, 0), rank)
    return shape[begin:stop]


def axis_slice(start: int, end: int, step: int, size: int) -> slice:
    """Return an ONNX Slice of one axis as a Python slice (docs/internals/onnx-rules.md §2.7)."""
    begin = start + size if start < 0 else start
    stop = end + size if end < 0 else end
    if end < -(2**31) + 1:
        stop = -1
    elif end >= 2**31 - 1:
        stop = size
    if step > 0:
        return slice(min(max(begin, 0), size), min(max(stop, 0), size), step)
    begin, stop = min(max(begin, 0), size - 1), min(max(stop, -1), size)
    return slice(begin, None if stop < 0 else stop, step) if size else slice(0, 0, 1)


def broadcast(ctx: InferenceContext, shapes: Sequence[Shape], titles: Callable[[], Sequence[str]]) -> Shape:
    """
    Return the broadcast shape of operands; a static dimension wins over a dynamic one
    (docs/internals/onnx-rules.md §7.2).

    `titles` describes the operands for messages.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    sizes: list[int] = []
    for axis in range(rank):
        column = {shape[axis - rank] for shape in shapes if axis - rank >= -len(shape)}
        fixed = column - {1, UNKNOWN}
        if len(fixed) > 1:
            clashing = [
                title
                for size in sorted(fixed)
                for title, shape in zip(titles(), shapes, strict=True)
                if axis - rank >= -len(shape) and shape[axis - rank] == size
            ]
            raise ctx.fail(f"{' and '.join(dict.fromkeys(clashing))} do not broadcast")
        sizes.append(fixed.pop() if fixed else UNKNOWN if UNKNOWN in column else 1)
    return tuple(sizes)


def _name(value: SSAValue) -> str:
    """Return the name of a value in the model, or an empty string."""
    if isinstance(value, OpResult):
        return dict(enumerate(output_names(value.op))).get(value.index, "")
    function = value.owner.parent_op() if isinstance(value, BlockArgument) else None
    held = function.arg_attrs if isinstance(function, FuncOp) else None
    if not isinstance(value, BlockArgument) or not isa(held, ArrayAttr[DictionaryAttr]):
        return ""
    name = held.data[value.index].data.get("onnx.name")
    return name.data if isinstance(name, StringAttr) else ""


def shown(sizes: Sequence[int]) -> str:
    """Format dimensions for messages: `[?, 3]`."""
    return f"[{', '.join('?' if size == UNKNOWN else str(size) for size in sizes)}]"


def product(sizes: Sequence[int]) -> int:
    """Return the product of dimensions; `UNKNOWN` if one is and none is 0."""
    if 0 in sizes:
        return 0
    return UNKNOWN if UNKNOWN in sizes else int(np.prod(sizes, dtype=np.int64))
