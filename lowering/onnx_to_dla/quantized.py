"""Operators of quantized networks in int8, between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, PoolMode
from xonnc.dialects.dla.engines import SoftmaxOp as DlaSoftmaxOp
from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.math import AddOp, ClipOp, MulOp, ReluOp, SoftmaxOp, SoftmaxV11Op, SumOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, FlattenOp, GlobalAveragePoolOp, GlobalMaxPoolOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import (
    CastOp,
    ConcatOp,
    IdentityOp,
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.formats.nvdla.geometry import MAX_POOL
from xonnc.formats.nvdla.quantization import INT8_MAX, QuantizationParameters
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dequantized import (
    Affine,
    ClampBound,
    Clamped,
    Concatenated,
    Dequantized,
    Moved,
    QuantizedCube,
)
from xonnc.lowering.onnx_to_dla.dla_builder import FLOATS, Array, Cube, cube_shape
from xonnc.lowering.onnx_to_dla.pooling import averages, cascade, check_planar, pool, pool_windows
from xonnc.lowering.onnx_to_dla.quantized_builder import (
    QuantizedDlaBuilder,
    QuantizedKernels,
    StoredIntegers,
    lowers,
)
from xonnc.lowering.onnx_to_dla.quantized_convolution import grouped
from xonnc.lowering.onnx_to_dla.quantized_products import product_of
from xonnc.lowering.onnx_to_dla.table_lookup import TableLookup
from xonnc.lowering.onnx_to_dla.tensor import channels_picked, check_softmax, picking, side_by_side

RELU = ClampBound(0.0, True)

SOFTMAX_QPARAMS = QuantizationParameters(float(np.float32(1 / INT8_MAX)))
"""The CPU emulator supports no zero point: probabilities use [0, 127]."""


@lowers(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower DequantizeLinear, `(x - zero_point) * scale`, as a pending expression."""
    stored = builder.stored(op.x)
    qparams = builder.qparams(op.x_scale, op.x_zero_point, stored.offset)
    return Affine.of(stored.value, cube_of(stored.value.type), stored.shape, qparams)


@lowers(QuantizeLinearOp)
def quantize(op: QuantizeLinearOp, builder: QuantizedDlaBuilder) -> StoredIntegers:
    """Lower QuantizeLinear: emit the SDP pass that ends a chain of operators."""
    offset = builder.offset_of(op.y)
    qparams = builder.qparams(op.y_scale, op.y_zero_point, offset)
    shape = builder.result_shape(op)
    if (given := builder.input_on(op.x, qparams)) is not None:
        return StoredIntegers(given, shape, offset)
    return StoredIntegers(builder.quantized(op.x, qparams), shape, offset)


