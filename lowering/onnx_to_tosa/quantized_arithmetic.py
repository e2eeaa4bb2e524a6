"""Convolutions, products, sums and functions of quantized operands, in integers."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from xdsl.dialects import tosa
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.dialects.onnx.ops.math import (
    AddOp,
    GemmOp,
    MatMulOp,
    MulOp,
    SubOp,
    activation,
    elementwise,
    rectifier,
    rounding,
    trigonometry,
)
from xonnc.dialects.onnx.types import NONE, tensor_type
from xonnc.dialects.tosa.convolution import Conv2DOp
from xonnc.dialects.tosa.elementwise import TableOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.convolution import Kernels, as_image, convolved
from xonnc.lowering.onnx_to_tosa.data_movement import joined
from xonnc.lowering.onnx_to_tosa.quantized import (
    as_float,
    by_factors,
    is_scale,
    requantization,
    rescaled,
)
from xonnc.lowering.onnx_to_tosa.quantized_values import QuantizedValue
from xonnc.lowering.onnx_to_tosa.reductions import MEANS, axes_of, reduced
from xonnc.lowering.onnx_to_tosa.tosa_builder import NCHW, Array, TosaBuilder, array_attr, lowers_quantized
from xonnc.transforms.constant_evaluation import program_of_op

MAX_SUMMED = 2**22
"""Elements whose sum fits in 32 bits."""

HEADROOM = 2.0**20
"""The factor by which sums of two scales are finer than the coarser operand."""


@lowers_quantized(nn.ConvOp)
def conv(op: nn.ConvOp, builder: TosaBuilder) -> bool:
    """A convolution of integers, its sums requantized, or made real if they are not."""
    x, w = builder.quantized.get(op.X), builder.quantized.get(op.W)
    if x is None or w is None or not _has_bytes(x) or not _are_weights(w, 0):
        return False
    assert x.value is not None
    assert w.array is not None
    weights = w.array.reshape(as_image(w.array.shape))
    scales = x.of.factor * np.broadcast_to(w.of.scale.astype(np.float64), (weights.shape[0],))
    bias = _bias(op.B, scales, builder)
    if bias is None:
        return False
    kernels = Kernels(weights, bias, op.group.value.data, x.of.zero, w.of.zero)
    sums = convolved(op, x.value, kernels, builder)
    out = builder.result_shape(op)
    _define(op, sums, scales, lambda value: builder.reshape(builder.transpose(value, NCHW), out), builder)
    return True


def _has_bytes(quantized: QuantizedValue | None) -> bool:
    """Whether a tensor is computed as int8 with one scale."""
    return (
        quantized is not None
        and quantized.value is not None
        and quantized.of.is_per_tensor
        and element_of(quantized.value) == i8
    )


def _are_weights(quantized: QuantizedValue, axis: int) -> bool:
    """Whether a tensor is constant int8 with one scale, or one for each index along `axis`."""
    if quantized.array is None or quantized.array.dtype != np.int8:
        return False
    if quantized.of.is_per_tensor:
        return quantized.of.zero_point.size == 1
    return quantized.of.axis == axis and not quantized.of.zero_point.any()


def _bias(value: SSAValue, scales: Array, builder: TosaBuilder) -> SSAValue | None:
    """Return a constant bias in units of the sums, `None` if it is computed or too large."""
    if value.type == NONE:
        return builder.const(np.zeros(1, np.int32))
    real = builder.constant(value)
    if real is None or real.size not in (1, scales.size):
        return None
    units = np.rint(np.broadcast_to(real.reshape(-1), scales.shape).astype(np.float64) / scales)
    if np.abs(units).max() >= 2**31:
        return None
    return builder.const(units.astype(np.int32))


def _define(
    op: OnnxOp,
    sums: SSAValue,
    scales: Array,
    shaped: Callable[[SSAValue], SSAValue],
    builder: TosaBuilder,
) -> None:
    """Define an operator's result by sums of integers with scales: requantized, else as real numbers."""
    expected = requantization(op, builder)
    distinct = scales[:1] if np.all(scales == scales[0]) else scales
    if expected is None or not all(is_scale(scale / expected.of.factor) for scale in distinct):
        builder.define(op.results[0], shaped(as_float(sums, distinct, builder)))
        return
    made = by_factors(sums, distinct / expected.of.factor, (0, expected.of.zero), i8, builder)
    expected.finish(shaped(made), builder)


