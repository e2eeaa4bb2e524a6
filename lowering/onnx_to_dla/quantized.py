"""Operators of quantised networks: real numbers between DequantizeLinear and QuantizeLinear, in integers."""

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
    ConcatOp,
    IdentityOp,
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.geometry import LARGEST_POOL
from xonnc.formats.nvdla.quantization import LARGEST, Grid
from xonnc.lowering.dla_planning.shapes import Window
from xonnc.lowering.onnx_to_dla.integers import Integers, Kernels, Stored, lowers
from xonnc.lowering.onnx_to_dla.lowering import Array, Cube, cube_shape
from xonnc.lowering.onnx_to_dla.pooling import averages, cascade, check_planar, pool, pool_windows
from xonnc.lowering.onnx_to_dla.quantized_convolution import grouped
from xonnc.lowering.onnx_to_dla.quantized_products import product_of
from xonnc.lowering.onnx_to_dla.reals import Affine, Bound, Joined, Limited, Moved, Reals, Sum
from xonnc.lowering.onnx_to_dla.tabled import Tabled
from xonnc.lowering.onnx_to_dla.tensor import channels_picked, check_softmax, picking, side_by_side

RELU = Bound(0.0, True)

SOFTMAX_GRID = Grid(float(np.float32(1 / LARGEST)))
"""The emulator's integers are not shifted: probabilities use the positive ones."""


@lowers(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, to: Integers) -> Reals:
    """`(x - zero_point) scale`: stored integers as real numbers."""
    stored = to.stored(op.x)
    grid = to.grid(op.x_scale, op.x_zero_point, stored.offset)
    return Affine.of(stored.value, cube_of(stored.value.type), stored.shape, grid)


@lowers(QuantizeLinearOp)
def quantize(op: QuantizeLinearOp, to: Integers) -> Stored:
    """`x / scale + zero_point`, rounded and limited: the pass of the SDP that ends a chain of operators."""
    offset = to.offset_of(op.y)
    grid = to.grid(op.y_scale, op.y_zero_point, offset)
    shape = to.result_shape(op)
    if (given := to.input_on(op.x, grid)) is not None:
        return Stored(given, shape, offset)
    return Stored(to.rounded(op.x, grid), shape, offset)


@lowers(ReluOp)
def relu(op: ReluOp, to: Integers) -> Reals:
    """`max(x, 0)`."""
    return bounded(to.reals(op.X), RELU, to)


@lowers(ClipOp)
def clip(op: ClipOp, to: Integers) -> Reals:
    """`min(max(x, low), high)`."""
    found = to.reals(op.input)
    for operand, is_least in ((op.min, True), (op.max, False)):
        if operand.type != NONE:
            number = to.real_constant(operand)
            if number is None:
                to.refuse("a bound that is computed; make it a constant")
            found = bounded(found, Bound(float(number.reshape(())), is_least), to)
    return found


def bounded(reals: Reals, bound: Bound, to: Integers) -> Reals:
    """Bounds pass whatever only picks and orders."""
    match reals:
        case Affine():
            return reals.then(bound)
        case Joined():
            return reals.over(lambda part: bounded(part, bound, to))
        case Tabled():
            limit = np.maximum if bound.is_least else np.minimum
            return reals.then(lambda x: limit(x, bound.number))
        case Moved():
            return reals.over(lambda source: bounded(source, bound, to))
        case Limited():
            return Limited(reals.source, (*reals.bounds, bound))
        case _:
            return Limited(reals, (bound,))


@lowers(AddOp)
def add(op: AddOp, to: Integers) -> Reals:
    """`a + b`."""
    return total([op.A, op.B], to.result_shape(op), to)


@lowers(SumOp)
def sum_(op: SumOp, to: Integers) -> Reals:
    """All inputs added up; two of them may be computed."""
    return total(op.data_0, to.result_shape(op), to)


def total(operands: Sequence[SSAValue], shape: tuple[int, ...], to: Integers) -> Reals:
    """The sum of constants and at most two cubes, one of them stored."""
    if (grouped_sum := _sum_of_groups(operands, shape, to)) is not None:
        return grouped_sum
    constants = [constant for value in operands if (constant := to.real_constant(value)) is not None]
    computed = [to.affine(value) for value in operands if to.real_constant(value) is None]
    if any(part.shape != shape for part in computed):
        to.refuse(f"a sum whose operands are broadcast to {list(shape)}; expand them first")
    computed.sort(key=lambda part: part.stored is not None)
    if not computed or len(computed) > 2 or (len(computed) == 2 and computed[1].stored is None):
        to.refuse("a sum of more than one chain of operators; put a QuantizeLinear behind all but one")
    found = computed[0]
    for constant in constants:
        added = found.plus(to.per_channel(constant, found, shape))
        if added is None:
            to.refuse("a constant added behind a bound; put a QuantizeLinear between them")
        found = added
    if len(computed) == 2:
        other = computed[1].stored
        assert other is not None
        if cube_of(other.value.type) != found.cube:
            to.refuse(f"a sum of cubes that lie differently: {list(found.cube)}, {list(computed[1].cube)}")
        found = found.then(Sum(other.value, other.grid))
    return found


