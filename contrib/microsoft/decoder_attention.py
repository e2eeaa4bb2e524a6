"""Attention of one new token over a cache that is updated in place, with beam search."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import (
    MASKED,
    heads,
    mask_bias,
    merge_heads,
    merged,
    scale_of,
    split_heads,
)
from xonnc.contrib.microsoft.cached_attention import attend_biased, attend_cached, padded_to
from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, softmax, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional


def of_beams(cache: Array, beams: Array) -> Array:
    """Return the cache that the beams read: of each position, the row of the beam that `beams` names."""
    batch, width, capacity = beams.shape
    cached = cache.reshape((batch, width, *cache.shape[1:]))
    rows = cached[np.arange(batch)[:, None, None], beams, :, np.arange(capacity)[None, None]]
    # Indices on both sides of a slice put its axis last: (batch, beam, position, heads, size).
    return rows.transpose((0, 1, 3, 2, 4)).reshape(cache.shape)


def build_of_beams(b: Builder, cache: Value, beams: Value) -> Value:
    """Build `of_beams` from ONNX operators."""
    shape = b.Concat(b.Shape(beams, end=2), b.Shape(cache, start=1), axis=0)
    cached = b.Transpose(b.Reshape(cache, shape), perm=[0, 3, 1, 2, 4])
    positions = b.Unsqueeze(b.Cast(b.Transpose(beams, perm=[0, 2, 1]), to=np.int64), [3])
    rows = b.GatherND(cached, positions, batch_dims=2)
    return b.Reshape(b.Transpose(rows, perm=[0, 2, 3, 1, 4]), b.Shape(cache))


def appended(caches: list[Array], new: list[Array], index: int) -> list[Array]:
    """Return caches with the heads of the new token at a position."""
    results = [each.copy() for each in caches]
    for result, row in zip(results, new, strict=True):
        result[:, :, index : index + 1] = row
    return results


@contrib("DecoderMaskedMultiHeadAttention")
class DecoderMaskedMultiHeadAttention:
    """
    Attention of one new token of each sequence, over a cache of fixed length or over given heads.

    Keys and values of rank 4 are those of an encoder (cross-attention); there is no cache then.
    """

    inputs = (
        one("T", name="q"),
        optional("T", name="k"),
        optional("T", name="v"),
        optional(np.int32, name="mask"),
        optional("T", name="attention_bias"),
        optional("T", name="past_key"),
        optional("T", name="past_value"),
        optional(np.int32, name="past_length"),
        optional(np.int32, name="beam_width"),
        optional(np.int32, name="beams"),
        optional("T", name="bias"),
    )
    outputs = (
        one("T", name="output"),
        optional("T", name="present_key"),
        optional("T", name="present_value"),
    )
    types = allowed(T=(np.float32, np.float16))
    mask_filter_value = attribute(float, default=MASKED)
    num_heads = attribute(int)
    output_qk = attribute(int, default=0, choices=(0,))
    past_present_share_buffer = attribute(int, default=0)
    scale = attribute(float, default=None)

    @staticmethod
    def is_cross(op: Any) -> bool:
        """Whether keys and values are heads, of rank 4; raise `XonncError` for operands that are refused."""
        if op.k is None or op.v is None:
            raise op.fail("packed queries, keys and values are not supported; give them as three operands")
        if len(op.k.shape or ()) == 4:
            return True
        needed = op.past_key, op.past_value, op.past_length
        if any(each is None for each in needed) or not op.past_present_share_buffer:
            raise op.fail("past_key, past_value and past_sequence_length are needed, and a shared buffer")
        return False

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        if DecoderMaskedMultiHeadAttention.is_cross(op):
            unknown = op.q.with_shape(None)
            return [op.q, unknown, unknown]
        return [op.q, op.past_key, op.past_value]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        q, k, v, mask, added, past_key, past_value, past_length, _, beams, bias = operands
        absent: Any = None
        is_cross = DecoderMaskedMultiHeadAttention.is_cross(op)
        parts = [wide(q)] if is_cross else [wide(each) for each in (q, k, v)]
        if bias is not absent:
            rows = np.split(wide(bias), 3)
            parts = [part + row for part, row in zip(parts, rows, strict=False)]
        query, *new = (heads(part, op.num_heads) for part in parts)
        updated_caches: list[Array] = [wide(k), wide(v)]
        presents: list[Array] = []
        length = k.shape[2]
        if not is_cross:
            position = int(past_length.reshape(-1)[0])
            caches, length = [wide(past_key), wide(past_value)], position + 1
            presents = appended(caches, new, position)
            updated_caches = presents if beams is absent else [of_beams(each, beams) for each in caches]
            updated_caches = updated_caches if beams is absent else appended(updated_caches, new, position)
        keys, values = (each[:, :, :length] for each in updated_caches)
        scores = query @ keys.swapaxes(-1, -2) * np.float32(scale_of(op, query.shape[-1]))
        scores = scores if mask is absent else scores + mask_bias(mask, op.mask_filter_value, length)
        scores = scores if added is absent else scores + wide(added)
        return [each.astype(q.dtype) for each in (merged(softmax(scores) @ values), *presents)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        is_cross = DecoderMaskedMultiHeadAttention.is_cross(op)
        if op.q.shape is None or not isinstance(op.q.shape[2], int):
            raise op.fail("the width of the queries is not known")
        parts = [op.q] if is_cross else [op.q, op.k, op.v]
        if op.bias is not None:
            rows = b.Split(op.bias, None, axis=0, num_outputs=3, outputs=3)
            parts = [b.Add(part, row) for part, row in zip(parts, rows, strict=False)]
        query, *new = (split_heads(b, part, op.num_heads) for part in parts)
        batch = b.Shape(op.q, end=1)
        updated_caches: list[Value] = [op.k, op.v]
        presents: list[Value | None] = [None, None]
        if is_cross:
            lengths = b.Expand(b.Shape(op.k, start=2, end=3), batch)
        else:
            starts = b.Expand(b.Reshape(b.Cast(op.past_length, to=np.int64), [-1]), batch)
            lengths, caches = b.Add(starts, np.int64(1)), [op.past_key, op.past_value]

            def updated(each: list[Value]) -> list[Value]:
                """Build caches with the heads of the new token."""
                pairs = zip(each, new, strict=True)
                return [b.TensorScatter(cached, row, starts, axis=2) for cached, row in pairs]

            updated_caches = updated(caches)
            presents = [*updated_caches]
            if op.beams is not None:
                updated_caches = updated([build_of_beams(b, each, op.beams) for each in caches])
        y = DecoderMaskedMultiHeadAttention.attend(op, b, [query, *updated_caches], lengths)
        return [merge_heads(b, y), *presents]

    @staticmethod
    def attend(op: Any, b: Builder, parts: list[Value], lengths: Value) -> Value:
        """Build the attention over the first `lengths` keys, with a mask and a bias if there are any."""
        scale = scale_of(op, op.q.shape[2] // op.num_heads)
        biases: list[Value] = []
        if op.mask is not None:
            seen = b.Cast(padded_to(b, op.mask, parts[1]), to=np.bool_)
            masked = b.Where(seen, np.float32(0), np.float32(op.mask_filter_value))
            biases.append(b.Unsqueeze(masked, [1, 2]))
        if op.attention_bias is not None:
            biases.append(padded_to(b, op.attention_bias, parts[1]))
        if not biases:
            return attend_cached(b, parts, lengths, scale=scale)
        count = op.num_heads, op.num_heads
        return attend_biased(b, parts, lengths, scale, heads=count, biases=tuple(biases))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        count, size, batch = 2, 8, 4
        for options in ("", "bias", "mask", "added", "beams", "beams mask added bias", "cross", "cross mask"):
            capacity, position = 6, int(rng.integers(0, 6))
            is_cross = "cross" in options
            total = capacity if is_cross else position + 1
            mask = (rng.random((batch, total)) < 0.7).astype(np.int32)
            mask[:, 0] = 1
            shape = (batch, count, capacity, size) if is_cross else (batch, 1, count * size)
            caches: list[Array | None] = [normal(rng, batch, count, capacity, size) for _ in range(2)]
            yield (
                [
                    normal(rng, batch, 1, count * size),
                    normal(rng, *shape),
                    normal(rng, *shape),
                    mask if "mask" in options else None,
                    normal(rng, 1, count, 1, total) if "added" in options else None,
                    *([None] * 3 if is_cross else [*caches, np.array([position], np.int32)]),
                    np.array([2], np.int32) if "beams" in options else None,
                    rng.integers(0, 2, (2, 2, capacity)).astype(np.int32) if "beams" in options else None,
                    normal(rng, 3 * count * size) if "bias" in options else None,
                ],
                {"num_heads": count, "past_present_share_buffer": int(not is_cross)},
            )
