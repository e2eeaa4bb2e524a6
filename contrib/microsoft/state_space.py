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
