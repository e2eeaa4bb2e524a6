"""Attention with fused projections, masks and key-value caches; rotary position embedding."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.cached_attention import attend_cached, lengths_of
from xonnc.contrib.microsoft.common import (
    Array,
    Samples,
    allowed,
    contrib,
    normal,
    range_of,
    rank_of,
    shaped,
    sized,
    softmax,
    wide,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, ml_dtypes.bfloat16)
MASKED = -10000.0
"""The default bias of masked attention scores, as in onnxruntime."""


def heads(x: Array, count: int) -> Array:
    """Split the heads: (batch, length, width) to (batch, heads, length, head size)."""
    return x.reshape((*x.shape[:2], count, -1)).transpose((0, 2, 1, 3))


def merged(x: Array) -> Array:
    """Merge the heads: (batch, heads, length, head size) to (batch, length, width)."""
    return x.transpose((0, 2, 1, 3)).reshape((x.shape[0], x.shape[2], -1))


def rotated(x: Array, cosines: Array, sines: Array, count: int, interleaved: int) -> Array:
    """
    Rotate the first columns of each of `count` heads, or of a tensor that is split into heads already.

    Cosines and sines are of shape (batch, length, pairs).
    """
    y, cos, sin = heads(wide(x), count) if x.ndim == 3 else wide(x), cosines[:, None], sines[:, None]
    turned, rest = np.split(y, [2 * cosines.shape[-1]], -1)
    if interleaved:
        first, second = turned[..., ::2], turned[..., 1::2]
        parts = [first * cos - second * sin, first * sin + second * cos]
        turned = np.stack(parts, -1).reshape(turned.shape)
    else:
        first, second = np.split(turned, 2, -1)
        turned = np.concatenate([first * cos - second * sin, first * sin + second * cos], -1)
    y = np.concatenate([turned, rest], -1)
    return (merged(y) if x.ndim == 3 else y).astype(x.dtype)


def split_heads(b: Builder, x: Value, count: int) -> Value:
    """Split the heads: (batch, length, width) to (batch, heads, length, head size)."""
    return b.Transpose(b.Reshape(x, [0, 0, count, -1]), perm=[0, 2, 1, 3])


def merge_heads(b: Builder, x: Value) -> Value:
    """Merge the heads: (batch, heads, length, head size) to (batch, length, width)."""
    return b.Reshape(b.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, -1])


def scale_of(op: Any, size: Any) -> float:
    """Return the scale of the attention scores: the attribute, or 1/√(head size) without one."""
    if op.scale:
        return float(op.scale)
    if not isinstance(size, int):
        raise op.fail("the size of the heads is not known; the node needs a scale")
    return float(1 / np.sqrt(size))


def causal(length: int, total: int) -> Array:
    """Return the causal mask: true where a query attends to a key, which is at its own position or before."""
    return np.tril(np.ones((length, total), np.bool_), total - length)


def attend(q: Array, k: Array, v: Array, scale: float, bias: Any) -> Array:
    """Scaled dot-product attention: softmax(scale Q Kᵀ + bias) V."""
    scores = q @ k.swapaxes(-1, -2) * q.dtype.type(scale) + bias
    return np.asarray(softmax(scores) @ v)


def scores_of(b: Builder, q: Value, k: Value, scale: float, biases: list[Value]) -> Value:
    """Build the attention scores scale Q Kᵀ, plus the biases."""
    scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), scale)
    for bias in biases:
        scores = b.Add(scores, bias)
    return scores


def causal_of(b: Builder, q: Value, k: Value, masked: float) -> Value:
    """Build the bias of the causal mask: `masked` for keys after the query's position, else 0."""
    length, total = b.Shape(q, start=2, end=3), b.Shape(k, start=2, end=3)
    # With a key-value cache the queries are the last `length` of `total` positions.
    rows = b.Add(b.Range(0, b.Squeeze(length, [0]), 1), b.Sub(total, length))
    columns = b.Range(0, b.Squeeze(total, [0]), 1)
    hidden = b.Less(b.Unsqueeze(rows, [1]), b.Unsqueeze(columns, [0]))
    return b.Where(hidden, b.constant(masked, q), b.constant(0, q))


