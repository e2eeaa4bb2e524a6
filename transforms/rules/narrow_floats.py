"""Constants of fewer than 32 bits: computed in more, rounded once, and only if the results fit."""

from __future__ import annotations

import numpy as np

from xonnc.dialects.onnx.types import numpy_dtype
from xonnc.rewriting.patterns import Array, Constant, MatchFailure
from xonnc.transforms.numerics import smallest_normal

OUT_OF_RANGE = MatchFailure("the scaled weights or the bias leave the range of their type")


def wide(array: Array) -> Array:
    """Return values in at least 32 bits, so that narrow floats are rounded once."""
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def is_narrow(c: Constant) -> bool:
    """Return whether the elements of a constant have fewer than 32 bits."""
    return numpy_dtype(c.type.element_type).itemsize < np.dtype(np.float32).itemsize


def overflows(c: Constant, *values: Array) -> bool:
    """Return whether rounding to the narrow element type of a constant makes a finite value infinite."""
    if not is_narrow(c):
        return False
    element = numpy_dtype(c.type.element_type)
    with np.errstate(over="ignore"):
        rounded = [each.astype(element).astype(np.float32) for each in values]
    pairs = zip(values, rounded, strict=True)
    return any(bool(np.any(np.isfinite(each) & ~np.isfinite(result))) for each, result in pairs)


def leave_range(w: Constant, scaled: Array, *biases: Array) -> bool:
    """
    Return whether scaled weights, rounded to the narrow type of the weights, lose more than their last digit.

    Either a value overflows, as one of a bias may, or all weights become denormal, with few digits left.
    Single denormal weights do no harm, as others make the sums.
    """
    if not is_narrow(w):
        return False
    smallest = smallest_normal(numpy_dtype(w.type.element_type))
    before, after = (np.max(np.abs(each), initial=0) for each in (wide(w.array), scaled))
    return bool(0 < after < smallest <= before) or overflows(w, scaled, *biases)
