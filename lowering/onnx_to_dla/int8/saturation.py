"""
The range within which elementwise functions of a value vary.

Integers for the inputs of an activation are worth most where its result changes: hard swish is 0 below -3 and
a sigmoid is 1 above 6, however far its operand's range goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.calibration import Range
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.int8.table_lookup import elementwise_function, is_elementwise

POINTS = 2048
"""Points at which a function is evaluated."""

TOLERANCE = 1 / 512
"""The change of a result, relative to its range, that counts as none: half a step of 8 bits."""

WIDEST = 0.95
"""Ranges that lose less than the rest stay as they are: every function changes little at its ends."""


def varying_range(value: SSAValue, found: Range) -> Range:
    """
    Return the part of a value's range beyond which all functions that read it are constant.

    The range stays as it is if another operator reads the value too.
    """
    points = np.linspace(found.least, found.largest, POINTS)
    results = _results(value, points)
    if not results:
        return found
    first, last = POINTS - 1, 0
    for numbers in results:
        tolerance = TOLERANCE * float(np.ptp(numbers))
        varies_after, varies_before = (
            np.flatnonzero(np.abs(numbers - end) > tolerance) for end in (numbers[0], numbers[-1])
        )
        if varies_after.size:
            first, last = min(first, int(varies_after[0]) - 1), max(last, int(varies_before[-1]) + 1)
    if first >= last or last - first > WIDEST * POINTS:
        return found
    return replace(found, least=float(points[first]), largest=float(points[last]))


def squared_slopes(value: SSAValue, points: Array) -> Array | None:
    """
    Return the sum of the squared slopes of all functions that read a value, at points in rising order;
    `None` if another operator reads it too.
    """
    results = _results(value, points)
    if not results:
        return None
    return np.asarray(sum(np.square(np.gradient(each, points)) for each in results), np.float64)


def functions_of(root: SSAValue, points: Array) -> dict[SSAValue, Array]:
    """Return the values that elementwise operators compute from `root` alone, for these values of it."""
    known: dict[SSAValue, Array] = {root: points}
    worklist = [root]
    while worklist:
        for reader in _readers(worklist.pop()):
            numbers = evaluated(reader, known)
            if numbers is not None and reader.results[0] not in known:
                known[reader.results[0]] = numbers
                worklist.append(reader.results[0])
    return known


def _results(root: SSAValue, points: Array) -> list[Array]:
    """Return the functions of `root` that other operators read; none if these read the root itself."""
    known = functions_of(root, points)
    read = {value: _readers(value) for value in known}
    leaving = [
        value
        for value, readers in read.items()
        if not readers or any(not reader.results or reader.results[0] not in known for reader in readers)
    ]
    results = [known[value] for value in leaving]
    return results if root not in leaving and all(np.all(np.isfinite(each)) for each in results) else []


def _readers(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def evaluated(reader: object, known: Mapping[SSAValue, Array]) -> Array | None:
    """Return the results of an elementwise operator; `None` for others, or with operands that are unknown."""
    if not isinstance(reader, OnnxOp) or not is_elementwise(reader):
        return None
    function = elementwise_function(reader)
    operands: list[Array | None] = []
    for operand in reader.operands:
        number = known.get(operand) if operand in known else _number(operand)
        if number is None and operand.type != NONE:
            return None
        operands.append(number)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(function(operands), np.float64)


def _number(value: SSAValue) -> Array | None:
    """Return a scalar constant."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    numbers = elements_array(value.op.value)
    return numbers.astype(np.float64).reshape(()) if numbers is not None and numbers.size == 1 else None
