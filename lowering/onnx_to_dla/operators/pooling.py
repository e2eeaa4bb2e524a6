"""
Pooling on the PDP, with ONNX's rules for counting padding.

The PDP divides averages by the full kernel area (`count_include_pad`). Where ONNX excludes padding, a factor
per position corrects that in the SDP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import PoolMode
from xonnc.dialects.dla.engines import PdpOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp
from xonnc.formats.nvdla.geometry import MAX_POOL
from xonnc.lowering.dla_planning.feasibility import pool_limits, pool_split_num
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.every_nth import every_nth, part_of
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.builders.windows import WindowOp, output_size, trim_padding, window_of
from xonnc.lowering.onnx_to_dla.operators.grouped_convolution import grouped
from xonnc.targets import limits

MAX_UNEVEN = 1 << 16
"""Most elements of a window whose sums, times a factor of 8 bits, have 32 bits."""

FINE_WEIGHT = 64
"""The weight instead of 1 that makes units of sums finer."""


@lowers(MaxPoolSingleOutOp)
def max_pool(op: MaxPoolSingleOutOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower MaxPool, which commutes with quantization; the PDP ignores padding."""
    _, window = pool_windows(op, builder.image_cube(op.X), builder)
    return builder.moved(
        op.X, builder.result_shape(op), lambda value: pool(value, PoolMode.MAX, window, builder)
    )


