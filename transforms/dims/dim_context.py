"""What a rule of the dimension analysis sees of its op, and the tables of all rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from xonnc.transforms.dims.expressions import DimExpr, DimSymbols
from xonnc.transforms.shapes.inference_context import InferenceContext, Shape

DimExprs: TypeAlias = tuple[DimExpr, ...]
"""The sizes of a tensor."""


class Element(NamedTuple):
    """An integer in a tensor, and whether it is a size: then it is neither negative nor a placeholder."""

    expr: DimExpr
    is_size: bool


def integer(expr: DimExpr, is_size: bool) -> Element:
    """An integer that is a size if it is said to be, or is a number that could be one."""
    return Element(expr, is_size or (expr.number is not None and expr.number >= 0))


Elements: TypeAlias = tuple[Element, ...]
"""The integers in a tensor of rank 0 or 1."""


class ShapeFacts(Protocol):
    """What the analysis knows so far."""

    symbols: DimSymbols

    def sizes(self, value: SSAValue) -> DimExprs | None:
        """The sizes of a value, `None` if its rank is unknown."""
        ...

    def elements(self, value: SSAValue) -> Elements | None:
        """The integers in a value, `None` if their number is unknown or large."""
        ...

    def integers(self, value: SSAValue) -> Shape | None:
        """The integers in a value as numbers, `UNKNOWN` for what is none."""
        ...

    def note(self, value: SSAValue, found: Partly | None = None) -> DimExprs:
        """Sets the sizes of a value to what its type says, then to what was found."""
        ...


@dataclass(frozen=True)
class DimContext:
    """One op under analysis; operands are addressed by place."""

    op: Operation
    facts: ShapeFacts
    equal: list[tuple[DimExpr, DimExpr]]
    """Sizes that must be equal, or the model fails; the rules add to it."""

    @cached_property
    def shape_ctx(self) -> InferenceContext:
        """The op as shape inference sees it: its properties and constants."""
        return InferenceContext(self.op, self.facts.integers)

    @property
    def symbols(self) -> DimSymbols:
        """The symbols of the analysis."""
        return self.facts.symbols

    def sizes(self, place: int) -> DimExprs | None:
        """The sizes of an operand, `None` if it is absent or its rank is unknown."""
        return self.facts.sizes(self.op.operands[place]) if self.shape_ctx.has(place) else None

    def elements(self, place: int) -> Elements | None:
        """The integers in an operand."""
        return self.facts.elements(self.op.operands[place]) if self.shape_ctx.has(place) else None

    def unknown(self, place: int, of: int = 0) -> Element:
        """An integer of a result of which nothing is known."""
        return Element(self.symbols.symbol(("element", self.op.results[of], place)), is_size=False)

    def all_sizes(self) -> list[DimExprs] | None:
        """The sizes of all operands that are there, `None` if a rank is unknown."""
        found = [self.sizes(place) for place in range(len(self.op.operands)) if self.shape_ctx.has(place)]
        known = [sizes for sizes in found if sizes is not None]
        return known if len(known) == len(found) else None

    def axis(self, rank: int, default: int = 0, name: str = "axis") -> int:
        """An axis property, counted from the front; an error if there is no such axis."""
        return self.shape_ctx.axis(self.shape_ctx.integer(name, default), rank)

    def broadcast(self, shapes: Sequence[DimExprs]) -> DimExprs:
        """The sizes of operands that broadcast together."""
        if all(shape == shapes[0] for shape in shapes[1:]):
            return shapes[0] if shapes else ()
        rank = max((len(shape) for shape in shapes), default=0)
        return tuple(
            self.symbols.broadcast(shape[axis] for shape in shapes if len(shape) >= -axis)
            for axis in range(-rank, 0)
        )


Partly: TypeAlias = Sequence[DimExpr | None]
"""Sizes as far as they follow."""
SizesRule: TypeAlias = Callable[[DimContext], Sequence[Partly | None]]
"""The sizes of each result, `None` where nothing follows; results left out are unknown."""
ElementsRule: TypeAlias = Callable[[DimContext], Sequence[Elements | None]]
"""The integers in each result."""

SIZES: dict[str, SizesRule] = {}
"""The rule for the sizes of each op's results, by its name without the dialect."""
ELEMENTS: dict[str, ElementsRule] = {}
"""The rule for the integers in each op's results."""

_SizesT = TypeVar("_SizesT", bound=SizesRule)
_ElementsT = TypeVar("_ElementsT", bound=ElementsRule)


def sizes_of(*names: str) -> Callable[[_SizesT], _SizesT]:
    """Registers the rule for the sizes of some ops."""

    def register(rule: _SizesT) -> _SizesT:
        for name in names:
            if name in SIZES:
                raise ValueError(f"{name} has two rules for its sizes")
            SIZES[name] = rule
        return rule

    return register


def elements_of(*names: str) -> Callable[[_ElementsT], _ElementsT]:
    """Registers the rule for the integers in some ops."""

    def register(rule: _ElementsT) -> _ElementsT:
        for name in names:
            if name in ELEMENTS:
                raise ValueError(f"{name} has two rules for its integers")
            ELEMENTS[name] = rule
        return rule

    return register
