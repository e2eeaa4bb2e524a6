"""The context of dimension rules, and their registries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from xonnc.transforms.dims.expressions import DimExpr, DimSymbols
from xonnc.transforms.shapes.inference_context import InferenceContext, Shape

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
class DimContext:
    """An op under dimension analysis; operands are addressed by index."""

    op: Operation
    facts: ShapeFacts
    equal: list[tuple[DimExpr, DimExpr]]
    """Dimensions that must be equal for the op to be valid; rules append to it."""

    @cached_property
    def shape_ctx(self) -> InferenceContext:
        """Return the context of shape inference: properties and constants."""
        return InferenceContext(self.op, self.facts.integers)

    @property
    def symbols(self) -> DimSymbols:
        """Return the symbols of the analysis."""
        return self.facts.symbols

    def sizes(self, place: int) -> DimExprs | None:
        """Return the dimensions of an operand, or `None` if it is absent or of unknown rank."""
        return self.facts.sizes(self.op.operands[place]) if self.shape_ctx.has(place) else None

    def elements(self, place: int) -> Elements | None:
        """Return the integer elements of an operand."""
        return self.facts.elements(self.op.operands[place]) if self.shape_ctx.has(place) else None

    def unknown(self, place: int, of: int = 0) -> Element:
        """Return a new symbol for an element of a result."""
        return Element(self.symbols.symbol(("element", self.op.results[of], place)), is_size=False)

    def all_sizes(self) -> list[DimExprs] | None:
        """Return the dimensions of all present operands, or `None` if a rank is unknown."""
        found = [self.sizes(place) for place in range(len(self.op.operands)) if self.shape_ctx.has(place)]
        known = [sizes for sizes in found if sizes is not None]
        return known if len(known) == len(found) else None

    def axis(self, rank: int, default: int = 0, name: str = "axis") -> int:
        """Return an axis property, normalised to be non-negative; raise if it is out of range."""
        return self.shape_ctx.axis(self.shape_ctx.integer(name, default), rank)

    def broadcast(self, shapes: Sequence[DimExprs]) -> DimExprs:
        """Return the broadcast of dimensions."""
        if all(shape == shapes[0] for shape in shapes[1:]):
            return shapes[0] if shapes else ()
        rank = max((len(shape) for shape in shapes), default=0)
        return tuple(
            self.symbols.broadcast(shape[axis] for shape in shapes if len(shape) >= -axis)
            for axis in range(-rank, 0)
        )


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
