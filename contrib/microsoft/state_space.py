"""Layers with a state that tokens carry on: causal convolutions of Mamba, LFM2 and DeltaNet."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, sigmoid, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, ml_dtypes.bfloat16)


@contrib("CausalConvWithState")
class CausalConvWithState:
    """
    Depthwise convolution over the current and past positions of a sequence, with the past ones as a state.

    Images and volumes (`ndim` 2 and 3) and states after several positions (`state_window`) are not supported.
    """

    inputs = (
        one("T", name="x"),
        one("T", name="weight"),
        optional("T", name="bias"),
        optional("T", name="past_state"),
    )
    outputs = (one("T", name="output"), optional("T", name="present_state"))
    types = allowed(T=REAL)
    activation = attribute(str, default="none", choices=("none", "silu", "swish"))
    channels_last = attribute(int, default=0, choices=(0, 1))
    dilation = attribute(int, default=1)
    input_channel_offset = attribute(int, default=0, choices=(0,))
    input_channels = attribute(int, default=0, choices=(0,))
    ndim = attribute(int, default=1, choices=(1,))
    state_channels_last = attribute(int, default=-1, choices=(-1,))
    state_length = attribute(int, default=0, choices=(0,))
    state_update_capacity = attribute(int, default=0, choices=(0,))
    state_window = attribute(int, default=0, choices=(0,))

    @staticmethod
    def sizes(op: Any) -> tuple[int, int]:
        """Return the number of channels and that of past positions which the convolution reads."""
        shape = op.weight.shape
        if shape is None or len(shape) != 3 or not all(isinstance(each, int) for each in shape):
            raise op.fail(f"the weight needs a static shape (channels, 1, size), not {shape}")
        return shape[0], (shape[2] - 1) * op.dilation

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        if op.x.shape is None or not all(isinstance(each, int) for each in op.weight.shape or (None,)):
            return [op.x, op.x.with_shape(None)]
        channels, past = CausalConvWithState.sizes(op)
        if op.channels_last:
            return [op.x, op.x.with_shape((op.x.shape[0], past, *op.x.shape[2:]))]
        return [op.x, op.x.with_shape((op.x.shape[0], channels, past))]

    @staticmethod
    def reference(
        op: Any, x: Array, weight: Array, bias: Array | None, past_state: Array | None
    ) -> list[Array]:
        channels, past = CausalConvWithState.sizes(op)

        def channels_first(each: Array) -> Array:
            rows = wide(each)
            return np.swapaxes(rows.reshape((*rows.shape[:2], channels)), 1, 2) if op.channels_last else rows

        def restored(each: Array) -> Array:
            rows = np.swapaxes(each, 1, 2) if op.channels_last else each
            shape = (*rows.shape[:2], *x.shape[2:]) if op.channels_last else rows.shape
            return rows.reshape(shape).astype(x.dtype)

        rows, length = channels_first(x), x.shape[1 if op.channels_last else 2]
        state = np.zeros((x.shape[0], channels, past), rows.dtype)
        both = np.concatenate([state if past_state is None else channels_first(past_state), rows], 2)
        y = np.zeros(rows.shape, rows.dtype)
        for tap in range(weight.shape[2]):
            start = tap * op.dilation
            y = y + wide(weight)[:, 0, tap, None] * both[:, :, start : start + length]
        y = y if bias is None else y + wide(bias)[:, None]
        return [restored(y if op.activation == "none" else y * sigmoid(y)), restored(both[:, :, length:])]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        channels, past = CausalConvWithState.sizes(op)
        batch = b.Shape(op.x, start=0, end=1)

        def channels_first(each: Value) -> Value:
            return (
                b.Transpose(b.Reshape(each, [0, 0, channels]), perm=[0, 2, 1]) if op.channels_last else each
            )

        def restored(each: Value) -> Value:
            if not op.channels_last:
                return each
            rows = b.Transpose(each, perm=[0, 2, 1])
            shape = b.Concat(b.Shape(rows, start=0, end=2), b.Shape(op.x, start=2), axis=0)
            return b.Reshape(rows, shape)

        rows = channels_first(op.x)
        if op.past_state is None:
            zeros = b.ConstantOfShape(b.Concat(batch, [channels, past], axis=0))
            state = b.CastLike(zeros, op.x)
        else:
            state = channels_first(op.past_state)
        both = b.Concat(state, rows, axis=2)
        y = b.Conv(both, op.weight, op.bias, group=channels, dilations=[op.dilation])
        y = y if op.activation == "none" else b.Mul(y, b.Sigmoid(y))
        length = b.Shape(rows, start=2, end=3)
        present = b.Slice(both, length, b.Shape(both, start=2, end=3), [2])
        return [restored(y), restored(present)]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for size, has_past, has_bias, last, given in (
            (3, 1, 0, 0, {}),
            (4, 1, 1, 0, {"activation": "silu"}),
            (4, 0, 1, 0, {"activation": "swish"}),
            (1, 0, 1, 0, {}),
            (3, 1, 1, 0, {"dilation": 2}),
            (3, 1, 1, 1, {"activation": "silu"}),
            (2, 0, 0, 2, {"dilation": 3}),
        ):
            batch, length = int(rng.integers(1, 3)), int(rng.integers(1, 6))
            trailing, past = (3, 2) if last == 2 else (6,), (size - 1) * int(given.get("dilation", 1))
            shapes = [(batch, each, *trailing) if last else (batch, 6, each) for each in (length, past)]
            x, state = (normal(rng, *shape) for shape in shapes)
            operands: list[Array | None] = [x, normal(rng, 6, 1, size), normal(rng, 6) if has_bias else None]
            yield [*operands, state if has_past else None], {**given, "channels_last": int(last > 0)}


@contrib("LinearAttention")
class LinearAttention:
    """
    Attention as a recurrence: a state of keys and values instead of a softmax.

    Queries may share the heads of keys and values in groups, and values those of queries, and of keys. States
    after several tokens (`state_window`) are not supported.
    """

    inputs = (
        one("T", name="query"),
        one("T", name="key"),
        one("T", name="value"),
        optional("T", name="past_state"),
        optional("T", name="decay"),
        optional("T", name="beta"),
    )
    outputs = (one("T", name="output"), one("T", name="present_state"))
    types = allowed(T=REAL)
    chunk_size = attribute(int, default=64)
    kv_num_heads = attribute(int)
    q_num_heads = attribute(int)
    scale = attribute(float, default=0.0)
    state_window = attribute(int, default=0, choices=(0,))
    update_rule = attribute(str, default="gated_delta", choices=("linear", "gated", "delta", "gated_delta"))

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        queries, keys = op.q_num_heads, op.kv_num_heads
        if min(queries, keys) < 1 or max(queries, keys) % min(queries, keys):
            raise op.fail(
                f"q_num_heads is {queries}, kv_num_heads {keys}; one must be a multiple of the other"
            )
        for name in ("decay", "beta"):
            if {"decay": "gated", "beta": "delta"}[name] in op.update_rule and getattr(op, name) is None:
                raise op.fail(f"{name} is needed for the update rule {op.update_rule}")
        if op.query.shape is None or op.value.shape is None:
            return [op.query.with_shape(None), op.query.with_shape(None)]
        size, width = op.query.shape[2] // queries, op.value.shape[2] // keys
        shapes = (*op.query.shape[:2], max(queries, keys) * width), (op.query.shape[0], keys, size, width)
        return [op.query.with_shape(shape) for shape in shapes]

    @staticmethod
    def repeats(op: Any, key_width: int | None, query_width: int | None) -> tuple[int, int]:
        """Return how many heads of values share a head of queries, and one of keys."""
        shared = max(op.kv_num_heads // op.q_num_heads, 1)
        size = None if query_width is None else query_width // op.q_num_heads
        if size is None or key_width is None:
            if shared > 1:
                raise op.fail("the size of the heads is not known")
            return shared, 1
        return shared, op.kv_num_heads * size // key_width

    @staticmethod
    def reference(
        op: Any,
        query: Array,
        key: Array,
        value: Array,
        past_state: Array | None,
        decay: Array | None,
        beta: Array | None,
    ) -> list[Array]:
        batch, length, count = *query.shape[:2], op.kv_num_heads
        shared = LinearAttention.repeats(op, key.shape[2], query.shape[2])

        def with_all_heads(each: Array, heads: int, times: int) -> Array:
            return np.repeat(wide(each).reshape((batch, length, heads, -1)), times, 2)

        queries = with_all_heads(query, op.q_num_heads, shared[0]).reshape(
            (batch, length, count, max(op.q_num_heads // count, 1), -1)
        )
        keys = with_all_heads(key, count // shared[1], shared[1])
        values = with_all_heads(value, count, 1)
        size = keys.shape[-1]
        state = np.zeros((batch, count, size, values.shape[-1]), keys.dtype)
        state = state if past_state is None else wide(past_state)
        rows: list[Array] = []
        for step in range(length):
            k, v = keys[:, step, :, :, None], values[:, step, :, None]
            if "gated" in op.update_rule and decay is not None:
                state = state * np.exp(wide(decay)[:, step].reshape((batch, count, -1, 1)))
            if "delta" in op.update_rule and beta is not None:
                rate = wide(beta)[:, step, :, None, None]
                state = state + rate * k * (v - np.sum(state * k, 2, keepdims=True))
            else:
                state = state + k * v
            rows.append((queries[:, step] @ state).reshape((batch, -1)))
        y = np.stack(rows, 1) * (op.scale or size**-0.5)
        return [y.astype(query.dtype), state.astype(query.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        widths = [each.shape[2] if each.shape else None for each in (op.key, op.query)]
        known = [width if isinstance(width, int) else None for width in widths]
        shared = LinearAttention.repeats(op, *known)

        def with_all_heads(each: Value, heads: int, times: int) -> Value:
            if times == 1:
                return each
            split = b.Reshape(each, [0, 0, heads, 1, -1])
            return b.Reshape(b.Expand(split, [1, 1, 1, times, 1]), [0, 0, -1])

        query = with_all_heads(op.query, op.q_num_heads, shared[0])
        key = with_all_heads(op.key, op.kv_num_heads // shared[1], shared[1])
        return list(
            b.LinearAttention(
                *(query, key, op.value, op.past_state, op.decay, op.beta),
                q_num_heads=max(op.q_num_heads, op.kv_num_heads),
                kv_num_heads=op.kv_num_heads,
                scale=op.scale,
                update_rule=op.update_rule,
                chunk_size=op.chunk_size,
            )
        )

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for rule, group, has_past, decays, rates, scale in (
            ("linear", 1, 0, 0, 0, 0.0),
            ("linear", 2, 1, 0, 0, 0.5),
            ("gated", 1, 1, 4, 0, 0.0),
            ("gated", 3, 0, 1, 0, 0.25),
            ("delta", 1, 1, 0, 2, 0.0),
            ("gated_delta", 2, 1, 1, 2, 0.0),
            ("gated_delta", 1, 0, 4, 1, 0.0),
        ):
            batch, length, count, size, width = 2, int(rng.integers(1, 6)), 2, 4, 3
            key = normal(rng, batch, length, count, size)
            key = key / np.linalg.norm(key, axis=-1, keepdims=True)
            operands: list[Array | None] = [
                normal(rng, batch, length, count * group * size),
                key.reshape((batch, length, -1)),
                normal(rng, batch, length, count * width),
                normal(rng, batch, count, size, width) if has_past else None,
                -np.abs(normal(rng, batch, length, count * decays)) if decays else None,
                sigmoid(normal(rng, batch, length, rates)) if rates else None,
            ]
            heads = {"q_num_heads": count * group, "kv_num_heads": count}
            yield operands, {**heads, "update_rule": rule, "scale": scale}
        for key_heads in (2, 4):
            operands = [normal(rng, 2, 3, heads * 4) for heads in (2, key_heads, 4)]
            yield operands, {"q_num_heads": 2, "kv_num_heads": 4, "update_rule": "linear"}
