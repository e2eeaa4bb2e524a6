"""Grouped-query attention over a key-value cache, as language models for onnxruntime-genai have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import REAL, heads, merge_heads, merged, scale_of, split_heads
from xonnc.contrib.microsoft.cached_attention import (
    attend_biased,
    attend_cached,
    padded_to,
    sunk_softmax,
)
from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, range_of, softmax, wide
from xonnc.contrib.microsoft.quantized_cache import (
    build_integers,
    build_reordered,
    build_rounded,
    build_scaled,
    is_quantized,
    real_rows,
    require_supported_scales,
    rounded,
    width_of,
)
from xonnc.contrib.microsoft.windowed_cache import (
    build_kept,
    build_resident,
    build_with_new_rows,
    kept,
    resident,
    with_new_rows,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional


def normalized_heads(x: Array, weight: Array, epsilon: float) -> Array:
    """Compute the RMS normalization of each head."""
    deviation = np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(epsilon))
    return x / deviation * wide(weight)


def rotated(x: Array, positions: Array, cosines: Array, sines: Array, interleaved: bool) -> Array:
    """Rotate heads, (batch, heads, length, size), by tables of cosines and sines."""
    width = cosines.shape[1]
    cos, sin = wide(cosines)[positions][:, None], wide(sines)[positions][:, None]
    rotary, rest = x[..., : 2 * width], x[..., 2 * width :]
    first, second = (rotary[..., ::2], rotary[..., 1::2]) if interleaved else np.split(rotary, 2, -1)
    parts = [first * cos - second * sin, first * sin + second * cos]
    rotary = np.stack(parts, -1).reshape(rotary.shape) if interleaved else np.concatenate(parts, -1)
    return np.concatenate([rotary, rest], -1)


def require_keys_and_tables(op: Any) -> None:
    """Raise `XonncError` for keys without values, and for a rotary embedding without tables."""
    if (op.k is None) != (op.v is None):
        raise op.fail("keys and values are needed both, or neither where the queries have them beside them")
    if op.do_rotary and (op.cosines is None or op.sines is None):
        raise op.fail("do_rotary needs cos_cache and sin_cache")


@contrib("GroupQueryAttention")
class GroupQueryAttention:
    """
    Attention whose queries share the key-value heads in groups, with a key-value cache.

    The cache has a fixed length if it is long enough for all tokens, else it grows. With
    `sliding_window_cache` it holds the last tokens alone.
    """

    inputs = (
        one("T", name="q"),
        optional("T", name="k"),
        optional("T", name="v"),
        optional("T_CACHE", name="past_key"),
        optional("T_CACHE", name="past_value"),
        one(np.int32, name="lengths"),
        one(np.int32, name="total"),
        optional("T", name="cosines"),
        optional("T", name="sines"),
        optional(np.int64, name="positions"),
        optional("T", name="attention_bias"),
        optional("T", name="head_sink"),
        optional(np.float32, name="k_scale"),
        optional(np.float32, name="v_scale"),
        optional("T", name="q_norm_weight"),
        optional("T", name="k_norm_weight"),
        optional(np.int32, name="query_lengths"),
    )
    outputs = (
        one("T", name="output"),
        optional("T_CACHE", name="present_key"),
        optional("T_CACHE", name="present_value"),
    )
    types = allowed(T=REAL, T_CACHE=(*REAL, np.int8, np.uint8))
    causal = attribute(int, default=1)
    do_rotary = attribute(int, default=0)
    k_norm_epsilon = attribute(float, default=None)
    k_quant_type = attribute(str, default="NONE", choices=("NONE", "PER_TENSOR", "PER_CHANNEL"))
    kv_cache_bit_width = attribute(int, default=0, choices=(0, 4, 8))
    kv_num_heads = attribute(int)
    local_window_size = attribute(int, default=-1)
    num_heads = attribute(int)
    q_norm_epsilon = attribute(float, default=None)
    qk_norm_epsilon = attribute(float, default=1e-6)
    qk_output = attribute(int, default=0, choices=(0,))
    rotary_interleaved = attribute(int, default=0)
    scale = attribute(float, default=None)
    sliding_window_cache = attribute(int, default=0)
    smooth_softmax = attribute(int, default=0, choices=(0, -1, 1))
    softcap = attribute(float, default=0.0)
    v_quant_type = attribute(str, default="NONE", choices=("NONE", "PER_TENSOR", "PER_CHANNEL"))

    @staticmethod
    def require_supported(op: Any) -> None:
        """Raise `XonncError` for operands of which one needs another."""
        if (op.past_key is None) != (op.past_value is None):
            raise op.fail("past_key and past_value are needed both, or neither without a cache")
        require_keys_and_tables(op)
        if (op.q_norm_weight is None) != (op.k_norm_weight is None):
            raise op.fail("q_norm_weight and k_norm_weight are needed both, or neither")
        GroupQueryAttention.require_supported_cache(op)

    @staticmethod
    def require_supported_cache(op: Any) -> None:
        """Raise `XonncError` for a cache that is refused."""
        if op.q.shape is not None and isinstance(op.q.shape[-1], int):
            require_supported_scales(op, GroupQueryAttention.size(op))
        if not op.sliding_window_cache:
            return
        if op.past_key is None or op.local_window_size <= 0:
            raise op.fail("sliding_window_cache needs past_key, past_value and a local_window_size")
        if op.attention_bias is not None:
            raise op.fail("attention_bias with sliding_window_cache is not supported; mask by the window")
        capacity = None if op.past_key.shape is None else op.past_key.shape[2]
        if isinstance(capacity, int) and capacity < op.local_window_size:
            raise op.fail(f"a cache of {capacity} tokens is shorter than the window, {op.local_window_size}")

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
        cache: Any = op.q if op.past_key is None else op.past_key
        unknown = cache.with_shape(None)
        if op.q.shape is None or not isinstance(op.q.shape[-1], int):
            return [op.q.with_shape(None), unknown, unknown]
        size = GroupQueryAttention.size(op)
        output = op.q.with_shape((*op.q.shape[:2], op.num_heads * size))
        if op.sliding_window_cache:
            return [output, cache, cache]
        total = (op.integers(6) or [None])[0]
        past = 0 if op.past_key is None else None if cache.shape is None else cache.shape[2]
        if not isinstance(past, int) or total is None:
            return [output, unknown, unknown]
        shape = op.q.shape[0], op.kv_num_heads, max(past, total), width_of(op, size)
        present = cache.with_shape(shape)
        return [output, present, present]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        GroupQueryAttention.require_supported(op)
        q, k, v, past_key, past_value, lengths, total, cosines, sines, positions, *others = operands
        added, sink, k_scale, v_scale, q_weight, k_weight, query_lengths = others
        absent: Any = None
        size = GroupQueryAttention.size(op)
        if k is absent:
            widths = np.cumsum([op.num_heads * size, op.kv_num_heads * size])
            q, k, v = np.split(q, widths, -1)
        query, key = heads(wide(q), op.num_heads), heads(wide(k), op.kv_num_heads)
        value, length = heads(wide(v), op.kv_num_heads), q.shape[1]
        if q_weight is not absent:
            epsilons = GroupQueryAttention.epsilons(op)
            query = normalized_heads(query, q_weight, epsilons[0])
            key = normalized_heads(key, k_weight, epsilons[1])
        tokens = lengths.reshape(-1).astype(np.int64) + 1
        new_tokens = length if query_lengths is absent else query_lengths.reshape(-1).astype(np.int64)
        starts: Array = np.maximum(tokens - new_tokens, 0)
        own = np.asarray(starts[:, None] + np.arange(length, dtype=np.int64), np.int64)
        if op.do_rotary:
            positions_used = own if positions is absent else positions
            query, key = (
                rotated(each, positions_used, cosines, sines, bool(op.rotary_interleaved))
                for each in (query, key)
            )
        if past_key is absent:
            empty: Array = np.zeros((*key.shape[:2], 0, size), q.dtype)
            past_key = past_value = empty
        capacity = past_key.shape[2]
        rows, added_rows = starts, max(int(total.reshape(-1)[0]) - capacity, 0)
        if op.sliding_window_cache:
            rows, added_rows = resident(starts, capacity, op.local_window_size), length
        scales = (op.k_quant_type, k_scale), (op.v_quant_type, v_scale)
        new = [key, value]
        if is_quantized(op):
            new = [rounded(op, each, *given) for each, given in zip(new, scales, strict=True)]
        presents = [
            with_new_rows(past if is_quantized(op) else wide(past), each, rows, added_rows)
            for past, each in zip((past_key, past_value), new, strict=True)
        ]
        longest = capacity + added_rows
        real = presents
        if is_quantized(op):
            real = [real_rows(op, each, *given) for each, given in zip(presents, scales, strict=True)]
        everything = [np.repeat(each, op.num_heads // op.kv_num_heads, 1) for each in real]
        if op.sliding_window_cache:
            dropped = rows + tokens - starts - resident(tokens, capacity, op.local_window_size)
            presents = [kept(each, dropped, capacity) for each in presents]
        scores = query @ everything[0].swapaxes(-1, -2) * np.float32(scale_of(op, size))
        scores = np.tanh(scores / op.softcap) * np.float32(op.softcap) if op.softcap else scores
        if added is not absent:
            missing = longest - added.shape[3]
            scores = scores + np.pad(wide(added), [(0, 0), (0, 0), (0, 0), (0, missing)])
        rows_of_queries = rows[:, None, None, None] + np.arange(length, dtype=np.int64)[:, None]
        distance = np.asarray(rows_of_queries - np.arange(longest, dtype=np.int64), np.int64)
        window = op.local_window_size if op.local_window_size > 0 else longest
        is_seen = np.asarray(distance < window, np.bool_)
        if op.causal:
            is_seen = np.asarray(is_seen & (distance >= 0), np.bool_)
        is_filled = (rows + length)[:, None, None, None] > np.arange(longest, dtype=np.int64)
        scores = np.where(is_seen & is_filled, scores, -np.inf)
        sinks = np.zeros(op.num_heads, np.float32) if sink is absent else wide(sink)
        has_sinks = sink is not absent or op.smooth_softmax == 1
        y = merged((sunk_softmax(scores, sinks) if has_sinks else softmax(scores)) @ everything[1])
        return [y.astype(op.q.dtype), *(each.astype(past_key.dtype) for each in presents)]

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
        if op.q_norm_weight is not None:
            epsilons = GroupQueryAttention.epsilons(op)
            query = b.RMSNormalization(query, op.q_norm_weight, axis=-1, epsilon=epsilons[0])
            key = b.RMSNormalization(key, op.k_norm_weight, axis=-1, epsilon=epsilons[1])
        length = b.Shape(q, start=1, end=2)
        tokens = b.Add(b.Reshape(b.Cast(op.lengths, to=np.int64), [-1]), np.int64(1))
        new_tokens = length
        if op.query_lengths is not None:
            new_tokens = b.Reshape(b.Cast(op.query_lengths, to=np.int64), [-1])
        # A prompt may be shorter than its padded length; it starts at position 0.
        starts = b.Max(b.Sub(tokens, new_tokens), np.int64(0))
        if op.do_rotary:
            query, key = (
                GroupQueryAttention.rotate(op, b, each, starts, length, size) for each in (query, key)
            )
        keys, values = key, value
        if is_quantized(op):
            keys = build_rounded(op, b, key, op.k_quant_type, op.k_scale)
            values = build_rounded(op, b, value, op.v_quant_type, op.v_scale)
        if op.sliding_window_cache:
            return GroupQueryAttention.attend_window(op, b, [query, keys, values], tokens, starts)
        if op.past_key is not None:
            total = b.Reshape(b.Cast(op.total, to=np.int64), [1])
            past_keys, past_values = GroupQueryAttention.pasts(op, b)
            added_rows = b.Max(b.Sub(total, b.Shape(past_keys, start=2, end=3)), np.int64(0))
            keys = build_with_new_rows(b, past_keys, keys, starts, added_rows)
            values = build_with_new_rows(b, past_values, values, starts, added_rows)
        y = merge_heads(b, GroupQueryAttention.attend(op, b, [query, keys, values], starts))
        return [y, keys, values]

    @staticmethod
    def pasts(op: Any, b: Builder) -> list[Value]:
        """
        Return the cached keys and values, with heads of static size.

        onnxruntime-genai declares a name for that size. Kernels for all lengths need it to be static.
        """
        given = [op.past_key, op.past_value]
        if op.past_key.shape is None or isinstance(op.past_key.shape[3], int):
            return given
        width = width_of(op, GroupQueryAttention.size(op))
        return [b.Reshape(each, [0, 0, 0, width]) for each in given]

    @staticmethod
    def epsilons(op: Any) -> list[float]:
        """Return the epsilons of the normalizations of queries and of keys."""
        own = (op.q_norm_epsilon, op.k_norm_epsilon)
        return [op.qk_norm_epsilon if each is None else each for each in own]

    @staticmethod
    def rotate(op: Any, b: Builder, x: Value, starts: Value, length: Value, size: int) -> Value:
        """Build the rotary embedding of the elements of heads that the tables have columns for."""
        positions = op.positions
        if positions is None:
            positions = b.Add(b.Unsqueeze(starts, [1]), b.Unsqueeze(range_of(b, length), [0]))
        columns = None if op.cosines.shape is None else op.cosines.shape[-1]
        width = 2 * columns if isinstance(columns, int) else size
        return b.RotaryEmbedding(
            x,
            op.cosines,
            op.sines,
            positions,
            interleaved=op.rotary_interleaved,
            rotary_embedding_dim=0 if width == size else width,
        )

    @staticmethod
    def attend_window(
        op: Any, b: Builder, parts: list[Value], tokens: Value, starts: Value
    ) -> list[Value | None]:
        """Build the attention over caches of the last tokens alone, and these caches with the new tokens."""
        query, *new = parts
        pasts = GroupQueryAttention.pasts(op, b)
        capacity, length = b.Shape(pasts[0], start=2, end=3), b.Shape(query, start=2, end=3)
        rows, remaining = (
            build_resident(b, each, capacity, op.local_window_size) for each in (starts, tokens)
        )
        staged = [
            build_with_new_rows(b, past, each, rows, length) for past, each in zip(pasts, new, strict=True)
        ]
        y = merge_heads(b, GroupQueryAttention.attend(op, b, [query, *staged], rows))
        dropped = b.Sub(b.Add(rows, b.Sub(tokens, starts)), remaining)
        return [y, *(build_kept(b, each, dropped, capacity) for each in staged)]

    @staticmethod
    def attend(op: Any, b: Builder, parts: list[Value], starts: Value) -> Value:
        """Build the attention of queries that start at the rows `starts` of the cache, quantized or not."""
        if not is_quantized(op):
            return GroupQueryAttention.attend_real(op, b, parts, starts)
        size = GroupQueryAttention.size(op)
        query = build_scaled(op, b, b.Cast(parts[0], to=np.float32), op.k_quant_type, op.k_scale)
        query = build_reordered(op, b, query, size, is_query=True)
        integers = [build_integers(op, b, each) for each in parts[1:]]
        y = GroupQueryAttention.attend_real(op, b, [query, *integers], starts)
        y = build_reordered(op, b, y, size, is_query=False)
        return b.Cast(build_scaled(op, b, y, op.v_quant_type, op.v_scale), to=op.q.dtype)

    @staticmethod
    def attend_real(op: Any, b: Builder, parts: list[Value], starts: Value) -> Value:
        """Build the attention to keys and values of floats."""
        length, scale = b.Shape(op.q, start=1, end=2), scale_of(op, GroupQueryAttention.size(op))
        window = op.local_window_size - 1 if op.local_window_size > 0 else -1
        lengths = b.Add(starts, length)
        has_sinks = op.head_sink is not None or op.smooth_softmax == 1
        if op.attention_bias is None and not has_sinks:
            given = {"is_causal": op.causal, "left_window_size": window, "softcap": op.softcap}
            return attend_cached(b, parts, lengths, scale=scale, **given)
        own = b.Add(b.Reshape(starts, [-1, 1, 1, 1]), b.Reshape(range_of(b, length), [1, 1, -1, 1]))
        positions = range_of(b, b.Shape(parts[1], start=2, end=3))
        distance = b.Sub(own, b.Reshape(positions, [1, 1, 1, -1]))
        seen: Value | None = b.GreaterOrEqual(distance, np.int64(0)) if op.causal else None
        if window >= 0:
            near = b.LessOrEqual(distance, np.int64(window))
            seen = near if seen is None else b.And(seen, near)
        biases = () if op.attention_bias is None else (padded_to(b, op.attention_bias, parts[1]),)
        # `smooth_softmax` is a sink of score 0 in each head.
        zeros = b.constant(np.zeros(op.num_heads, np.float32)) if has_sinks else None
        sink = zeros if op.head_sink is None else op.head_sink
        return attend_biased(
            b,
            parts,
            lengths,
            scale,
            heads=(op.num_heads, op.kv_num_heads),
            seen=seen,
            softcap=op.softcap,
            biases=biases,
            sink=sink,
        )

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for count, kv, length, past, fixed, options in (
            (4, 2, 1, 5, 0, {}),
            (4, 2, 1, 9, 1, {"do_rotary": 1}),
            (2, 1, 3, 0, 0, {"do_rotary": 1, "rotary_interleaved": 1}),
            (2, 2, 1, 6, 0, {"scale": 0.5}),
            (6, 2, 1, 7, 1, {"softcap": 2.0}),
            (4, 2, 1, 7, 1, {"softcap": 2.0, "bias": 1}),
            (4, 2, 3, 0, 0, {"bias": 1, "sink": 1}),
            (4, 1, 1, 6, 0, {"smooth_softmax": 1, "local_window_size": 4}),
            (4, 2, 3, -1, 0, {"causal": 0}),
            (4, 2, 3, -1, 0, {"smooth_softmax": 1, "causal": 0}),
            (4, 2, 1, 9, 1, {"do_rotary": 1, "columns": 8}),
            # Windowed caches that are full, so that no row of them holds anything.
            (4, 2, 1, 4, 9, {"do_rotary": 1, "local_window_size": 4, "sliding_window_cache": 1}),
            (4, 1, 6, 5, 13, {"do_rotary": 1, "local_window_size": 4, "sliding_window_cache": 1}),
            (6, 2, 2, 5, 8, {"local_window_size": 3, "sliding_window_cache": 1, "sink": 1}),
            (4, 2, 1, 5, 0, {"kv_cache_bit_width": 8, "quantized": "PER_TENSOR"}),
            (4, 2, 1, 5, 0, {"kv_cache_bit_width": 4, "quantized": "PER_CHANNEL"}),
        ):
            size, batch = 32 if "columns" in options else 16, 1 if length > 1 else 2
            cache_length = max(past, 0) + length
            if fixed:
                cache_length = int(rng.integers(length, past + 1)) if fixed == 1 else fixed
            widths = [each * size for each in (count, kv, kv)]
            q, k, v = (normal(rng, batch, length, width) for width in widths)
            packed: list[Array | None] = (
                [np.concatenate([q, k, v], -1), None, None] if count == 6 else [q, k, v]
            )
            cache: list[Array | None] = [None, None]
            if past >= 0:
                cache = [normal(rng, batch, kv, past, size) for _ in range(2)]
            for each in cache:
                # onnxruntime clears rows that hold no token, unless the cache is updated in place.
                if each is not None and fixed <= 1:
                    each[:, :, cache_length - length :] = 0
            kind, scales = options.get("quantized"), [None, None]
            if kind is not None:
                is_wide, shape = options["kv_cache_bit_width"] == 8, (batch, kv, past, size)
                cache = [
                    rng.integers(-128, 128, shape).astype(np.int8)
                    if is_wide
                    else rng.integers(0, 256, (*shape[:3], size // 2)).astype(np.uint8)
                    for _ in range(2)
                ]
                scale_count = 1 if kind == "PER_TENSOR" else kv * size
                scales = [rng.uniform(0.01, 0.5, scale_count).astype(np.float32) for _ in range(2)]
            columns = int(options.get("columns", size // 2))
            angles = rng.uniform(0, 6, (16, columns)).astype(np.float32)
            tables: list[Array | None] = [None, None]
            if "do_rotary" in options:
                tables = [np.cos(angles), np.sin(angles)]
            added = normal(rng, 1, count, length, cache_length) if "bias" in options else None
            sink = normal(rng, count) if "sink" in options else None
            numbers = [np.full((batch,), cache_length - 1, np.int32), np.asarray(cache_length, np.int32)]
            inputs = ("bias", "sink", "columns", "quantized")
            given = {name: each for name, each in options.items() if name not in inputs}
            if kind is not None:
                given |= {"k_quant_type": kind, "v_quant_type": kind}
            operands: list[Array | None] = [*packed, *cache, *numbers, *tables, None, added, sink, *scales]
            yield operands, {"num_heads": count, "kv_num_heads": kv, **given}
