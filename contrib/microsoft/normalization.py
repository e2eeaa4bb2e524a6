"""Normalization layers, fused with preceding residual additions or embeddings."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import (
    Array,
    Samples,
    allowed,
    contrib,
    normal,
    rank_of,
    sigmoid,
    wide,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16)


def normalized(
    x: Array, gamma: Array, beta: Array | None, epsilon: float, centered: bool = True
) -> list[Array]:
    """
    Return the layer normalization over the last axis, the mean and the inverse standard deviation.

    Without `centered` the mean is taken as 0: RMS normalization.
    """
    mean = x.mean(-1, keepdims=True) if centered else np.zeros((*x.shape[:-1], 1), x.dtype)
    deviation = 1 / np.sqrt(np.square(x - mean).mean(-1, keepdims=True) + x.dtype.type(epsilon))
    y = (x - mean) * deviation * wide(gamma)
    return [y if beta is None else y + wide(beta), mean, deviation]


def statistics_type(x: TensorType) -> TensorType:
    """Return the type of the statistics: float32 with a last axis of size 1."""
    return (x if x.shape is None else x.with_shape((*x.shape[:-1], 1))).with_dtype(np.float32)


@contrib("SkipLayerNormalization")
class SkipLayerNormalization:
    """Layer normalization of the sum of a tensor, a residual (skip) connection and a bias."""

    inputs = (
        one("T", name="x"),
        one("T", name="skip"),
        one("T", name="gamma"),
        optional("T", name="beta"),
        optional("T", name="bias"),
    )
    outputs = (
        one("T", name="output"),
        optional("U", name="mean"),
        optional("U", name="inv_std_var"),
        optional("T", name="total"),
    )
    types = allowed(T=(*REAL, ml_dtypes.bfloat16), U=(np.float32,))
    epsilon = attribute(float, default=1e-12)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        statistics = statistics_type(op.x)
        return [op.x, statistics, statistics, op.x]

    @staticmethod
    def reference(
        op: Any, x: Array, skip: Array, gamma: Array, beta: Array | None, bias: Array | None
    ) -> list[Array]:
        total = wide(x) + wide(skip) + (0 if bias is None else wide(bias))
        y, mean, deviation = normalized(total, gamma, beta, op.epsilon)
        return [y.astype(x.dtype), mean, deviation, total.astype(x.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        total = b.Add(op.x, op.skip)
        total = total if op.bias is None else b.Add(total, op.bias)
        results = b.LayerNormalization(total, op.gamma, op.beta, axis=-1, epsilon=op.epsilon)
        return [*results, total]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_beta, has_bias, batch in ((1, 1, 2), (1, 0, 1), (0, 1, 3)):
            shape = (batch, int(rng.integers(1, 5)), 4 * int(rng.integers(1, 5)))
            rows = [normal(rng, shape[-1]) for _ in range(3)]
            given: list[Array | None] = [normal(rng, *shape), normal(rng, *shape), rows[0]]
            given += [rows[1] if has_beta else None, rows[2] if has_bias else None]
            yield given, {"epsilon": 1e-5}


@contrib("SkipSimplifiedLayerNormalization")
class SkipSimplifiedLayerNormalization:
    """RMS normalization of the sum of a tensor, a residual (skip) connection and a bias."""

    inputs = (one("T", name="x"), one("T", name="skip"), one("T", name="gamma"), optional("T", name="bias"))
    outputs = (
        one("T", name="output"),
        optional("U", name="mean"),
        optional("U", name="inv_std_var"),
        optional("T", name="total"),
    )
    types = allowed(T=(*REAL, ml_dtypes.bfloat16), U=(np.float32,))
    epsilon = attribute(float, default=1e-12)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        statistics = statistics_type(op.x)
        return [op.x, statistics, statistics, op.x]

    @staticmethod
    def reference(op: Any, x: Array, skip: Array, gamma: Array, bias: Array | None) -> list[Array]:
        total = wide(x) + wide(skip) + (0 if bias is None else wide(bias))
        y, mean, deviation = normalized(total, gamma, None, op.epsilon, centered=False)
        return [y.astype(x.dtype), mean, deviation, total.astype(x.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        total = b.Add(op.x, op.skip)
        total = total if op.bias is None else b.Add(total, op.bias)
        if op.outputs[1] is None and op.outputs[2] is None:
            return [b.RMSNormalization(total, op.gamma, axis=-1, epsilon=op.epsilon), None, None, total]
        wide = b.Cast(total, to=np.float32)
        squares = b.ReduceMean(b.Mul(wide, wide), [-1], keepdims=1)
        deviation = b.Reciprocal(b.Sqrt(b.Add(squares, op.epsilon)))
        y = b.Mul(b.CastLike(b.Mul(wide, deviation), op.x), op.gamma)
        return [y, b.Mul(squares, 0.0), deviation, total]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_bias, batch in ((0, 2), (1, 1), (1, 3)):
            shape = (batch, int(rng.integers(1, 5)), 4 * int(rng.integers(1, 5)))
            operands: list[Array | None] = [normal(rng, *shape), normal(rng, *shape), normal(rng, shape[-1])]
            yield [*operands, normal(rng, shape[-1]) if has_bias else None], {"epsilon": 1e-5}


def group_norm(op: Any, x: Array, gamma: Array, beta: Array) -> Array:
    """Compute group normalization and its optional activation (SiLU)."""
    y = np.moveaxis(x, -1, 1) if op.channels_last else x
    groups = y.reshape((y.shape[0], op.groups, -1))
    mean = groups.mean(-1, keepdims=True)
    groups = (groups - mean) / np.sqrt(np.square(groups - mean).mean(-1, keepdims=True) + op.epsilon)
    row = (-1, *[1] * (y.ndim - 2))
    y = groups.reshape(y.shape) * wide(gamma).reshape(row) + wide(beta).reshape(row)
    y = y * sigmoid(y) if op.activation else y
    return np.asarray(np.moveaxis(y, 1, -1) if op.channels_last else y)


def group_norm_of(op: Any, b: Builder, x: Value) -> Value:
    """Build group normalization and its optional activation from ONNX operators."""
    rank = rank_of(op, x)
    y = b.Transpose(x, perm=[0, rank - 1, *range(1, rank - 1)]) if op.channels_last else x
    gamma, beta = b.CastLike(op.gamma, y), b.CastLike(op.beta, y)
    y = b.GroupNormalization(y, gamma, beta, num_groups=op.groups, epsilon=op.epsilon)
    y = b.Mul(y, b.Sigmoid(y)) if op.activation else y
    return b.Transpose(y, perm=[0, *range(2, rank), 1]) if op.channels_last else y


@contrib("GroupNorm")
class GroupNorm:
    """Group normalization of images, by default channels-last, and an optional SiLU."""

    inputs = (one("T", name="x"), one("M", name="gamma"), one("M", name="beta"))
    outputs = one("T")
    types = allowed(T=REAL, M=REAL)
    activation = attribute(int, choices=(0, 1))
    channels_last = attribute(int, default=1)
    epsilon = attribute(float, default=1e-5)
    groups = attribute(int)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, gamma: Array, beta: Array) -> Array:
        return group_norm(op, wide(x), gamma, beta).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return group_norm_of(op, b, op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for activation, last in ((0, 1), (1, 1), (1, 0)):
            shape = (2, 3, int(rng.integers(1, 5)), 6) if last else (2, 6, 3, int(rng.integers(1, 5)))
            given = {"groups": int(rng.choice([1, 2, 3])), "activation": activation, "channels_last": last}
            yield [normal(rng, *shape), normal(rng, 6), normal(rng, 6)], given


@contrib("SkipGroupNorm")
class SkipGroupNorm:
    """Group normalization of the sum of a tensor, a skip connection and a bias; also returns the sum."""

    inputs = (
        one("T", name="x"),
        one("M", name="gamma"),
        one("M", name="beta"),
        one("T", name="skip"),
        optional("T", name="bias"),
    )
    outputs = (one("T", name="output"), optional("T", name="total"))
    types = allowed(T=REAL, M=REAL)
    activation = attribute(int, choices=(0, 1))
    channels_last = attribute(int, default=1)
    epsilon = attribute(float, default=1e-5)
    groups = attribute(int)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        return [op.x, op.x]

    @staticmethod
    def reference(
        op: Any, x: Array, gamma: Array, beta: Array, skip: Array, bias: Array | None
    ) -> list[Array]:
        added = skip.reshape((skip.shape[0], 1, 1, -1)) if skip.ndim == 2 else skip
        total = wide(x) + wide(added) + (0 if bias is None else wide(bias))
        return [group_norm(op, total, gamma, beta).astype(x.dtype), total.astype(x.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        skip = b.Unsqueeze(op.skip, [1, 2]) if rank_of(op, op.skip) == 2 else op.skip
        total = b.Add(op.x, skip)
        total = total if op.bias is None else b.Add(total, op.bias)
        return [group_norm_of(op, b, total), total]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for activation, has_bias, skip in ((0, 1, (2, 3, 4, 6)), (1, 0, (2, 1, 1, 6)), (1, 1, (2, 6))):
            rows = [normal(rng, 6) for _ in range(3)]
            operands = [normal(rng, 2, 3, 4, 6), rows[0], rows[1], normal(rng, *skip)]
            given = {"groups": int(rng.choice([1, 2, 3])), "activation": activation}
            yield [*operands, rows[2] if has_bias else None], given


def embedding_types(op: Any, output: TensorType) -> list[TensorType]:
    """Return the types of the normalized embedding, the mask index and the sum before normalization."""
    ids, table = op.input_ids.shape, op.inputs[2].shape
    shape = None if ids is None or table is None else (*ids, table[1])
    index = op.input_ids.with_shape(None if ids is None else (ids[0],))
    return [output.with_shape(shape), index.with_dtype(np.int32), output.with_shape(shape)]


@contrib("EmbedLayerNormalization")
class EmbedLayerNormalization:
    """Layer normalization of the sum of word, position and segment embeddings."""

    inputs = (
        one(np.int32, name="input_ids"),
        optional(np.int32, name="segment_ids"),
        one("T", name="words"),
        one("T", name="positions"),
        optional("T", name="segments"),
        one("T", name="gamma"),
        one("T", name="beta"),
        optional(np.int32, name="mask"),
        optional(np.int32, name="position_ids"),
    )
    outputs = (
        one("T", name="output"),
        optional(np.int32, name="mask_index"),
        optional("T", name="embedding_sum"),
    )
    types = allowed(T=REAL)
    epsilon = attribute(float, default=1e-12)
    mask_index_type = attribute(int, default=None)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        return embedding_types(op, op.words)

    @staticmethod
    def reference(op: Any, *operands: Array) -> list[Array]:
        ids, segment_ids, words, positions, segments, gamma, beta, mask, position_ids = operands
        absent: Any = None
        position_indices = position_ids
        if position_indices is absent:
            position_indices = np.arange(int(ids.shape[1]), dtype=np.int64).reshape((1, -1))
        total = wide(words)[ids] + wide(positions)[position_indices]
        total = total if segment_ids is absent else total + wide(segments)[segment_ids]
        counts = np.zeros(len(ids), np.int32) if mask is absent else mask.sum(1, dtype=np.int32)
        y = normalized(total, gamma, beta, op.epsilon)[0]
        return [y.astype(words.dtype), counts, total.astype(words.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        if op.position_ids is None:
            end = b.Shape(op.input_ids, start=1, end=2)
            position_indices = b.Slice(op.positions, [0], end, [0])
        else:
            position_indices = b.Gather(op.positions, op.position_ids)
        total = b.Add(b.Gather(op.words, op.input_ids), position_indices)
        total = total if op.segment_ids is None else b.Add(total, b.Gather(op.segments, op.segment_ids))
        y = b.LayerNormalization(total, op.gamma, op.beta, axis=-1, epsilon=op.epsilon)[0]
        if op.mask is None:
            counts = b.Expand(np.zeros((), np.int32), b.Shape(op.input_ids, start=0, end=1))
        else:
            counts = b.ReduceSum(op.mask, [1], keepdims=0)
        return [y, counts, total]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_segments, has_mask, has_positions in ((1, 1, 0), (1, 0, 1), (0, 1, 0)):
            batch, length, size = int(rng.integers(1, 4)), int(rng.integers(1, 6)), 8
            tables = [normal(rng, count, size) for count in (10, 7, 2)]
            ids, segment_ids, position_indices = (
                rng.integers(0, count, (batch, length)).astype(np.int32) for count in (10, 2, 7)
            )
            lengths = rng.integers(1, length + 1, (batch, 1))
            mask = (np.arange(length)[None] < lengths).astype(np.int32)
            operands: list[Array | None] = [ids, segment_ids if has_segments else None, tables[0], tables[1]]
            operands += [tables[2] if has_segments else None, normal(rng, size), normal(rng, size)]
            operands += [mask if has_mask else None, position_indices if has_positions else None]
            yield operands, {"epsilon": 1e-5}
