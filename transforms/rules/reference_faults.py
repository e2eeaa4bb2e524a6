"""
Known errors of the onnx package's reference evaluator, and differences from onnxruntime.

Found by running both on random graphs (onnx 1.23, onnxruntime 1.31). These ops are not folded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor, isfinite
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.rewriting.attribute_conversion import Decoded, decode
from xonnc.transforms.constant_evaluation import constant_value
from xonnc.transforms.numerics import is_float, largest

Floats: TypeAlias = npt.NDArray[np.float64]
Truths: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ReferenceFault:
    """An error of the reference evaluator, and whether it affects an op."""

    what: str
    touches: Callable[[Operation], bool]


def given(op: Operation, name: str) -> Decoded:
    """Return the value of a property."""
    return decode(op.properties.get(name))


def always(op: Operation) -> bool:
    """Every op of this kind is affected."""
    return True


ACTIVATIONS = {"GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh"), "RNN": ("Tanh",)}
"""Default activations of RNN operators, per direction."""


def _recurrent(op: Operation) -> bool:
    usual = ACTIVATIONS[op.name.removeprefix("onnx.")]
    plain = all(given(op, name) is None for name in ("activation_alpha", "activation_beta", "clip"))
    plain &= given(op, "activations") in (None, usual, (*usual, *usual)) and not given(op, "input_forget")
    return not plain or not _whole_sequences(op)


def _whole_sequences(op: Operation) -> bool:
    """Return whether every sequence has the full length."""
    lengths = constant_value(op.operands[4])
    if lengths is None or not isinstance(lengths.value, np.ndarray):
        return op.operands[4].type == NONE
    shape = static_shape(op.operands[0].type)
    return shape is not None and bool(np.all(lengths.value == shape[1 if given(op, "layout") else 0]))


def _resize(op: Operation) -> bool:
    """
    Return whether the reference is wrong for a Resize.

    That is so for doubles, -0 and very large values, and for the modes that align corners (`align_corners`,
    `pytorch_half_pixel`) if the result size is rounded or 1.
    """
    if _any(op, lambda values: (values == 0) & np.signbit(values)) or _has_large(op):
        return True
    if given(op, "mode") not in (None, "nearest") and element_type(op.operands[0].type) == f64:
        return True
    if given(op, "coordinate_transformation_mode") not in ("align_corners", "pytorch_half_pixel"):
        return False
    made, shape = static_shape(op.results[0].type), static_shape(op.operands[0].type)
    if (
        made is None
        or shape is None
        or 1 in [new for new, old in zip(made, shape, strict=True) if new != old]
    ):
        return True
    scales = constant_value(op.operands[2]) if len(op.operands) > 2 else None
    if scales is None or not isinstance(scales.value, np.ndarray) or scales.value.size != len(shape):
        return False
    factors = [float(scale) for scale in scales.value.reshape(-1)]
    return not all(map(isfinite, factors)) or any(
        scale * size != floor(scale * size) for scale, size in zip(factors, shape, strict=True)
    )


def _grid_sample(op: Operation) -> bool:
    x, grid = (element_type(value.type) for value in op.operands[:2])
    if x == f64 and grid != f64:
        return True
    return given(op, "mode") in ("cubic", "bicubic") and given(op, "padding_mode") == "border"


def _affine_grid(op: Operation) -> bool:
    made = static_shape(op.results[0].type)
    return bool(given(op, "align_corners")) and (made is None or 1 in made[1:-1])


def _normalizer(op: Operation) -> bool:
    return given(op, "norm") == "MAX" or not _any(op, lambda values: np.abs(values) > 1e-15)


def _has_large(op: Operation) -> bool:
    """Return whether integers exceed 2^53, the exact range of float64, or floats 1/8 of their maximum."""
    values = constant_value(op.operands[0])
    if values is None or not isinstance(values.value, np.ndarray):
        return False
    dtype = values.value.dtype
    most = largest(dtype) / 8 if is_float(dtype) else 2.0**53
    return bool(np.any(np.abs(values.value.astype(np.float64)) > most))


def _any(op: Operation, is_so: Callable[[Floats], Truths]) -> bool:
    """Return whether a predicate holds for an element of the first operand."""
    values = constant_value(op.operands[0])
    return (
        values is not None
        and isinstance(values.value, np.ndarray)
        and is_float(values.value.dtype)
        and bool(np.any(is_so(values.value.astype(np.float64))))
    )


def _linear_classifier(op: Operation) -> bool:
    intercepts = given(op, "intercepts")
    return not isinstance(intercepts, tuple) or len(intercepts) < 2


RECURRENT = ReferenceFault("ignores `sequence_lens`, `clip`, `input_forget` and `activations`", _recurrent)
GRID = ReferenceFault(
    "cubic interpolation with padding mode `border`; doubles at coordinates of 32 bits", _grid_sample
)
RESIZE = ReferenceFault(
    "modes that align corners if an output size is rounded or 1; the sign of zero; very large values; "
    "weights of doubles, which have 32 bits",
    _resize,
)

FAULTS: Mapping[str, ReferenceFault] = {
    "AffineGrid": ReferenceFault("`align_corners` with an axis of size 1", _affine_grid),
    "GRU": RECURRENT,
    "GridSample": GRID,
    "GridSampleV16": GRID,
    "LSTM": RECURRENT,
    "LinearClassifier": ReferenceFault("two classes with one row of coefficients", _linear_classifier),
    "Normalizer": ReferenceFault("norm MAX of negative values, and norms below 1e-30", _normalizer),
    "RNN": RECURRENT,
    "Resize": RESIZE,
    "ResizeV10": RESIZE,
    "ResizeV11": RESIZE,
    "ResizeV13": RESIZE,
    "ResizeV18": RESIZE,
    "SVMClassifier": ReferenceFault("probabilities of three or more classes, and string labels", always),
    "Scaler": ReferenceFault("requires both attributes, and returns the type of its operand", always),
    "StringNormalizer": ReferenceFault(
        "removes accents and empty strings, and stop words within longer strings", always
    ),
}
"""Faults by op name."""


def fault(op: Operation) -> str | None:
    """Return the fault of the reference for this op, or `None`."""
    if isinstance(op, CustomOp):
        return "the reference evaluator does not have it"
    found = FAULTS.get(op.name.removeprefix("onnx."))
    return (
        f"the reference evaluator is wrong: {found.what}" if found is not None and found.touches(op) else None
    )
