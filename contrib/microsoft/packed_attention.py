"""Attention of batches without padding: the tokens of all sequences are the rows of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import MASKED, heads, merge_heads, merged, scale_of, split_heads
from xonnc.contrib.microsoft.cached_attention import attend_biased, attend_cached
from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, softmax, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16)


def unpacked(x: Array, offsets: Array) -> Array:
    """Return rows at their positions in padded sequences: (tokens, width) to (batch, length, width)."""
    y = np.zeros((offsets.size, x.shape[1]), x.dtype)
    y[offsets.reshape(-1)[: len(x)]] = x
    return y.reshape((*offsets.shape, -1))


def attend_packed(op: Any, parts: list[Array], scale: float) -> Array:
    """Compute the attention of packed queries, keys and values."""
    q, k, v = (heads(unpacked(part, op.offsets), op.num_heads) for part in parts)
    lengths = np.diff(op.ends)
    scores = q @ k.swapaxes(-1, -2) * np.float32(scale)
    scores = scores if op.attention_bias is None else scores + wide(op.attention_bias)
    hidden = np.asarray(np.arange(k.shape[2])[None] >= lengths[:, None], np.bool_)
    # Rows of padding are not read; without a finite score they would be NaN.
    scores = np.where(hidden[:, None, None], np.float32(np.finfo(np.float32).min), scores)
    y = merged(softmax(scores) @ v)
    return np.asarray(y.reshape((-1, y.shape[-1]))[op.offsets.reshape(-1)[: len(parts[0])]])


def build_packed(op: Any, b: Builder, parts: list[Value], scale: float) -> Value:
    """Build `attend_packed` from ONNX operators."""
    tokens = b.Shape(parts[0], end=1)
    flat = b.Reshape(b.Cast(op.offsets, to=np.int64), [-1])
    tokens_at = b.Slice(flat, [0], tokens, [0])
    shape = b.Shape(op.offsets)

    def padded(part: Value) -> Value:
        """Build the heads of padded sequences."""
        rows = b.Concat(b.Shape(flat), b.Shape(part, start=1), axis=0)
        zeros = b.CastLike(b.ConstantOfShape(rows), part)
        held = b.ScatterND(zeros, b.Unsqueeze(tokens_at, [1]), part)
        return split_heads(b, b.Reshape(held, b.Concat(shape, b.Shape(part, start=1), axis=0)), op.num_heads)

    spread = [padded(part) for part in parts]
    ends = b.Cast(op.ends, to=np.int64)
    lengths = b.Sub(b.Slice(ends, [1], [np.iinfo(np.int64).max], [0]), b.Slice(ends, [0], [-1], [0]))
    if op.attention_bias is None:
        y = attend_cached(b, spread, lengths, scale=scale)
    else:
        count, biases = (op.num_heads, op.num_heads), (op.attention_bias,)
        y = attend_biased(b, spread, lengths, scale, heads=count, biases=biases)
    y = merge_heads(b, y)
    return b.Gather(b.Reshape(y, b.Concat(b.Shape(flat), b.Shape(y, start=2), axis=0)), tokens_at, axis=0)


def packed_batch(rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw the operands that say where tokens are: offsets, those of padding last, and ends of sequences."""
    lengths = rng.integers(0, 5, 3)
    longest = int(max(lengths.max(), 1))
    is_token = np.arange(longest)[None] < lengths[:, None]
    every = np.arange(is_token.size)
    offsets = np.concatenate([every[is_token.reshape(-1)], every[~is_token.reshape(-1)]])
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return offsets.reshape(is_token.shape).astype(np.int32), ends.astype(np.int32)


def shapes_of(op: Any) -> list[Any]:
    """Return the shapes of queries, keys and values."""
    return [each.shape for each in (op.q, op.k, op.v) if each is not None]


def require_all_or_none(op: Any) -> None:
    """Raise `XonncError` for keys without values or values without keys."""
    if (op.k is None) != (op.v is None):
        raise op.fail("keys and values are needed both, or neither where the queries have them beside them")


def static_widths(op: Any, shapes: list[Any], widths: Callable[[Any], list[Any]]) -> list[int]:
    """Return the hidden sizes of Q, K and V; raise `XonncError` if one is not known."""
    found: list[Any] = [None] if None in shapes else widths(op)
    if not all(isinstance(width, int) for width in found):
        raise op.fail("the widths of queries, keys and values are not known")
    return found


class _Operands:
    """The operands that say where tokens are, as arrays."""

    def __init__(self, op: Any, offsets: Array, ends: Array, attention_bias: Array | None) -> None:
        self.num_heads, self.offsets, self.ends = op.num_heads, offsets, ends
        self.attention_bias = attention_bias


