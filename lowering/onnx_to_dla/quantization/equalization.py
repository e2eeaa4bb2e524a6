"""
Cross-layer equalization and bias absorption before quantization to int8 [Nagel 2019, §4.1].

An activation tensor has one scale for all channels, so channels of a small range, or a range far from zero,
use few of the 256 levels. Between two linear operators with at most ReLUs and data movement in between, a
channel may be multiplied by any positive factor if the weights that read it are divided by it, since `relu(f
x) = f relu(x)`. Weights are quantized per output channel, so the factor is free for the producer; the
consumers' input channels share a scale. The factors are powers between none and full equalization of the
channels, chosen for the least expected quantization noise. (Nagel et al. use one scale per weight tensor, and
factors from the weights alone.) Without a ReLU in between the center of each channel is subtracted as well,
and `W m` moves into the consumers' biases.

A global average pooling counts as a linear operator: it becomes a depthwise convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.attribute_builders import int_attr, int_values
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.math import ReluOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.formats.nvdla.calibration import Range
from xonnc.formats.nvdla.geometry import MAX_POOL
from xonnc.formats.nvdla.quantization import covering
from xonnc.lowering.onnx_to_dla.quantization.channel_groups import channels_after, columns_of
from xonnc.lowering.onnx_to_dla.quantization.channel_ranges import ends_of, scaled
from xonnc.lowering.onnx_to_dla.quantization.linear_operators import (
    LinearOp,
    bias_of,
    constant_before,
    is_plain,
    kernels_of,
    replace_operand,
    scale_results,
    set_kernels,
)
from xonnc.lowering.onnx_to_dla.quantization.read_kernels import ReadKernels
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges

Array = npt.NDArray[Any]
SpatialMean = AveragePoolOp | GlobalAveragePoolOp

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidate degrees of equalization: 0 leaves the channels unchanged, 1 equalizes them fully."""

MAX_RATIO = 64.0
"""
The largest ratio between factors of two channels. SDP multipliers share a shift: the smallest keeps 9 of 15
bits.
"""