@lowers_quantized(GemmOp)
def gemm(op: GemmOp, builder: TosaBuilder) -> bool:
    """A product of rows with constant weights, as a convolution of images of one element."""
    is_plain = op.alpha.value.data == 1.0 and op.beta.value.data == 1.0 and not op.transA.value.data
    return is_plain and _product(op, op.C, bool(op.transB.value.data), builder)


@lowers_quantized(MatMulOp)
def matmul(op: MatMulOp, builder: TosaBuilder) -> bool:
    """A product of rows with constant weights, as a convolution of images of one element."""
    return _product(op, None, False, builder)


def _product(
    op: GemmOp | MatMulOp, addend: SSAValue | None, is_transposed: bool, builder: TosaBuilder
) -> bool:
    x, w = builder.quantized.get(op.A), builder.quantized.get(op.B)
    if x is None or w is None or not _has_bytes(x) or not _are_weights(w, 0 if is_transposed else 1):
        return False
    assert x.value is not None
    assert w.array is not None
    if w.array.ndim != 2:
        return False
    weights = w.array if is_transposed else w.array.T
    made, taken = weights.shape
    scales = x.of.factor * np.broadcast_to(w.of.scale.astype(np.float64), (made,))
    bias = builder.const(np.zeros(1, np.int32)) if addend is None else _bias(addend, scales, builder)
    if bias is None:
        return False
    rows = prod(shape_of(x.value)) // taken
    source = builder.reshape(x.value, (rows, 1, 1, taken))
    kernels = builder.const(weights.reshape(made, 1, 1, taken))
    zeros = builder.zero_point(source, x.of.zero), builder.zero_point(kernels, w.of.zero)
    sums = builder.emit(
        Conv2DOp,
        [source, kernels, bias, *zeros],
        tensor_type((rows, 1, 1, made), i32),
        pad=array_attr(0, 0, 0, 0),
        stride=array_attr(1, 1),
        dilation=array_attr(1, 1),
        acc_type=i32,
    )
    out = builder.result_shape(op)
    _define(op, sums, scales, lambda value: builder.reshape(value, out), builder)
    return True


@lowers_quantized(AddOp, SubOp)
def total(op: AddOp | SubOp, builder: TosaBuilder) -> bool:
    """A sum or difference of two scales, in units finer than both."""
    found = _two_of_bytes(op, builder)
    expected = requantization(op, builder)
    if found is None or expected is None:
        return False
    unit = max(each.of.factor for each in found) / HEADROOM
    if not is_scale(unit / expected.of.factor) or any(not is_scale(each.of.factor / unit) for each in found):
        return False
    parts = [
        by_factors(builder.integers(each), each.of.factor / unit, (each.of.zero, 0), i32, builder)
        for each in found
    ]
    made = builder.binary(tosa.AddOp if isinstance(op, AddOp) else tosa.SubOp, parts[0], parts[1])
    expected.finish(by_factors(made, unit / expected.of.factor, (0, expected.of.zero), i8, builder), builder)
    return True


@lowers_quantized(MulOp)
def product(op: MulOp, builder: TosaBuilder) -> bool:
    """A product of integers less their zero points."""
    found = _two_of_bytes(op, builder)
    expected = requantization(op, builder)
    if found is None or expected is None:
        return False
    factor = found[0].of.factor * found[1].of.factor / expected.of.factor
    if not is_scale(factor):
        return False
    parts = [by_factors(builder.integers(each), 1.0, (each.of.zero, 0), i32, builder) for each in found]
    made = builder.binary(tosa.MulOp, parts[0], parts[1])
    expected.finish(by_factors(made, factor, (0, expected.of.zero), i8, builder), builder)
    return True


