"""
Comparison of two runs: integers equal, floats within rounding error, NaN at the same indices.

Where a model amplifies rounding errors (comparisons of nearly equal values, cancellation), its sensitivity is
estimated: the original runs on inputs perturbed by a few epsilons, which bounds the allowed difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from xonnc.runtime.verification.reference_engines import Outputs
from xonnc.runtime.verification.trial_inputs import Array, Feeds

TOLERANCE_EPS = {"float16": 64, "float32": 256, "float64": 4096}
"""Allowed difference by element type, in epsilons of the largest magnitude."""

PERTURBATIONS = 3
"""Number of perturbed runs for the estimate of sensitivity."""

SENSITIVITY_FACTOR = 64
"""Outputs may differ by this multiple of the change that perturbed inputs cause."""

BoolArray = npt.NDArray[np.bool_]


def differing(expected: Array, found: Array, range_: float = 0.0) -> BoolArray:
    """
    Mask of the elements that differ by more than rounding error; both arrays have one type and shape.

    The error is relative to the largest magnitude, or to `range_` if intermediate values were that large.
    """
    if expected.dtype.kind not in "f":
        return np.asarray(expected != found)
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        dtype = np.dtype(np.float32) if _are_of_single(expected, found) else expected.dtype
        near = finite & (np.abs(a - b) <= _allowed(dtype, a, range_))
    return np.asarray(~(same | near))


def _are_of_single(*arrays: Array) -> bool:
    """Whether all are float64 arrays with float32 values, hence computed in float32 and cast."""
    with np.errstate(over="ignore"):
        return all(
            array.dtype == np.float64 and np.array_equal(array.astype(np.float32), array, equal_nan=True)
            for array in arrays
        )


def _allowed(dtype: np.dtype[np.generic], numbers: Array, range_: float) -> float:
    largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=range_))
    limits = np.finfo(dtype.name)
    # What is subnormal in 32 bits may be 0: functions of 64 bits are as good as those of 32 there.
    least = max(float(limits.tiny), float(np.finfo(np.float32).tiny))
    return TOLERANCE_EPS.get(dtype.name, 256) * float(limits.eps) * largest + least


def disagreement(expected: Outputs, found: Outputs, perturbed: Callable[[], Sequence[Outputs]]) -> str:
    """
    Describe the first difference between the outputs of two runs; empty if there is none.

    `perturbed` returns outputs of the original for perturbed inputs; it is called only if outputs differ.
    """
    for name, a in expected.items():
        b = found[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{name}: {b.dtype}{list(b.shape)}, but the original gives {a.dtype}{list(a.shape)}"
        wrong = differing(a, b)
        if wrong.any():
            wrong &= ~_explained(a, b, [outputs[name] for outputs in perturbed() if name in outputs])
        if wrong.any():
            index = tuple(int(axis) for axis in np.argwhere(wrong)[0])
            count = int(np.count_nonzero(wrong))
            return (
                f"{name}{list(index)} is {b[index]!s}, not {a[index]!s}; {count} of {a.size} elements differ"
            )
    return ""


def _explained(expected: Array, found: Array, perturbed: Sequence[Array]) -> BoolArray:
    """Mask of the elements whose difference the sensitivity to perturbed inputs explains."""
    explained = np.zeros(expected.shape, np.bool_)
    if expected.dtype.kind != "f":
        for other in perturbed:
            explained |= np.asarray(other.shape == expected.shape and other != expected)
        return explained
    a, b = expected.astype(np.float64), found.astype(np.float64)
    with np.errstate(invalid="ignore"):
        for other in perturbed:
            if other.shape == expected.shape:
                far = np.abs(other.astype(np.float64) - a) * SENSITIVITY_FACTOR
                explained |= (np.abs(a - b) <= far) | (np.isfinite(other) != np.isfinite(a))
    return explained


def perturbed_feeds(feeds: Feeds, generator: np.random.Generator) -> Feeds:
    """Inputs with floats perturbed by up to four epsilons."""
    return {name: _perturbed(array, generator) for name, array in feeds.items()}


def perturbed_model(model: onnx.ModelProto, generator: np.random.Generator) -> onnx.ModelProto:
    """The model with its float constants perturbed by up to four epsilons."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    constants = [
        node.attribute[0].t
        for node in copy.graph.node
        if node.op_type == "Constant" and node.attribute[0].HasField("t")
    ]
    for tensor in (*copy.graph.initializer, *constants):
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f":
            tensor.CopyFrom(numpy_helper.from_array(_perturbed(array, generator), tensor.name))
    return copy


def _perturbed(array: Array, generator: np.random.Generator) -> Array:
    if array.dtype.kind != "f":
        return array
    steps = generator.integers(-4, 5, array.shape) * float(np.finfo(array.dtype).eps)
    with np.errstate(all="ignore"):
        return np.asarray(array * (1 + steps), array.dtype)
