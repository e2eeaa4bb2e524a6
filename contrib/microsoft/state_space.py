"""Layers with a state that tokens carry on: causal convolutions and linear attention."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import (
    Array,
    Samples,
    allowed,
    contrib,
    float_of,
    normal,
    rank_of,
    sigmoid,
    wide,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, ml_dtypes.bfloat16)
L2_EPSILON = np.float32(1e-12)
"""What onnxruntime adds to the sum of squares under the root of the L2 norm of queries and keys."""
SIGMOID_GATES = ("sigmoid", "kda")
UPDATE_RULES = ("linear", "gated", "delta", "gated_delta")


def attend(
    queries: Array, keys: Array, values: Array, state: Array, decay: Array | None, rate: Array | None
) -> tuple[Array, Array]:
    """
    Let each token update the state of each head, then read it with its queries; return rows and the state.

    Axes are the batch, tokens and heads; several queries may read the state of a head. The logarithms of
    decays are those of a head or of its key's elements, the rates those of a head.
    """
    rows: list[Array] = []
    for step in range(keys.shape[1]):
        k, v = keys[:, step, :, :, None], values[:, step, :, None]
        if decay is not None:
            state = state * np.exp(decay[:, step, :, :, None])
        if rate is not None:
            state = state + rate[:, step, :, None, None] * k * (v - np.sum(state * k, 2, keepdims=True))
        else:
            state = state + k * v
        rows.append(queries[:, step] @ state)
    return np.stack(rows, 1), state


def repeated(b: Builder, x: Value, heads: int, times: int) -> Value:
    """Repeat each of the heads on the last of three axes."""
    if times == 1:
        return x
    split = b.Reshape(x, [0, 0, heads, 1, -1])
    return b.Reshape(b.Expand(split, [1, 1, 1, times, 1]), [0, 0, -1])


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
    update_rule = attribute(str, default="gated_delta", choices=UPDATE_RULES)

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
        given = None if decay is None or "gated" not in op.update_rule else wide(decay)
        decays = None if given is None else given.reshape((batch, length, count, -1))
        rates = None if beta is None or "delta" not in op.update_rule else wide(beta)
        rows, state = attend(queries, keys, values, state, decays, rates)
        y = rows.reshape((batch, length, -1)) * (op.scale or size**-0.5)
        return [y.astype(query.dtype), state.astype(query.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        widths = [each.shape[2] if each.shape else None for each in (op.key, op.query)]
        known = [width if isinstance(width, int) else None for width in widths]
        shared = LinearAttention.repeats(op, *known)
        query = repeated(b, op.query, op.q_num_heads, shared[0])
        key = repeated(b, op.key, op.kv_num_heads // shared[1], shared[1])
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


@contrib("GatedDeltaNet")
class GatedDeltaNet:
    """
    Linear attention with a decay and a rate for each head, a state in float32, and heads on their own axis.

    Sequences of different lengths (`cu_seqlens`), packed operands and captured updates are not supported.
    """

    inputs = (
        one("T", name="query"),
        one("T", name="key"),
        one("T", name="value"),
        optional("TI", name="cu_seqlens"),
        optional("TG", name="decay"),
        optional("TG", name="beta"),
        optional("TS", name="initial_state"),
        optional("TS", name="a_log"),
        optional("TS", name="dt_bias"),
    )
    outputs = (one("T", name="output"), optional("TS", name="final_state"))
    types = allowed(T=REAL, TG=REAL, TS=(np.float32,), TI=(np.int32,))
    beta_activation = attribute(str, default="none", choices=("none", "sigmoid"))
    chunk_size = attribute(int, default=64)
    gate_activation = attribute(str, default="none", choices=("none", "softplus", "qwen", "sigmoid", "kda"))
    gate_lower_bound = attribute(float, default=-5.0)
    qk_l2_norm = attribute(int, default=0, choices=(0, 1))
    scale = attribute(float, default=0.0)
    state_update_capacity = attribute(int, default=0, choices=(0,))
    update_rule = attribute(str, default="gated_delta", choices=UPDATE_RULES)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        if op.cu_seqlens is not None:
            raise op.fail("sequences of different lengths (cu_seqlens) are not supported")
        for name, rule in (("decay", "gated"), ("beta", "delta")):
            if (rule in op.update_rule) != (getattr(op, name) is not None):
                verb = "needs" if rule in op.update_rule else "takes no"
                raise op.fail(f"the update rule {op.update_rule} {verb} {name}")
        if op.gate_activation != "none" and (op.a_log is None or op.dt_bias is None):
            raise op.fail(f"the gate activation {op.gate_activation} needs a_log and dt_bias")
        rank = rank_of(op, op.query)
        if rank not in (3, 4) or rank_of(op, op.value) != rank:
            raise op.fail(f"query and value have {rank} and {rank_of(op, op.value)} axes; they need 3 or 4")
        if rank == 3 and op.initial_state is None:
            raise op.fail("tokens of a batch on one axis need initial_state, which has the size of the batch")
        initial = op.initial_state.shape if op.initial_state is not None else None
        batch = op.query.shape[0] if rank == 4 else initial[0] if initial else None
        state = (batch, *op.value.shape[-2:], op.query.shape[-1])
        shape = (*op.query.shape[:-2], *op.value.shape[-2:])
        return [op.query.with_shape(shape), op.query.with_shape(state).with_dtype(np.float32)]

    @staticmethod
    def heads(op: Any) -> tuple[int, int, int, int]:
        """Return the number of heads of keys and of values, and the size of each."""
        sizes: tuple[Any, ...] = (op.key.shape or (None,))[-2:] + (op.value.shape or (None,))[-2:]
        if len(sizes) != 4 or not all(isinstance(each, int) for each in sizes):
            raise op.fail("the numbers and sizes of heads are not known")
        if sizes[2] % max(sizes[0], 1):
            raise op.fail(f"{sizes[2]} heads of values cannot share {sizes[0]} heads of keys")
        return sizes[0], sizes[2], sizes[1], sizes[3]

    @staticmethod
    def reference(
        op: Any,
        query: Array,
        key: Array,
        value: Array,
        cu_seqlens: Array | None,
        decay: Array | None,
        beta: Array | None,
        initial_state: Array | None,
        a_log: Array | None,
        dt_bias: Array | None,
    ) -> list[Array]:
        _ = cu_seqlens  # refused where types are inferred
        _, count, size, width = GatedDeltaNet.heads(op)
        batch = query.shape[0] if initial_state is None else initial_state.shape[0]

        def of_tokens(each: Array) -> Array:
            return wide(each).reshape((batch, -1, count, *each.shape[query.ndim - 1 :]))

        def with_all_heads(each: Array) -> Array:
            rows = wide(each)
            if op.qk_l2_norm:
                rows = rows / np.sqrt(np.sum(np.square(rows), -1, keepdims=True) + L2_EPSILON)
            return of_tokens(np.repeat(rows, count // each.shape[-2], -2))

        gates = None
        if decay is not None:
            gates = of_tokens(decay if decay.ndim == query.ndim else decay[..., None])
            if a_log is not None and dt_bias is not None and op.gate_activation != "none":
                factor, gates = np.exp(a_log[:, None]), gates + dt_bias.reshape((count, -1))
                if op.gate_activation in SIGMOID_GATES:
                    gates = op.gate_lower_bound * sigmoid(factor * gates)
                else:
                    gates = -factor * np.logaddexp(np.float32(0), gates)
        rates = None if beta is None else of_tokens(beta)
        rates = sigmoid(rates) if rates is not None and op.beta_activation == "sigmoid" else rates
        state = np.zeros((batch, count, size, width), np.float32)
        state = state if initial_state is None else np.swapaxes(initial_state, 2, 3)
        queries = with_all_heads(query)[:, :, :, None]
        rows, state = attend(queries, with_all_heads(key), of_tokens(value), state, gates, rates)
        y = rows.reshape((*query.shape[:-2], count, width)) * (op.scale or size**-0.5)
        return [y.astype(query.dtype), np.swapaxes(state, 2, 3).astype(np.float32)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value]:
        key_heads, count, size, width = GatedDeltaNet.heads(op)
        rank = rank_of(op, op.query)

        def of_tokens(x: Value, elements: int) -> Value:
            # The axes of the batch and of the tokens, and one of the elements of all heads.
            if rank == 4:
                return b.Reshape(x, [0, 0, elements])
            return b.Reshape(x, b.Concat(b.Shape(op.initial_state, end=1), [-1, elements], axis=0))

        def with_all_heads(x: Value) -> Value:
            rows = float_of(b, x)
            if op.qk_l2_norm:
                squares = b.ReduceSumSquare(rows, [-1], keepdims=1)
                rows = b.Div(rows, b.Sqrt(b.Add(squares, L2_EPSILON)))
            return repeated(b, of_tokens(rows, key_heads * size), key_heads, count // key_heads)

        gates = None
        if op.decay is not None:
            is_per_element = rank_of(op, op.decay) == rank
            gates = float_of(b, op.decay)
            gates = gates if is_per_element else b.Unsqueeze(gates, [-1])
            if op.gate_activation != "none":
                factor = b.Exp(b.Reshape(op.a_log, [count, 1]))
                bias = b.Reshape(op.dt_bias, [count, -1] if is_per_element else [count, 1])
                gates = b.Add(gates, bias)
                if op.gate_activation in SIGMOID_GATES:
                    gates = b.Mul(b.Sigmoid(b.Mul(factor, gates)), np.float32(op.gate_lower_bound))
                else:
                    gates = b.Mul(b.Softplus(gates), b.Neg(factor))
            gates = of_tokens(gates, count * (size if is_per_element else 1))
        rates = None
        if op.beta is not None:
            rates = of_tokens(float_of(b, op.beta), count)
            rates = b.Sigmoid(rates) if op.beta_activation == "sigmoid" else rates
        state = op.initial_state
        y, present = b.LinearAttention(
            with_all_heads(op.query),
            with_all_heads(op.key),
            of_tokens(float_of(b, op.value), count * width),
            None if state is None else b.Transpose(state, perm=[0, 1, 3, 2]),
            gates,
            rates,
            q_num_heads=count,
            kv_num_heads=count,
            scale=op.scale,
            update_rule=op.update_rule,
            chunk_size=op.chunk_size,
        )
        y = b.Reshape(y, [0, 0, count, width] if rank == 4 else [-1, count, width])
        return [b.CastLike(y, op.query), b.Transpose(present, perm=[0, 1, 3, 2])]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for rank, group, rule, per_element, has_state, given in (
            (4, 2, "gated_delta", 0, 1, {"gate_activation": "qwen", "beta_activation": "sigmoid"}),
            (4, 1, "gated_delta", 1, 0, {"gate_activation": "kda", "gate_lower_bound": -3.0}),
            (3, 2, "gated_delta", 1, 1, {"gate_activation": "softplus", "scale": 0.5}),
            (3, 1, "gated", 0, 1, {}),
            (4, 3, "delta", 0, 1, {}),
            (4, 1, "linear", 0, 0, {"scale": 0.25}),
        ):
            batch, length, heads, size, width = 2, int(rng.integers(1, 5)), 2, 4, 3
            leading, count = (batch, length) if rank == 4 else (batch * length,), heads * group
            gates: tuple[int, ...] = (count, size) if per_element else (count,)
            is_raw = "gate_activation" in given
            decay = normal(rng, *leading, *gates)
            rate = normal(rng, *leading, count)
            operands: list[Array | None] = [
                normal(rng, *leading, heads, size),
                normal(rng, *leading, heads, size),
                normal(rng, *leading, count, width),
                None,
                (decay if is_raw else -np.abs(decay)) if "gated" in rule else None,
                (rate if "beta_activation" in given else sigmoid(rate)) if "delta" in rule else None,
                normal(rng, batch, count, width, size) if has_state else None,
                normal(rng, count) if is_raw else None,
                normal(rng, *gates) if is_raw else None,
            ]
            yield operands, {**given, "update_rule": rule, "qk_l2_norm": 1}