def equalize(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """
    Scale the weights of `function` so that the channels between linear operators use the int8 range equally.

    Updates `ranges` to the scaled values. Values without ranges per channel stay unchanged.
    """
    for op in list(function.body.block.ops):
        path = _path_from(op) if isinstance(op, LinearOp | SpatialMean) else None
        if path is not None:
            _equalize(path, ranges, pool)


@dataclass(frozen=True)
class _Path:
    """The way from a linear operator to its consumers: the values, and where each channel goes."""

    producer: LinearOp | SpatialMean
    values: tuple[SSAValue, ...]
    channel_maps: tuple[Array, ...]
    """For each value and each index of its axis 1, the producer's channel; empty if channels are mixed."""
    consumers: tuple[LinearOp, ...]

    def is_rectified(self, value: SSAValue) -> bool:
        """Whether a value of the path is a ReLU's result, or moved from it."""
        before = self.values[: self.values.index(value) + 1]
        return any(isinstance(each.owner, ReluOp) for each in before)

    @property
    def may_shift(self) -> bool:
        """Whether a constant may be added to channels: no ReLU in between, and no zero padding."""
        return not self.is_rectified(self.values[-1]) and not any(
            isinstance(consumer, ConvOp) and _pads(consumer) for consumer in self.consumers
        )


@dataclass(frozen=True)
class _Change:
    """Per-channel shift and scale of the producer's result: `(x - center) * factor`."""

    path: _Path
    centers: Array
    factors: Array

    def of(self, value: SSAValue, found: Range, channel_map: Array) -> Range:
        """Return a value's range after the change; unchanged if it has no ranges per channel."""
        if not channel_map.size or len(found.lows) != channel_map.size:
            return found
        centers, factors = self.centers[channel_map], self.factors[channel_map]
        return scaled(value, found, centers, factors, self.path.is_rectified(value))


def _path_from(producer: LinearOp | SpatialMean) -> _Path | None:
    """
    Return the path from a linear operator or mean if only linear operators read its result, else `None`.
    """
    shape = static_shape(producer.results[0].type)
    if shape is None or len(shape) < 2 or shape[0] != 1 or not _scales_outputs(producer):
        return None
    value: SSAValue = producer.results[0]
    spread = np.arange(shape[1], dtype=np.int32).reshape(1, -1, *(1,) * (len(shape) - 2))
    channels: Array = np.broadcast_to(spread, shape)
    values, channel_maps = [value], [columns_of(channels)]
    while True:
        users = [use.operation for use in value.uses]
        if all(isinstance(user, LinearOp) for user in users):
            break
        moved = _moved(users[0], value, channels) if len(users) == 1 else None
        if moved is None:
            return None
        value, channels = users[0].results[0], moved
        values.append(value)
        channel_maps.append(columns_of(channels))
    consumers = tuple(user for user in users if isinstance(user, LinearOp))
    if (
        not consumers
        or not channel_maps[-1].size
        or not all(_is_consumer(consumer, value) for consumer in consumers)
    ):
        return None
    return _Path(producer, tuple(values), tuple(channel_maps), consumers)


def _moved(user: Operation, value: SSAValue, channels: Array) -> Array | None:
    """Return the producer's channel of each element after an op that commutes with scaling, else `None`."""
    shape = static_shape(user.results[0].type) if user.results and user.operands[0] == value else None
    return None if shape is None else channels_after(user, channels, shape)


def is_path_start(op: Operation) -> bool:
    """Whether `equalize` scales the results of an operator."""
    return isinstance(op, LinearOp | SpatialMean) and _path_from(op) is not None


def _scales_outputs(op: LinearOp | SpatialMean) -> bool:
    """Whether the channels of an op's result can be scaled through its weights."""
    if isinstance(op, SpatialMean):
        return _window(op) is not None
    return is_plain(op)


def _window(op: SpatialMean) -> tuple[int, int] | None:
    """
    Return rows and columns of a mean over the whole image that one convolution can compute exactly, else
    `None`.
    """
    shape = static_shape(op.X.type)
    if shape is None or len(shape) != 4 or element_type(op.X.type) != f32:
        return None
    window = (shape[2], shape[3])
    if isinstance(op, AveragePoolOp) and (
        int_values(op.kernel_shape) != window or any(int_values(op.pads) or ())
    ):
        return None
    return window if max(window) <= MAX_POOL and window != (1, 1) else None


def _is_consumer(consumer: LinearOp, value: SSAValue) -> bool:
    return is_plain(consumer) and consumer.operands[0] == value and value not in consumer.operands[1:]


def _pads(op: ConvOp) -> bool:
    return any(int_values(op.pads) or ()) or op.auto_pad.data not in ("NOTSET", "VALID")


def _equalize(path: _Path, ranges: ValueRanges, pool: DisposablePool) -> None:
    # What is rounded is the last value that is computed: moves stay on its grid.
    # Quantization happens at the last computed value; data movement after it keeps its scale.
    computed = (LinearOp, SpatialMean, ReluOp)
    position = max(index for index, value in enumerate(path.values) if isinstance(value.owner, computed))
    found, channel_map = ranges.of(path.values[position]), path.channel_maps[position]
    if found is None or not channel_map.size or len(found.lows) != channel_map.size:
        return
    least, largest = np.full(path.channel_maps[0].size, inf), np.full(path.channel_maps[0].size, -inf)
    lows, highs = ends_of(path.values[position], found, path.is_rectified(path.values[position]))
    np.minimum.at(least, channel_map, lows)
    np.maximum.at(largest, channel_map, highs)
    centers = (least + largest) / 2 if path.may_shift else np.zeros(least.size)
    peaks = np.maximum(np.abs(least - centers), np.abs(largest - centers))
    if not peaks.any():
        return
    # Channels that are almost zero would get huge factors, and their small multipliers lose precision.
    peaks = np.maximum(peaks, peaks.max() / MAX_RATIO)
    ends = least - centers, largest - centers
    choices = [_Change(path, centers, (peaks / peaks.max()) ** -exponent) for exponent in EXPONENTS]
    read = [ReadKernels.of(consumer, peaks[path.channel_maps[-1]]) for consumer in path.consumers]
    best = min(choices, key=lambda one: _noise(path, read, peaks, one.factors, ends))
    if np.all(best.factors == 1.0) and not centers.any():
        return
    made = _change(path, best, pool)
    for value, old, channel_map in zip((made, *path.values[1:]), path.values, path.channel_maps, strict=True):
        if (known := ranges.of(value)) is not None:
            ranges.set(value, best.of(old, known, channel_map))


def _noise(
    path: _Path, read: Sequence[ReadKernels], peaks: Array, factors: Array, ends: tuple[Array, Array]
) -> float:
    """
    Return the mean noise-to-signal ratio of the consumers' results due to quantizing activations and weights,
    for the given factors. `ends` are the channels' lower and upper ends.
    """
    channel_map = path.channel_maps[-1]
    step = covering(float((ends[0] * factors).min()), float((ends[1] * factors).max())).scale
    greatest = (peaks * factors)[channel_map]
    total, count = 0.0, 0
    for one in read:
        has_signal = one.signal > 0
        noise = one.noise(factors[channel_map], greatest, step)
        total += float((noise[has_signal] / one.signal[has_signal]).sum())
        count += int(has_signal.sum())
    return total / count if count else inf


def _change(path: _Path, change: _Change, pool: DisposablePool) -> SSAValue:
    """Apply a change to the producer and the inverse to the consumers; return the new value."""
    channel_map = path.channel_maps[-1]
    for consumer in path.consumers:
        kernels = kernels_of(consumer)
        broadcast = (kernels.shape[0], 1, -1, 1)
        if change.centers.any():
            added = (kernels * change.centers[channel_map].reshape(broadcast)).sum(axis=(2, 3)).reshape(-1)
            replace_operand(consumer, 2, bias_of(consumer) + added, pool)
        set_kernels(consumer, kernels / change.factors[channel_map].reshape(broadcast), pool)
    producer = path.producer if isinstance(path.producer, LinearOp) else _as_sum(path.producer, pool)
    scale_results(producer, change.centers, change.factors, pool)
    return producer.Y


def _as_sum(mean: SpatialMean, pool: DisposablePool) -> ConvOp:
    """Replace a mean over the whole image by the equivalent depthwise convolution."""
    window, shape = _window(mean), static_shape(mean.X.type)
    assert window is not None, "means that are made paths of have one"
    assert shape is not None, "a window has a shape"
    weights = np.full((shape[1], 1, *window), 1 / prod(window), np.float32)
    none = NoValueOp(derived(mean.location))
    constant = constant_before(weights, mean, pool)
    conv = ConvOp.create(
        operands=[mean.X, constant.output, none.none_val],
        properties={"group": int_attr(shape[1])},
        attributes=mean.attributes,
        result_types=[mean.Y.type],
        location=mean.location,
    )
    Rewriter.replace_op(mean, [none, constant, conv], [conv.Y])
    return conv
