"""
Whether two runs say the same: integers equal, floats within rounding errors, NaN in the same places.

Where a model makes much of a rounding (a comparison of equals, the difference of large numbers), the original
itself, fed with inputs that are a rounding away, says how far outputs may be apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from xonnc.fuzzing.engines import Outputs
from xonnc.fuzzing.random_models import Array, Feeds

TOLERANCE_EPS = {"float16": 64, "float32": 256, "float64": 4096}
"""By how many roundings of the largest number outputs may differ, by their type."""

PERTURBATIONS = 3
"""How often the original runs on nudged inputs to see how much it makes of roundings."""

SENSITIVITY_FACTOR = 64
"""Outputs may be apart by so many times what nudging the inputs by a few roundings does."""

BoolArray = npt.NDArray[np.bool_]


def differing(expected: Array, found: Array, range_: float = 0.0) -> BoolArray:
    """
    Which elements differ by more than roundings; both of one type and shape.

    Roundings are those of the largest number, or of `range_` if numbers as large were computed with.
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
    """Whether all are doubles that float32 holds: they were computed in it, and cast."""
    with np.errstate(over="ignore"):
        return all(
            array.dtype == np.float64 and np.array_equal(array.astype(np.float32), array, equal_nan=True)
            for array in arrays
        )


def _allowed(dtype: np.dtype[np.generic], numbers: Array, range_: float) -> float:
    largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=range_))
    limits = np.finfo(dtype.name)
    # The largest number of a type cannot be told from infinity: a rounding away it is.
    return TOLERANCE_EPS.get(dtype.name, 256) * float(limits.eps) * largest + float(limits.tiny)


def disagreement(expected: Outputs, found: Outputs, perturbed: Callable[[], Sequence[Outputs]]) -> str:
    """
    What differs between the outputs of two runs, in a line; empty if nothing does.

    `perturbed` gives outputs of the original for inputs a few roundings away; it is asked only if something
    differs.
    """
    for name, a in expected.items():
        b = found[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{name}: {b.dtype}{list(b.shape)}, but the original gives {a.dtype}{list(a.shape)}"
        wrong = differing(a, b)
        if wrong.any():
            wrong &= ~_explained(a, b, [outputs[name] for outputs in perturbed() if name in outputs])
        if wrong.any():
            place = tuple(int(index) for index in np.argwhere(wrong)[0])
            count = int(np.count_nonzero(wrong))
            return (
                f"{name}{list(place)} is {b[place]!s}, not {a[place]!s}; {count} of {a.size} elements differ"
            )
    return ""


def _explained(expected: Array, found: Array, perturbed: Sequence[Array]) -> BoolArray:
    """Which elements are apart no further than roundings of the inputs make them."""
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
    """Inputs whose floats are up to four roundings away."""
    return {name: _perturbed(array, generator) for name, array in feeds.items()}


def perturbed_model(model: onnx.ModelProto, generator: np.random.Generator) -> onnx.ModelProto:
    """The model with the floats of its constants a few roundings away."""
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
