"""
Symbolic dimension analysis: which dimensions are equal, or differ by a constant (docs/internals/onnx-rules.md
§6.6).

Every dynamic dimension gets a symbolic expression in one walk from the arguments. Dimensions that a valid op
requires to be equal are equated; the walk is repeated while that adds equalities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import is_ranked
from xonnc.transforms.dims.bodies import enter_body
from xonnc.transforms.dims.expressions import DimExpr
from xonnc.transforms.dims.functions import call_function, enter_function, leave_function, names_of, returned
from xonnc.transforms.dims.shape_analysis import ShapeAnalysis
from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext

MAX_WALKS = 4
"""Limit of walks over a function; each after the first needs a new equality."""


@dataclass(frozen=True)
class Member:
    """A dynamic dimension and its equivalence class."""

    value: SSAValue
    axis: int
    group: int


class DimAnalysis(ShapeAnalysis):
    """
    The dimensions of all values in `root`.

    Results hold for every run that succeeds. Named input dimensions are trusted; the name of a result
    dimension counts only if nothing else is known of it. An element of a Reshape target is assumed not to be
    0, which would copy a dimension (as onnx-mlir does).
    """

    def __init__(
        self,
        root: Operation,
        is_thorough: bool = False,
        max_walks: int = MAX_WALKS,
        may_assume: bool = False,
    ) -> None:
        """
        With `may_assume`, dividends are assumed not to be negative, and sizes that become floats not to be
        large (`symbols.assumed_sizes`).
        """
        super().__init__(is_thorough)
        self.symbols.may_assume = may_assume
        self._functions = [op for op in root.walk() if isinstance(op, FuncOp) and op.body.blocks]
        for function in self._functions:
            for _ in range(max_walks):
                if not self._function(function):
                    break

    def assume_equal_broadcasts(self) -> None:
        """Assume that dynamic dimensions that broadcast are equal, and analyse with these equalities."""
        for function in self._functions:
            for _ in range(MAX_WALKS):
                if not self.symbols.assume_equal_broadcasts():
                    break
                self._function(function)

    def size(self, value: SSAValue, axis: int) -> DimExpr | None:
        """Return a dimension of a value; a negative axis counts from the back."""
        sizes = self.sizes(value)
        return sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else None

    def same_dim(self, a: SSAValue, axis: int, b: SSAValue, other: int) -> bool:
        """Return whether two dimensions are known to be equal."""
        return self.offset(a, axis, b, other) == 0

    def same_shape(self, a: SSAValue, b: SSAValue) -> bool:
        """Return whether two values are known to have equal shapes."""
        sizes = self.sizes(a)
        return sizes is not None and sizes == self.sizes(b)

    def offset(self, a: SSAValue, axis: int, b: SSAValue, other: int) -> int | None:
        """Return the difference of two dimensions if it is constant, else `None`."""
        first, second = self.size(a, axis), self.size(b, other)
        return None if first is None or second is None else (first - second).number

    def members(self) -> Iterator[Member]:
        """
        Yield every dynamic dimension of arguments and op results, in textual order.

        Classes are numbered as in onnx-mlir: every dimension takes a number, function results and named
        dimensions last, and a class has its smallest.
        """
        numbers = self._numbers()
        for function in self._functions:
            yield from self._members(function.body.block.args, numbers)
            for op in function.walk():
                if op is not function:
                    yield from self._members(op.results, numbers)

    def values_that_fix_inputs(self) -> Iterator[SSAValue]:
        """
        Yield values with a static dimension that follows from a dynamic dimension of an argument.

        No operator requires the dimension to be constant: only the type of the value says so. They are known
        to a thorough analysis only.
        """
        if not self.assumed:
            return
        arguments = [argument for function in self._functions for argument in function.body.block.args]
        sizes = [self.size(argument, axis) for argument, axis in _dynamic(arguments)]
        symbols = frozenset(symbol for size in sizes if size is not None for symbol in size.symbols)
        for value, size in self.assumed:
            if self.symbols.depends(size, symbols):
                yield value

    def _members(self, values: Sequence[SSAValue], numbers: dict[DimExpr, int]) -> Iterator[Member]:
        for value, axis in _dynamic(values):
            size = self.size(value, axis)
            if size is not None:
                yield Member(value, axis, numbers[size])

    def _numbers(self) -> dict[DimExpr, int]:
        numbers: dict[DimExpr, int] = {}
        taken = 0
        for function in self._functions:
            inner = [result for op in _post_order(function) for result in op.results]
            ends = [(value, names) for value, names in _named(function) if is_ranked(value.type)]
            found = [self.size(value, axis) for value, axis in _dynamic(inner)]
            found += [
                self.size(value, axis)
                for value, names in ends
                for _, axis in _dynamic([value])
                if axis not in names
            ]
            names = {
                name: self.size(value, axis)
                for value, known in ends
                for axis, name in known.items()
                if (value, axis) in set(_dynamic([value]))
            }
            found += [names[name] for name in sorted(names)]
            for size in found:
                if size is not None:
                    numbers.setdefault(size, taken)
                    taken += 1
        return numbers

    def _function(self, function: FuncOp) -> bool:
        """Walk over a function once; return whether a new equality calls for another walk."""
        parameters = enter_function(function, self)
        learned = self._block(function.body.block, certain=True)
        leave_function(function, parameters, self)
        return learned

    def _block(self, block: Block, certain: bool) -> bool:
        """Walk over a block; `certain` says whether it runs whenever the function does."""
        learned = False
        for op in block.ops:
            if op.regions and isinstance(op, OnnxOp):
                enter_body(InferenceContext(op, self.integers), self)
            for region in op.regions:
                for inner in region.blocks:
                    learned |= self._block(inner, certain=False)
            call_function(op, self)
            if isinstance(op, OnnxOp) and op.results:
                _, equal = self.learn(op)
                for left, right in equal:
                    learned |= certain and self.symbols.equate(left, right)
        return learned


def _named(function: FuncOp) -> Iterator[tuple[SSAValue, dict[int, str]]]:
    """Yield arguments and returned values with their dimension names."""
    yield from names_of(function.body.block.args, function.arg_attrs)
    yield from names_of(returned(function), function.res_attrs)


def _dynamic(values: Sequence[SSAValue]) -> Iterator[tuple[SSAValue, int]]:
    """Yield the dynamic dimensions of values."""
    for value in values:
        if is_ranked(value.type):
            for axis, size in enumerate(value.type.get_shape()):
                if size == UNKNOWN:
                    yield value, axis


def _post_order(root: Operation) -> Iterator[Operation]:
    """Yield the ops nested in an op in post-order."""
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from _post_order(op)
                yield op
