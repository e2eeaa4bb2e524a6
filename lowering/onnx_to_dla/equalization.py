"""
Channels of one tensor share a grid in 8 bits: those of small numbers, or far from zero, would use few steps.

Between two sums of products with at most ReLUs and moves in between, a channel may be larger by any factor if
the kernels that read it are smaller by it: `relu(f x) = f relu(x)`, so nothing else changes. The kernels
that make the channel have scales of their own, so the factor costs nothing there. Those that read it have one
scale for all channels: factors are chosen, from none to what makes all channels equal, for the least noise
(Nagel et al., 2019, §4.1, has one scale for all kernels, and factors from these alone). Without a ReLU in
between the middle of each channel becomes zero too, and `W m` goes to the readers' biases.

The mean of an image is a sum of products as well, with one weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.attributes import integer, values_of
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.math import GemmOp, ReluOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvOp, FlattenOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.tensor import IdentityOp, ReshapeOp, TransposeOp
from xonnc.dialects.onnx.types import NONE, element_type, element_type_of, static_shape, tensor_type
from xonnc.formats.nvdla.calibration import Range
from xonnc.formats.nvdla.geometry import LARGEST_POOL
from xonnc.formats.nvdla.quantization import LARGEST
from xonnc.lowering.onnx_to_dla.value_ranges import ValueRanges

Array = npt.NDArray[Any]
Sum = ConvOp | GemmOp
Mean = AveragePoolOp | GlobalAveragePoolOp

UNSIGNED_STEPS = 255

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far channels become equal: 0 not at all, 1 wholly."""

FARTHEST = 64.0
"""The largest factor between two channels: multipliers of the SDP share a shift, and keep 9 of 15 bits."""

PEAK = 6.0
"""How many times the root of the mean of a channel's squares its greatest number is, about."""


SPARE = 0.35
"""
What is left free on either side of the means of images, in parts of how far they spread: one number for each
sample, of which a few dozen reach two deviations where others will reach three and a half.
"""


