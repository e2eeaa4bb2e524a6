"""The context of dimension rules, and their registries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.types import is_ranked
from xonnc.transforms.dims.expressions import DimExpr, DimSymbols
from xonnc.transforms.shapes.inference_context import UNKNOWN, Dim, Dims, InferenceContext, Shape, form

DimExprs: TypeAlias = tuple[DimExpr, ...]
"""The symbolic dimensions of a tensor."""


class Element(NamedTuple):
    """An integer element; `is_size` if it is a dimension, hence not negative and not a -1 placeholder."""

    expr: DimExpr
    is_size: bool


def integer(expr: DimExpr, is_size: bool) -> Element:
    """Return an element; a non-negative constant counts as a dimension."""
    return Element(expr, is_size or (expr.number is not None and expr.number >= 0))


Elements: TypeAlias = tuple[Element, ...]
"""The elements of an integer tensor of rank 0 or 1."""


class ShapeFacts(Protocol):
    """The state of the analysis, as rules use it."""

    symbols: DimSymbols

    def sizes(self, value: SSAValue) -> DimExprs | None:
        """Return the dimensions of a value, or `None` if its rank is unknown."""
        ...

    def elements(self, value: SSAValue) -> Elements | None:
        """Return the integer elements of a value, or `None` if their number is unknown or large."""
        ...

    def integers(self, value: SSAValue) -> Shape | None:
        """Return the constant integer elements of a value, `UNKNOWN` for others."""
        ...

    def note(self, value: SSAValue, found: Partly | None = None) -> DimExprs:
        """Set the dimensions of a value from its type, then from `found`."""
        ...


@dataclass(frozen=True)
class DimContext(InferenceContext):
    """An op under dimension analysis, which leaves the op as it is; operands are addressed by index."""

    facts: ShapeFacts = field(kw_only=True)
    equal: list[tuple[DimExpr, DimExpr]] = field(kw_only=True, default_factory=list[tuple[DimExpr, DimExpr]])
    """Dimensions that must be equal for the op to be valid; rules append to it."""

    @property
    def symbols(self) -> DimSymbols:
        """Return the symbols of the analysis."""
        return self.facts.symbols

    def sizes(self, index: int) -> DimExprs | None:
        """Return the dimensions of an operand, or `None` if it is absent or of unknown rank."""
        return self.facts.sizes(self.op.operands[index]) if self.has(index) else None

    def dims_of(self, value: SSAValue) -> Dims | None:
        """Return the dimensions of a value: those static in its type as numbers."""
        shape = value.type.get_shape() if is_ranked(value.type) else None
        if shape is not None and UNKNOWN not in shape:
            return shape
        sizes = self.facts.sizes(value)
        if sizes is None or shape is None:
            return sizes
        pairs = zip(sizes, shape, strict=True)
        return tuple(size if static == UNKNOWN else static for size, static in pairs)

    def elements(self, index: int) -> Elements | None:
        """Return the integer elements of an operand."""
        return self.facts.elements(self.op.operands[index]) if self.has(index) else None

    def elements_of(self, value: SSAValue) -> Dims | None:
        """Return the elements of an integer tensor."""
        found = self.facts.elements(value)
        return None if found is None else tuple(_value(element) for element in found)

    def values(self, index: int) -> Dims | None:
        """Return the elements of an integer operand."""
        return self.elements_of(self.op.operands[index]) if self.has(index) else None

    def known_sizes(self, index: int) -> Dims | None:
        """Return the elements of an integer operand, `UNKNOWN` for symbols that may be negative."""
        found = self.elements(index)
        if found is None:
            return None
        return tuple(
            UNKNOWN if isinstance(value := _value(element), DimExpr) and not element.is_size else value
            for element in found
        )

    def unknown(self, index: int, of: int = 0) -> Element:
        """Return a new symbol for an element of a result."""
        return Element(self.symbols.symbol(("element", self.op.results[of], index)), is_size=False)

    def set(self, name: str, given: int | str | Sequence[int]) -> None:
        """Leave properties as they are: attributes for them would cost more than the rule."""

    def write(self, name: str, given: Attribute) -> None:
        """Leave properties as they are."""

    def equate(self, left: Dim, right: Dim) -> None:
        """Note that two dimensions are equal if the op is valid."""
        if UNKNOWN not in (left, right):
            self.equal.append((form(left), form(right)))

    def broadcast(self, shapes: Sequence[Dims], titles: Callable[[], Sequence[str]]) -> Dims:
        """Return the broadcast of dimensions; shape inference has checked the static ones."""
        if all(shape == shapes[0] for shape in shapes[1:]):
            return shapes[0] if shapes else ()
        rank = max(len(shape) for shape in shapes)
        columns = ([shape[axis] for shape in shapes if len(shape) >= -axis] for axis in range(-rank, 0))
        return tuple(self._broadcast_dim(column) for column in columns)

    def _broadcast_dim(self, column: Sequence[Dim]) -> Dim:
        known = [form(dim) for dim in column if dim != UNKNOWN]
        found = self.symbols.broadcast(known)
        if len(known) == len(column) or found.number not in (None, 1):
            return found
        return UNKNOWN


def _value(element: Element) -> Dim:
    return element.expr if element.expr.number is None else element.expr.number


Partly: TypeAlias = Sequence[DimExpr | None]
"""Dimensions, `None` where unknown."""
SizesRule: TypeAlias = Callable[[DimContext], Sequence[Partly | None]]
"""Return the dimensions of each result, `None` if unknown; missing results are unknown."""
ElementsRule: TypeAlias = Callable[[DimContext], Sequence[Elements | None]]
"""Return the integer elements of each result."""

SIZES: dict[str, SizesRule] = {}
"""Rule for result dimensions, by op name without the dialect."""
ELEMENTS: dict[str, ElementsRule] = {}
"""Rule for integer result elements, by op name without the dialect."""

_SizesT = TypeVar("_SizesT", bound=SizesRule)
_ElementsT = TypeVar("_ElementsT", bound=ElementsRule)


def sizes_of(*names: str) -> Callable[[_SizesT], _SizesT]:
    """Register the rule for the dimensions of some ops."""

    def register(rule: _SizesT) -> _SizesT:
        for name in names:
            if name in SIZES:
                raise ValueError(f"{name} has two rules for its sizes")
            SIZES[name] = rule
        return rule

    return register


def elements_of(*names: str) -> Callable[[_ElementsT], _ElementsT]:
    """Register the rule for the elements of some ops."""

    def register(rule: _ElementsT) -> _ElementsT:
        for name in names:
            if name in ELEMENTS:
                raise ValueError(f"{name} has two rules for its integers")
            ELEMENTS[name] = rule
        return rule

    return register
