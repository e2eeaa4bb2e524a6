"""
Fold per-channel factors into the scales of quantized weights; the integers stay.

What training and calibration tools write has a batch normalisation between a convolution and the next
activation, and DequantizeLinear between the weights and the convolution. Canonicalisation makes a product
of the two.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from xonnc.dialects.onnx.types import static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import DequantizeLinear, Mul
from xonnc.rewriting.patterns import Array, Constant, MatchFailure, RewriteResult, const, maybe, one_use
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.model_opsets import version_at

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")

BY_AXIS = 13
"""The first opset in which DequantizeLinear has scales along an axis."""

weights = one_use(DequantizeLinear(const.x, const.scale, maybe.zero).named("read"))


def varying_axis(sizes: tuple[int, ...], rank: int) -> int | None:
    """Return the one axis along which a constant of these sizes varies in `rank` axes, if there is one."""
    found = [axis + rank - len(sizes) for axis, size in enumerate(sizes) if size != 1]
    return found[0] if len(found) == 1 else None


@rule(Mul(weights, const.c))
def product_into_dequantized(
    root: Operation, read: Operation, x: Constant, scale: Constant, zero: Constant | None, c: Constant
) -> RewriteResult:
    """c (s (x - z)) = (c s) (x - z), and -s (x - z) = s ((2 z - x) - z) for a negative c, per channel"""
    shape = x.array.shape
    if static_shape(root.results[0].type) != shape or x.array.dtype.name not in INTEGERS:
        return MatchFailure("the product is larger than the weights, or they are no integers")
    if scale.array.dtype != np.float32 or c.array.dtype != np.float32:
        return MatchFailure("not float32")
    if decode(read.properties.get("block_size")) or scale.array.ndim > 1:
        return MatchFailure("a scale for each block")
    axis = varying_axis(c.array.shape, len(shape))
    if axis is None and c.array.size != 1:
        return MatchFailure("the factor varies along several axes")
    given = decode(read.properties.get("axis"))
    own = (given if isinstance(given, int) else 1) % max(len(shape), 1) if scale.array.size > 1 else None
    if axis is not None and own is None and (version_at(root) or 0) < BY_AXIS:
        return MatchFailure("the opset has no scales along an axis")
    if axis is not None and own not in (None, axis):
        return MatchFailure("the factor varies along another axis than the scales")
    with np.errstate(all="ignore"):
        product = np.asarray(scale.array.reshape(-1) * c.array.reshape(-1))
    if not (np.isfinite(product) & (np.abs(product) >= np.finfo(np.float32).tiny)).all():
        return MatchFailure("a scale would be 0, denormal or not finite")
    axis = own if axis is None else axis
    zeros = np.zeros(1, x.array.dtype) if zero is None else zero.array.reshape(-1)
    zeros = np.ascontiguousarray(np.broadcast_to(zeros, product.shape))
    integers = mirrored(x.array, zeros, product < 0, axis)
    if integers is None:
        return MatchFailure("an integer has no counterpart of the opposite sign")
    if product.size == 1 and axis is None:
        product, zeros = product.reshape(()), zeros.reshape(())
    properties = {} if axis is None else {"axis": axis}
    return DequantizeLinear(integers, np.abs(product), zeros, like=read, **properties)


def mirrored(x: Array, zero: Array, is_negative: Array, axis: int | None) -> Array | None:
    """Return `x` mirrored at its zero point where a factor is negative; `None` if that leaves the type."""
    if not is_negative.any():
        return x
    shape = [1] * x.ndim
    if axis is not None:
        shape[axis] = is_negative.size
    wide = np.where(is_negative.reshape(shape), 2 * zero.astype(np.int64).reshape(shape) - x, x)
    limits = np.iinfo(x.dtype)
    return (
        wide.astype(x.dtype)
        if limits.min <= wide.min(initial=0) and wide.max(initial=0) <= limits.max
        else None
    )


RULES = rules(FuseProductDequantizeLinear=product_into_dequantized)