def equalize(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """
    Scales weights so that channels of what lies between two convolutions use the steps of 8 bits alike.

    `ranges` become those of the scaled values; what they do not tell the channels of stays as it is.
    """
    for op in list(function.body.block.ops):
        path = _path_behind(op) if isinstance(op, Sum | Mean) else None
        if path is not None:
            _equalize(path, ranges, pool)


@dataclass(frozen=True)
class _Path:
    """From a sum to those that read what it makes: the values on the way, and where channels go."""

    maker: Sum | Mean
    values: tuple[SSAValue, ...]
    orders: tuple[Array, ...]
    """For each value and each of its places along axis 1, the maker's channel there; empty for a mixture."""
    readers: tuple[Sum, ...]

    @property
    def may_move(self) -> bool:
        """Whether channels may have numbers added: no ReLU bends them, no zeros are put around them."""
        bends = any(isinstance(value.owner, ReluOp) for value in self.values)
        return not bends and not any(isinstance(reader, ConvOp) and _pads(reader) for reader in self.readers)


@dataclass(frozen=True)
class _Change:
    """Each channel of the maker less a number, then times a factor."""

    middles: Array
    factors: Array
    spare: float
    """What is left free on either side of a channel, in parts of how far it spreads."""

    def of(self, found: Range, order: Array) -> Range:
        """A range after the change; as it is where it does not tell channels."""
        if not order.size or len(found.lows) != order.size:
            return found
        middles, factors = self.middles[order], self.factors[order]
        means, lows, highs = (
            (np.array(numbers) - middles) * factors if numbers else np.zeros(0)
            for numbers in (found.means, found.lows, found.highs)
        )
        least, largest = _ends(found, self.spare)
        return replace(
            found,
            least=float(((least - middles) * factors).min()),
            largest=float(((largest - middles) * factors).max()),
            means=tuple(means.tolist()),
            lows=tuple(lows.tolist()),
            highs=tuple(highs.tolist()),
        )


def _ends(found: Range, spare: float) -> tuple[Array, Array]:
    """Between what channels lie, as far as the range of all does not cut it off, and what is left free."""
    least, largest = (np.clip(each, found.least, found.largest) for each in (found.lows, found.highs))
    free = spare * (largest - least)
    return least - free, largest + free


def _path_behind(maker: Sum | Mean) -> _Path | None:
    """The path from a sum or mean, if sums alone read what it makes."""
    shape = static_shape(maker.results[0].type)
    if shape is None or len(shape) < 2 or shape[0] != 1 or not _makes(maker):
        return None
    value: SSAValue = maker.results[0]
    spread = np.arange(shape[1], dtype=np.int32).reshape(1, -1, *(1,) * (len(shape) - 2))
    channels: Array = np.broadcast_to(spread, shape)
    values, orders = [value], [_order(channels)]
    while True:
        users = [use.operation for use in value.uses]
        if all(isinstance(user, Sum) for user in users):
            break
        moved = _behind(users[0], value, channels) if len(users) == 1 else None
        if moved is None:
            return None
        value, channels = users[0].results[0], moved
        values.append(value)
        orders.append(_order(channels))
    readers = tuple(user for user in users if isinstance(user, Sum))
    if not readers or not orders[-1].size or not all(_reads(reader, value) for reader in readers):
        return None
    return _Path(maker, tuple(values), tuple(orders), readers)


def _behind(user: Operation, value: SSAValue, channels: Array) -> Array | None:
    """Where the maker's channels are behind an op that keeps factors of channels; `None` for any other op."""
    shape = static_shape(user.results[0].type) if user.results and user.operands[0] == value else None
    if shape is None:
        return None
    match user:
        case ReluOp() | IdentityOp():
            return channels
        case MaxPoolSingleOutOp():
            order = _order(channels)
            first = order.reshape(1, -1, *(1,) * (len(shape) - 2))
            return np.broadcast_to(first, shape) if order.size else None
        case ReshapeOp() | FlattenOp():
            return channels.reshape(shape)
        case TransposeOp() if user.perm is not None:
            return channels.transpose([int(axis) for axis in values_of(user.perm) or ()])
        case _:
            return None


def _order(channels: Array) -> Array:
    """The channel at each place along axis 1; empty where there are several."""
    if channels.ndim < 2 or channels.shape[0] != 1:
        return np.zeros(0, np.int32)
    rows = channels.reshape(channels.shape[1], -1)
    return rows[:, 0].copy() if np.all(rows == rows[:, :1]) else np.zeros(0, np.int32)


def _makes(op: Sum | Mean) -> bool:
    """Whether what an op makes can be scaled in it."""
    if isinstance(op, Mean):
        return _window(op) is not None
    return _is_plain(op)


def _window(op: Mean) -> tuple[int, int] | None:
    """Rows and columns of a mean over a whole image that the engines add up exactly; `None` for others."""
    shape = static_shape(op.X.type)
    if shape is None or len(shape) != 4 or element_type(op.X.type) != f32:
        return None
    window = (shape[2], shape[3])
    if isinstance(op, AveragePoolOp) and (
        values_of(op.kernel_shape) != window or any(values_of(op.pads) or ())
    ):
        return None
    return window if max(window) <= LARGEST_POOL and window != (1, 1) else None


def _is_plain(op: Sum) -> bool:
    """Whether an op is a sum of products with constants of 32 bits, and a constant bias."""
    weights, bias = _numbers(op.operands[1]), _numbers(op.operands[2])
    if weights is None or weights.dtype != np.float32 or (bias is None and op.operands[2].type != NONE):
        return False
    if bias is not None and bias.size != weights.shape[_output_axis(op)]:
        return False
    if isinstance(op, ConvOp):
        return True
    return op.alpha.value.data == op.beta.value.data == 1.0 and not op.transA.value.data


def _reads(reader: Sum, value: SSAValue) -> bool:
    return _is_plain(reader) and reader.operands[0] == value and value not in reader.operands[1:]


def _pads(op: ConvOp) -> bool:
    return any(values_of(op.pads) or ()) or op.auto_pad.data not in ("NOTSET", "VALID")


def _equalize(path: _Path, ranges: ValueRanges, pool: DisposablePool) -> None:
    # What is rounded is the last value that is computed: moves stay on its grid.
    computed = (Sum, Mean, ReluOp)
    place = max(index for index, value in enumerate(path.values) if isinstance(value.owner, computed))
    found, order = ranges.of(path.values[place]), path.orders[place]
    if found is None or not order.size or len(found.lows) != order.size:
        return
    spare = SPARE if isinstance(path.maker, Mean) else 0.0
    least, largest = np.full(path.orders[0].size, inf), np.full(path.orders[0].size, -inf)
    ends = _ends(found, spare)
    np.minimum.at(least, order, ends[0])
    np.maximum.at(largest, order, ends[1])
    middles = (least + largest) / 2 if path.may_move else np.zeros(least.size)
    peaks = np.maximum(np.abs(least - middles), np.abs(largest - middles))
    if not peaks.any():
        return
    peaks = np.maximum(peaks, peaks.max() / FARTHEST)
    steps = UNSIGNED_STEPS if np.all(least >= middles) else LARGEST
    choices = [_Change(middles, (peaks / peaks.max()) ** -share, spare) for share in SHARES]
    best = min(choices, key=lambda one: _noise(path, peaks, one.factors, steps))
    if np.all(best.factors == 1.0) and not middles.any():
        return
    made = _change(path, best, pool)
    for value, order in zip((made, *path.values[1:]), path.orders, strict=True):
        if (known := ranges.of(value)) is not None:
            ranges.set(value, best.of(known, order))


def _noise(path: _Path, peaks: Array, factors: Array, steps: int) -> float:
    """
    What rounding the channels, each up to a peak, and the kernels that read them adds to these kernels'
    results, in parts of the results' own power, if channels are larger by the factors.
    """
    order = path.orders[-1]
    greatest = (peaks * factors)[order]
    total, count = 0.0, 0
    for reader in path.readers:
        weights = _kernels(reader)
        heights, scales, reach = (
            one.reshape(weights.shape[0], 1, -1, 1) for one in (peaks[order], factors[order], greatest)
        )
        scaled = weights / scales
        signal = np.square(weights * heights).sum(axis=(2, 3)) / PEAK**2
        step = np.abs(scaled).max(axis=(2, 3)) / LARGEST
        by_kernels = np.square(step) * np.square(reach).sum(axis=(2, 3)) * weights.shape[3] / PEAK**2
        by_channels = (greatest.max() / steps) ** 2 * np.square(scaled).sum(axis=(2, 3))
        there = signal > 0
        total += float(((by_kernels + by_channels)[there] / signal[there]).sum())
        count += int(there.sum())
    return total / count if count else inf


def _change(path: _Path, change: _Change, pool: DisposablePool) -> SSAValue:
    """Changes the maker, and the readers so that they give what they gave; the value now made."""
    order = path.orders[-1]
    for reader in path.readers:
        kernels = _kernels(reader)
        along = (kernels.shape[0], 1, -1, 1)
        if change.middles.any():
            added = (kernels * change.middles[order].reshape(along)).sum(axis=(2, 3)).reshape(-1)
            _replace(reader, 2, _bias(reader) + added, pool)
        _set_kernels(reader, kernels / change.factors[order].reshape(along), pool)
    maker = path.maker if isinstance(path.maker, Sum) else _as_sum(path.maker, pool)
    if change.middles.any() or maker.operands[2].type != NONE:
        _replace(maker, 2, (_bias(maker) - change.middles) * change.factors, pool)
    kernels = _kernels(maker)
    _set_kernels(maker, kernels * change.factors.reshape(kernels.shape[0], -1, 1, 1), pool)
    return maker.Y


def _as_sum(mean: Mean, pool: DisposablePool) -> ConvOp:
    """A mean of a whole image as the convolution that it is, in its place."""
    window, shape = _window(mean), static_shape(mean.X.type)
    assert window is not None, "means that are made paths of have one"
    assert shape is not None, "a window has a shape"
    weights = np.full((shape[1], 1, *window), 1 / prod(window), np.float32)
    none = NoValueOp.create(result_types=[NONE], location=derived(mean.location))
    constant = _constant(weights, mean, pool)
    conv = ConvOp.create(
        operands=[mean.X, constant.output, none.none_val],
        properties={"group": integer(shape[1])},
        result_types=[mean.Y.type],
        location=mean.location,
    )
    Rewriter.replace_op(mean, [none, constant, conv], [conv.Y])
    return conv


def _output_axis(op: Sum) -> int:
    return 0 if isinstance(op, ConvOp) or op.transB.value.data else 1


def _kernels(op: Sum) -> Array:
    """Weights as groups, kernels of a group, channels that they read, taps."""
    groups = op.group.value.data if isinstance(op, ConvOp) else 1
    rows = np.moveaxis(_weights(op), _output_axis(op), 0).astype(np.float64)
    return rows.reshape(groups, rows.shape[0] // groups, rows.shape[1], -1)


def _set_kernels(op: Sum, kernels: Array, pool: DisposablePool) -> None:
    weights, axis = _weights(op), _output_axis(op)
    rows = kernels.reshape(np.moveaxis(weights, axis, 0).shape)
    _replace(op, 1, np.moveaxis(rows, 0, axis), pool)


def _bias(op: Sum) -> Array:
    found = _numbers(op.operands[2])
    if found is None:
        found = np.zeros(_weights(op).shape[_output_axis(op)], np.float32)
    return found.reshape(-1)


def _replace(op: Operation, place: int, numbers: Array, pool: DisposablePool) -> None:
    constant = _constant(numbers, op, pool)
    Builder(InsertPoint.before(op)).insert(constant)
    op.operands[place] = constant.output


def _constant(numbers: Array, beside: Operation, pool: DisposablePool) -> ConstantOp:
    array = np.ascontiguousarray(numbers, np.float32)
    return ConstantOp.create(
        properties={"value": pool.create(array)},
        result_types=[tensor_type(array.shape, element_type_of(array.dtype))],
        location=derived(beside.location),
    )


def _weights(op: Sum) -> Array:
    found = _numbers(op.operands[1])
    assert found is not None, "paths are between sums with constant weights"
    return found


def _numbers(value: SSAValue) -> Array | None:
    """A constant's numbers."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    return elements_array(value.op.value)