def _two_of_bytes(op: OnnxOp, builder: TosaBuilder) -> list[QuantizedValue] | None:
    """Return both operands if they are int8 with one scale each, constants among them."""
    found = [builder.quantized.get(operand) for operand in op.operands]
    quantized = [each for each in found if each is not None and each.of.is_per_tensor]
    if len(quantized) < 2:
        return None
    is_computed = [_has_bytes(each) for each in quantized]
    is_constant = [each.array is not None and each.array.dtype == np.int8 for each in quantized]
    fits = all(a or b for a, b in zip(is_computed, is_constant, strict=True))
    return quantized if fits and any(is_computed) else None


@lowers_quantized(nn.GlobalAveragePoolOp, *MEANS)
def mean(op: OnnxOp, builder: TosaBuilder) -> bool:
    """A mean as a sum of integers, whose division is part of the rescaling."""
    x = builder.quantized.get(op.operands[0])
    if x is None or not _has_bytes(x):
        return False
    assert x.value is not None
    shape = shape_of(x.value)
    is_pool = isinstance(op, nn.GlobalAveragePoolOp)
    axes = list(range(2, len(shape))) if is_pool else axes_of(op, len(shape), builder)
    count = prod(shape[axis] for axis in axes)
    if not axes or count > MAX_SUMMED:
        return False
    rounded = by_factors(x.value, 1.0, (x.of.zero, 0), i32, builder)
    sums = reduced(tosa.ReduceSumOp, rounded, axes, builder)
    out = builder.result_shape(op)
    scales = np.array([x.of.factor / count])
    _define(op, sums, scales, lambda value: builder.reshape(value, out), builder)
    return True


@lowers_quantized(tensor.ConcatOp)
def concat(op: tensor.ConcatOp, builder: TosaBuilder) -> bool:
    """Integers one after another, rescaled to the scale of the result."""
    found = [builder.quantized.get(operand) for operand in op.inputs]
    quantized = [each for each in found if each is not None and _has_bytes(each)]
    if len(quantized) < len(found):
        return False
    parts = [each.value for each in quantized if each.value is not None]
    axis = op.axis.value.data
    if all(each.of.is_same(quantized[0].of) for each in quantized):
        made = joined(parts, axis, builder)
        builder.quantized[op.concat_result] = QuantizedValue(quantized[0].of, made)
        return True
    expected = requantization(op, builder)
    if expected is None or not all(is_scale(each.of.factor / expected.of.factor) for each in quantized):
        return False
    moved = [
        part if each.of.is_same(expected.of) else rescaled(part, each.of, expected.of, i8, builder)
        for each, part in zip(quantized, parts, strict=True)
    ]
    expected.finish(joined(moved, axis, builder), builder)
    return True


TABLES = (
    activation.EluOp,
    activation.GeluOp,
    activation.SigmoidOp,
    activation.SoftplusOp,
    activation.SwishOp,
    elementwise.AbsOp,
    elementwise.ErfOp,
    elementwise.ExpOp,
    elementwise.LogOp,
    elementwise.NegOp,
    elementwise.ReciprocalOp,
    elementwise.SqrtOp,
    rectifier.HardSigmoidOp,
    rectifier.HardSwishOp,
    rectifier.LeakyReluOp,
    rounding.CeilOp,
    rounding.FloorOp,
    trigonometry.CosOp,
    trigonometry.SinOp,
    trigonometry.TanhOp,
)
"""Functions of one element."""


@lowers_quantized(*TABLES)
def table(op: OnnxOp, builder: TosaBuilder) -> bool:
    """A function from int8 to int8 as a table of its 256 results."""
    x = builder.quantized.get(op.operands[0])
    expected = requantization(op, builder)
    if x is None or expected is None or not _has_bytes(x):
        return False
    assert x.value is not None
    everything = np.arange(-128, 128, dtype=np.int8)
    source = QuantizedValue(x.of, array=everything).real_array
    with np.errstate(all="ignore"):
        made = program_of_op(op, [op.operands[0]])([source])[0]
    if not isinstance(made, np.ndarray) or not np.isfinite(made).all():
        return False
    entries = np.rint(made / np.float32(expected.of.factor)) + expected.of.zero
    entries = np.clip(entries, -128, 127).astype(np.int8)
    expected.finish(builder.emit(TableOp, [x.value, builder.const(entries)], x.value.type), builder)
    return True