def mask_bias(mask: Array, masked: float, total: int) -> Array:
    """
    Return the bias of the attention scores for a mask, broadcastable to (batch, heads, queries, keys).

    A mask of rank 1 has the number of keys of each sequence, of rank 2 a flag for each key, of rank 3 a flag
    for each query and key.
    """
    if mask.ndim == 1:
        mask = np.arange(total)[None] < mask[:, None]
    mask = mask[:, None, None] if mask.ndim == 2 else mask[:, None]
    return np.where(mask.astype(np.bool_), np.float32(0), np.float32(masked))


def score_bias(op: Any, length: int, total: int, mask: Any, added: Any = None) -> Array:
    """Return the bias of the attention scores: of the mask, one that is given, and of the causal mask."""
    bias = np.zeros((1, 1, 1, 1), np.float32)
    if mask is not None:
        bias = bias + mask_bias(mask, op.mask_filter_value, total)
    if added is not None:
        bias = bias + wide(added)
    if op.unidirectional:
        bias = bias + np.where(causal(length, total), 0, np.finfo(np.float32).min).astype(np.float32)
    return np.asarray(bias)


def attend_with_past(
    op: Any, parts: list[Array], past: Any, mask: Any, added: Any = None
) -> tuple[Array, Array, Array]:
    """Return the attention of queries, keys and values after those of a cache, and all keys and values."""
    q, k, v = (heads(part, op.num_heads) for part in parts)
    if past is not None:
        k, v = np.concatenate([wide(past[0]), k], 2), np.concatenate([wide(past[1]), v], 2)
    bias = score_bias(op, q.shape[2], k.shape[2], mask, added)
    return merged(attend(q, k, v, scale_of(op, q.shape[-1]), bias)), k, v


def mask_bias_of(op: Any, b: Builder, mask: Value, k: Value, masked: float) -> Value:
    """Build `mask_bias` from ONNX operators."""
    rank = rank_of(op, mask)
    if rank == 1:
        keys = range_of(b, b.Shape(k, start=2, end=3))
        seen = b.Less(b.Unsqueeze(keys, [0]), b.Unsqueeze(b.Cast(mask, to=np.int64), [1]))
    else:
        seen = b.Cast(mask, to=np.bool_)
    seen = b.Unsqueeze(seen, [1] if rank == 3 else [1, 2])
    return b.Where(seen, b.constant(0, k), b.constant(masked, k))


def require_plain_mask(op: Any, mask: Any, batch: Any) -> None:
    """Raise `XonncError` for a mask of rank 1 that is known not to be one length per sequence."""
    if mask is None or len(mask.shape or ()) != 1:
        return
    count = mask.shape[0]
    if isinstance(count, int) and isinstance(batch, int) and count != batch:
        raise op.fail("the mask has more than one length for each sequence; give it one for each key")


