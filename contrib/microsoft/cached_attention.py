"""Attention over keys and values of which sequences have different numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import Array, range_of, softmax
from xonnc.plugin import Builder, Value


def lengths_of(b: Builder, keys: Value) -> Value:
    """Build the number of keys of each sequence, all attended to, of a cache of shape (…, B, H, L, D)."""
    return b.Expand(b.Shape(keys, start=-2, end=-1), b.Shape(keys, start=-4, end=-3))


def attend_cached(
    b: Builder, parts: list[Value], lengths: Value, biases: Sequence[Value] = (), /, **given: Any
) -> Value:
    """
    Build the attention of heads over the first `lengths` keys of each sequence, with biases of the scores.

    ONNX's Attention over a cache has a kernel for float32.
    """
    q = parts[0]
    bias: Value | None = None
    for each in biases:
        bias = each if bias is None else b.Add(bias, each)
    if q.dtype != np.float32:
        parts = [b.Cast(each, to=np.float32) for each in parts]
        bias = None if bias is None else b.Cast(bias, to=np.float32)
    y = b.Attention(*parts, bias, None, None, lengths, **given, outputs=1)
    return y if q.dtype == np.float32 else b.CastLike(y, q)


def attend_biased(
    b: Builder,
    parts: list[Value],
    lengths: Value,
    scale: float,
    *,
    heads: tuple[int, int],
    seen: Value | None = None,
    softcap: float = 0.0,
    biases: tuple[Value, ...] = (),
    sink: Value | None = None,
) -> Value:
    """
    Build the attention over the first `lengths` keys of each sequence, with biases and sinks.

    `heads` are the numbers of heads of queries and of keys; `seen` may hide further keys. ONNX's Attention
    has no sinks, and limits scores (`softcap`) after the biases, where onnxruntime's operators do so before.
    """
    dtype = parts[0].dtype
    q, k, v = (each if dtype == np.float32 else b.Cast(each, to=np.float32) for each in parts)
    # The queries of a group are rows of one matrix product.
    grouped = heads[0] != heads[1]
    if grouped:
        q = b.Reshape(q, b.Concat(b.Shape(q, end=1), [heads[1], -1], b.Shape(q, start=3), axis=0))
    scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), np.float32(scale))
    if grouped:
        scores = b.Reshape(scores, [0, heads[0], -1, 0])
    if softcap:
        scores = b.Mul(b.Tanh(b.Div(scores, np.float32(softcap))), np.float32(softcap))
    for bias in biases:
        scores = b.Add(scores, b.Cast(bias, to=np.float32))
    past_tokens = seen_before(b, k, lengths)
    scores = b.Where(past_tokens if seen is None else b.And(past_tokens, seen), scores, np.float32(-np.inf))
    weights = b.Softmax(scores, axis=-1) if sink is None else softmax_with(b, scores, sink)
    if grouped:
        weights = b.Reshape(weights, [0, heads[1], -1, 0])
    # What a cache has after its last token may be NaN, of which a weight of 0 makes no zero.
    v = b.Where(b.Transpose(past_tokens, perm=[0, 1, 3, 2]), v, np.float32(0))
    y = b.MatMul(weights, v)
    if grouped:
        y = b.Reshape(y, [0, heads[0], -1, 0])
    return y if dtype == np.float32 else b.Cast(y, to=dtype)


def softmax_with(b: Builder, scores: Value, sink: Value) -> Value:
    """Build the softmax of scores and of one more for each head, which has a weight but no value."""
    column = b.Reshape(b.Cast(sink, to=np.float32), [1, -1, 1, 1])
    shape = b.Concat(b.Shape(scores, end=3), [1], axis=0)
    both = b.Softmax(b.Concat(scores, b.Expand(column, shape), axis=-1), axis=-1)
    return b.Slice(both, [0], [-1], [3])


def sunk_softmax(scores: Array, sink: Array) -> Array:
    """Compute `softmax_with`."""
    column = np.broadcast_to(sink.reshape(1, -1, 1, 1).astype(scores.dtype), (*scores.shape[:3], 1))
    return softmax(np.concatenate([scores, column], -1))[..., :-1]


def padded_to(b: Builder, x: Value, keys: Value) -> Value:
    """Build a mask or bias with zeros for the keys of the cache that it has no column for."""
    rank = len(x.shape or ())
    missing = b.Sub(b.Shape(keys, start=2, end=3), b.Shape(x, start=rank - 1))
    leading = b.Shape(x, start=0, end=rank - 1)
    zeros = b.CastLike(b.ConstantOfShape(b.Concat(leading, missing, axis=0)), x)
    return b.Concat(x, zeros, axis=-1)


def seen_before(b: Builder, keys: Value, lengths: Value) -> Value:
    """Build the mask of the first `lengths` keys of each sequence, of shape (batch, 1, 1, keys)."""
    positions = range_of(b, b.Shape(keys, start=2, end=3))
    return b.Less(b.Reshape(positions, [1, 1, 1, -1]), b.Reshape(lengths, [-1, 1, 1, 1]))
