"""Ranges of statistics of images, such as means of channels: a few numbers of each sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.math import HardSigmoidOp, SigmoidOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.formats.nvdla.calibration import Range

MARGIN = 1 / 8
"""
The part of a statistic's range by which it is widened at each end but 0: a few samples do not show its
extremes, and one clipped number changes a whole channel or image. It costs 0.2 of 8 bits.
"""

BOUNDED = (SigmoidOp, HardSigmoidOp)
"""Operators whose results have a range of their own."""


def statistics_among(values: Sequence[SSAValue]) -> set[SSAValue]:
    """
    Return the values of one position from which operands are computed that are broadcast to an image.

    Parameters:
        values: all values of a function, in order.
    """
    found: set[SSAValue] = set()
    for value in reversed(values):
        results = [result for use in value.uses for result in use.operation.results]
        if _positions(value) == 1 and any(_positions(each) > 1 or each in found for each in results):
            found.add(value)
    return found


def widened(value: SSAValue, found: Range) -> Range:
    """Return the range with which to quantize a statistic."""
    if isinstance(value.owner, BOUNDED):
        return found
    margin = MARGIN * (found.largest - found.least)
    return replace(
        found,
        least=found.least - margin if found.least < 0 else found.least,
        largest=found.largest + margin if found.largest > 0 else found.largest,
    )


def _positions(value: SSAValue) -> int:
    """Return the number of positions of an image or a row of channels, 0 for other values."""
    shape = static_shape(value.type)
    return prod(shape[2:]) if shape is not None and len(shape) in (3, 4) else 0