def _sum_of_groups(operands: Sequence[SSAValue], shape: tuple[int, ...], to: Integers) -> Reals | None:
    """A convolution in several layers and a stored cube: each layer adds its channels of the cube."""
    if len(operands) != 2 or any(to.real_constant(value) is not None for value in operands):
        return None
    groups, other = (to.reals(value) for value in operands)
    if not isinstance(groups, Joined):
        groups, other = other, groups
    if not isinstance(groups, Joined) or not isinstance(other, Affine) or other.stored is None:
        return None
    return groups.plus(other.stored) if groups.shape == other.shape == shape else None


@lowers(MulOp)
def mul(op: MulOp, to: Integers) -> Reals:
    """
    `a c` for a constant `c`, one number or one for each channel; `a b` for two computed cubes, one of them
    symmetric.
    """
    first, second = (op.B, op.A) if to.real_constant(op.A) is not None else (op.A, op.B)
    factor = to.real_constant(second)
    if factor is None:
        return product_of(op.A, op.B, to.result_shape(op), to)
    source = to.affine(first)
    scaled = source.times(to.per_channel(factor, source, to.result_shape(op)))
    if scaled is None:
        to.refuse("a factor behind a bound; put a QuantizeLinear in between")
    return scaled


@lowers(BatchNormalizationInferenceModeOp)
def batch_normalization(op: BatchNormalizationInferenceModeOp, to: Integers) -> Reals:
    """`m X + (B - m mean)` with `m = scale / sqrt(var + epsilon)`, where no convolution has taken it in."""
    source, shape = to.affine(op.X), to.result_shape(op)
    scale, shift, mean, variance = (
        _of_channels(operand, what, source, shape, to)
        for operand, what in ((op.scale, "scale"), (op.B, "B"), (op.mean, "mean"), (op.var, "var"))
    )
    factor = scale / np.sqrt(variance + op.epsilon.value.data)
    scaled = source.times(factor)
    moved = None if scaled is None else scaled.plus(shift - factor * mean)
    if moved is None:
        to.refuse("a normalisation behind a bound; put a QuantizeLinear in between")
    return moved


def _of_channels(value: SSAValue, what: str, source: Affine, shape: tuple[int, ...], to: Integers) -> Array:
    """A constant with one number for each channel."""
    found = to.real_constant(value)
    if found is None:
        to.refuse(f"{what} must be constant, found a computed value; run constprop-onnx first")
    return to.per_channel(found.reshape(-1, *(1,) * (len(shape) - 2)), source, shape)


@lowers(MaxPoolSingleOutOp)
def max_pool(op: MaxPoolSingleOutOp, to: Integers) -> Reals | Stored:
    """The greatest of each window: picking commutes with rounding."""
    cube = cube_shape(to.shape(op.X))
    assert cube is not None, "the source has elements"
    pool_windows(op, cube, to)

    def move(value: SSAValue) -> SSAValue:
        return pool(value, PoolMode.MAX, pool_windows(op, cube_of(value.type), to)[1], to)

    return to.moved(op.X, to.result_shape(op), move)


@lowers(GlobalMaxPoolOp)
def global_max_pool(op: GlobalMaxPoolOp, to: Integers) -> Reals | Stored:
    """The greatest of each channel."""
    check_planar(op, to)
    return to.moved(op.X, to.result_shape(op), lambda value: cascade(value, PoolMode.MAX, to)[0])


@lowers(GlobalAveragePoolOp)
def global_average_pool(op: GlobalAveragePoolOp, to: Integers) -> Reals:
    """The mean of each channel."""
    check_planar(op, to)
    source, shape = to.stored_image(op.X), to.result_shape(op)
    if (found := _exact_mean(source, op.Y, shape, to)) is not None:
        return found
    pooled, factor = cascade(source.value, PoolMode.AVERAGE, to)
    return to.mean(source, pooled, np.full((1, 1), factor), shape)


@lowers(AveragePoolOp)
def average_pool(op: AveragePoolOp, to: Integers) -> Reals:
    """The mean of each window, in the unit of the source."""
    source, shape = to.stored_image(op.X), to.result_shape(op)
    cube = cube_of(source.value.type)
    window = pool_windows(op, cube, to)[1]
    if window.kernel == cube[1:] and not any(window.pads):
        if (found := _exact_mean(source, op.Y, shape, to)) is not None:
            return found
    pooled, correction = averages(op, source.value, to)
    if source.grid.zero and any(window.pads):
        to.refuse("padding around integers whose zero is not 0; use a symmetric quantisation")
    return to.mean(source, pooled, correction, shape)