@lowers(GlobalMaxPoolOp)
def global_max_pool(op: GlobalMaxPoolOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower GlobalMaxPool as a cascade of maximum poolings on the PDP."""
    check_planar(op, builder)
    return builder.moved(
        op.X, builder.result_shape(op), lambda value: cascade(value, PoolMode.MAX, builder)[0]
    )


@lowers(AveragePoolOp)
def average_pool(op: AveragePoolOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower AveragePool. The PDP divides by the full window; where ONNX divides by `n` elements, the SDP
    multiplies by `kernel / n` afterwards, or in the pass of a 1x1 convolution that follows. Kernels of
    more than 8 are depthwise convolutions, of means of blocks if windows lie side by side.
    """
    source, shape = builder.spatial_source(op.X), builder.result_shape(op)
    declared, window = pool_windows(op, source.cube, builder)
    is_global = window.kernel == source.cube[1:] and not any(window.pads)
    if is_global and (exact := _exact_mean(source, op.Y, shape, builder)) is not None:
        return exact
    if limits.POOL.broken(max(window.kernel)) and not is_global:
        return _wide_mean(op, source, window, declared, shape, builder)
    pooled, correction = averages(op, source, builder)
    return builder.mean(source, pooled, correction, shape)


@lowers(GlobalAveragePoolOp)
def global_average_pool(op: GlobalAveragePoolOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower GlobalAveragePool as average poolings on the PDP and one factor, or as an exact convolution."""
    check_planar(op, builder)
    source, shape = builder.spatial_source(op.X), builder.result_shape(op)
    if (exact := _exact_mean(source, op.Y, shape, builder)) is not None:
        return exact
    pooled, factor = cascade(source.value, PoolMode.AVERAGE, builder)
    return builder.settled(builder.mean(source, pooled, np.full((1, 1), factor), shape))


def _exact_mean(
    source: Cube, value: SSAValue, shape: tuple[int, ...], builder: OperatorBuilder[TensorT]
) -> TensorT | None:
    """
    Return the mean of an image of integers by a depthwise convolution, whose sums are exact, where the PDP
    would round the mean to steps coarser than the result's scale.

    Of an image of more than 8x8 the PDP takes means of blocks first.
    """
    cube, qparams = source.cube, builder.reader_qparams(value)
    if cube.positions == 1 or qparams is None or source.qparams is None:
        return None
    if source.qparams.scale <= qparams.scale:
        return None
    # The largest kernels come last: the more blocks are left, the better their rounding errors cancel.
    rows, columns = (kernels[:0:-1] for kernels in kernel_cascades(cube.height, cube.width))
    blocks = pooled_blocks(source.value, PoolMode.AVERAGE, (rows, columns), builder)
    kernel = cube_of(blocks.type)[1:]
    divisor = cube.positions / (prod(rows) * prod(columns))
    # Zeros that pad blocks are no zero points, so that there are fewer of those than taps.
    surplus = source.qparams.scale * source.zero_point * (prod(kernel) / divisor - 1)
    return _depthwise_mean(replace(source, value=blocks), Window2D(kernel), shape, builder, divisor, surplus)


def _wide_mean(
    op: AveragePoolOp,
    source: Cube,
    window: Window2D,
    declared: Window2D,
    shape: tuple[int, ...],
    builder: OperatorBuilder[TensorT],
) -> TensorT:
    """
    Return means whose kernel exceeds the PDP's, by a depthwise convolution with equal weights.

    Of windows side by side the PDP takes means of blocks first, as strides of convolutions are limited too.
    """
    factors = [whole_factors(size) for size in window.kernel]
    if include_pad := op.count_include_pad.value.data == 1:
        _counted_padding(source, declared, window, builder)
    if window.strides == window.kernel and not any(window.pads) and all(factors):
        count = max(map(len, factors))
        rows, columns = ((1,) * (count - len(each)) + each for each in factors)
        value = _reached(source.value, window, output_size(window, source.cube, builder), builder)
        blocks = pooled_blocks(value, PoolMode.AVERAGE, (rows[:-1], columns[:-1]), builder)
        last = rows[-1], columns[-1]
        return _depthwise_mean(
            replace(source, value=blocks), Window2D(last, last), shape, builder, prod(last)
        )
    counts = _counts(window, declared, source.cube, include_pad, builder)
    outputs = counts.shape[0], counts.shape[1]
    source = replace(source, value=_reached(source.value, window, outputs, builder))
    if 1 in outputs:
        window = _of_single_results(window, source.cube, outputs)
    if np.any(counts != counts[0, 0]):
        return _uneven_mean(source, window, counts, shape, builder)
    return _depthwise_mean(source, window, shape, builder, float(counts[0, 0]))


def _uneven_mean(
    source: Cube, window: Window2D, counts: Array, shape: tuple[int, ...], builder: OperatorBuilder[TensorT]
) -> TensorT:
    """
    Return means over windows of `counts` elements, by a depthwise convolution and a factor for each position.

    Sums are those of stored integers, with zeros as padding: the mean of their zero points is the zero point.
    """
    if (area := prod(window.kernel)) > MAX_UNEVEN:
        builder.refuse(
            f"a kernel of {window.kernel[0]}x{window.kernel[1]} (above {MAX_UNEVEN} elements all windows "
            "must have as many); count padding"
        )
    zero = 0.0
    if (qparams := source.qparams) is not None:
        zero = qparams.scale * qparams.zero_point
        source = replace(source, qparams=replace(qparams, zero_point=0))
    return builder.spread(_depthwise_mean(source, window, shape, builder, area), area / counts, -zero)


def _of_single_results(window: Window2D, cube: CubeShape, outputs: tuple[int, int]) -> Window2D:
    """
    Return the window with stride 1 and no more padding than it reads where there is one result: its stride
    has no effect, and may exceed a convolution's.
    """
    strides, ends = list(window.strides), list(window.pads[2:])
    for axis, count in enumerate(outputs):
        if count == 1:
            strides[axis], ends[axis] = 1, window.kernel[axis] - window.pads[axis] - cube[1 + axis]
    return replace(window, strides=(strides[0], strides[1]), pads=(*window.pads[:2], ends[0], ends[1]))


def whole_factors(size: int) -> tuple[int, ...]:
    """Return kernels of the PDP, the largest last, whose product is `size`; none if a prime exceeds them."""
    factors: list[int] = []
    while size > 1:
        factor = max(each for each in range(1, MAX_POOL + 1) if size % each == 0)
        if factor == 1:
            return ()
        factors.insert(0, factor)
        size //= factor
    return tuple(factors) or (1,)


def _depthwise_mean(
    source: Cube,
    window: Window2D,
    shape: tuple[int, ...],
    builder: OperatorBuilder[TensorT],
    divisor: float,
    addend: float = 0.0,
) -> TensorT:
    """Return sums over windows by a depthwise convolution with equal weights, divided, and an addend."""
    channels = source.cube.channels
    # The addend is rounded to units of the sums, which may be as coarse as the result's.
    weight = FINE_WEIGHT if addend else 1
    ones = np.full((channels, 1, *window.kernel), weight, np.int8)
    bias = np.full(channels, addend) if addend else None
    kernels = builder.fractions(ones, divisor * weight)
    return grouped(source, kernels, bias, window, channels, shape, builder)


def check_planar(op: GlobalAveragePoolOp | GlobalMaxPoolOp, builder: DlaBuilder) -> None:
    """Refuse inputs with more than two spatial dimensions."""
    rank = len(builder.result_shape(op))
    if rank > 4:
        builder.refuse(f"{rank - 2} spatial dimensions (the PDP takes 2)")


class PoolOp(WindowOp, Protocol):
    """The attributes that pooling operators share."""

    @property
    def kernel_shape(self) -> ArrayAttr[IntegerAttr[IntegerType]]: ...
    @property
    def ceil_mode(self) -> IntegerAttr[IntegerType]: ...


def pool_windows(op: PoolOp, cube: CubeShape, builder: DlaBuilder) -> tuple[Window2D, Window2D]:
    """Return the window of the model, and the one with padding for a last partial window (`ceil_mode`)."""
    window = window_of(op, int_values(op.kernel_shape) or (), cube, builder)
    if window.dilations != (1, 1):
        builder.refuse(f"dilations {list(window.dilations)} (the PDP takes 1)")
    return window, _stretched(window, cube, op.ceil_mode.value.data == 1)


def averages(op: AveragePoolOp, source: Cube, builder: DlaBuilder) -> tuple[SSAValue, Array]:
    """
    Return means over full windows, and the factors that turn them into ONNX's means: padding that counts is
    the stored zero point, other padding 0.
    """
    cube = source.cube
    window, stretched = pool_windows(op, cube, builder)
    if stretched.kernel == cube[1:] and not any(stretched.pads):
        value, factor = cascade(source.value, PoolMode.AVERAGE, builder)
        return value, np.full((1, 1), factor, np.float32)
    include_pad = op.count_include_pad.value.data == 1
    pad_value = _counted_padding(source, window, stretched, builder) if include_pad else 0
    pooled = pool(source.value, PoolMode.AVERAGE, stretched, builder, pad_value)
    counts = _counts(stretched, window, cube, include_pad, builder)
    return pooled, np.float32(prod(window.kernel)) / counts


def _counted_padding(source: Cube, declared: Window2D, window: Window2D, builder: DlaBuilder) -> int:
    """Return the stored zero of padding that counts. Windows may reach beyond it if zero is stored as 0."""
    number = source.zero_point if any(declared.pads) else 0
    if number and window != declared:
        builder.refuse(
            "a last window beyond the padding, of a tensor whose zero point is not 0; "
            "use symmetric quantization"
        )
    return number


def pool(
    source: SSAValue, mode: PoolMode, window: Window2D, builder: DlaBuilder, pad_value: int = 0
) -> SSAValue:
    """
    Add one PDP layer, its columns split to fit the line buffer. Averages count `pad_value` as padding.

    The source is sliced to the rows and columns that windows reach: the PDP never drains input that no window
    reads, and hangs (docs/internals/nvdla-hardware.md §9.2). Maxima over larger kernels take several layers.
    Of strides beyond the PDP's it takes a divisor; every n-th row and column of the result is kept.
    """
    while mode is PoolMode.MAX and max(window.kernel) > MAX_POOL:
        first, window = composed(window)
        source = pool(source, mode, first, builder)
    rows, columns = output_size(window, cube_of(source.type), builder)
    window = trim_padding(window, cube_of(source.type))
    source = _reached(source, window, (rows, columns), builder)
    if limits.POOL_STRIDE.broken(max(window.strides)) is not None:
        return _in_wide_strides(source, mode, window, builder, pad_value)
    cube = cube_of(source.type)
    builder.check(pool_limits(cube, window))
    splits = pool_split_num(builder.target, builder.precision, cube, window)
    if splits is None:
        builder.refuse(f"{columns} output columns exceed the PDP's line buffer even when split")
    result = builder.cube_type(CubeShape(cube.channels, rows, columns))
    return builder(
        PdpOp(
            source,
            result,
            mode=mode,
            kernel=window.kernel,
            strides=window.strides,
            pads=window.pads,
            split_num=splits,
            pad_value=pad_value,
        )
    )


def _in_wide_strides(
    source: SSAValue, mode: PoolMode, window: Window2D, builder: DlaBuilder, pad_value: int
) -> SSAValue:
    """Pool with divisors of the strides that the PDP takes, and keep what is at the strides."""
    counts = window.output_size(cube_of(source.type))
    steps = [
        1 if count == 1 else max(step for step in range(1, MAX_POOL + 1) if stride % step == 0)
        for count, stride in zip(counts, window.strides, strict=True)
    ]
    value = source
    if (narrow := replace(window, strides=(steps[0], steps[1]))) != Window2D((1, 1)):
        value = pool(source, mode, narrow, builder, pad_value)
    for axis in (2, 3):
        apart = window.strides[axis - 2] // steps[axis - 2]
        value = every_nth(value, axis, apart, counts[axis - 2], builder)
    return value


def composed(window: Window2D) -> tuple[Window2D, Window2D]:
    """
    Return two windows with stride 1 first, whose maxima one after the other are those of `window`.

    A window of `k` rows over maxima of `m` rows sees `k + m - 1` rows. The first takes as much padding as it
    can: the maxima that the second one pads then lie within others that it reads, so none is lost.
    """
    kernel = min(window.kernel[0], MAX_POOL), min(window.kernel[1], MAX_POOL)
    top, left, bottom, right = (
        min(pad, size - 1) for pad, size in zip(window.pads, (*kernel, *kernel), strict=True)
    )
    rest = window.kernel[0] - kernel[0] + 1, window.kernel[1] - kernel[1] + 1
    pads = window.pads[0] - top, window.pads[1] - left, window.pads[2] - bottom, window.pads[3] - right
    return Window2D(kernel, pads=(top, left, bottom, right)), replace(window, kernel=rest, pads=pads)


def _reached(source: SSAValue, window: Window2D, counts: tuple[int, int], builder: DlaBuilder) -> SSAValue:
    """Slice `source` to the rows and columns that the last windows reach."""
    cube = cube_of(source.type)
    sizes = [
        min((count - 1) * stride + kernel - pad, size)
        for count, stride, kernel, pad, size in zip(
            counts, window.strides, window.kernel, window.pads[:2], cube[1:], strict=True
        )
    ]
    return part_of(source, (0, 0, 0), CubeShape(cube.channels, sizes[0], sizes[1]), builder)


def cascade(
    source: SSAValue, mode: PoolMode, builder: DlaBuilder, over_rows: bool = True, over_columns: bool = True
) -> tuple[SSAValue, float]:
    """
    Pool over all rows, all columns or both, by PDP layers with kernels of at most 8x8; zeros pad the last
    window.

    Averages divide by `prod(kernels)` in total. The returned factor `prod(kernels) / (H W)` makes them
    means.
    """
    cube = cube_of(source.type)
    sizes = cube.height if over_rows else 1, cube.width if over_columns else 1
    rows, columns = kernel_cascades(*sizes)
    value = pooled_blocks(source, mode, (rows, columns), builder)
    return value, prod(rows) * prod(columns) / prod(sizes) if mode is PoolMode.AVERAGE else 1.0


def pooled_blocks(
    value: SSAValue, mode: PoolMode, kernels: tuple[Sequence[int], Sequence[int]], builder: DlaBuilder
) -> SSAValue:
    """Pool one after the other with kernels of these heights and widths; zeros pad the last ones."""
    for height, width in zip(*kernels, strict=True):
        here = cube_of(value.type)
        pads = (0, 0, -here.height % height, -here.width % width)
        value = pool(value, mode, Window2D((height, width), (height, width), pads=pads), builder)
    return value


def kernel_cascades(height: int, width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    Return kernels of the fewest poolings that reduce `height` and `width` to 1, each with the least padding.
    """
    steps = 1
    while MAX_POOL**steps < max(height, width):
        steps += 1
    return _factors(height, steps), _factors(width, steps)


def _factors(size: int, steps: int) -> tuple[int, ...]:
    """
    Return `steps` kernels of at most 8, in descending order, with the least product that is at least `size`.
    """
    choices = product(range(MAX_POOL, 0, -1), repeat=steps)
    return min((kernels for kernels in choices if prod(kernels) >= size), key=prod)


def _stretched(window: Window2D, cube: CubeShape, ceil_mode: bool) -> Window2D:
    """Return the window with padding at the end for a last partial window, if `ceil_mode`."""
    if not ceil_mode:
        return window
    ends = [
        _ceil_pad(size, kernel, stride, begin, end)
        for size, kernel, stride, begin, end in zip(
            cube[1:], window.kernel, window.strides, window.pads[:2], window.pads[2:], strict=True
        )
    ]
    return replace(window, pads=(*window.pads[:2], ends[0], ends[1]))


def _ceil_pad(size: int, kernel: int, stride: int, begin: int, end: int) -> int:
    count = -(-(size + begin + end - kernel) // stride) + 1
    # ONNX drops a window that would start in the end padding.
    if (count - 1) * stride >= size + begin:
        count -= 1
    return max((count - 1) * stride + kernel - size - begin, 0)


def _counts(
    window: Window2D, declared: Window2D, cube: CubeShape, include_pad: bool, builder: DlaBuilder
) -> Array:
    """
    Return the divisor of ONNX's mean at each position: elements inside of the image, or of its declared
    padding.
    """
    counts = [
        _counts_along(size, outputs, kernel, stride, begin, end, include_pad)
        for size, outputs, kernel, stride, begin, end in zip(
            cube[1:],
            output_size(window, cube, builder),
            declared.kernel,
            declared.strides,
            declared.pads[:2],
            declared.pads[2:],
            strict=True,
        )
    ]
    return np.outer(counts[0], counts[1]).astype(np.float32)


def _counts_along(
    size: int, outputs: int, kernel: int, stride: int, begin: int, end: int, include_pad: bool
) -> Array:
    starts = np.arange(outputs) * stride - begin
    low, high = (-begin, size + end) if include_pad else (0, size)
    return np.minimum(starts + kernel, high) - np.maximum(starts, low)
