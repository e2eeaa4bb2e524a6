"""
Match operators that are int8 products with constant weights: QDQ around Conv, Gemm and MatMul, and the
integer operators ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size
from xonnc.lowering.onnx_to_krnl.planning.window_geometry import (
    MAX_UNROLLED_WINDOW,
    WindowGeometry,
    has_pads,
    window_of,
)
from xonnc.rewriting.patterns import Array

SIGN_OFFSET = 128
"""Added to int8 activations, so that all are stored as uint8."""

VECTOR = 16
"""Channels are padded to a multiple of this: the i32 lanes of the widest vectors."""

WORD = 4
"""Input channels that are multiplied at a time at most."""

MAX_MERGED_GROUPS = 16
"""
Groups that are computed as one at most, with weights of zero.

So many products take a vector of dot products as long as one takes a scalar.
"""

INT32_MAX = 2**31 - 1
"""Products whose sums could exceed this are not matched."""


class QuantizationParams(NamedTuple):
    """Affine quantization to uint8: `quantized = real / scale + zero`."""

    scale: float
    zero: int


@dataclass(frozen=True)
class QuantizedMatmul:
    """
    An int8 matrix product or convolution with constant weights: `(x * weights + starts) scales + bias`.

    `starts` is `-zero Σ weights` per output channel (the zero point of `x`), plus an i32 bias.
    """

    op: Operation
    result: SSAValue
    x: SSAValue
    zero: int
    """The zero point of `x` as uint8, except for `runtime_zero_point`."""
    weights: npt.NDArray[np.int8]
    """OIHW; I is the channels of a group."""
    starts: npt.NDArray[np.int32]
    window: WindowGeometry
    scales: npt.NDArray[np.float32] | None = None
    """Per output channel. None: the result is the i32 sums."""
    bias: npt.NDArray[np.float32] | None = None
    quantization: QuantizationParams | None = None
    """Of an int8 result."""
    is_depthwise: bool = False
    """Whether each channel is convolved by itself."""
    runtime_zero_point: SSAValue | None = None
    """The zero point of `x` if it is not a constant; `starts` do not include it."""
    offsets: npt.NDArray[np.int32] | None = None
    """Per output channel: added to all its `weights`, which are 8 bits, to give the actual weights."""
    groups: int = 1
    """Parts of the channels, unless each is convolved by itself."""

    @property
    def weight_sums(self) -> npt.NDArray[np.int32]:
        """`Σ weights` per output channel."""
        by_row = self.weights.reshape(self.weights.shape[0], -1)
        sums = by_row.sum(axis=1, dtype=np.int32)
        return sums if self.offsets is None else sums + self.offsets * np.int32(by_row.shape[1])


KnownSizes: TypeAlias = Callable[[SSAValue], "tuple[Size, ...] | None"]
"""The sizes of a value, as far as they are known."""

Read: TypeAlias = Callable[[Operation, KnownSizes], QuantizedMatmul | None]


def quantization_params(op: QuantizeLinearOp | DequantizeLinearOp) -> QuantizationParams | None:
    """Return the per-tensor constant scale and zero point of a QDQ op between f32 and int8, or None."""
    if isinstance(op, QuantizeLinearOp):
        real, integer, scale, zero = op.x, op.y, op.y_scale, op.y_zero_point
        is_plain = not op.precision.value.data
    else:
        real, integer, scale, zero = op.y, op.x, op.x_scale, op.x_zero_point
        is_plain = True
    if not is_plain or op.block_size.value.data or element_type(real.type) != f32:
        return None
    return _quantization_params(integer, scale, zero)


def _quantization_params(integer: SSAValue, scale: SSAValue, zero: SSAValue) -> QuantizationParams | None:
    step, offset = constant_elements(scale), _zero(integer, zero)
    if step is None or step.size != 1 or element_type(scale.type) != f32 or offset is None:
        return None
    return QuantizationParams(float(step.reshape(-1)[0]), offset)


def image_shape(value: SSAValue) -> tuple[int, ...] | None:
    """
    Return the shape of a tensor as an image, or None if its number of channels is dynamic.

    Those of a matrix are its last axis.
    """
    if not is_ranked(value.type):
        return None
    shape = value.type.get_shape()
    channels = shape[1:2] if len(shape) == 4 else shape[-1:]
    return None if DYNAMIC_INDEX in channels else shape


def is_int8(value: SSAValue) -> bool:
    """Whether a value is a non-empty tensor of 8-bit integers that can be stored as NHWC."""
    element, shape = element_type(value.type), image_shape(value)
    is_byte = element is not None and is_integer(element) and element.width.data == 8
    return is_byte and shape is not None and 0 not in shape


def is_signed(value: SSAValue) -> bool:
    """Whether an integer tensor is signed."""
    element = element_type(value.type)
    return element is not None and not is_unsigned_element(element)


def _zero(value: SSAValue, zero: SSAValue) -> int | None:
    """Return the constant per-tensor zero point as uint8, or None."""
    if not is_int8(value):
        return None
    sign = SIGN_OFFSET if is_signed(value) else 0
    if zero.type == NONE:
        return sign
    known = constant_elements(zero)
    return None if known is None or known.size != 1 else int(known.reshape(-1)[0]) + sign


def dequantized_source(value: SSAValue) -> tuple[SSAValue, QuantizationParams] | None:
    """Return the int8 tensor that a DequantizeLinear reads, and its parameters, or None."""
    op = value.owner
    if not isinstance(op, DequantizeLinearOp):
        return None
    quantization = quantization_params(op)
    return None if quantization is None else (op.x, quantization)


class _Int8Weights(NamedTuple):
    """Constant int8 weights less their zero point, and their scale per output channel."""

    numbers: npt.NDArray[np.int16]
    scales: npt.NDArray[np.float32]


def _dequantized(value: SSAValue, axis: int) -> _Int8Weights | None:
    """Match a dequantized constant, with scales per channel or per tensor, perhaps times a constant."""
    op = value.owner
    if isinstance(op, onnx.MulOp):
        for factor, other in ((op.A, op.B), (op.B, op.A)):
            numbers, found = constant_elements(factor), _dequantized(other, axis)
            if numbers is not None and found is not None and _is_along(numbers, found.numbers.ndim, axis):
                scales = (found.scales * numbers.reshape(-1)).astype(np.float32)
                return _Int8Weights(found.numbers, scales)
        return None
    if not isinstance(op, DequantizeLinearOp) or op.block_size.value.data or element_type(value.type) != f32:
        return None
    numbers = constant_elements(op.x)
    if numbers is None or numbers.ndim < 2 or not is_int8(op.x):
        return None
    if (op.axis.value.data - axis) % numbers.ndim and not _is_one(op.x_scale, op.x_zero_point):
        return None
    return _weights(numbers, op.x_scale, op.x_zero_point, axis)


def _is_along(numbers: Array, rank: int, axis: int) -> bool:
    """Whether a factor is a scalar, or varies along one axis only."""
    if numbers.dtype != np.float32 or numbers.ndim > rank:
        return False
    shape = (1,) * (rank - numbers.ndim) + numbers.shape
    return all(size == 1 for index, size in enumerate(shape) if index != axis)


def _is_one(*values: SSAValue) -> bool:
    known = [None if value.type == NONE else constant_elements(value) for value in values]
    return all(
        value.type == NONE or (array is not None and array.size == 1)
        for value, array in zip(values, known, strict=True)
    )


def _weights(numbers: Array, scale: SSAValue | None, zero: SSAValue, axis: int) -> _Int8Weights | None:
    """Return weights less their zero point, which may exceed 8 bits."""
    count = numbers.shape[axis]
    steps = np.ones(1, np.float32) if scale is None else constant_elements(scale)
    offsets = np.zeros(1, np.int8) if zero.type == NONE else constant_elements(zero)
    if steps is None or offsets is None or steps.dtype != np.float32:
        return None
    if steps.size not in (1, count) or offsets.size not in (1, count):
        return None
    shape = [1] * numbers.ndim
    shape[axis] = -1
    centred = numbers.astype(np.int16) - offsets.astype(np.int16).reshape(shape)
    if centred.size == 0:
        return None
    return _Int8Weights(centred, np.broadcast_to(steps.astype(np.float32).reshape(-1), count))


def _unscaled_product(
    op: Operation,
    values: tuple[SSAValue, SSAValue],
    zero: int | None,
    weights: npt.NDArray[np.int16],
    window: WindowGeometry,
    starts: Array | None = None,
    groups: int = 1,
) -> QuantizedMatmul | None:
    """
    Return an unscaled product; the zero point of `x` is folded into `starts`.

    None if a sum could exceed 32 bits, or if there are groups that no vectors fit.
    """
    x, result = values
    shape = image_shape(x)
    if zero is None or shape is None or not is_int8(x) or image_shape(result) is None:
        return None
    if len(shape) < 2:
        return None
    # Σ (x - zero) w = Σ x w - zero Σ w: the second term is constant per output channel.
    begin = -zero * weights.reshape(weights.shape[0], -1).sum(axis=1, dtype=np.int64)
    if starts is not None:
        begin = begin + starts.astype(np.int64).reshape(-1)
    if _reach(weights, begin) > INT32_MAX:
        return None
    is_depthwise = (
        shape[1] == groups == weights.shape[0] > 1
        and prod(window.kernel) <= MAX_UNROLLED_WINDOW
        and not isinstance(op, nn.ConvIntegerOp)
    )
    if groups > 1 and not is_depthwise:
        # Offsets are multiplied by sums over all channels, so weights that have some are of one group.
        has_offsets = _split_offsets(weights)[1] is not None
        each = weights.shape[0] // groups, weights.shape[1]
        merged = groups if has_offsets else _merged_groups(groups, *each)
        if merged > MAX_MERGED_GROUPS:
            return None
        weights, groups = _merge(weights, groups, merged), groups // merged
    centred, offsets = _split_offsets(weights)
    return QuantizedMatmul(
        op,
        result,
        x,
        zero,
        centred,
        begin.astype(np.int32),
        window,
        is_depthwise=is_depthwise,
        offsets=offsets,
        groups=1 if is_depthwise else groups,
    )


def _merged_groups(groups: int, filters: int, depth: int) -> int:
    """Return the least number of groups that have whole vectors of results and words of input channels."""
    if groups * depth % VECTOR:
        # Channels that pad the input are of no group.
        return groups
    fitting = (
        count
        for count in range(1, groups)
        if not (groups % count or count * filters % VECTOR or count * depth % WORD)
    )
    return next(fitting, groups)


def _merge(weights: npt.NDArray[np.int16], groups: int, count: int) -> npt.NDArray[np.int16]:
    """Return the weights of groups of which each is `count` of the given ones, with zeros between those."""
    filters, depth = weights.shape[0] // groups, weights.shape[1]
    # Merged groups, groups of one, filters of a group, groups of one again, channels, window.
    wide = np.zeros((groups // count, count, filters, count, depth, *weights.shape[2:]), weights.dtype)
    each = np.arange(count)
    blocks = weights.reshape(groups // count, count, filters, depth, *weights.shape[2:])
    wide[:, each, :, each] = blocks.swapaxes(0, 1)
    return wide.reshape(weights.shape[0], count * depth, *weights.shape[2:])


def _split_offsets(
    weights: npt.NDArray[np.int16],
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32] | None]:
    """
    Split weights into 8 bits and an offset per output channel.

    A zero point shifts 8-bit weights, but the range of a channel stays at most 255, so one offset suffices.
    """
    by_row = weights.reshape(weights.shape[0], -1)
    above, below = (
        np.maximum(by_row.max(axis=1) - (SIGN_OFFSET - 1), 0),
        np.minimum(by_row.min(axis=1) + SIGN_OFFSET, 0),
    )
    offsets = (above + below).astype(np.int32)
    if not offsets.any():
        return weights.astype(np.int8), None
    return (by_row - offsets[:, None]).astype(np.int8).reshape(weights.shape), offsets


def _reach(weights: npt.NDArray[np.int16], starts: Array | None = None) -> int:
    """Return the largest magnitude that a sum can have."""
    sums = np.abs(weights.reshape(weights.shape[0], -1)).sum(axis=1, dtype=np.int64) * 255
    return int((sums if starts is None else sums + np.abs(starts.astype(np.int64))).max())


def _bias(value: SSAValue, count: int) -> npt.NDArray[np.float32] | None:
    """Return a constant bias in f32 per channel, or None."""
    found = constant_elements(value)
    if found is None and isinstance(op := value.owner, DequantizeLinearOp):
        numbers, scale = constant_elements(op.x), constant_elements(op.x_scale)
        zero = None if op.x_zero_point.type == NONE else constant_elements(op.x_zero_point)
        if numbers is None or scale is None or (zero is None and op.x_zero_point.type != NONE):
            return None
        if op.block_size.value.data or scale.dtype != np.float32 or numbers.ndim > 1:
            return None
        centred = numbers.astype(np.int64) - (0 if zero is None else zero.astype(np.int64))
        with np.errstate(over="ignore", invalid="ignore"):
            found = centred.astype(np.float32) * scale
    if found is None or found.dtype != np.float32 or found.size not in (1, count):
        return None
    return np.broadcast_to(found.reshape(-1), count).astype(np.float32)


ONE = WindowGeometry((1, 1), (1, 1), (1, 1), (0, 0), (0, 0), (1, 1), (0, 0))
"""The window of a matrix product: 1x1."""


def _scaled(
    product: QuantizedMatmul | None,
    step: float,
    scales: npt.NDArray[np.float32],
    bias: SSAValue | None,
    quantization: QuantizationParams | None = None,
) -> QuantizedMatmul | None:
    """Return a product with its scales and an f32 bias."""
    if product is None:
        return None
    added = None
    if bias is not None and bias.type != NONE:
        added = _bias(bias, len(scales))
        if added is None:
            return None
    with np.errstate(over="ignore"):
        factors = (np.float32(step) * scales).astype(np.float32)
    return replace(product, scales=factors, bias=added, quantization=quantization)


def _conv_window(
    op: nn.ConvOp | nn.ConvIntegerOp | nn.QLinearConvOp, x: SSAValue, y: SSAValue, known_sizes: KnownSizes
) -> WindowGeometry | None:
    shape, out = known_sizes(x), known_sizes(y)
    weights = static_shape((op.W if isinstance(op, nn.ConvOp) else op.w).type)
    if shape is None or out is None or weights is None:
        return None
    if not len(shape) == len(out) == len(weights) == 4 or 0 in (*shape, *out, *weights):
        return None
    if not has_pads(op, shape[2:]):
        return None
    return window_of(op, weights[2:], shape[2:], out[2:])


def _conv(op: Operation, known_sizes: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, nn.ConvOp)
    source, weights = dequantized_source(op.X), _dequantized(op.W, 0)
    window = _conv_window(op, op.X, op.Y, known_sizes)
    if source is None or weights is None or window is None:
        return None
    x, quantization = source
    groups = op.group.value.data
    product = _unscaled_product(op, (x, op.Y), quantization.zero, weights.numbers, window, groups=groups)
    return _scaled(product, quantization.scale, weights.scales, op.B)


def _as_conv(weights: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    return weights[:, :, None, None]


def _gemm(op: Operation, _: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, onnx.GemmOp)
    is_transposed = bool(op.transB.value.data)
    source, weights = dequantized_source(op.A), _dequantized(op.B, 0 if is_transposed else 1)
    if op.transA.value.data or op.alpha.value.data != 1.0 or op.beta.value.data != 1.0:
        return None
    bias = None if op.C.type == NONE else static_shape(op.C.type)
    if source is None or weights is None or (bias is not None and any(size > 1 for size in bias[:-1])):
        return None
    x, quantization = source
    matrix = weights.numbers if is_transposed else weights.numbers.T
    product = _unscaled_product(op, (x, op.Y), quantization.zero, _as_conv(matrix), ONE)
    return _scaled(product, quantization.scale, weights.scales, op.C)


def _matmul(op: Operation, _: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, onnx.MatMulOp)
    source, weights = dequantized_source(op.A), _dequantized(op.B, 1)
    if source is None or weights is None or weights.numbers.ndim != 2 or not _is_matrix(op.A):
        return None
    x, quantization = source
    product = _unscaled_product(op, (x, op.Y), quantization.zero, _as_conv(weights.numbers.T), ONE)
    return _scaled(product, quantization.scale, weights.scales, None)


def _is_matrix(value: SSAValue) -> bool:
    """Whether a tensor has rank 2 or 3, so that only the last axis is summed; rank 4 is an image."""
    shape = image_shape(value)
    return shape is not None and len(shape) in (2, 3)


def _conv_integer(op: Operation, known_sizes: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, nn.ConvIntegerOp)
    window, numbers = _conv_window(op, op.x, op.y, known_sizes), constant_elements(op.w)
    weights = None if numbers is None else _weights(numbers, None, op.w_zero_point, 0)
    if window is None or weights is None:
        return None
    groups = op.group.value.data
    return _of_integers(op, (op.x, op.y, op.x_zero_point), weights.numbers, window, groups)


def _matmul_integer(op: Operation, _: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, onnx.MatMulIntegerOp)
    numbers = constant_elements(op.B)
    if numbers is None or numbers.ndim != 2 or not _is_matrix(op.A):
        return None
    weights = _weights(numbers, None, op.b_zero_point, 1)
    if weights is None:
        return None
    return _of_integers(op, (op.A, op.Y, op.a_zero_point), _as_conv(weights.numbers.T), ONE)


def _of_integers(
    op: Operation,
    values: tuple[SSAValue, SSAValue, SSAValue],
    weights: npt.NDArray[np.int16],
    window: WindowGeometry,
    groups: int = 1,
) -> QuantizedMatmul | None:
    """Return the product of ConvInteger or MatMulInteger, whose zero point may be a run-time value."""
    x, result, zero = values
    shape = None if zero.type == NONE else static_shape(zero.type)
    if shape is None or constant_elements(zero) is not None:
        return _unscaled_product(op, (x, result), _zero(x, zero), weights, window, groups=groups)
    if not is_int8(x) or prod(shape) != 1:
        return None
    # The zero point of DynamicQuantizeLinear, for example.
    offset = SIGN_OFFSET if is_signed(x) else 0
    product = _unscaled_product(op, (x, result), offset, weights, window, groups=groups)
    return None if product is None else replace(product, runtime_zero_point=zero)


def _qlinear(
    product: QuantizedMatmul | None, scales: Sequence[SSAValue], weights: _Int8Weights, zero: int | None
) -> QuantizedMatmul | None:
    """
    Set the scale of the sums to `x_scale w_scale / y_scale`, computed in f32 as in the reference evaluator.
    """
    steps = [constant_elements(scale) for scale in scales]
    known = [step for step in steps if step is not None and step.size == 1 and step.dtype == np.float32]
    if len(known) != 2 or zero is None:
        return None
    x, y = (np.float32(step.reshape(-1)[0]) for step in known)
    factors = (x * weights.scales / y).astype(np.float32)
    return _scaled(product, 1.0, factors, None, QuantizationParams(1.0, zero))


def _qlinear_conv(op: Operation, known_sizes: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, nn.QLinearConvOp)
    window, numbers = _conv_window(op, op.x, op.y, known_sizes), constant_elements(op.w)
    weights = None if numbers is None else _weights(numbers, op.w_scale, op.w_zero_point, 0)
    starts = None if op.B.type == NONE else constant_elements(op.B)
    if window is None or weights is None or (starts is None and op.B.type != NONE):
        return None
    zero = _zero(op.x, op.x_zero_point)
    groups = op.group.value.data
    product = _unscaled_product(op, (op.x, op.y), zero, weights.numbers, window, starts, groups)
    return _qlinear(product, (op.x_scale, op.y_scale), weights, _zero(op.y, op.y_zero_point))


def _qlinear_matmul(op: Operation, _: KnownSizes) -> QuantizedMatmul | None:
    assert isinstance(op, onnx.QLinearMatMulOp)
    numbers = constant_elements(op.b)
    if numbers is None or numbers.ndim != 2 or not _is_matrix(op.a) or not is_int8(op.b):
        return None
    weights = _weights(numbers, op.b_scale, op.b_zero_point, 1)
    if weights is None:
        return None
    zero = _zero(op.a, op.a_zero_point)
    product = _unscaled_product(op, (op.a, op.y), zero, _as_conv(weights.numbers.T), ONE)
    return _qlinear(product, (op.a_scale, op.y_scale), weights, _zero(op.y, op.y_zero_point))


MATCHERS: dict[type[Operation], Read] = {
    nn.ConvOp: _conv,
    nn.ConvIntegerOp: _conv_integer,
    nn.QLinearConvOp: _qlinear_conv,
    onnx.GemmOp: _gemm,
    onnx.MatMulOp: _matmul,
    onnx.MatMulIntegerOp: _matmul_integer,
    onnx.QLinearMatMulOp: _qlinear_matmul,
}
"""The matcher of each operator; it needs constant weights, scales and zero points."""
