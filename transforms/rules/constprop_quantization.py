"""
Constant folding of QuantizeLinear.

Networks that training tools export have float weights and quantize them in the model; engines and integer
kernels read constants. DequantizeLinear stays, for it marks what is quantized.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from xonnc.dialects.onnx.types import element_type, numpy_dtype
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import QuantizeLinear
from xonnc.rewriting.patterns import Array, Constant, MatchFailure, RewriteResult, compute, const, maybe, root
from xonnc.rewriting.rules import rule, rules

FLOATS = ("float32", "float16")
INTEGERS = ("int8", "uint8", "int16", "uint16")


def quantized(root: Operation, x: Constant, scale: Constant, zero: Constant | None) -> RewriteResult:
    """round(x / scale) + zero, saturated; float16 is divided in float16, as the kernel does"""
    element = element_type(root.results[0].type)
    if x.array.dtype.name not in FLOATS or scale.array.dtype != x.array.dtype:
        return MatchFailure("not float32 or float16")
    if decode(root.properties.get("precision")):
        return MatchFailure("divided in another precision")
    dtype = None if element is None else numpy_dtype(element)
    if dtype is None or dtype.name not in INTEGERS:
        return MatchFailure("not to integers of 8 or 16 bits")
    if decode(root.properties.get("block_size")) or scale.array.ndim > 1:
        return MatchFailure("a scale for each block")
    if not np.isfinite(x.array).all() or not (np.isfinite(scale.array) & (scale.array != 0)).all():
        return MatchFailure("not finite")
    axis = decode(root.properties.get("axis"))
    zeros = np.zeros(scale.array.shape, dtype) if zero is None else zero.array
    return quantized_array(x.array, scale.array, zeros, axis if isinstance(axis, int) else 1)


def quantized_array(x: Array, scale: Array, zero: Array, axis: int | None) -> Array:
    """Quantize floats to the type of `zero`; scales of rank 1 run along `axis`."""
    shape = [1] * x.ndim
    if scale.ndim:
        shape[1 if axis is None else axis] = scale.size
    limits = np.iinfo(zero.dtype)
    with np.errstate(over="ignore"):
        levels = np.rint(x / scale.reshape(shape)) + zero.reshape(shape).astype(np.float32)
    return np.clip(levels, limits.min, limits.max).astype(zero.dtype)


RULES = rules(
    QuantizeLinearofConst=rule(
        QuantizeLinear(const.x, const.scale, maybe.zero),
        compute(quantized, root, const.x, const.scale, maybe.zero),
    ),
)
