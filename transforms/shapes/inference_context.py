"""The context of shape functions, and their registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, OpDef

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.locations import describe, output_names
from xonnc.dialects.onnx.op import operator_name
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import element_type, is_ranked, tensor_type, unranked
from xonnc.errors import XonncError
from xonnc.rewriting.attribute_conversion import Decoded, decode, encode
from xonnc.rewriting.patterns import Array
from xonnc.transforms.dims.expressions import ZERO, DimExpr, DimSymbols, number

UNKNOWN = DYNAMIC_INDEX
"""A dynamic dimension, as in MLIR's tensor types."""

Shape: TypeAlias = tuple[int, ...]
Dim: TypeAlias = int | DimExpr
"""A dimension: static, symbolic (in the dimension analysis), or `UNKNOWN`."""
Dims: TypeAlias = tuple[Dim, ...]


@dataclass(frozen=True)
class SymbolicShape:
    """The shape of a result with symbolic dimensions; its element type is known from shape inference."""

    dims: Dims


InferredType: TypeAlias = Attribute | SymbolicShape | None
Types: TypeAlias = Sequence[InferredType]
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
    keeps_windows: bool = False
    """Whether strides, dilations, pads and kernel sizes stay as they are written."""

    def fail(self, problem: str) -> ShapeError:
        """Return an error that names the node."""
        return ShapeError(f"{describe(self.op)}: {operator_name(self.op)}: {problem}", self.op)

    @property
    def symbols(self) -> DimSymbols | None:
        """Return the symbols of the dimension analysis; `None` in shape inference."""
        return None

    @cached_property
    def name(self) -> str:
        """Return the op name without the dialect."""
        return self.op.name.removeprefix("onnx.")

    @property
    def definition(self) -> OpDef:
        """Return the op definition."""
        assert isinstance(self.op, IRDLOperation)
        return self.op.get_irdl_definition()

    def operand(self, index: int) -> str:
        """Describe an operand for messages: its ONNX name, its name in the model, its shape."""
        value, shape = self.op.operands[index], self.shape(index)
        names = [name for name, _ in self.definition.operands]
        name = names[index] if index < len(names) - 1 or len(self.op.operands) == len(names) else None
        title = name or f"{names[-1]}[{index - len(names) + 1}]"
        called = f" '{found}'" if (found := _name(value)) else ""
        return f"{title}{called} {'of unknown rank' if shape is None else shown(shape)}"

    def operands(self) -> list[str]:
        """Describe the present operands for messages."""
        return [self.operand(index) for index in range(len(self.op.operands)) if self.has(index)]

    def has(self, index: int) -> bool:
        """Return whether the operand is present."""
        return index < len(self.op.operands) and not isinstance(self.op.operands[index].type, NoneType)

    def shape(self, index: int) -> Shape | None:
        """Return the shape of an operand, or `None` if its rank is unknown."""
        type_ = self.op.operands[index].type
        return type_.get_shape() if is_ranked(type_) else None

    def shapes(self) -> list[Shape] | None:
        """Return the shapes of all present operands, or `None` if a rank is unknown."""
        found = [self.shape(index) for index in range(len(self.op.operands)) if self.has(index)]
        known = [shape for shape in found if shape is not None]
        return known if len(known) == len(found) else None

    def dims(self, index: int) -> Dims | None:
        """Return the dimensions of an operand, symbolic ones included, or `None` if its rank is unknown."""
        return self.dims_of(self.op.operands[index]) if self.has(index) else None

    def dims_of(self, value: SSAValue) -> Dims | None:
        """Return the dimensions of a value, symbolic ones included, or `None` if its rank is unknown."""
        return value.type.get_shape() if is_ranked(value.type) else None

    def elements_of(self, value: SSAValue) -> Dims | None:
        """Return the elements of an integer tensor, `UNKNOWN` where not known."""
        return None if self.known is None else self.known(value)

    def all_dims(self) -> list[Dims] | None:
        """Return the dimensions of all present operands, or `None` if a rank is unknown."""
        found = [self.dims(index) for index in range(len(self.op.operands)) if self.has(index)]
        known = [dims for dims in found if dims is not None]
        return known if len(known) == len(found) else None

    def values(self, index: int) -> Dims | None:
        """Return the elements of an integer operand, `UNKNOWN` where not known."""
        return self.partly(index)

    def known_sizes(self, index: int) -> Dims | None:
        """Return the elements of an integer operand, `UNKNOWN` also for symbols that may be negative."""
        return self.partly(index)

    def product(self, dims: Sequence[Dim]) -> Dim:
        """Return the product of dimensions; `UNKNOWN` if one is and none is 0."""
        if self.symbols is None or all(isinstance(size, int) for size in dims):
            return product(static(dims))
        return UNKNOWN if UNKNOWN in dims else self.symbols.product([form(size) for size in dims])

    def total(self, dims: Sequence[Dim]) -> Dim:
        """Return the sum of dimensions; `UNKNOWN` if one is."""
        if UNKNOWN in dims:
            return UNKNOWN
        if self.symbols is None or all(isinstance(size, int) for size in dims):
            return sum(static(dims))
        return self.symbols.product([sum(map(form, dims), ZERO)])

    def floor(self, size: Dim, divisor: int) -> Dim:
        """Return floor(size / divisor)."""
        if isinstance(size, int):
            return UNKNOWN if size == UNKNOWN else size // divisor
        assert self.symbols is not None
        return self.symbols.floor(size, divisor)

    def broadcast(self, shapes: Sequence[Dims], titles: Callable[[], Sequence[str]]) -> Dims:
        """Return the broadcast shape of operands that `titles` describes for messages."""
        return broadcast(self, [static(dims) for dims in shapes], titles)

    def equate(self, left: Dim, right: Dim) -> None:
        """Note that two dimensions are equal if the op is valid; the dimension analysis learns from it."""

    def element(self, index: int = 0) -> Attribute | None:
        """Return the element type of an operand."""
        return element_type(self.op.operands[index].type)

    def result_element(self, index: int = 0) -> Attribute | None:
        """Return the current element type of a result."""
        return element_type(self.op.results[index].type)

    def constant(self, index: int) -> Array | None:
        """Return the elements of a constant operand, else `None`."""
        return constant_array(self.op.operands[index]) if self.has(index) else None

    def numbers(self, index: int) -> Shape | None:
        """Return the elements of an integer operand if all are known, else `None`."""
        array = self.constant(index)
        if array is not None:
            return tuple(array.reshape(-1).astype(np.int64).tolist())
        found = self.partly(index)
        return None if found is None or UNKNOWN in found else found

    def partly(self, index: int) -> Shape | None:
        """Return the known elements of an integer operand, `UNKNOWN` for others."""
        if not self.has(index):
            return None
        array = self.constant(index)
        if array is not None:
            return self.numbers(index) if array.ndim <= 1 else None
        return None if self.known is None else self.known(self.op.operands[index])

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
        # Most are resolved already; to compare attributes, one would have to be made.
        if self.property(name) != (given if isinstance(given, int | str) else tuple(given)):
            self.write(name, encode(given))

    def write(self, name: str, given: Attribute) -> None:
        """Write a property if the op has it."""
        if self.op.properties.get(name) != given and name in self.definition.properties:
            self.op.properties[name] = given

    def set_window(self, name: str, given: str | Sequence[int]) -> None:
        """Write a resolved property of a window, unless windows are kept."""
        if not self.keeps_windows:
            self.set(name, given)

    def axis(self, axis: int, rank: int, text: str = "") -> int:
        """Normalise an axis to be non-negative; raise if it is out of range, with `text` before it."""
        if not -rank <= axis < rank:
            message = f"axis {axis} is not in [{-rank}, {rank - 1}]"
            raise self.fail(f"{text}: {message}" if text else message)
        return axis % rank

    def own_axis(self, rank: int, default: int = 0) -> int:
        """Return the property `axis`, normalised to be non-negative."""
        return self.axis(self.integer("axis", default), rank)

    def ranked(self, shape: Dims, like: int = 0) -> list[InferredType]:
        """Return one result type of `shape`, at least 0, with the element type of operand `like`."""
        if any(isinstance(size, int) and UNKNOWN < size < 0 for size in shape):
            raise self.fail(f"a result of shape {shown(shape)} is requested; sizes must be 0 or more")
        return typed(shape, self.element(like))


