"""Ranges of a function's values, from a calibration table by value name or node name."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.func import FuncOp
from xdsl.ir import OpResult, SSAValue

from xonnc.dialects.onnx.interface_names import argument_names, given_names
from xonnc.dialects.onnx.locations import describe, node_name, output_names
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.formats.nvdla.calibration import Range, Ranges


class ValueRanges:
    """The ranges of the values of one function; `set` overrides the table."""

    def __init__(self, function: FuncOp, ranges: Ranges):
        self._names = _interface_names(function)
        self._ranges = ranges
        self._own: dict[SSAValue, Range] = {}

    def of_copy(self, function: FuncOp, values: Mapping[SSAValue, SSAValue]) -> ValueRanges:
        """Return the ranges of a copy of the function; `values` maps the values of this one to its own."""
        copy = ValueRanges(function, self._ranges)
        copy._own = {values.get(value, value): found for value, found in self._own.items()}
        return copy

    def of(self, value: SSAValue) -> Range | None:
        """Return the range of a value, or `None`."""
        if value in self._own:
            return self._own[value]
        node = node_name(value.op) if isinstance(value, OpResult) else ""
        return self._ranges.get(self.name(value)) or self._ranges.get(node)

    def set(self, value: SSAValue, found: Range) -> None:
        """Override the range of a value."""
        self._own[value] = found

    def name(self, value: SSAValue) -> str:
        """Return the name of a value."""
        if value in self._names or not isinstance(value, OpResult):
            return self._names[value]
        names = output_names(value.op)
        return names[value.index] if value.index < len(names) else describe(value.op)


def _interface_names(function: FuncOp) -> dict[SSAValue, str]:
    """Return the names of arguments and returned values."""
    end = function.body.block.last_op
    output = end.operands if isinstance(end, ReturnOp) else ()
    names = zip(output, given_names(function.res_attrs, len(output)), strict=True)
    found: dict[SSAValue, str] = {}
    for value, name in names:
        if name:
            found.setdefault(value, name)
    return found | dict(zip(function.body.block.args, argument_names(function), strict=True))