def attend_projected(
    op: Any, b: Builder, projected: Value, widths: list[Any], attention_bias: Value | None = None
) -> list[Value | None]:
    """
    Build the attention of a node with fused projections, and its new cache.

    `projected` has queries, keys and values of the hidden sizes `widths` beside each other.
    """
    parts = b.Split(projected, widths, axis=-1, outputs=3)
    q, k, v = (split_heads(b, part, op.num_heads) for part in parts)
    scale = scale_of(op, widths[0] // op.num_heads)
    present = None
    if op.past is not None or op.outputs[1] is not None:
        present = b.Concat(b.Unsqueeze(k, [0]), b.Unsqueeze(v, [0]), axis=0)
    if op.past is not None:
        # The cache grows by one copy, of which keys and values are contiguous parts.
        present = b.Concat(op.past, present, axis=3)
        k, v = (b.Squeeze(each, [0]) for each in b.Split(present, None, axis=0, num_outputs=2, outputs=2))
    biases: list[Value] = []
    if op.mask is not None:
        biases.append(mask_bias_of(op, b, op.mask, k, op.mask_filter_value))
    if attention_bias is not None:
        biases.append(attention_bias)
    # Products of whole matrices are faster where all tokens attend to all.
    if op.past is not None or (op.unidirectional and not biases):
        lengths = lengths_of(b, k if present is None else present)
        y = attend_cached(b, [q, k, v], lengths, biases, scale=scale, is_causal=op.unidirectional)
        return [merge_heads(b, y), present]
    if op.unidirectional:
        dtype: Any = q.dtype
        biases.append(causal_of(b, q, k, float(np.finfo(dtype).min)))
    y = b.MatMul(b.Softmax(scores_of(b, q, k, scale, biases), axis=-1), v)
    return [merge_heads(b, y), present]


@contrib("Attention")
class Attention:
    """Multi-head self-attention with a fused QKV projection and an optional key-value cache."""

    inputs = (
        one("T", name="x"),
        one("T", name="weights"),
        optional("T", name="bias"),
        optional(np.int32, name="mask"),
        optional("T", name="past"),
        optional("T", name="attention_bias"),
        optional(np.int32, name="past_length"),
    )
    outputs = (one("T", name="output"), optional("T", name="present"))
    types = allowed(T=REAL)
    do_rotary = attribute(int, default=0, choices=(0,))
    mask_filter_value = attribute(float, default=MASKED)
    num_heads = attribute(int)
    past_present_share_buffer = attribute(int, default=0, choices=(0,))
    qkv_hidden_sizes = attribute(list[int], default=None)
    rotary_embedding_dim = attribute(int, default=None)
    scale = attribute(float, default=None)
    unidirectional = attribute(int, default=0)

    @staticmethod
    def widths(op: Any) -> list[Any]:
        """Return the hidden sizes of Q, K and V; symbolic if those of the weights are."""
        if op.qkv_hidden_sizes:
            return list(op.qkv_hidden_sizes)
        return [op.weights.shape[1] // 3] * 3

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        if op.x.shape is None or op.weights.shape is None:
            return [op.x.with_shape(None)] * 2
        query, _, value = Attention.widths(op)
        batch, length = op.x.shape[:2]
        past = 0 if op.past is None else None if op.past.shape is None else op.past.shape[3]
        present = op.x.with_shape(None)
        if past is not None and query == value:
            present = op.x.with_shape((2, batch, op.num_heads, past + length, query // op.num_heads))
        return [op.x.with_shape((batch, length, value)), present]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        x, weights, bias, mask, past, added, _ = operands
        absent: Any = None
        projected = wide(x) @ wide(weights)
        projected = projected if bias is absent else projected + wide(bias)
        ends = np.cumsum(Attention.widths(op))[:2]
        y, k, v = attend_with_past(op, np.split(projected, ends, -1), past, mask, added)
        same = k.shape == v.shape
        present = np.stack([k, v]) if same else np.zeros(0, np.float32)
        return [y.astype(x.dtype), present.astype(x.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        if op.past_length is not None:
            raise op.fail("a state in a shared buffer (past_sequence_length) is not supported")
        require_plain_mask(op, op.mask, None if op.x.shape is None else op.x.shape[0])
        if op.weights.shape is None or not isinstance(op.weights.shape[1], int):
            raise op.fail("the shape of the weights is not known")
        projected = b.MatMul(op.x, op.weights)
        projected = projected if op.bias is None else b.Add(projected, op.bias)
        return attend_projected(op, b, projected, Attention.widths(op), op.attention_bias)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        cases = (
            (0, 0, 0, 0),
            (1, 0, 0, 0),
            (2, 0, 1, 0),
            (3, 0, 0, 1),
            (0, 1, 1, 0),
            (0, 1, 0, 1),
            (2, 1, 1, 0),
            (1, 1, 1, 0),
            (3, 0, 1, 0),
        )
        for mask_rank, is_causal, has_past, has_bias in cases:
            batch, length, count, size = 2, int(rng.integers(1, 6)), int(rng.integers(1, 4)), 8
            past = int(rng.integers(1, 4)) if has_past else 0
            width, total = count * size, past + length
            x, weights = normal(rng, batch, length, 12), normal(rng, 12, 3 * width) * np.float32(0.3)
            lengths = rng.integers(1, total + 1, batch).astype(np.int32)
            keys = (np.arange(total)[None] < lengths[:, None]).astype(np.int32)
            masks = (None, lengths, keys, np.repeat(keys[:, None], length, 1))
            state = normal(rng, 2, batch, count, past, size) if has_past else None
            added = normal(rng, batch, count, length, total) if has_bias else None
            operands: list[Array | None] = [
                x,
                weights,
                normal(rng, 3 * width),
                masks[mask_rank],
                state,
                added,
            ]
            yield operands, {"num_heads": count, "unidirectional": is_causal}


@contrib("RotaryEmbedding")
class RotaryEmbedding:
    """Rotary position embedding (RoPE) with precomputed tables of cosines and sines."""

    inputs = (
        one("T", name="x"),
        one(np.int64, name="positions"),
        one("T", name="cosines"),
        one("T", name="sines"),
    )
    outputs = one("T")
    types = allowed(T=REAL)
    interleaved = attribute(int, default=0)
    is_packed_batching = attribute(int, default=0, choices=(0,))
    num_heads = attribute(int, default=0)
    rotary_embedding_dim = attribute(int, default=0)
    scale = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, positions: Array, cosines: Array, sines: Array) -> Array:
        width = cosines.shape[1]
        size = op.rotary_embedding_dim or 2 * width
        count = op.num_heads if op.rotary_embedding_dim else (x.shape[-1] // size if x.ndim == 3 else 0)
        if positions.size == 1:
            first, length = int(positions.reshape(())), x.shape[-2]
            positions = np.arange(first, first + length, dtype=np.int64).reshape((1, -1))
        return rotated(x, wide(cosines)[positions], wide(sines)[positions], count, op.interleaved)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank = rank_of(op, op.x)
        given = {"interleaved": op.interleaved, "rotary_embedding_dim": op.rotary_embedding_dim}
        table = op.cosines.shape
        width = table[1] if table else None
        count = op.num_heads
        if rank == 3 and not op.rotary_embedding_dim:
            total = op.x.shape[2]
            if not isinstance(width, int) or not isinstance(total, int):
                raise op.fail("the size of the heads is not known")
            count = total // (2 * width)
        positions: Any = op.positions
        if positions.shape is None:
            raise op.fail("the rank of the positions is not known")
        if len(positions.shape) == 1:
            length = b.Shape(op.x, start=rank - 2, end=rank - 1)
            row = b.Unsqueeze(b.Add(range_of(b, length), positions), [0])
            positions = b.Expand(row, shaped(b, sized(b, op.x, 0), length))
        numbers = {} if rank == 4 else {"num_heads": count}
        return b.RotaryEmbedding(op.x, op.cosines, op.sines, positions, **given, **numbers)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for interleaved, rank, has_offset, partial in (
            (0, 3, 0, 0),
            (1, 3, 1, 0),
            (0, 4, 0, 0),
            (0, 3, 1, 1),
        ):
            batch, length, count, size = 2, int(rng.integers(1, 5)), int(rng.integers(1, 4)), 8
            shape = (batch, length, count * size) if rank == 3 else (batch, count, length, size)
            angles = rng.uniform(0, 6, (9, 2 if partial else 4)).astype(np.float32)
            positions = rng.integers(0, 9, (batch, length)) if not has_offset else np.array([3])
            given = {"interleaved": interleaved}
            given |= {"rotary_embedding_dim": 4, "num_heads": count} if partial else {}
            operands = [normal(rng, *shape), positions.astype(np.int64), np.cos(angles), np.sin(angles)]
            yield [*operands], given


@contrib("MRotaryEmbedding")
class MRotaryEmbedding:
    """Rotary position embedding of text and images: a pair of columns has one of three positions."""

    inputs = (
        one("T", name="x"),
        one(np.int64, name="positions"),
        one("T", name="cosines"),
        one("T", name="sines"),
    )
    outputs = one("T")
    types = allowed(T=REAL)
    interleaved = attribute(int, default=0, choices=(0, 1))
    is_packed_batching = attribute(int, default=0, choices=(0,))
    mrope_layout = attribute(int, default=0, choices=(0, 1))
    mrope_section = attribute(list[int])
    num_heads = attribute(int, default=0)
    rotary_embedding_dim = attribute(int, default=0)
    scale = attribute(float, default=1.0)

    @staticmethod
    def streams(op: Any) -> Array:
        """Return which of the positions (time, height, width) each pair of columns is rotated by."""
        sections = op.mrope_section
        if len(sections) != 3 or min(sections) < 0:
            raise op.fail(f"mrope_section is {sections}; it holds three numbers of pairs, 0 or more")
        if op.mrope_layout == 0:
            return np.repeat(np.arange(3), sections)
        found = np.zeros(sum(sections), np.int64)
        for stream in (1, 2):
            found[stream : 3 * sections[stream] : 3] = stream
        return found

    @staticmethod
    def infer(op: Any) -> TensorType:
        MRotaryEmbedding.streams(op)
        if op.x.shape is not None and len(op.x.shape) == 3 and op.num_heads < 1:
            raise op.fail("num_heads is needed for an input of rank 3")
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, positions: Array, cosines: Array, sines: Array) -> Array:
        streams = MRotaryEmbedding.streams(op)
        rows = np.moveaxis(positions[streams], 0, -1)
        pairs = np.arange(streams.size)
        tables = wide(cosines)[rows, pairs], wide(sines)[rows, pairs]
        return rotated(x, *tables, op.num_heads, op.interleaved)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        streams = MRotaryEmbedding.streams(op)
        given = {"interleaved": op.interleaved, "rotary_embedding_dim": op.rotary_embedding_dim}
        if rank_of(op, op.x) == 3:
            given["num_heads"] = op.num_heads

        def selected(table: Value) -> Value:
            rows = b.Gather(table, op.positions, axis=0)
            time, height, width = (b.Gather(rows, np.int64(stream), axis=0) for stream in range(3))
            return b.Where(streams == 2, width, b.Where(streams == 1, height, time))

        return b.RotaryEmbedding(op.x, selected(op.cosines), selected(op.sines), **given)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for layout, interleaved, rank, sections, is_partial in (
            (0, 0, 3, [1, 2, 1], 0),
            (1, 0, 3, [2, 1, 1], 0),
            (1, 0, 4, [1, 1, 2], 0),
            (0, 1, 4, [4, 0, 0], 0),
            (0, 0, 3, [0, 1, 1], 1),
            (1, 1, 3, [1, 1, 0], 1),
        ):
            batch, length, count, size = 2, int(rng.integers(1, 5)), int(rng.integers(1, 4)), 8
            shape = (batch, length, count * size) if rank == 3 else (batch, count, length, size)
            angles = rng.uniform(0, 6, (9, sum(sections))).astype(np.float32)
            positions = rng.integers(0, 9, (3, batch, length)).astype(np.int64)
            given: dict[str, Any] = {"mrope_section": sections, "mrope_layout": layout}
            given |= {"num_heads": count} if rank == 3 else {}
            given |= {"rotary_embedding_dim": 4} if is_partial else {}
            operands: list[Array | None] = [normal(rng, *shape), positions, np.cos(angles), np.sin(angles)]
            yield operands, {**given, "interleaved": interleaved}