def static(dims: Sequence[Dim]) -> Shape:
    """Return the static dimensions, `UNKNOWN` for symbolic ones."""
    return tuple(size if isinstance(size, int) else UNKNOWN for size in dims)


def form(dim: Dim) -> DimExpr:
    """Return a known dimension as an expression."""
    return number(dim) if isinstance(dim, int) else dim


def same(left: Dim, right: Dim) -> bool:
    """Return whether two dimensions are known to be equal."""
    return UNKNOWN not in (left, right) and form(left) == form(right)


def differ(left: Dim, right: Dim) -> bool:
    """Return whether two static dimensions differ."""
    are_static = isinstance(left, int) and isinstance(right, int) and UNKNOWN not in (left, right)
    return are_static and left != right


def typed(shape: Dims, element: Attribute | None) -> list[InferredType]:
    """Return one result of a shape and an element type."""
    if any(isinstance(size, DimExpr) for size in shape):
        return [SymbolicShape(shape)]
    return [None if element is None else tensor_type(static(shape), element)]


def any_shape(element: Attribute | None) -> list[InferredType]:
    """Return one unranked result."""
    return [None if element is None else unranked(element)]


ShapeFunction: TypeAlias = Callable[[InferenceContext], Types]
SHAPE_FUNCTIONS: dict[str, ShapeFunction] = {}
"""Shape function of each op, by name without the dialect."""
SYMBOLIC: set[str] = set()
"""Ops whose shape function computes with symbolic dimensions too."""

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


def infers_dims(*names: str) -> Callable[[_FunctionT], _FunctionT]:
    """Register the shape function of some ops, which computes with symbolic dimensions too."""
    SYMBOLIC.update(names)
    return infers(*names)


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
    attributes = function.arg_attrs if isinstance(function, FuncOp) else None
    if not isinstance(value, BlockArgument) or not are_dictionaries(attributes):
        return ""
    name = attributes.data[value.index].data.get("onnx.name")
    return name.data if isinstance(name, StringAttr) else ""


def shown(sizes: Sequence[Dim]) -> str:
    """Format dimensions for messages: `[?, 3]`."""
    return f"[{', '.join('?' if size == UNKNOWN else str(size) for size in static(sizes))}]"


def product(sizes: Sequence[int]) -> int:
    """Return the product of dimensions; `UNKNOWN` if one is and none is 0."""
    if 0 in sizes:
        return 0
    return UNKNOWN if UNKNOWN in sizes else int(np.prod(sizes, dtype=np.int64))