@lowers(ReluOp)
def relu(op: ReluOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Relu as a clamp of the requantization before it."""
    return clamped(builder.dequantized(op.X), RELU, builder)


@lowers(ClipOp)
def clip(op: ClipOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Clip as clamps of the requantization before it."""
    result = builder.dequantized(op.input)
    for operand, is_minimum in ((op.min, True), (op.max, False)):
        if operand.type != NONE:
            number = builder.real_constant(operand)
            if number is None:
                builder.refuse("a bound that is not constant; make it a constant")
            result = clamped(result, ClampBound(float(number.reshape(())), is_minimum), builder)
    return result


def clamped(reals: Dequantized, bound: ClampBound, builder: QuantizedDlaBuilder) -> Dequantized:
    """Return the tensor with a clamp, which commutes with data movement and concatenation."""
    match reals:
        case Affine():
            return reals.then(bound)
        case Concatenated():
            return reals.over(lambda part: clamped(part, bound, builder))
        case TableLookup():
            limit = np.maximum if bound.is_minimum else np.minimum
            return reals.then(lambda x: limit(x, bound.number))
        case Moved():
            return reals.over(lambda source: clamped(source, bound, builder))
        case Clamped():
            return Clamped(reals.source, (*reals.bounds, bound))
        case _:
            return Clamped(reals, (bound,))


@lowers(AddOp)
def add(op: AddOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Add of a constant as a bias, of two cubes as one SDP pass that rescales both."""
    return total([op.A, op.B], builder.result_shape(op), builder)


@lowers(SumOp)
def sum_(op: SumOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Sum, of which at most two inputs are computed."""
    return total(op.data_0, builder.result_shape(op), builder)


def total(operands: Sequence[SSAValue], shape: tuple[int, ...], builder: QuantizedDlaBuilder) -> Dequantized:
    """Return the sum of constants and at most two cubes, at least one of which is stored."""
    if (grouped_sum := _sum_of_groups(operands, shape, builder)) is not None:
        return grouped_sum
    constants = [constant for value in operands if (constant := builder.real_constant(value)) is not None]
    computed = [builder.affine(value) for value in operands if builder.real_constant(value) is None]
    if any(part.shape != shape for part in computed):
        builder.refuse(f"operands that are broadcast to {list(shape)}; expand them first")
    computed.sort(key=lambda part: part.stored is not None)
    if not computed or len(computed) > 2 or (len(computed) == 2 and computed[1].stored is None):
        builder.refuse("more than one operand is not quantized; quantize all but one, or calibrate")
    result = computed[0]
    for constant in constants:
        added = result.plus(builder.per_channel(constant, result, shape))
        if added is None:
            builder.refuse("a constant added after a clamp; quantize in between")
        result = added
    if len(computed) == 2:
        other = computed[1].stored
        assert other is not None
        if cube_of(other.value.type) != result.cube:
            builder.refuse(
                f"operands with different cubes in memory: {list(result.cube)}, {list(computed[1].cube)}",
                cause=builder.reshape_before(shape),
            )
        result = result.then(QuantizedCube(other.value, other.qparams))
    return result


def _sum_of_groups(
    operands: Sequence[SSAValue], shape: tuple[int, ...], builder: QuantizedDlaBuilder
) -> Dequantized | None:
    """Add a stored cube to a grouped convolution of several layers: each layer adds its channels."""
    if len(operands) != 2 or any(builder.real_constant(value) is not None for value in operands):
        return None
    groups, other = (builder.dequantized(value) for value in operands)
    if not isinstance(groups, Concatenated):
        groups, other = other, groups
    if not isinstance(groups, Concatenated) or not isinstance(other, Affine) or other.stored is None:
        return None
    return groups.plus(other.stored) if groups.shape == other.shape == shape else None


@lowers(MulOp)
def mul(op: MulOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Mul by a constant (scalar or per channel), or of two computed cubes."""
    first, second = (op.B, op.A) if builder.real_constant(op.A) is not None else (op.A, op.B)
    factor = builder.real_constant(second)
    if factor is None:
        return product_of(op.A, op.B, builder.result_shape(op), builder)
    source = builder.affine(first)
    scaled = source.times(builder.per_channel(factor, source, builder.result_shape(op)))
    if scaled is None:
        builder.refuse("a multiplication after a clamp; quantize in between")
    return scaled


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """
    Lower BatchNormalization that was not fused into a convolution: `m X + (B - m mean)` with `m = scale /
    sqrt(var + epsilon)`.
    """
    source, shape = builder.affine(op.X), builder.result_shape(op)
    scale, shift, mean, variance = (
        _of_channels(operand, what, source, shape, builder)
        for operand, what in ((op.scale, "scale"), (op.B, "B"), (op.mean, "mean"), (op.var, "var"))
    )
    factor = scale / np.sqrt(variance + op.epsilon.value.data)
    scaled = source.times(factor)
    moved = None if scaled is None else scaled.plus(shift - factor * mean)
    if moved is None:
        builder.refuse("a normalization after a clamp; quantize in between")
    return moved


def _of_channels(
    value: SSAValue, what: str, source: Affine, shape: tuple[int, ...], builder: QuantizedDlaBuilder
) -> Array:
    """Return a constant with one value per channel."""
    found = builder.real_constant(value)
    if found is None:
        builder.refuse(f"{what} must be constant, found a computed value; run constprop-onnx first")
    return builder.per_channel(found.reshape(-1, *(1,) * (len(shape) - 2)), source, shape)


@lowers(MaxPoolSingleOutOp)
def max_pool(op: MaxPoolSingleOutOp, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """Lower MaxPool, which commutes with quantization."""
    cube = cube_shape(builder.shape(op.X))
    assert cube is not None, "the source has elements"
    pool_windows(op, cube, builder)

    def move(value: SSAValue) -> SSAValue:
        return pool(value, PoolMode.MAX, pool_windows(op, cube_of(value.type), builder)[1], builder)

    return builder.moved(op.X, builder.result_shape(op), move)


@lowers(GlobalMaxPoolOp)
def global_max_pool(op: GlobalMaxPoolOp, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """Lower GlobalMaxPool, which commutes with quantization."""
    check_planar(op, builder)
    return builder.moved(
        op.X, builder.result_shape(op), lambda value: cascade(value, PoolMode.MAX, builder)[0]
    )


@lowers(GlobalAveragePoolOp)
def global_average_pool(op: GlobalAveragePoolOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower GlobalAveragePool as an exact depthwise convolution with ones, or as average poolings."""
    check_planar(op, builder)
    source, shape = builder.stored_spatial(op.X), builder.result_shape(op)
    if (result := _exact_mean(source, op.Y, shape, builder)) is not None:
        return result
    pooled, factor = cascade(source.value, PoolMode.AVERAGE, builder)
    return builder.mean(source, pooled, np.full((1, 1), factor), shape)


@lowers(AveragePoolOp)
def average_pool(op: AveragePoolOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower AveragePool on the PDP, with factors where the number of averaged elements varies."""
    source, shape = builder.stored_spatial(op.X), builder.result_shape(op)
    cube = cube_of(source.value.type)
    declared, window = pool_windows(op, cube, builder)
    if window.kernel == cube[1:] and not any(window.pads):
        if (result := _exact_mean(source, op.Y, shape, builder)) is not None:
            return result
    if source.qparams.zero_point and op.count_include_pad.value.data == 1 and any(window.pads):
        return _padded_mean(source, window, declared, shape, builder)
    pooled, correction = averages(op, source.value, builder)
    return builder.mean(source, pooled, correction, shape)


def _padded_mean(
    source: QuantizedCube,
    window: Window2D,
    declared: Window2D,
    shape: tuple[int, ...],
    builder: QuantizedDlaBuilder,
) -> Dequantized:
    """
    Return means that count padding by a depthwise convolution, which pads with the stored zero point: the PDP
    sums zeros there.
    """
    if window != declared:
        builder.refuse(
            "a last window beyond the padding, of a tensor whose zero point is not 0; "
            "use symmetric quantization"
        )
    channels = cube_of(source.value.type).channels
    ones = np.ones((channels, 1, *window.kernel), np.int8)
    kernels = QuantizedKernels(ones, np.array([1 / ones[0].size]))
    return grouped(source, kernels, None, window, channels, shape, builder)


def _exact_mean(
    source: QuantizedCube, value: SSAValue, shape: tuple[int, ...], builder: QuantizedDlaBuilder
) -> Dequantized | None:
    """
    Return the mean of a small image by a depthwise convolution, whose sums are exact, where the PDP would
    round the mean to steps coarser than the result's scale.
    """
    cube, qparams = cube_of(source.value.type), _consumer_qparams(value, builder)
    if cube.positions == 1 or max(cube.height, cube.width) > MAX_POOL:
        return None
    if qparams is None or source.qparams.scale <= qparams.scale:
        return None
    ones = np.ones((cube.channels, 1, cube.height, cube.width), np.int8)
    kernels = QuantizedKernels(ones, np.array([1 / cube.positions]))
    return grouped(source, kernels, None, Window2D((cube.height, cube.width)), cube.channels, shape, builder)


@lowers(ConcatOp)
def concat(op: ConcatOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Concat: each part is quantized with the parameters of the result."""
    shape = builder.result_shape(op)
    axis = op.axis.value.data % len(shape)
    parts = tuple(builder.dequantized(value) for value in op.inputs)

    def join(values: list[SSAValue]) -> SSAValue:
        cubes = [Cube(value, part.shape) for value, part in zip(values, parts, strict=True)]
        return side_by_side(cubes, axis, shape, builder)

    return Concatenated(parts, shape, join)


@lowers(ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)
def reshape(
    op: ReshapeOp | SqueezeOp | SqueezeV11Op | UnsqueezeOp | UnsqueezeV11Op, builder: QuantizedDlaBuilder
) -> Dequantized | StoredIntegers:
    """Lower Reshape, Squeeze and Unsqueeze as views where the cube layout allows it."""
    return builder.reshaped(op.data, builder.result_shape(op))


@lowers(FlattenOp)
def flatten(op: FlattenOp, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """Lower Flatten as a view where the cube layout allows it."""
    return builder.reshaped(op.input, builder.result_shape(op))


@lowers(CastOp)
def cast(op: CastOp, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """Lower Cast between floats as its operand: their precision is that of the integers."""
    if element_type(op.input.type) not in FLOATS or element_type(op.output.type) not in FLOATS:
        builder.refuse("the DLA has no int8 form of this operator")
    return builder.reshaped(op.input, builder.result_shape(op))


@lowers(IdentityOp)
def identity(op: IdentityOp, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """Lower Identity as its operand."""
    return builder.reshaped(op.input, builder.result_shape(op))


@lowers(TransposeOp)
def transpose(op: TransposeOp, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """
    Lower Transpose: nothing if only dimensions of size 1 move, a one-hot 1x1 convolution if only channels do.
    """
    row, here = builder.stored_row(op.data)
    shape = builder.result_shape(op)
    picked = channels_picked(op, Cube(row.value, here), builder)
    if picked is None:
        return builder.reshaped(op.data, shape)
    sums = builder.conv(row.value, builder.kernels(picking(picked)), Window2D((1, 1)))
    moved = builder.requantized(sums, [], Converter())
    return Affine.of(moved, cube_of(moved.type), shape, row.qparams)


@lowers(SoftmaxOp)
def softmax(op: SoftmaxOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Softmax over the channels of one position, on the CPU emulator."""
    return _softmax(op, op.axis.value.data, False, builder)


@lowers(SoftmaxV11Op)
def softmax_11(op: SoftmaxV11Op, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower Softmax of opset 11 and before, over all dimensions from `axis` on."""
    return _softmax(op, op.axis.value.data, True, builder)


def _softmax(
    op: SoftmaxOp | SoftmaxV11Op, axis: int, flattens: bool, builder: QuantizedDlaBuilder
) -> Dequantized:
    """Softmax is invariant to a constant added to all inputs, so the zero point may be ignored."""
    source, shape = builder.stored_row(op.input)
    check_softmax(Cube(source.value, shape), axis, flattens, builder)
    qparams = _softmax_qparams(op.output, builder)
    made = DlaSoftmaxOp(
        source.value, source.value.type, input_scale=source.qparams.scale, output_scale=qparams.scale
    )
    return Affine.of(builder(made), cube_of(source.value.type), shape, qparams)


def _softmax_qparams(value: SSAValue, builder: QuantizedDlaBuilder) -> QuantizationParameters:
    """
    Return the parameters of the only QuantizeLinear that reads a softmax if they are symmetric, else 1/127.
    """
    qparams = _consumer_qparams(value, builder)
    return SOFTMAX_QPARAMS if qparams is None or qparams.zero_point else qparams


def _consumer_qparams(value: SSAValue, builder: QuantizedDlaBuilder) -> QuantizationParameters | None:
    """Return the parameters of the only QuantizeLinear that reads a value, `None` if something else does."""
    readers = [use.operation for use in value.uses]
    if len(readers) != 1 or not isinstance(readers[0], QuantizeLinearOp):
        return None
    reader = readers[0]
    return builder.qparams(reader.y_scale, reader.y_zero_point, builder.offset_of(reader.y))
