"""
The left and right hand sides of rules, as data.

    x, c, d = variable.x, const.c, const.d
    Add(Add(x, c), d)

A template (`Add`, `Conv`, …) called with arguments is a `Node`: one op. On the left hand side its arguments
say what the operands must be, on the right hand side what they become. Keywords are properties: a Python
value (`axis=1`), or `attr.axis` to bind whatever is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
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
"""What may be written for a property: see `xonnc.rewriting.literals`."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Something an operand may be, or be made of."""


@dataclass(frozen=True, eq=False)
class Bound(Pattern):
    """A pattern with a name; the same name twice must match the same value twice."""

    name: str


@dataclass(frozen=True, eq=False)
class AnyValue(Bound):
    """Any value, absent ones too: `value.x`."""


@dataclass(frozen=True, eq=False)
class NonConstant(Bound):
    """A value that is not made by a constant op: `variable.x`."""


@dataclass(frozen=True, eq=False)
class Const(Bound):
    """The result of a constant op that holds elements: `const.c`."""


@dataclass(frozen=True, eq=False)
class MaybeConst(Bound):
    """A constant, or an absent optional operand: `maybe.c`."""


@dataclass(frozen=True, eq=False)
class Rest(Bound):
    """All remaining operands, at least none: `rest.xs`."""


@dataclass(frozen=True, eq=False)
class ConstRest(Rest):
    """All remaining operands, each a constant: `consts.xs`."""


@dataclass(frozen=True, eq=False)
class AttrName(Bound):
    """The value of a property, `None` if the op has none: `attr.axis`."""


@dataclass(frozen=True, eq=False)
class Absent(Pattern):
    """An optional operand that is not there, type `none`."""


absent = Absent()
"""An optional operand that is not there: `Conv(x, w, absent)`."""

_BoundT = TypeVar("_BoundT", bound=Bound)


@dataclass(frozen=True)
class BindingFactory(Generic[_BoundT]):
    """Makes patterns by attribute access: `const.scale` is `Const("scale")`."""

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
"""The op matched, for the arguments of `compute`."""


@dataclass(frozen=True)
class Constant:
    """A constant as rules see it: the elements attribute, and its array or a lazy view when asked."""

    attribute: Attribute
    maker: DisposablePool | None = None

    @property
    def array(self) -> Array:
        """The elements, read-only, in the shape of the type; evaluates pending work."""
        array = elements_array(self.attribute)
        assert array is not None
        return array

    @property
    def pool(self) -> DisposablePool:
        """The pool for new constants; functions have one, conditions do not."""
        assert self.maker is not None
        return self.maker

    @property
    def tensor(self) -> DisposableElementsAttr:
        """The elements with lazy views and pending work; only for functions, as `pool`."""
        tensor = self.pool.adopt(self.attribute)
        assert tensor is not None
        return tensor

    @property
    def type(self) -> TensorType[Attribute]:
        """The type of the elements."""
        return elements_type(self.attribute)


def elements_type(elements: Attribute) -> TensorType[Attribute]:
    """The tensor type of an elements attribute."""
    type_ = type_of_elements(elements)
    assert type_ is not None
    return type_


@dataclass(frozen=True)
class MatchFailure:
    """Why a rule whose pattern matched does not apply after all."""

    reason: str


@dataclass(frozen=True)
class ImperativeRewrite:
    """A result that no pattern can say: `apply` edits the IR before the root and returns the new values."""

    apply: Callable[[Operation], Sequence[SSAValue]]


OperandSpec: TypeAlias = "Pattern | SSAValue | Attribute | Array | None"
"""An operand of a result: a pattern, a value, elements that become a constant, or nothing."""

RewriteResult: TypeAlias = "OperandSpec | MatchFailure | ImperativeRewrite | Sequence[OperandSpec]"
"""What a native function may return; a sequence has one part for each result of the root."""


@dataclass(frozen=True)
class DialectInterface:
    """What the engine has to know about a dialect whose ops appear in rules."""

    op_class: Callable[[str], type[Operation] | None]
    """The op class that a template of this name stands for."""
    constant: type[Operation]
    """The constant op; its `value` property holds the elements."""
    absent: type[Operation]
    """The op whose result stands for an absent operand."""
    result_types: Callable[
        [type[Operation], Sequence[SSAValue], Mapping[str, Attribute]], Sequence[Attribute]
    ]
    """The types of the results of a new op that is not the root of a result."""


@dataclass(frozen=True)
class Template:
    """An op by name; calling it makes a `Node`."""

    dialect: DialectInterface
    name: str

    def __call__(
        self,
        *operands: OperandSpec,
        like: Node | Operation | None = None,
        **properties: Literal | Attribute | AttrName,
    ) -> Node:
        """
        A node with these operands and properties.

        `like` is a matched node (or op) whose other properties the new op takes over; it means nothing on the
        left hand side.
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
        """The same node; functions get its op as their parameter `name`."""
        return replace(self, name=name)

    def typed(self, *types: Attribute | SSAValue | Bound) -> Node:
        """The same node with the types of its results; a value stands for that value's type."""
        return replace(self, types=types)

    def __str__(self) -> str:
        parts = [show(operand) for operand in self.operands]
        parts += [f"{name}={show_literal(given)}" for name, given in self.properties.items()]
        text = f"{self.template}({', '.join(parts)})"
        return f"one_use({text})" if self.single else text


def one_use(node: Node) -> Node:
    """Matches `node` only if its result is read once."""
    return replace(node, single=True)


def all_uses(node: Node) -> tuple[Node, ...]:
    """The node and the nodes below it, depth first, left to right."""
    below = (all_uses(operand) for operand in node.operands if isinstance(operand, Node))
    return (node, *(inner for nodes in below for inner in nodes))


@dataclass(frozen=True, eq=False)
class Native(Pattern):
    """A value computed while matching: `call` gets what `arguments` name, in their order."""

    call: Callable[..., RewriteResult]
    arguments: tuple[str, ...]
    """BindingFactory of the pattern; none stands for all its constants from left to right."""
    arrays: bool
    """Whether constants are handed over as arrays (`fold`) or as `Constant` (`compute`)."""

    def __str__(self) -> str:
        called: str = getattr(self.call, "__name__", "function")
        return f"{called}({', '.join(self.arguments)})"


def fold(call: Callable[..., RewriteResult], *arguments: Bound) -> Native:
    """`call` on arrays: of the constants named, else of all constants of the pattern from left to right."""
    return Native(call, tuple(argument.name for argument in arguments), arrays=True)


def elementwise(call: Callable[..., Array], *arguments: Bound) -> Native:
    """`fold` for a function that goes element by element with broadcasting: large results stay pending."""

    @wraps(call)
    def pending(*constants: Constant) -> RewriteResult:
        return constants[0].pool.combine(call, *(constant.attribute for constant in constants))

    return Native(pending, tuple(argument.name for argument in arguments), arrays=False)


def compute(call: Callable[..., RewriteResult], *arguments: Bound) -> Native:
    """`call` on what its arguments are: constants as `Constant`, values as they are, properties decoded."""
    return Native(call, tuple(argument.name for argument in arguments), arrays=False)


def show(part: OperandSpec | Native) -> str:
    """A part as it is written in a rule."""
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
    """A property as it is written in a rule."""
    return given.name if isinstance(given, AttrName) else str(given)
