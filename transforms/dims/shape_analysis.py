"""What is known of sizes, and of the integers in small tensors, as exprs over symbols."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked
from xonnc.transforms.dims import (
    arithmetic,
    contraction,
    control_flow,
    element_values,
    elementwise,
    movement,
    windows,
)
from xonnc.transforms.dims.dim_context import ELEMENTS, SIZES, DimContext, DimExprs, Element, Elements, Partly
from xonnc.transforms.dims.expressions import DimExpr, DimSymbols, number
from xonnc.transforms.shapes.inference_context import UNKNOWN, Shape

THEMES = (arithmetic, element_values, contraction, control_flow, elementwise, movement, windows)
"""The modules whose rules are in `SIZES` and `ELEMENTS`."""

INTEGERS = (i1, i32, i64)
"""Elements that sizes fit into, and what is said of sizes."""

DEPTH = 8
"""How many ops back an integer is sought that no walk has come by."""


class ShapeAnalysis:
    """
    Sizes and integers of the values of one module.

    Ops are learned in the order in which they stand. Of a value whose op was not learned, sizes are what its
    type says, and integers are sought a few ops back.
    """

    def __init__(self, is_thorough: bool = False) -> None:
        """
        If it `is_thorough`, ops whose results have known sizes are learned too, for what they ask of others.

        What a type says of a size, and a rule does not, is noted as equal then: the type may follow from what
        is done to the value, which a run can break.
        """
        self._is_thorough = is_thorough
        self.symbols = DimSymbols()
        self._sizes: dict[SSAValue, DimExprs] = {}
        self._elements: dict[SSAValue, Elements | None] = {}
        self._depth = DEPTH

    def sizes(self, value: SSAValue) -> DimExprs | None:
        """The sizes of a value, `None` if its rank is unknown."""
        known = self._sizes.get(value)
        if known is None:
            if not is_ranked(value.type):
                return None
            known = self.note(value)
        return tuple(self.symbols.resolve(size) for size in known)

    def noted(self, value: SSAValue) -> DimExprs:
        """The sizes of a value as they were before anything was found to be equal; none of unknown rank."""
        return self._sizes.get(value, ())

    def elements(self, value: SSAValue) -> Elements | None:
        """The integers in a value of rank 0 or 1, `None` if their number is unknown or large."""
        if value in self._elements:
            known = self._elements[value]
        elif not holds_integers(value):
            return None
        else:
            known = self._sought(value)
        if known is not None:
            return tuple(Element(self.symbols.resolve(expr), is_size) for expr, is_size in known)
        count = self._count(value)
        if count is None or count > element_values.MAX_ELEMENTS:
            return None
        return tuple(
            Element(self.symbols.symbol(("element", value, place)), is_size=False) for place in range(count)
        )

    def integers(self, value: SSAValue) -> Shape | None:
        """The integers in a value as numbers, `UNKNOWN` for what is none; `None`: how many?"""
        found = self.elements(value)
        if found is None:
            return None
        return tuple(UNKNOWN if expr.number is None else expr.number for expr, _ in found)

    def note(self, value: SSAValue, found: Partly | None = None) -> DimExprs:
        """
        Sets the sizes of a value: what its type says, then what was found.

        Every other dimension gets a symbol of its own. The value must be of known rank.
        """
        assert is_ranked(value.type)
        shape = value.type.get_shape()
        if found is None or len(found) != len(shape):
            found = (None,) * len(shape)
        if self._is_thorough:
            for static, size in zip(shape, found, strict=True):
                if static != UNKNOWN and size is not None and size.number != static:
                    self.symbols.equated.append((size, number(static)))
        made = tuple(
            number(static)
            if static != UNKNOWN
            else size
            if size is not None
            else self.symbols.symbol(("size", value, axis))
            for axis, (static, size) in enumerate(zip(shape, found, strict=True))
        )
        self._sizes[value] = made
        return made

    def learn(self, op: Operation) -> tuple[Sequence[Partly | None], Sequence[tuple[DimExpr, DimExpr]]]:
        """
        Finds the sizes and integers of an op's results.

        Gives the sizes as far as a rule found them, and which sizes must be equal or the model fails.
        """
        name = op.name.removeprefix("onnx.")
        ctx = DimContext(op, self, [])
        found: Sequence[Partly | None] = ()
        if name in SIZES and (self._is_thorough or not all(is_static(result) for result in op.results)):
            found = SIZES[name](ctx)
        for place, result in enumerate(op.results):
            if is_ranked(result.type):
                self.note(result, found[place] if place < len(found) else None)
        for result in op.results:
            if holds_integers(result):
                self._elements.pop(result, None)
                self._sought(result)
        return found, ctx.equal

    def _sought(self, value: SSAValue) -> Elements | None:
        """The integers that the op of a value makes; they are kept."""
        op = value.owner
        rule = ELEMENTS.get(op.name.removeprefix("onnx.")) if isinstance(op, Operation) else None
        if rule is None or not isinstance(op, Operation) or not self._depth:
            return None
        self._depth -= 1
        ctx = DimContext(op, self, [])
        try:
            for place, (result, elements) in enumerate(zip(op.results, rule(ctx), strict=False)):
                self._elements[result] = (
                    _fitting(elements, ctx, place)
                    if elements is not None and self._count(result) in (None, len(elements))
                    else None
                )
        finally:
            self._depth += 1
        return self._elements.setdefault(value, None)

    def _count(self, value: SSAValue) -> int | None:
        """The number of elements of a scalar or vector."""
        if not is_ranked(value.type):
            return None
        shape = value.type.get_shape()
        if shape == (UNKNOWN,):
            sizes = self.sizes(value)
            return sizes[0].number if sizes else None
        return shape[0] if shape else 1


def _fitting(elements: Elements, ctx: DimContext, of: int) -> Elements:
    """The integers of a result; nothing is said of those that its element type wraps around."""
    bits = 32 if element_type(ctx.op.results[of].type) == i32 else 64
    return tuple(
        found
        if found.expr.number is None or -(1 << bits - 1) <= found.expr.number < 1 << bits - 1
        else ctx.unknown(place, of)
        for place, found in enumerate(elements)
    )


def holds_integers(value: SSAValue) -> bool:
    """Whether a value may hold sizes: integers or truths, of rank 0 or 1 or unknown."""
    if element_type(value.type) not in INTEGERS:
        return False
    return not is_ranked(value.type) or len(value.type.get_shape()) <= 1


def is_static(value: SSAValue) -> bool:
    """Whether the type says all of the shape."""
    return is_ranked(value.type) and UNKNOWN not in value.type.get_shape()