def _exact_mean(source: Sum, value: SSAValue, shape: tuple[int, ...], to: Integers) -> Reals | None:
    """
    Means of a small image from sums that are exact, where the PDP's would be rounded to steps coarser than
    those of `value`.
    """
    cube, grid = cube_of(source.value.type), _rounding_behind(value, to)
    if cube.positions == 1 or max(cube.height, cube.width) > LARGEST_POOL:
        return None
    if grid is None or source.grid.scale <= grid.scale:
        return None
    ones = np.ones((cube.channels, 1, cube.height, cube.width), np.int8)
    kernels = Kernels(ones, np.array([1 / cube.positions]))
    return grouped(source, kernels, None, Window((cube.height, cube.width)), cube.channels, shape, to)


@lowers(ConcatOp)
def concat(op: ConcatOp, to: Integers) -> Reals:
    """Cubes side by side, each rounded to the common grid where it is made."""
    shape = to.result_shape(op)
    axis = op.axis.value.data % len(shape)
    parts = tuple(to.reals(value) for value in op.inputs)

    def join(values: list[SSAValue]) -> SSAValue:
        cubes = [Cube(value, part.shape) for value, part in zip(values, parts, strict=True)]
        return side_by_side(cubes, axis, shape, to)

    return Joined(parts, shape, join)


@lowers(ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)
def reshape(
    op: ReshapeOp | SqueezeOp | SqueezeV11Op | UnsqueezeOp | UnsqueezeV11Op, to: Integers
) -> Reals | Stored:
    """Another shape for the same elements in the same order."""
    return to.reshaped(op.data, to.result_shape(op))


@lowers(FlattenOp)
def flatten(op: FlattenOp, to: Integers) -> Reals | Stored:
    """Another shape for the same elements in the same order."""
    return to.reshaped(op.input, to.result_shape(op))


@lowers(IdentityOp)
def identity(op: IdentityOp, to: Integers) -> Reals | Stored:
    """Nothing."""
    return to.reshaped(op.input, to.result_shape(op))


@lowers(TransposeOp)
def transpose(op: TransposeOp, to: Integers) -> Reals | Stored:
    """
    Another order of dimensions: nothing where only ones move, a 1x1 convolution with ones where only
    channels do.
    """
    row, here = to.stored_row(op.data)
    shape = to.result_shape(op)
    picked = channels_picked(op, Cube(row.value, here), to)
    if picked is None:
        return to.reshaped(op.data, shape)
    sums = to.conv(row.value, to.kernels(picking(picked)), Window((1, 1)))
    moved = to.requantized(sums, [], Converter())
    return Affine.of(moved, cube_of(moved.type), shape, row.grid)


@lowers(SoftmaxOp)
def softmax(op: SoftmaxOp, to: Integers) -> Reals:
    """Softmax over the channels of one position, a task of the CPU emulator."""
    return _softmax(op, op.axis.value.data, False, to)


@lowers(SoftmaxV11Op)
def softmax_11(op: SoftmaxV11Op, to: Integers) -> Reals:
    """Softmax over everything from `axis` on, as it was before opset 13."""
    return _softmax(op, op.axis.value.data, True, to)


def _softmax(op: SoftmaxOp | SoftmaxV11Op, axis: int, flattens: bool, to: Integers) -> Reals:
    """What is added to all of a softmax's numbers changes nothing, so the zero of the integers may stay."""
    source, shape = to.stored_row(op.input)
    check_softmax(Cube(source.value, shape), axis, flattens, to)
    grid = _grid_behind(op.output, to)
    made = DlaSoftmaxOp(
        source.value, source.value.type, input_scale=source.grid.scale, output_scale=grid.scale
    )
    return Affine.of(to(made), cube_of(source.value.type), shape, grid)


def _grid_behind(value: SSAValue, to: Integers) -> Grid:
    """The grid of the one QuantizeLinear that reads a softmax, if it is symmetric; else steps of 1/127."""
    grid = _rounding_behind(value, to)
    return SOFTMAX_GRID if grid is None or grid.zero else grid


def _rounding_behind(value: SSAValue, to: Integers) -> Grid | None:
    """The grid of the one QuantizeLinear that reads a value; `None` if something else does."""
    readers = [use.operation for use in value.uses]
    if len(readers) != 1 or not isinstance(readers[0], QuantizeLinearOp):
        return None
    reader = readers[0]
    return to.grid(reader.y_scale, reader.y_zero_point, to.offset_of(reader.y))
