"""
Patterns and replacements of rules, as data.

    x, c, d = variable.x, const.c, const.d
    Add(Add(x, c), d)

A template (`Add`, `Conv`, …) called with arguments is a `Node`: one op. In a pattern the arguments match the
operands, in a replacement they become the operands. Keywords are properties: a Python value (`axis=1`), or
`attr.axis` to bind the value of the property.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.elements import (
    DisposableElementsAttr,
    DisposablePool,
    elements_array,
    type_of_elements,
)

Array: TypeAlias = npt.NDArray[Any]
"""An array of any element type."""
Literal: TypeAlias = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]
"""Python value of a property: see `xonnc.rewriting.attribute_conversion`."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Pattern of an operand."""


@dataclass(frozen=True, eq=False)
class Bound(Pattern):
    """A named pattern variable; a repeated name must match the same value."""

    name: str


@dataclass(frozen=True, eq=False)
class AnyValue(Bound):
    """Matches any value, absent ones included: `value.x`."""


@dataclass(frozen=True, eq=False)
class NonConstant(Bound):
    """Matches a value that no constant op defines: `variable.x`."""


@dataclass(frozen=True, eq=False)
class Const(Bound):
    """Matches the result of a constant op with elements: `const.c`."""


@dataclass(frozen=True, eq=False)
class MaybeConst(Bound):
    """Matches a constant, or an absent optional operand: `maybe.c`."""


@dataclass(frozen=True, eq=False)
class Rest(Bound):
    """Matches all remaining operands (variadic, possibly none): `rest.xs`."""


@dataclass(frozen=True, eq=False)
class ConstRest(Rest):
    """Matches all remaining operands, each a constant: `consts.xs`."""


@dataclass(frozen=True, eq=False)
class AttrName(Bound):
    """Binds the value of a property, `None` if the op has none: `attr.axis`."""


@dataclass(frozen=True, eq=False)
class Absent(Pattern):
    """Matches an absent optional operand, of type `none`."""


absent = Absent()
"""An absent optional operand: `Conv(x, w, absent)`."""

_BoundT = TypeVar("_BoundT", bound=Bound)


@dataclass(frozen=True)
class BindingFactory(Generic[_BoundT]):
    """Creates pattern variables by attribute access: `const.scale` is `Const("scale")`."""

    kind: Callable[[str], _BoundT]

    def __getattr__(self, name: str) -> _BoundT:
        return self.kind(name)


value = BindingFactory(AnyValue)
variable = BindingFactory(NonConstant)
const = BindingFactory(Const)
maybe = BindingFactory(MaybeConst)
rest = BindingFactory(Rest)
consts = BindingFactory(ConstRest)
attr = BindingFactory(AttrName)

root = AnyValue("root")
"""The matched root op, as an argument of `compute`."""


@dataclass(frozen=True)
class Constant:
    """A constant operand: its attribute, and its array or a lazy view on demand."""

    attribute: Attribute
    maker: DisposablePool | None = None

    @property
    def array(self) -> Array:
        """Return the elements, read-only, in the shape of the type; evaluates pending computations."""
        array = elements_array(self.attribute)
        assert array is not None
        return array

    @property
    def pool(self) -> DisposablePool:
        """Return the pool for new constants; available to native functions, not to conditions."""
        assert self.maker is not None
        return self.maker

    @property
    def tensor(self) -> DisposableElementsAttr:
        """
        Return the elements as a lazy attribute (views, pending computations); not available to conditions.
        """
        tensor = self.pool.adopt(self.attribute)
        assert tensor is not None
        return tensor

    @property
    def type(self) -> TensorType[Attribute]:
        """Return the tensor type."""
        return elements_type(self.attribute)


def elements_type(elements: Attribute) -> TensorType[Attribute]:
    """Return the tensor type of an elements attribute."""
    type_ = type_of_elements(elements)
    assert type_ is not None
    return type_


@dataclass(frozen=True)
class MatchFailure:
    """Result of a native function that does not apply, with the reason (MLIR: `notifyMatchFailure`)."""

    reason: str


@dataclass(frozen=True)
class ImperativeRewrite:
    """Imperative replacement: `apply` inserts ops before the root and returns the new values."""

    apply: Callable[[Operation], Sequence[SSAValue]]


OperandSpec: TypeAlias = "Pattern | SSAValue | Attribute | Array | None"
"""
Operand of a replacement: a pattern, a value, elements of a new constant, or `None` for an absent operand.
"""

