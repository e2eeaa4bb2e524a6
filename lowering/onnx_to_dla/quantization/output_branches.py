"""
Concatenations at the outputs of a network whose operands have ranges that one scale does not fit.

A detector joins boxes of hundreds of pixels and scores between 0 and 1: with one scale for the result the
scores keep two or three levels. In a package the CPU joins such branches in float, each dequantized by a
scale of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp, TransposeOp
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.quantization import covering
from xonnc.lowering.onnx_to_dla.quantization.keep_float import mark_float
from xonnc.lowering.onnx_to_dla.quantization.softmax_logits import VIEWS
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges

MAX_RATIO = 8.0
"""The largest ratio of the scales of two operands that share one: the smaller loses 3 of 8 bits."""


Calibrate = Callable[[ModuleOp], Ranges]


def with_separate_outputs(calibrate: Calibrate | None) -> Calibrate | None:
    """Return a function that calibrates and then separates output branches; `None` without calibration."""
    if calibrate is None:
        return None

    def found(module: ModuleOp) -> Ranges:
        ranges = calibrate(module)
        separate_output_branches(module, ranges)
        return ranges

    return found


def separate_output_branches(module: ModuleOp, ranges: Ranges) -> int:
    """
    Keep concatenations at the outputs in float if the scales of their operands differ by more than
    `MAX_RATIO`, with what follows them; return the number of nodes.
    """
    nodes = {op for _, op in _separated(module, ranges)}
    mark_float(nodes)
    return len(nodes)


def output_branches(module: ModuleOp, ranges: Ranges) -> list[str]:
    """Return the names of what such concatenations join, but for results of others of them."""
    found = list(_separated(module, ranges))
    joined = {op for _, op in found}
    names = [
        known.name(value)
        for known, op in found
        if isinstance(op, ConcatOp)
        for value in op.operands
        if value.owner not in joined
    ]
    return list(dict.fromkeys(names))


def _separated(module: ModuleOp, ranges: Ranges) -> Iterator[tuple[ValueRanges, Operation]]:
    """Yield the operators that `separate_output_branches` keeps in float, with the ranges of their values."""
    for function in [op for op in module.walk() if isinstance(op, FuncOp)]:
        known, end = ValueRanges(function, ranges), function.body.block.last_op
        for value in end.operands if isinstance(end, ReturnOp) else ():
            for op in _unequal(value, known):
                yield known, op


def _unequal(value: SSAValue, ranges: ValueRanges) -> Iterator[Operation]:
    """Yield the concatenations of unequal operands that end in `value` alone, and the ops between."""
    if not isinstance(value, OpResult) or not value.has_one_use():
        return
    if isinstance(value.op, (*VIEWS, TransposeOp)):
        found = list(_unequal(value.op.operands[0], ranges))
        yield from [value.op, *found] if found else []
    if isinstance(value.op, ConcatOp):
        found = [each for operand in value.op.operands for each in _unequal(operand, ranges)]
        if found or _differ(value.op, ranges):
            yield from [value.op, *found]


def _differ(op: ConcatOp, ranges: ValueRanges) -> bool:
    """Whether one scale does not fit the operands; those without a range or of zeros do not count."""
    found = [each for operand in op.operands if (each := ranges.of(operand)) is not None and each.magnitude]
    scales = [covering(each.least, each.largest).scale for each in found]
    return bool(scales) and max(scales) > MAX_RATIO * min(scales)
