"""Symbolic sizes of a function's values, and the ops at its start that compute them at run time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import RequireOp
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.interface_names import argument_names
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvIntegerOp, ConvOp, MaxPoolOp, QLinearConvOp
from xonnc.dialects.onnx.types import is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    SymbolicSize,
    is_static,
    size_of_form,
    volume,
)
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.expressions import BroadcastDim, DimExpr, FloorDiv, MinMax
from xonnc.transforms.dims.symbol_names import NamedDimension

INDEX = IndexType()

WINDOW_OPS = (AveragePoolOp, ConvIntegerOp, ConvOp, MaxPoolOp, MaxPoolSingleOutOp, QLinearConvOp)
"""Operators whose windows must fit into the padded input."""


class DynamicShapes:
    """
    The sizes of a function's values as expressions of its arguments' sizes.

    Dimensions of the same name are assumed equal, and so are those that operators require to be. Ops at the
    start of the function check this (`krnl.require`); a run whose inputs do not fit fails.

    With `may_assume`, so are dimensions that operators broadcast, and sizes that are divided are assumed not
    to be negative: a session compiles a program of its own for inputs where that is wrong.
    """

    def __init__(self, function: FuncOp, may_assume: bool) -> None:
        self._dims = DimAnalysis(function, is_thorough=True, may_assume=may_assume)
        self._block = function.body.block
        self._names = argument_names(function)
        self._origins: dict[int, tuple[SSAValue, int]] = {}
        self._named: dict[int, DimExpr] = {}
        """Definitions of named dimensions of results that are no argument's."""
        self._made: dict[DimExpr, SSAValue] = {}
        self._numbers: dict[int, SSAValue] = {}
        self._required: set[DimExpr] = set()
        self._learned = set(function.walk())
        self._last: Operation | None = None
        self._forms = [self._dims.noted(argument) for argument in self._block.args]
        """Dimensions of the arguments before dimensions that broadcast are assumed equal."""
        for argument, forms in zip(self._block.args, self._forms, strict=True):
            for axis, form in enumerate(forms):
                if form.symbol is not None:
                    self._origins.setdefault(form.symbol, (argument, axis))
        if may_assume:
            self._dims.assume_equal_broadcasts()

    def of(self, value: SSAValue) -> tuple[Size, ...] | None:
        """Return the sizes of a value; None if one cannot be computed from those of the arguments."""
        self._learn(value)
        return self._sizes_of(self._dims.sizes(value))

    def elements(self, value: SSAValue) -> tuple[Size, ...] | None:
        """
        Return the integers of a scalar or vector; None if one cannot be computed from sizes of the arguments.
        """
        self._learn(value)
        found = self._dims.elements(value)
        return None if found is None else self._sizes_of([each.expr for each in found])

    def _learn(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Operation) and owner not in self._learned:
            # An op created by a rewrite after the analysis.
            self._learned.add(owner)
            if isinstance(owner, OnnxOp):
                for operand in owner.operands:
                    self._learn(operand)
                self._dims.learn(owner)

    def _sizes_of(self, forms: Sequence[DimExpr] | None) -> tuple[Size, ...] | None:
        if forms is None or not all(map(self._is_computable, forms)):
            return None
        return tuple(size_of_form(form, self._dims.symbols) for form in forms)

    def _is_computable(self, form: DimExpr, around: frozenset[int] = frozenset()) -> bool:
        """
        Whether an expression can be computed from the sizes of the arguments, without the symbols `around`.
        """
        for symbol in form.symbols:
            if symbol in self._origins:
                continue
            if symbol in around:
                return False
            if symbol in self._named:
                parts: Sequence[DimExpr] = [self._named[symbol]]
            else:
                match self._dims.symbols.key(symbol):
                    case FloorDiv(inner, _):
                        parts = [inner]
                    case MinMax(_, bounds) | BroadcastDim(bounds):
                        parts = list(bounds)
                    case _:
                        return False
            if any(self._computable(part, around | {symbol}) is None for part in parts):
                return False
        return True

    def _computable(self, form: DimExpr, around: frozenset[int] = frozenset()) -> DimExpr | None:
        """
        Return an expression as it is if it can be computed, else by its representative if that can.

        That of H may be 2 floor(H / 2), whose meaning has H.
        """
        resolved = self._dims.symbols.resolve(form)
        return next((each for each in (form, resolved) if self._is_computable(each, around)), None)

    def _inner(self, form: DimExpr) -> SSAValue:
        """Return an expression in the meaning of a computable symbol as an SSA value."""
        found = self._computable(form)
        assert found is not None
        return self.value(found)

    def require_equal(self) -> bool:
        """
        Emit run-time checks of sizes that were assumed equal; whether all can be computed.

        They are sizes of the same name, and those that operators require to be equal.
        """
        for argument, name, forms in zip(self._block.args, self._names, self._forms, strict=True):
            for axis, form in enumerate(forms):
                is_origin = form.symbol is not None and self._origins.get(form.symbol) == (argument, axis)
                if is_origin or not _is_dynamic(argument, axis):
                    continue
                if not self._is_computable(form):
                    return False
                self._require(self._dim(argument, axis), self.value(form), f"axis {axis} of input '{name}'")
        self._require_windows()
        for form in self._dims.symbols.assumed_sizes:
            # No size depends on others: what cannot be computed is the size of no kernel.
            if self._is_computable(form):
                size = size_of_form(form, self._dims.symbols)
                self.at_most(
                    0, size, "a size is at least 0, and small enough for floats that it is computed with"
                )
        return all(self._settle(*pair) for pair in self._dims.symbols.equated)

    def _require_windows(self) -> None:
        """
        Emit run-time checks that windows fit into images of dynamic size.

        Rounded down, the number of windows would be 0 for an image that lacks less than a stride.
        """
        for op in self._block.ops:
            if not isinstance(op, WINDOW_OPS) or op.auto_pad.data.startswith("SAME"):
                continue
            sizes = self.of(op.operands[0])
            kernel = int_values(op.kernel_shape) or (static_shape(op.operands[1].type) or ())[2:]
            if sizes is None or len(sizes) - 2 != len(kernel):
                continue
            given = int_values(op.pads) if op.auto_pad.data == "NOTSET" else None
            pads, dilations = (
                given or (0,) * (2 * len(kernel)),
                int_values(op.dilations) or (1,) * len(kernel),
            )
            for axis, (size, length, dilation) in enumerate(zip(sizes[2:], kernel, dilations, strict=True)):
                span = (length - 1) * dilation + 1
                padded = size + (pads[axis] + pads[axis + len(kernel)])
                if not is_static(size) and span > 1:
                    self.at_most(span, padded, f"{describe(op)}: a window of {span} on axis {axis + 2}")

    def _settle(self, left: DimExpr, right: DimExpr) -> bool:
        """Emit a run-time check that two expressions are equal; whether they can be computed."""
        for one, other in ((left, right), (right, left)):
            lone = one.symbol
            if lone is not None and lone not in self._named and self._is_name(lone):
                self._named[lone] = other
                return True
        if not self._is_computable(left) or not self._is_computable(right):
            return False
        self._require(self.value(left), self.value(right), "a size that follows from those of the inputs")
        return True

    def _is_name(self, symbol: int) -> bool:
        return symbol not in self._origins and isinstance(self._dims.symbols.key(symbol), NamedDimension)

    def same_volume(self, one: Sequence[Size], other: Sequence[Size], op: Operation) -> None:
        """Emit a run-time check that two shapes have the same number of elements."""
        counts = volume(one), volume(other)
        if counts[0] != counts[1]:
            found, expected = map(self.of_size, counts)
            self._require(found, expected, f"{describe(op)}: the number of elements")

    def at_most(self, size: Size, limit: Size, what: str) -> None:
        """Emit a run-time check of a size, unless both are static."""
        if size != limit and not (is_static(size) and is_static(limit)):
            found = self.of_size(size)
            self._require(found, self._add(arith.MinSIOp(found, self.of_size(limit))), what)

    def _require(self, found: SSAValue, expected: SSAValue, what: str) -> None:
        if found is not expected:
            self._add(RequireOp(operands=[found, expected], properties={"what": StringAttr(what)}))

    def is_cut(self, size: Size, full_size: Size) -> bool:
        """
        Whether `size` is `min(full_size, constant)`; if so, check at run time that it equals `full_size`.

        This is the shape of a slice of a table with a constant number of rows (such as position embeddings),
        which is then broadcast against the unsliced size.
        """
        if (
            not isinstance(size, SymbolicSize)
            or not isinstance(full_size, SymbolicSize)
            or size.form.symbol is None
        ):
            return False
        key = self._dims.symbols.key(size.form.symbol)
        if not isinstance(key, MinMax) or not key.is_min:
            return False
        bounds = {self._dims.symbols.resolve(bound) for bound in key.of}
        numbers = [bound.constant for bound in bounds if bound.number is not None]
        if full_size.form not in bounds or not numbers or min(numbers) < 2:
            return False
        if size.form not in self._required:
            self._required.add(size.form)
            what = f"a size of at most {min(numbers)}"
            self._require(self.value(full_size.form), self.value(size.form), what)
        return True

    def value(self, form: DimExpr) -> SSAValue:
        """Return an expression as an SSA value."""
        if form not in self._made:
            self._made[form] = self._computed(form)
        return self._made[form]

    def of_size(self, size: Size) -> SSAValue:
        """Return a size as an SSA value."""
        return self.value(size.form if isinstance(size, SymbolicSize) else DimExpr(size))

    def _computed(self, form: DimExpr) -> SSAValue:
        total: SSAValue | None = self._number(form.constant) if form.constant or not form.terms else None
        for monomial, coefficient in form.terms:
            part: SSAValue | None = None if coefficient == 1 else self._number(coefficient)
            for symbol in monomial:
                factor = self._symbol(symbol)
                part = factor if part is None else self._add(arith.MuliOp(part, factor))
            assert part is not None
            total = part if total is None else self._add(arith.AddiOp(total, part))
        assert total is not None
        return total

    def _symbol(self, symbol: int) -> SSAValue:
        lone = DimExpr(0, (((symbol,), 1),))
        if lone not in self._made:
            self._made[lone] = self._of_symbol(symbol)
        return self._made[lone]

    def _of_symbol(self, symbol: int) -> SSAValue:
        if symbol in self._origins:
            return self._dim(*self._origins[symbol])
        if symbol in self._named:
            return self._inner(self._named[symbol])
        symbols = self._dims.symbols
        key = symbols.key(symbol)
        if isinstance(key, FloorDiv):
            return self._add(arith.FloorDivSIOp(self._inner(key.expr), self._number(key.divisor)))
        assert isinstance(key, MinMax | BroadcastDim)
        first, *others = (self._inner(bound) for bound in sorted(key.of, key=repr))
        if isinstance(key, BroadcastDim):
            # All are equal: `assume_equal_broadcasts` equated each with this one.
            return first
        kind = arith.MinSIOp if key.is_min else arith.MaxSIOp
        for other in others:
            first = self._add(kind(first, other))
        return first

    def _dim(self, argument: SSAValue, axis: int) -> SSAValue:
        return self._add(tensor.DimOp(argument, self._number(axis)))

    def _number(self, value: int) -> SSAValue:
        if value not in self._numbers:
            self._numbers[value] = self._add(arith.ConstantOp(IntegerAttr(value, INDEX), INDEX))
        return self._numbers[value]

    def _add(self, op: Operation) -> SSAValue:
        if self._last is None:
            first = self._block.first_op
            assert first is not None
            self._block.insert_op_before(op, first)
        else:
            self._block.insert_op_after(op, self._last)
        self._last = op
        return op.results[0] if op.results else op.operands[0]


def _is_dynamic(value: SSAValue, axis: int) -> bool:
    return is_ranked(value.type) and value.type.get_shape()[axis] == DYNAMIC_INDEX
