"""Attention of which each head sees blocks of tokens, as onnxruntime-genai writes it for Phi-3-small."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import REAL, heads, merge_heads, merged, scale_of, split_heads
from xonnc.contrib.microsoft.cached_attention import attend_biased
from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, range_of, softmax, wide
from xonnc.contrib.microsoft.grouped_attention import (
    GroupQueryAttention,
    require_keys_and_tables,
    rotated,
)
from xonnc.contrib.microsoft.windowed_cache import build_with_new_rows, with_new_rows
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

LAST = np.iinfo(np.int64).max


def dense(rows: Array, columns: Array) -> Array:
    """Return the mask of blocks of each layout, of which `rows` and `columns` are the CSR form."""
    layouts, blocks = rows.shape[0], rows.shape[1] - 1
    mask = np.zeros((layouts, blocks, blocks), np.bool_)
    for layout in range(layouts):
        sizes: Array = rows[layout, 1:] - rows[layout, :-1]
        row_of: Array = np.repeat(np.arange(blocks, dtype=np.int64), sizes)
        mask[layout, row_of, columns[layout, : row_of.size]] = True
    return mask


def csr(mask: Array) -> tuple[Array, Array]:
    """Return the row ends and the columns of `dense`, padded with -1."""
    ends = np.cumsum(mask.sum(-1), -1)
    columns = [np.nonzero(layout)[1] for layout in mask]
    longest = max(len(each) for each in columns)
    padded = [np.pad(each, (0, longest - len(each)), constant_values=-1) for each in columns]
    return np.pad(ends, ((0, 0), (1, 0))).astype(np.int32), np.stack(padded).astype(np.int32)


@contrib("SparseAttention")
class SparseAttention:
    """
    Causal attention over a cache of fixed length, of which each head sees some blocks of tokens.

    The blocks are those of a mask in CSR form; heads have its layouts in turn. onnxruntime needs a cache and
    its update in one buffer; here they may be in any.
    """

    inputs = (
        one("T", name="q"),
        optional("T", name="k"),
        optional("T", name="v"),
        one("T", name="past_key"),
        one("T", name="past_value"),
        one("M", name="rows"),
        one("M", name="columns"),
        one("M", name="total"),
        one("M", name="lengths"),
        optional("T", name="cosines"),
        optional("T", name="sines"),
    )
    outputs = (one("T", name="output"), one("T", name="present_key"), one("T", name="present_value"))
    types = allowed(T=REAL, M=(np.int32,))
    do_rotary = attribute(int, default=0)
    kv_num_heads = attribute(int)
    num_heads = attribute(int)
    rotary_interleaved = attribute(int, default=0)
    scale = attribute(float, default=None)
    sparse_block_size = attribute(int)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        require_keys_and_tables(op)
        shape = op.q.shape
        if shape is None or not isinstance(shape[-1], int):
            return [op.q.with_shape(None), op.past_key, op.past_value]
        output = op.q.with_shape((*shape[:2], op.num_heads * GroupQueryAttention.size(op)))
        return [output, op.past_key, op.past_value]

    @staticmethod
    def layouts(op: Any) -> int:
        """Return the number of layouts of blocks, which the heads have in turn."""
        layouts = None if op.rows.shape is None else op.rows.shape[0]
        if not isinstance(layouts, int):
            raise op.fail("the number of layouts of blocks is not known")
        if layouts < 1 or op.num_heads % layouts:
            raise op.fail(f"{op.num_heads} heads are no multiple of {layouts} layouts of blocks")
        return layouts

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        q, k, v, past_key, past_value, rows, columns, _, lengths, cosines, sines = operands
        absent: Any = None
        size, length = GroupQueryAttention.size(op), q.shape[1]
        if k is absent:
            q, k, v = np.split(q, np.cumsum([op.num_heads * size, op.kv_num_heads * size]), -1)
        query, key = heads(wide(q), op.num_heads), heads(wide(k), op.kv_num_heads)
        starts: Array = np.maximum(lengths.reshape(-1).astype(np.int64) - length, 0)
        own: Array = starts[:, None] + np.arange(length, dtype=np.int64)
        if op.do_rotary:
            query, key = (
                rotated(each, own, cosines, sines, bool(op.rotary_interleaved)) for each in (query, key)
            )
        new = key, heads(wide(v), op.kv_num_heads)
        presents = [
            with_new_rows(wide(past), each, starts, 0)
            for past, each in zip((past_key, past_value), new, strict=True)
        ]
        keys, values = (np.repeat(each, op.num_heads // op.kv_num_heads, 1) for each in presents)
        positions = np.arange(keys.shape[2], dtype=np.int64)
        mask = dense(rows, columns)
        seen = mask[:, (own // op.sparse_block_size)[..., None], positions // op.sparse_block_size]
        seen = np.tile(seen.swapaxes(0, 1), (1, op.num_heads // len(mask), 1, 1))
        seen = seen & (positions <= own[:, None, :, None])
        scores = query @ keys.swapaxes(-1, -2) * np.float32(scale_of(op, size))
        y = merged(softmax(np.where(seen, scores, np.float32(-np.inf))) @ values)
        return [y.astype(op.q.dtype), *(each.astype(past_key.dtype) for each in presents)]

    @staticmethod
    def blocks(op: Any, b: Builder) -> Value:
        """Return the mask of blocks of each layout, (layouts, blocks, blocks)."""
        rows, columns = op.constant(5), op.constant(6)
        if rows is not None and columns is not None:
            return b.constant(dense(rows, columns))
        starts, ends = (b.Slice(op.rows, *each, [1]) for each in (([0], [-1]), ([1], [LAST])))
        entries = b.Cast(range_of(b, b.Shape(op.columns, start=1)), to=np.int32)
        ends, starts = b.Unsqueeze(ends, [2]), b.Unsqueeze(starts, [2])
        is_row = b.And(b.LessOrEqual(starts, entries), b.Less(entries, ends))
        every = b.Cast(range_of(b, b.Shape(starts, start=1, end=2)), to=np.int32)
        is_column = b.Equal(b.Unsqueeze(op.columns, [2]), every)
        both = b.MatMul(*(b.Cast(each, to=np.float32) for each in (is_row, is_column)))
        return b.Greater(both, np.float32(0))

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        size = GroupQueryAttention.size(op)
        q, k, v = op.q, op.k, op.v
        if k is None:
            widths = [op.num_heads * size, op.kv_num_heads * size, op.kv_num_heads * size]
            q, k, v = b.Split(q, widths, axis=-1, outputs=3)
        query, key = split_heads(b, q, op.num_heads), split_heads(b, k, op.kv_num_heads)
        length = b.Shape(q, start=1, end=2)
        tokens = b.Reshape(b.Cast(op.lengths, to=np.int64), [-1])
        # A prompt may be shorter than its padded length; it starts at position 0.
        starts = b.Max(b.Sub(tokens, length), np.int64(0))
        own = b.Add(b.Unsqueeze(starts, [1]), b.Unsqueeze(range_of(b, length), [0]))
        if op.do_rotary:
            query, key = (
                b.RotaryEmbedding(each, op.cosines, op.sines, own, interleaved=op.rotary_interleaved)
                for each in (query, key)
            )
        new = key, split_heads(b, v, op.kv_num_heads)
        keys, values = (
            build_with_new_rows(b, past, each, starts, b.constant(np.zeros(1, np.int64)))
            for past, each in zip((op.past_key, op.past_value), new, strict=True)
        )
        positions = range_of(b, b.Shape(keys, start=2, end=3))
        block = np.int64(op.sparse_block_size)
        seen = b.Gather(SparseAttention.blocks(op, b), b.Div(own, block), axis=1)
        seen = b.Transpose(b.Gather(seen, b.Div(positions, block), axis=3), perm=[1, 0, 2, 3])
        layouts = SparseAttention.layouts(op)
        if layouts > 1:
            seen = b.Concat(*[seen] * (op.num_heads // layouts), axis=1)
        seen = b.And(seen, b.LessOrEqual(positions, b.Unsqueeze(own, [1, 3])))
        count = op.num_heads, op.kv_num_heads
        lengths, scale = b.Add(starts, length), scale_of(op, size)
        y = attend_biased(b, [query, keys, values], lengths, scale, heads=count, seen=seen)
        return [merge_heads(b, y), keys, values]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for count, kv, layouts, length, options in (
            (4, 2, 2, 1, {"do_rotary": 1}),
            (4, 4, 1, 3, {"scale": 0.5}),
            (4, 1, 4, 20, {"do_rotary": 1, "rotary_interleaved": 1}),
            (2, 1, 2, 1, {"is_packed": 1}),
        ):
            size, block, blocks, batch = 16, 16, 4, 2
            mask = np.tril(rng.random((layouts, blocks, blocks)) < 0.5) | np.eye(blocks, dtype=np.bool_)
            past = int(rng.integers(0, block * blocks - length + 1)) if length < 4 else 0
            q, k, v = (normal(rng, batch, length, each * size) for each in (count, kv, kv))
            is_packed = "is_packed" in options
            rows: list[Array | None] = [np.concatenate([q, k, v], -1), None, None] if is_packed else [q, k, v]
            caches = [normal(rng, batch, kv, block * blocks, size) for _ in range(2)]
            angles = rng.uniform(0, 6, (block * blocks, size // 2)).astype(np.float32)
            tables = [np.cos(angles), np.sin(angles)] if "do_rotary" in options else [None, None]
            total = np.asarray(past + length, np.int32)
            lengths = rng.integers(length, past + length + 1, batch).astype(np.int32)
            given = {name: each for name, each in options.items() if name != "is_packed"}
            attributes = {"num_heads": count, "kv_num_heads": kv, "sparse_block_size": block, **given}
            yield [*rows, *caches, *csr(mask), total, lengths, *tables], attributes
