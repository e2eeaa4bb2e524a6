"""Quantized layers of language models: attention, embeddings and LSTM."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.attention import (
    MASKED,
    attend_projected,
    attend_with_past,
    require_plain_mask,
)
from xonnc.contrib.microsoft.common import (
    BYTES,
    Array,
    Samples,
    allowed,
    contrib,
    dequantize,
    normal,
    quantized,
    real,
    scalar,
)
from xonnc.contrib.microsoft.matmul import exact_product, integer_product
from xonnc.contrib.microsoft.normalization import embedding_types, normalized
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

FLOAT = np.float32


@contrib("QAttention")
class QAttention:
    """Multi-head self-attention with a quantized QKV projection and an optional key-value cache."""

    inputs = (
        one("T1", name="x"),
        one("T2", name="weights"),
        one("T3", name="bias"),
        one("T3", name="x_scale"),
        one("T3", name="w_scale"),
        optional(np.int32, name="mask"),
        optional("T1", name="x_zero"),
        optional("T2", name="w_zero"),
        optional("T3", name="past"),
    )
    outputs = (one("T3", name="output"), optional("T3", name="present"))
    types = allowed(T1=BYTES, T2=BYTES, T3=(FLOAT,))
    do_rotary = attribute(int, default=0, choices=(0,))
    mask_filter_value = attribute(float, default=MASKED)
    num_heads = attribute(int)
    past_present_share_buffer = attribute(int, default=0, choices=(0,))
    scale = attribute(float, default=None)
    unidirectional = attribute(int, default=0)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        unknown = op.bias.with_shape(None)
        if op.x.shape is None or op.weights.shape is None:
            return [unknown, unknown]
        (batch, length), width = op.x.shape[:2], op.weights.shape[1] // 3
        past = 0 if op.past is None else None if op.past.shape is None else op.past.shape[3]
        present = unknown
        if past is not None:
            present = unknown.with_shape((2, batch, op.num_heads, past + length, width // op.num_heads))
        return [unknown.with_shape((batch, length, width)), present]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        x, weights, bias, x_scale, w_scale, mask, x_zero, w_zero, past = operands
        product = exact_product(x, weights, x_zero, w_zero).astype(FLOAT)
        projected = product * (x_scale * w_scale) + bias
        y, k, v = attend_with_past(op, np.split(projected, 3, -1), past, mask)
        return [y.astype(FLOAT), np.stack([k, v]).astype(FLOAT)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        require_plain_mask(op, op.mask, None if op.x.shape is None else op.x.shape[0])
        width = None if op.weights.shape is None else op.weights.shape[1]
        if not isinstance(width, int):
            raise op.fail("the shape of the weights is not known")
        product = integer_product(op, b, op.x, op.weights, op.x_zero, op.w_zero)
        scale = b.Mul(scalar(b, op.x_scale), scalar(b, op.w_scale))
        projected = b.Add(b.Mul(product, scale), op.bias)
        return attend_projected(op, b, projected, [width // 3] * 3)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mask_rank, is_causal, has_past, dtype in ((0, 0, 0, 0), (1, 0, 0, 1), (2, 0, 1, 0), (0, 1, 1, 1)):
            batch, length, count, size = 2, int(rng.integers(1, 6)), int(rng.integers(1, 4)), 8
            past = int(rng.integers(1, 4)) if has_past else 0
            width, total = count * size, past + length
            x, x_scale, x_zero = quantized(rng, (batch, length, 12), np.uint8)
            weights, w_scale, w_zero = quantized(rng, (12, 3 * width), BYTES[dtype])
            if is_causal:
                w_scale = rng.uniform(0.005, 0.01, 3 * width).astype(FLOAT)
                w_zero = np.zeros(3 * width, BYTES[dtype])
            lengths = rng.integers(1, total + 1, batch).astype(np.int32)
            keys = (np.arange(total)[None] < lengths[:, None]).astype(np.int32)
            state = normal(rng, 2, batch, count, past, size) if has_past else None
            operands: list[Array | None] = [
                x,
                weights,
                normal(rng, 3 * width),
                np.asarray(x_scale * np.float32(0.1)),
            ]
            operands += [w_scale, (None, lengths, keys)[mask_rank], x_zero, w_zero, state]
            yield operands, {"num_heads": count, "unidirectional": is_causal}


@contrib("QEmbedLayerNormalization")
class QEmbedLayerNormalization:
    """Layer normalization of the sum of quantized word, position and segment embeddings."""

    inputs = (
        one(np.int32, name="input_ids"),
        optional(np.int32, name="segment_ids"),
        one("T2", name="words"),
        one("T2", name="positions"),
        optional("T2", name="segments"),
        one("T2", name="gamma"),
        one("T2", name="beta"),
        optional(np.int32, name="mask"),
        one(FLOAT, name="words_scale"),
        one(FLOAT, name="positions_scale"),
        optional(FLOAT, name="segments_scale"),
        one(FLOAT, name="gamma_scale"),
        one(FLOAT, name="beta_scale"),
        one("T2", name="words_zero"),
        one("T2", name="positions_zero"),
        optional("T2", name="segments_zero"),
        one("T2", name="gamma_zero"),
        one("T2", name="beta_zero"),
    )
    outputs = (one(FLOAT, name="output"), one(np.int32, name="mask_index"))
    types = allowed(T2=BYTES)
    epsilon = attribute(float, default=1e-12)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        return embedding_types(op, op.words.with_dtype(FLOAT))[:2]

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        ids, segment_ids = operands[:2]
        mask = operands[7]
        absent: Any = None
        tables = [
            None if table is absent else dequantize(table, scale, zero)
            for table, scale, zero in zip(operands[2:7], operands[8:13], operands[13:], strict=True)
        ]
        words, positions, segments, gamma, beta = tables
        assert words is not None
        assert positions is not None
        assert gamma is not None
        total = words[ids] + positions[: ids.shape[1]]
        total = total if segments is None else total + segments[segment_ids]
        counts = np.zeros(len(ids), np.int32) if mask is absent else mask.sum(1, dtype=np.int32)
        return [normalized(total, gamma, beta, op.epsilon)[0].astype(FLOAT), counts]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        positions = b.Slice(op.positions, [0], b.Shape(op.input_ids, start=1), [0])
        total = b.Add(
            real(b, b.Gather(op.words, op.input_ids), op.words_scale, op.words_zero),
            real(b, positions, op.positions_scale, op.positions_zero),
        )
        if op.segment_ids is not None:
            segments = b.Gather(op.segments, op.segment_ids)
            total = b.Add(total, real(b, segments, op.segments_scale, op.segments_zero))
        gamma = real(b, op.gamma, op.gamma_scale, op.gamma_zero)
        beta = real(b, op.beta, op.beta_scale, op.beta_zero)
        y = b.LayerNormalization(total, gamma, beta, axis=-1, epsilon=op.epsilon)[0]
        if op.mask is None:
            return [y, b.Expand(np.zeros((), np.int32), b.Shape(op.input_ids, start=0, end=1))]
        return [y, b.ReduceSum(op.mask, [1], keepdims=0)]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_segments, has_mask, dtype in ((1, 1, np.uint8), (1, 0, np.int8), (0, 1, np.uint8)):
            batch, length, size = int(rng.integers(1, 4)), int(rng.integers(1, 6)), 8
            shapes = ((10, size), (7, size), (2, size), (size,), (size,))
            tables = [quantized(rng, shape, dtype) for shape in shapes]
            ids, segment_ids = (rng.integers(0, count, (batch, length)).astype(np.int32) for count in (10, 2))
            mask = (np.arange(length)[None] < rng.integers(1, length + 1, (batch, 1))).astype(np.int32)

            def optional_operands(
                part: int, drawn: Any = tables, has: int = has_segments
            ) -> list[Array | None]:
                return [None if at == 2 and not has else each[part] for at, each in enumerate(drawn)]

            operands: list[Array | None] = [ids, segment_ids if has_segments else None, *optional_operands(0)]
            operands += [mask if has_mask else None, *optional_operands(1), *optional_operands(2)]
            yield operands, {"epsilon": 1e-5}
