"""Grouped-query attention over a key-value cache, as language models for onnxruntime-genai have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import heads, merge_heads, merged, range_of, scale_of, split_heads
from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, softmax, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional


def rotated(x: Array, positions: Array, cosines: Array, sines: Array, interleaved: bool) -> Array:
    """Rotate heads, (batch, heads, length, size), by tables of cosines and sines."""
    width = cosines.shape[1]
    cos, sin = wide(cosines)[positions][:, None], wide(sines)[positions][:, None]
    turned, rest = x[..., : 2 * width], x[..., 2 * width :]
    first, second = (turned[..., ::2], turned[..., 1::2]) if interleaved else np.split(turned, 2, -1)
    parts = [first * cos - second * sin, first * sin + second * cos]
    turned = np.stack(parts, -1).reshape(turned.shape) if interleaved else np.concatenate(parts, -1)
    return np.concatenate([turned, rest], -1)


@contrib("GroupQueryAttention")
class GroupQueryAttention:
    """
    Attention whose queries share the key-value heads in groups, with a key-value cache.

    The cache has a fixed length if it is long enough for all tokens, else it grows.
    """

    inputs = (
        one("T", name="q"),
        optional("T", name="k"),
        optional("T", name="v"),
        optional("T", name="past_key"),
        optional("T", name="past_value"),
        one(np.int32, name="lengths"),
        one(np.int32, name="total"),
        optional("T", name="cosines"),
        optional("T", name="sines"),
        optional(np.int64, name="positions"),
        optional("T", name="attention_bias"),
        optional("T", name="head_sink"),
    )
    outputs = (
        one("T", name="output"),
        optional("T", name="present_key"),
        optional("T", name="present_value"),
    )
    types = allowed(T=(np.float32, np.float16))
    do_rotary = attribute(int, default=0)
    kv_num_heads = attribute(int)
    local_window_size = attribute(int, default=-1)
    num_heads = attribute(int)
    rotary_interleaved = attribute(int, default=0)
    scale = attribute(float, default=None)
    smooth_softmax = attribute(int, default=0, choices=(0, -1))
    softcap = attribute(float, default=0.0)

    @staticmethod
    def require_supported(op: Any) -> None:
        """Raise `XonncError` for operands that are not supported, and for widths that are not known."""
        if op.attention_bias is not None or op.head_sink is not None:
            raise op.fail("attention_bias and head_sink are not supported")
        if op.past_key is None or op.past_value is None:
            raise op.fail("past_key and past_value are needed; without a cache give tensors of length 0")
        if op.do_rotary and (op.cosines is None or op.sines is None):
            raise op.fail("do_rotary needs cos_cache and sin_cache")

    @staticmethod
    def size(op: Any) -> int:
        """Return the size of a head."""
        width = None if op.q.shape is None else op.q.shape[-1]
        if not isinstance(width, int):
            raise op.fail("the width of the queries is not known")
        return int(width // (op.num_heads if op.k is not None else op.num_heads + 2 * op.kv_num_heads))

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        GroupQueryAttention.require_supported(op)
        unknown = op.q.with_shape(None)
        if op.q.shape is None or not isinstance(op.q.shape[-1], int):
            return [unknown] * 3
        size = GroupQueryAttention.size(op)
        output = op.q.with_shape((*op.q.shape[:2], op.num_heads * size))
        total = (op.integers(6) or [None])[0]
        past = None if op.past_key.shape is None else op.past_key.shape[2]
        if not isinstance(past, int) or total is None:
            return [output, unknown, unknown]
        present = op.q.with_shape((op.q.shape[0], op.kv_num_heads, max(past, total), size))
        return [output, present, present]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        GroupQueryAttention.require_supported(op)
        q, k, v, past_key, past_value, lengths, total, cosines, sines, positions, *_ = operands
        absent: Any = None
        size = GroupQueryAttention.size(op)
        if k is absent:
            widths = np.cumsum([op.num_heads * size, op.kv_num_heads * size])
            q, k, v = np.split(q, widths, -1)
        query, key = heads(wide(q), op.num_heads), heads(wide(k), op.kv_num_heads)
        value, length = heads(wide(v), op.kv_num_heads), q.shape[1]
        starts: Array = np.maximum(lengths.reshape(-1).astype(np.int64) + 1 - length, 0)
        own = np.asarray(starts[:, None] + np.arange(length, dtype=np.int64), np.int64)
        if op.do_rotary:
            places = own if positions is absent else positions
            query, key = (
                rotated(each, places, cosines, sines, bool(op.rotary_interleaved)) for each in (query, key)
            )
        longest = max(past_key.shape[2], int(total.reshape(-1)[0]))
        presents: list[Array] = []
        for held, new in ((past_key, key), (past_value, value)):
            present = np.zeros((*held.shape[:2], longest, size), np.float32)
            present[:, :, : held.shape[2]] = wide(held)
            for batch, start in enumerate(starts):
                present[batch, :, start : start + length] = new[batch]
            presents.append(present)
        everything = [np.repeat(each, op.num_heads // op.kv_num_heads, 1) for each in presents]
        scores = query @ everything[0].swapaxes(-1, -2) * np.float32(scale_of(op, size))
        scores = np.tanh(scores / op.softcap) * np.float32(op.softcap) if op.softcap else scores
        distance = np.asarray(own[:, None, :, None] - np.arange(longest, dtype=np.int64), np.int64)
        window = op.local_window_size if op.local_window_size > 0 else longest
        is_seen = np.asarray((distance >= 0) & (distance < window), np.bool_)
        scores = np.where(is_seen, scores, -np.inf)
        y = merged(softmax(scores) @ everything[1])
        return [each.astype(op.q.dtype) for each in (y, *presents)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        GroupQueryAttention.require_supported(op)
        size = GroupQueryAttention.size(op)
        q, k, v = op.q, op.k, op.v
        if k is None:
            widths = [op.num_heads * size, op.kv_num_heads * size, op.kv_num_heads * size]
            q, k, v = b.Split(q, widths, axis=-1, outputs=3)
        query, key, value = (
            split_heads(b, each, count)
            for each, count in ((q, op.num_heads), (k, op.kv_num_heads), (v, op.kv_num_heads))
        )
        length = b.Shape(q, start=1, end=2)
        held = b.Reshape(b.Cast(op.lengths, to=np.int64), [-1])
        # A prompt may be shorter than its padded length; it starts at position 0.
        starts = b.Max(b.Sub(b.Add(held, np.int64(1)), length), np.int64(0))
        if op.do_rotary:
            places = op.positions
            if places is None:
                places = b.Add(b.Unsqueeze(starts, [1]), b.Unsqueeze(range_of(b, length), [0]))
            query, key = (
                b.RotaryEmbedding(each, op.cosines, op.sines, places, interleaved=op.rotary_interleaved)
                for each in (query, key)
            )
        keys, values = (
            GroupQueryAttention.updated(op, b, past, new, starts)
            for past, new in ((op.past_key, key), (op.past_value, value))
        )
        seen = b.Add(starts, length)
        window = op.local_window_size - 1 if op.local_window_size > 0 else -1
        # Attention over a cache has a kernel for float32.
        parts = [query, keys, values]
        if op.q.dtype != np.float32:
            parts = [b.Cast(each, to=np.float32) for each in parts]
        y = b.Attention(
            *parts,
            None,
            None,
            None,
            seen,
            is_causal=1,
            left_window_size=window,
            scale=scale_of(op, size),
            softcap=op.softcap,
            outputs=1,
        )
        y = merge_heads(b, y)
        return [y if op.q.dtype == np.float32 else b.CastLike(y, op.q), keys, values]

    @staticmethod
    def updated(op: Any, b: Builder, past: Value, new: Value, starts: Value) -> Value:
        """Build the cache with new rows, as long as all tokens; it does not grow if it was already."""
        total = b.Reshape(b.Cast(op.total, to=np.int64), [1])
        missing = b.Max(b.Sub(total, b.Shape(past, start=2, end=3)), np.int64(0))
        shape = b.Concat(b.Shape(past, start=0, end=2), missing, b.Shape(past, start=3, end=4), axis=0)
        zeros = b.ConstantOfShape(shape)
        zeros = zeros if past.dtype == np.float32 else b.CastLike(zeros, past)
        return b.TensorScatter(b.Concat(past, zeros, axis=2), new, starts, axis=2)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for count, kv, length, past, fixed, options in (
            (4, 2, 1, 5, 0, {}),
            (4, 2, 1, 9, 1, {"do_rotary": 1}),
            (2, 1, 3, 0, 0, {"do_rotary": 1, "rotary_interleaved": 1}),
            (2, 2, 1, 6, 0, {"scale": 0.5}),
            (6, 2, 1, 7, 1, {"softcap": 2.0}),
        ):
            size, batch = 16, 1 if length > 1 else 2
            held = int(rng.integers(length, past + 1)) if fixed else past + length
            widths = [each * size for each in (count, kv, kv)]
            q, k, v = (normal(rng, batch, length, width) for width in widths)
            packed: list[Array | None] = (
                [np.concatenate([q, k, v], -1), None, None] if count == 6 else [q, k, v]
            )
            cache = [normal(rng, batch, kv, past, size) for _ in range(2)]
            for each in cache:
                # onnxruntime clears rows that hold no token, unless the cache is updated in place.
                each[:, :, held - length :] = 0
            angles = rng.uniform(0, 6, (16, size // 2)).astype(np.float32)
            tables = [np.cos(angles), np.sin(angles)] if "do_rotary" in options else []
            numbers = [np.full((batch,), held - 1, np.int32), np.asarray(held, np.int32)]
            yield [*packed, *cache, *numbers, *tables], {"num_heads": count, "kv_num_heads": kv, **options}