RewriteResult: TypeAlias = "OperandSpec | MatchFailure | ImperativeRewrite | Sequence[OperandSpec]"
"""Result of a native function; a sequence has one entry for each result of the root."""


@dataclass(frozen=True)
class DialectInterface:
    """The properties of a dialect that the rewrite engine needs."""

    op_class: Callable[[str], type[Operation] | None]
    """Return the op class of a template name."""
    constant: type[Operation]
    """The constant op; its `value` property holds the elements."""
    absent: Callable[[LocationAttr], Operation]
    """Create an op at a location whose result is an absent operand."""
    result_types: Callable[
        [type[Operation], Sequence[SSAValue], Mapping[str, Attribute]], Sequence[Attribute]
    ]
    """Return the result types of a new op that is not the root of a replacement."""


@dataclass(frozen=True)
class Template:
    """An op by name; a call creates a `Node`."""

    dialect: DialectInterface
    name: str

    def __call__(
        self,
        *operands: OperandSpec,
        like: Node | Operation | None = None,
        **properties: Literal | Attribute | AttrName,
    ) -> Node:
        """
        Create a node with these operands and properties.

        `like` is a matched node (or an op) whose other properties are copied; it has no meaning in a pattern.
        """
        return Node(self, operands, properties, like)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Node(Pattern):
    """One op of a pattern."""

    template: Template
    operands: tuple[OperandSpec, ...]
    properties: Mapping[str, Literal | Attribute | AttrName]
    like: Node | Operation | None = None
    name: str = ""
    single: bool = False
    types: Sequence[Attribute | SSAValue | Bound] = field(default=())
    result: int = 0

    def named(self, name: str) -> Node:
        """Return the node with a name, by which functions receive its op."""
        return replace(self, name=name)

    def typed(self, *types: Attribute | SSAValue | Bound) -> Node:
        """Return the node with result types; a value stands for its own type."""
        return replace(self, types=types)

    def __str__(self) -> str:
        parts = [show(operand) for operand in self.operands]
        parts += [f"{name}={show_literal(given)}" for name, given in self.properties.items()]
        text = f"{self.template}({', '.join(parts)})"
        return f"one_use({text})" if self.single else text


def one_use(node: Node) -> Node:
    """Match `node` only if its result has one use."""
    return replace(node, single=True)


def all_uses(node: Node) -> tuple[Node, ...]:
    """Return the node and its operand nodes, depth first, left to right."""
    below = (all_uses(operand) for operand in node.operands if isinstance(operand, Node))
    return (node, *(inner for nodes in below for inner in nodes))


@dataclass(frozen=True, eq=False)
class Native(Pattern):
    """A value computed by `call` from the values that `arguments` name, in their order."""

    call: Callable[..., RewriteResult]
    arguments: tuple[str, ...]
    """Names of the pattern; empty means all constants of the pattern from left to right."""
    arrays: bool
    """Whether constants are passed as arrays (`fold`) or as `Constant` (`compute`)."""

    def __str__(self) -> str:
        called: str = getattr(self.call, "__name__", "function")
        return f"{called}({', '.join(self.arguments)})"


def fold(call: Callable[..., RewriteResult], *arguments: Bound) -> Native:
    """
    Apply `call` to arrays: of the named constants, or of all constants of the pattern from left to right.
    """
    return Native(call, tuple(argument.name for argument in arguments), arrays=True)


def elementwise(call: Callable[..., Array], *arguments: Bound) -> Native:
    """Apply an elementwise, broadcasting function of arrays; large results are computed lazily."""

    @wraps(call)
    def pending(*constants: Constant) -> RewriteResult:
        return constants[0].pool.combine(call, *(constant.attribute for constant in constants))

    return Native(pending, tuple(argument.name for argument in arguments), arrays=False)


def compute(call: Callable[..., RewriteResult], *arguments: Bound) -> Native:
    """Apply `call` to constants as `Constant`, values unchanged, properties decoded."""
    return Native(call, tuple(argument.name for argument in arguments), arrays=False)


def show(part: OperandSpec | Native) -> str:
    """Return the notation of a pattern in a rule."""
    match part:
        case Rest(name=name):
            return f"*{name}"
        case Bound(name=name):
            return name
        case Absent() | None:
            return "absent"
        case np.ndarray():
            return "elements"
        case _:
            return str(part)


def show_literal(given: Literal | Attribute | AttrName) -> str:
    """Return the notation of a property in a rule."""
    return given.name if isinstance(given, AttrName) else str(given)
