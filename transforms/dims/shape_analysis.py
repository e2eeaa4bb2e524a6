"""Symbolic shapes of values, and symbolic elements of small integer tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked
from xonnc.transforms.dims import (
    arithmetic,
    contraction,
    data_movement,
    element_values,
    elementwise,
    windows,
)
from xonnc.transforms.dims.dim_context import (
    ELEMENTS,
    SIZES,
    DimContext,
    DimExprs,
    Element,
    Elements,
    Partly,
)
from xonnc.transforms.dims.expressions import DimExpr, DimSymbols, number
from xonnc.transforms.shapes import (
    attention,
    control_flow,
    convolution,
    custom,
    einsum,
    extra,
    ml_operators,
    reduction,
    resampling,
    sequences,
    slicing,
)
from xonnc.transforms.shapes import data_movement as data_movement_shapes
from xonnc.transforms.shapes import elementwise as elementwise_shapes
from xonnc.transforms.shapes.inference_context import (
    SHAPE_FUNCTIONS,
    SYMBOLIC,
    UNKNOWN,
    InferredType,
    Shape,
    SymbolicShape,
    form,
)

THEMES = (
    arithmetic,
    element_values,
    contraction,
    elementwise,
    data_movement,
    windows,
)
"""Modules whose rules are registered in `SIZES` and `ELEMENTS`."""

SHAPE_THEMES = (
    attention,
    control_flow,
    convolution,
    custom,
    einsum,
    data_movement_shapes,
    elementwise_shapes,
    extra,
    ml_operators,
    reduction,
    resampling,
    sequences,
    slicing,
)
"""Modules whose functions are registered in `SHAPE_FUNCTIONS`."""

INTEGERS = (i1, i32, i64)
"""Element types of shape tensors and of conditions on them."""

DEPTH = 8
"""Ops to follow backwards for elements of a value whose op was not analysed."""


class ShapeAnalysis:
    """
    Symbolic shapes and shape-tensor elements of one module.

    Ops are analysed in textual order (`learn`). For other values, dimensions come from the type and elements
    from a few defining ops.
    """

    def __init__(self, is_thorough: bool = False) -> None:
        """
        With `is_thorough`, ops of static result shapes are analysed too, for the equalities that they
        require.

        A static dimension that no rule derives is then recorded as an equality: the type may rest on an
        assumption that a run can violate.
        """
        self._is_thorough = is_thorough
        self.symbols = DimSymbols()
        self.assumed: list[tuple[SSAValue, DimExpr]] = []
        """Values with a static dimension for which a rule derived a symbolic one (only if thorough)."""

        self._sizes: dict[SSAValue, DimExprs] = {}
        self._elements: dict[SSAValue, Elements | None] = {}
        self._depth = DEPTH

    def sizes(self, value: SSAValue) -> DimExprs | None:
        """Return the dimensions of a value, or `None` if its rank is unknown."""
        known = self._sizes.get(value)
        if known is None:
            if not is_ranked(value.type):
                return None
            known = self.note(value)
        return tuple(self.symbols.resolve(size) for size in known)

    def noted(self, value: SSAValue) -> DimExprs:
        """Return the dimensions of a value before equalities; empty for unknown rank."""
        return self._sizes.get(value, ())

    def elements(self, value: SSAValue) -> Elements | None:
        """
        Return the elements of an integer tensor of rank 0 or 1, or `None` if their number is unknown or
        large.
        """
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
            Element(self.symbols.symbol(("element", value, index)), is_size=False) for index in range(count)
        )

    def integers(self, value: SSAValue) -> Shape | None:
        """
        Return the constant elements of an integer tensor, `UNKNOWN` for others; `None` if their number is
        unknown.
        """
        found = self.elements(value)
        if found is None:
            return None
        return tuple(UNKNOWN if expr.number is None else expr.number for expr, _ in found)

    def note(self, value: SSAValue, found: Partly | None = None) -> DimExprs:
        """
        Set the dimensions of a ranked value: static ones from its type, then `found`.

        Each remaining dimension gets a new symbol.
        """
        assert is_ranked(value.type)
        shape = value.type.get_shape()
        if found is None or len(found) != len(shape):
            found = (None,) * len(shape)
        if self._is_thorough:
            for static, size in zip(shape, found, strict=True):
                if static != UNKNOWN and size is not None and size.number != static:
                    self.symbols.equated.append((size, number(static)))
                    self.assumed.append((value, size))
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

    def forget(self, value: SSAValue) -> None:
        """Drop what is known of a value, whose type has become a more general one."""
        self._sizes.pop(value, None)
        self._elements.pop(value, None)

    def learn(self, op: Operation) -> tuple[Sequence[Partly | None], Sequence[tuple[DimExpr, DimExpr]]]:
        """
        Analyse the results of an op.

        Return the dimensions that its rule derived, and the pairs that must be equal for the op to be valid.
        """
        name = op.name.removeprefix("onnx.")
        ctx = DimContext(op, self.integers, facts=self)
        found: Sequence[Partly | None] = ()
        if self._is_thorough or not all(is_static(result) for result in op.results):
            if name in SYMBOLIC:
                found = [_dims(type_) for type_ in SHAPE_FUNCTIONS[name](ctx)]
            elif name in SIZES:
                found = SIZES[name](ctx)
        for index, result in enumerate(op.results):
            if is_ranked(result.type):
                self.note(result, found[index] if index < len(found) else None)
            else:
                self.forget(result)
        for result in op.results:
            if holds_integers(result):
                self._elements.pop(result, None)
                self._sought(result)
        return found, ctx.equal

    def _sought(self, value: SSAValue) -> Elements | None:
        """Compute and cache the elements of a value from its defining op."""
        op = value.owner
        rule = ELEMENTS.get(op.name.removeprefix("onnx.")) if isinstance(op, Operation) else None
        if rule is None or not isinstance(op, Operation) or not self._depth:
            return None
        self._depth -= 1
        ctx = DimContext(op, self.integers, facts=self)
        try:
            for index, (result, elements) in enumerate(zip(op.results, rule(ctx), strict=False)):
                self._elements[result] = (
                    _fitting(elements, ctx, index)
                    if elements is not None and self._count(result) in (None, len(elements))
                    else None
                )
        finally:
            self._depth += 1
        return self._elements.setdefault(value, None)

    def _count(self, value: SSAValue) -> int | None:
        """Return the number of elements of a scalar or vector."""
        if not is_ranked(value.type):
            return None
        shape = value.type.get_shape()
        if shape == (UNKNOWN,):
            sizes = self.sizes(value)
            return sizes[0].number if sizes else None
        return shape[0] if shape else 1


def _dims(type_: InferredType) -> Partly | None:
    """Return the dimensions of an inferred type."""
    if isinstance(type_, SymbolicShape):
        dims = type_.dims
    elif type_ is not None and is_ranked(type_):
        dims = type_.get_shape()
    else:
        return None
    return [None if size == UNKNOWN else form(size) for size in dims]


def _fitting(elements: Elements, ctx: DimContext, of: int) -> Elements:
    """Replace elements that would wrap in the result's element type by unknown ones."""
    bits = 32 if element_type(ctx.op.results[of].type) == i32 else 64
    return tuple(
        found
        if found.expr.number is None or -(1 << bits - 1) <= found.expr.number < 1 << bits - 1
        else ctx.unknown(index, of)
        for index, found in enumerate(elements)
    )


def holds_integers(value: SSAValue) -> bool:
    """Return whether a value may be a shape tensor: integer or boolean, rank 0, 1 or unknown."""
    if element_type(value.type) not in INTEGERS:
        return False
    return not is_ranked(value.type) or len(value.type.get_shape()) <= 1


def is_static(value: SSAValue) -> bool:
    """Return whether the shape is static."""
    return is_ranked(value.type) and UNKNOWN not in value.type.get_shape()