@contrib("PackedAttention")
class PackedAttention:
    """Self-attention of a batch without padding, with a fused QKV projection."""

    inputs = (
        one("T", name="x"),
        one("T", name="weights"),
        one("T", name="bias"),
        one(np.int32, name="offsets"),
        one(np.int32, name="ends"),
        optional("T", name="attention_bias"),
    )
    outputs = (one("T", name="output"),)
    types = allowed(T=REAL)
    num_heads = attribute(int)
    qkv_hidden_sizes = attribute(list[int], default=None)
    scale = attribute(float, default=None)

    @staticmethod
    def widths(op: Any) -> list[Any]:
        """Return the hidden sizes of Q, K and V; symbolic if those of the weights are."""
        if op.qkv_hidden_sizes:
            return list(op.qkv_hidden_sizes)
        return [op.weights.shape[1] // 3] * 3

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.x.shape is None or op.weights.shape is None:
            return op.x.with_shape(None)
        return op.x.with_shape((op.x.shape[0], PackedAttention.widths(op)[2]))

    @staticmethod
    def reference(op: Any, x: Array, weights: Array, bias: Array, *others: Any) -> Array:
        projected = wide(x) @ wide(weights) + wide(bias)
        widths = PackedAttention.widths(op)
        parts = np.split(projected, np.cumsum(widths)[:2], -1)
        scale = scale_of(op, widths[0] // op.num_heads)
        return attend_packed(_Operands(op, *others), parts, scale).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        widths = static_widths(op, [op.weights.shape], PackedAttention.widths)
        projected = b.Add(b.MatMul(op.x, op.weights), op.bias)
        parts = list(b.Split(projected, widths, axis=-1, outputs=3))
        return build_packed(op, b, parts, scale_of(op, widths[0] // op.num_heads))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_bias, widths in ((0, None), (1, None), (0, [16, 16, 8])):
            count, (offsets, ends) = 2, packed_batch(rng)
            batch, length = offsets.shape
            x, total = normal(rng, int(ends[-1]), 12), sum(widths or [16] * 3)
            weights = normal(rng, 12, total) * np.float32(0.3)
            added = normal(rng, batch, count, length, length) if has_bias else None
            given: dict[str, Any] = {"num_heads": count}
            given |= {"qkv_hidden_sizes": widths} if widths else {"scale": 0.25}
            yield [x, weights, normal(rng, total), offsets, ends, added], given


@contrib("PackedMultiHeadAttention")
class PackedMultiHeadAttention:
    """Multi-head attention of a batch without padding, of projected queries, keys and values."""

    inputs = (
        one("T", name="q"),
        optional("T", name="k"),
        optional("T", name="v"),
        optional("T", name="bias"),
        one(np.int32, name="offsets"),
        one(np.int32, name="ends"),
        optional("T", name="attention_bias"),
    )
    outputs = (one("T", name="output"),)
    types = allowed(T=REAL)
    # Keys of padding have no weight, whatever the bias of their scores.
    mask_filter_value = attribute(float, default=MASKED)
    num_heads = attribute(int)
    scale = attribute(float, default=None)

    @staticmethod
    def widths(op: Any) -> list[Any]:
        """Return the hidden sizes of Q, K and V, which may be joined in (tokens, heads, 3, head size)."""
        if op.k is None:
            return [op.q.shape[3] * op.num_heads] * 3
        return [each.shape[1] for each in (op.q, op.k, op.v)]

    @staticmethod
    def infer(op: Any) -> TensorType:
        require_all_or_none(op)
        if None in shapes_of(op):
            return op.q.with_shape(None)
        return op.q.with_shape((op.q.shape[0], PackedMultiHeadAttention.widths(op)[2]))

    @staticmethod
    def reference(
        op: Any, q: Array, k: Array | None, v: Array | None, bias: Array | None, *others: Any
    ) -> Array:
        widths = PackedMultiHeadAttention.widths(op)
        if k is None or v is None:
            parts = [wide(q[:, :, index].reshape((len(q), -1))) for index in range(3)]
        else:
            parts = [wide(each) for each in (q, k, v)]
        if bias is not None:
            rows = np.split(wide(bias), np.cumsum(widths)[:2])
            parts = [part + row for part, row in zip(parts, rows, strict=True)]
        scale = scale_of(op, widths[0] // op.num_heads)
        return attend_packed(_Operands(op, *others), parts, scale).astype(q.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        require_all_or_none(op)
        widths = static_widths(op, shapes_of(op), PackedMultiHeadAttention.widths)
        parts = [op.q, op.k, op.v]
        if op.k is None:
            pieces = b.Split(op.q, [1, 1, 1], axis=2, outputs=3)
            parts = [b.Reshape(piece, [0, widths[0]]) for piece in pieces]
        if op.bias is not None:
            rows = b.Split(op.bias, widths, axis=0, outputs=3)
            parts = [b.Add(part, row) for part, row in zip(parts, rows, strict=True)]
        return build_packed(op, b, parts, scale_of(op, widths[0] // op.num_heads))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for is_joined, has_bias, has_added in ((0, 1, 0), (1, 0, 0), (0, 0, 1), (1, 1, 0)):
            count, size, (offsets, ends) = 2, 8, packed_batch(rng)
            tokens, length = int(ends[-1]), offsets.shape[1]
            parts: list[Array | None] = [normal(rng, tokens, count * size) for _ in range(3)]
            if is_joined:
                parts = [normal(rng, tokens, count, 3, size), None, None]
            bias = normal(rng, 3 * count * size) if has_bias else None
            added = normal(rng, 1, count, length, length) if has_added else None
            yield [*parts, bias, offsets, ends, added], {"num_heads": count}
