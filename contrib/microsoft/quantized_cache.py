"""
Key-value caches of 4 and 8 bits, with one scale or a scale for each channel of each head.

New keys and values are rounded before they are attended to, as in onnxruntime. Scales of channels multiply
queries and outputs, of which there are fewer than keys and values.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import Array
from xonnc.plugin import Builder, Value

INT4_OFFSET = 8
"""What is added to integers of 4 bits, two of which are in a byte, the first in its lower half."""


def is_quantized(op: Any) -> bool:
    """Return whether the cache holds integers."""
    return bool(op.k_quant_type != "NONE")


def require_supported_scales(op: Any, size: int) -> None:
    """Raise `XonncError` for a cache of another type than its attributes and scales say."""
    kinds = op.k_quant_type, op.v_quant_type
    dtype = None if op.past_key is None else op.past_key.dtype
    if kinds == ("NONE", "NONE"):
        if op.kv_cache_bit_width or dtype not in (None, op.q.dtype):
            raise op.fail("a cache that is not of the queries' type needs k_quant_type and v_quant_type")
        return
    if "NONE" in kinds:
        raise op.fail("k_quant_type and v_quant_type are needed both, or neither")
    types = {8: np.dtype(np.int8), 4: np.dtype(np.uint8)}
    if dtype is None or dtype != types.get(op.kv_cache_bit_width):
        raise op.fail("a quantized cache needs past_key, int8 for kv_cache_bit_width 8 and uint8 for 4")
    for name, kind, scale in zip(("k_scale", "v_scale"), kinds, (op.k_scale, op.v_scale), strict=True):
        count = 1 if kind == "PER_TENSOR" else op.kv_num_heads * size
        shape = () if scale is None else scale.shape
        sizes = [each for each in shape or () if isinstance(each, int)]
        is_known = shape is not None and len(sizes) == len(shape)
        if scale is None or (is_known and prod(sizes) != count):
            raise op.fail(f"{name} needs {count} scales, as the quantization type says")


def width_of(op: Any, size: int) -> int:
    """Return the number of elements that a cache has for a head of `size`."""
    return size // 2 if is_quantized(op) and op.kv_cache_bit_width == 4 else size


def _scale_shape(op: Any, kind: str) -> list[int]:
    """Return the shape of scales that broadcast over (batch, heads, length, size)."""
    return [1, 1, 1, 1] if kind == "PER_TENSOR" else [1, op.kv_num_heads, 1, -1]


def rounded(op: Any, x: Array, kind: str, scale: Array) -> Array:
    """Return new keys or values as integers of the cache."""
    most = (1 << (op.kv_cache_bit_width - 1)) - 1
    scaled = x.astype(np.float32) / scale.astype(np.float32).reshape(_scale_shape(op, kind))
    integers = np.clip(np.rint(scaled), -most - 1, most).astype(np.int32)
    if op.kv_cache_bit_width == 8:
        return integers.astype(np.int8)
    nibbles = (integers + INT4_OFFSET).astype(np.uint8)
    return nibbles[..., ::2] | (nibbles[..., 1::2] << 4)


def build_rounded(op: Any, b: Builder, x: Value, kind: str, scale: Value) -> Value:
    """Build `rounded` from ONNX operators."""
    most = (1 << (op.kv_cache_bit_width - 1)) - 1
    x = b.Div(b.Cast(x, to=np.float32), b.Reshape(scale, _scale_shape(op, kind)))
    x = b.Clip(b.Round(x), np.float32(-most - 1), np.float32(most))
    if op.kv_cache_bit_width == 8:
        return b.Cast(x, to=np.int8)
    # Both nibbles of a byte are exact in float32.
    pairs = b.Reshape(b.Add(x, np.float32(INT4_OFFSET)), [0, 0, 0, -1, 2])
    weights = np.array([1, 16], np.float32)
    return b.Cast(b.ReduceSum(b.Mul(pairs, weights), [-1], keepdims=0), to=np.uint8)


def integers_of(op: Any, cache: Array) -> Array:
    """Return the integers of a cache as floats."""
    if op.kv_cache_bit_width == 8:
        return cache.astype(np.float32)
    nibbles = np.stack([cache & 15, cache >> 4], -1).reshape((*cache.shape[:-1], 2 * cache.shape[-1]))
    return nibbles.astype(np.float32) - np.float32(INT4_OFFSET)


def build_integers(op: Any, b: Builder, cache: Value) -> Value:
    """Build the integers of a cache as floats; of 4 bits, even channels come first (`build_reordered`)."""
    if op.kv_cache_bit_width == 8:
        return b.Cast(cache, to=np.float32)
    nibbles = b.BitwiseAnd(cache, np.uint8(15)), b.BitShift(cache, np.uint8(4), direction="RIGHT")
    offset = np.float32(INT4_OFFSET)
    return b.Concat(*(b.Sub(b.Cast(each, to=np.float32), offset) for each in nibbles), axis=-1)


def build_reordered(op: Any, b: Builder, x: Value, size: int, *, is_query: bool) -> Value:
    """
    Build queries with even channels first, as keys have them, or outputs with channels in their own order.

    The nibbles of the bytes of a cache, of which there are more, are then not interleaved.
    """
    if op.kv_cache_bit_width == 8:
        return x
    split = [size // 2, 2] if is_query else [2, size // 2]
    pairs = b.Reshape(x, [0, 0, -1, *split])
    return b.Reshape(b.Transpose(pairs, perm=[0, 1, 2, 4, 3]), [0, 0, -1, size])


def real_rows(op: Any, cache: Array, kind: str, scale: Array) -> Array:
    """Return the keys or values of a cache."""
    return integers_of(op, cache) * scale.astype(np.float32).reshape(_scale_shape(op, kind))


def build_scaled(op: Any, b: Builder, x: Value, kind: str, scale: Value) -> Value:
    """Build the product of queries or outputs, (batch, heads, length, size), with scales of their group."""
    if kind == "PER_TENSOR":
        return b.Mul(x, b.Reshape(scale, [1, 1, 1, 1]))
    group = op.num_heads // op.kv_num_heads
    of_heads = b.Reshape(scale, [op.kv_num_heads, 1, -1])
    repeated = b.Concat(*[of_heads] * group, axis=1) if group > 1 else of_heads
    return b.Mul(x, b.Reshape(repeated, [1, op.num_heads, 1, -1]))
