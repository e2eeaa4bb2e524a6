"""Multi-head attention of projected queries, keys and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import (
    MASKED,
    REAL,
    causal_of,
    heads,
    mask_bias_of,
    merge_heads,
    merged,
    require_plain_mask,
    scale_of,
    score_bias,
    scores_of,
    split_heads,
)
from xonnc.contrib.microsoft.cached_attention import attend_cached, lengths_of
from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, softmax, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional


def has_heads(part: Value) -> bool:
    """
    Whether an operand is already split into heads, as keys and values may be.

    These get no bias. onnxruntime's optimizer writes them for the transformer of Stable Diffusion 3.
    """
    return part.shape is not None and len(part.shape) == 4


@contrib("MultiHeadAttention")
class MultiHeadAttention:
    """Multi-head attention of projected queries, keys and values, with an optional key-value cache."""

    inputs = (
        one("T", name="q"),
        optional("T", name="k"),
        optional("T", name="v"),
        optional("T", name="bias"),
        optional(np.int32, name="mask"),
        optional("T", name="attention_bias"),
        optional("T", name="past_key"),
        optional("T", name="past_value"),
        optional(np.int32, name="past_length"),
        optional(np.int32, name="cache_indirection"),
    )
    outputs = (
        one("T", name="output"),
        optional("T", name="present_key"),
        optional("T", name="present_value"),
        optional("QK", name="qk"),
    )
    types = allowed(T=REAL, QK=REAL)
    mask_filter_value = attribute(float, default=MASKED)
    num_heads = attribute(int)
    scale = attribute(float, default=None)
    unidirectional = attribute(int, default=0)

    @staticmethod
    def require_supported(op: Any) -> None:
        """Raise `XonncError` for packed QKV operands and for a key-value cache in a shared buffer."""
        if op.k is None or op.v is None:
            raise op.fail("packed queries, keys and values are not supported; give them as three operands")
        if op.past_length is not None or op.cache_indirection is not None:
            raise op.fail("a state in a shared buffer is not supported")

    @staticmethod
    def width_of(op: Any, part: Value) -> int | None:
        """Return how many elements of the bias belong to an operand; `None` if that is not known."""
        width = part.shape[-1] if part.shape else None
        if not isinstance(width, int):
            return None
        return width * op.num_heads if has_heads(part) else width

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        MultiHeadAttention.require_supported(op)
        unknown = op.q.with_shape(None)
        if op.q.shape is None or op.v.shape is None or len(op.v.shape) not in (3, 4):
            return [op.q, unknown, unknown, unknown]
        batch, length, width = op.q.shape
        value_width = op.v.shape[2] if len(op.v.shape) == 3 else op.num_heads * op.v.shape[3]
        output = op.q.with_shape((batch, length, value_width))
        if (op.past_key is not None and op.past_key.shape is None) or op.k.shape is None:
            return [output, unknown, unknown, unknown]
        total = op.k.shape[-2] + (0 if op.past_key is None else op.past_key.shape[2])
        keys = (batch, op.num_heads, total, width // op.num_heads)
        values = (batch, op.num_heads, total, value_width // op.num_heads)
        scores = (batch, op.num_heads, length, total)
        return [output, *(op.q.with_shape(shape) for shape in (keys, values, scores))]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        MultiHeadAttention.require_supported(op)
        q, k, v, bias, mask, added, past_key, past_value, *_ = operands
        absent: Any = None
        parts = [wide(q), wide(k), wide(v)]
        if bias is not absent:
            widths = [part.shape[-1] * (op.num_heads if part.ndim == 4 else 1) for part in parts]
            rows = np.split(wide(bias), np.cumsum(widths)[:2])
            parts = [part if part.ndim == 4 else part + row for part, row in zip(parts, rows, strict=True)]
        query, key, value = (part if part.ndim == 4 else heads(part, op.num_heads) for part in parts)
        if past_key is not absent:
            key = np.concatenate([wide(past_key), key], 2)
            value = np.concatenate([wide(past_value), value], 2)
        terms = score_bias(op, query.shape[2], key.shape[2], mask, added)
        scale = scale_of(op, query.shape[-1])
        scores = query @ key.swapaxes(-1, -2) * np.float32(scale) + terms
        return [each.astype(q.dtype) for each in (merged(softmax(scores) @ value), key, value, scores)]

    @staticmethod
    def is_decoder(op: Any) -> bool:
        """
        Whether tokens attend to a cache, or, without biases, to those before them, and scores are no result.

        Products of whole matrices are faster where all tokens attend to all.
        """
        has_biases = op.mask is not None or op.attention_bias is not None
        attends = op.past_key is not None or (bool(op.unidirectional) and not has_biases)
        return op.outputs[3] is None and attends

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        MultiHeadAttention.require_supported(op)
        require_plain_mask(op, op.mask, None if op.q.shape is None else op.q.shape[0])
        parts = [op.q, op.k, op.v]
        if op.bias is not None:
            widths = [MultiHeadAttention.width_of(op, part) for part in parts]
            if not all(isinstance(width, int) for width in widths):
                raise op.fail("the widths of the operands are not known")
            rows = b.Split(op.bias, widths, axis=0, outputs=3)
            parts = [
                part if has_heads(part) else b.Add(part, row) for part, row in zip(parts, rows, strict=True)
            ]
        q, k, v = (part if has_heads(part) else split_heads(b, part, op.num_heads) for part in parts)
        if op.past_key is not None:
            k, v = b.Concat(op.past_key, k, axis=2), b.Concat(op.past_value, v, axis=2)
        scale = scale_of(op, (q.shape or (None,))[-1])
        biases: list[Value] = []
        if op.mask is not None:
            biases.append(mask_bias_of(op, b, op.mask, k, op.mask_filter_value))
        if op.attention_bias is not None:
            biases.append(op.attention_bias)
        if MultiHeadAttention.is_decoder(op):
            y = attend_cached(
                b, [q, k, v], lengths_of(b, k), biases, scale=scale, is_causal=op.unidirectional
            )
            return [merge_heads(b, y), k, v, None]
        if op.unidirectional:
            biases.append(causal_of(b, q, k, float(np.finfo(op.q.dtype).min)))
        scores = scores_of(b, q, k, scale, biases)
        return [merge_heads(b, b.MatMul(b.Softmax(scores, axis=-1), v)), k, v, scores]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_bias, mask_rank, has_past, has_added in (
            (0, 0, 0, 0),
            (1, 1, 0, 0),
            (0, 2, 0, 1),
            (0, 0, 1, 0),
            (0, 1, 1, 0),
            (1, 2, 1, 1),
        ):
            batch, length, count, size = 2, int(rng.integers(1, 6)), int(rng.integers(1, 4)), 8
            keys = length if has_past else int(rng.integers(1, 6))
            past = int(rng.integers(1, 4)) if has_past else 0
            width, total = count * size, past + keys
            q, k, v = (normal(rng, batch, each, width) for each in (length, keys, keys))
            lengths = rng.integers(1, total + 1, batch).astype(np.int32)
            masks = (None, lengths, (np.arange(total)[None] < lengths[:, None]).astype(np.int32))
            bias = normal(rng, 3 * width) if has_bias else None
            added = normal(rng, 1, count, length, total) if has_added else None
            operands: list[Array | None] = [q, k, v, bias, masks[mask_rank], added]
            if has_past:
                operands += [normal(rng, batch, count, past, size) for _ in range(2)]
            yield operands, {"num_heads": count}
        for has_bias in (False, True):
            parts = [normal(rng, 2, 3, 16), *(normal(rng, 2, 2, 5, 8) for _ in range(2))]
            yield [*parts, normal(rng, 48) if has_bias else None], {"num_heads": 2}
