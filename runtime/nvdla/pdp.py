"""The planar data processor: pooling (docs/internals/nvdla-hardware.md §4.5)."""

from __future__ import annotations

import numpy as np

from xonnc.formats.nvdla.enumerations import MemoryType, PoolMode, Precision
from xonnc.formats.nvdla.geometry import (
    MAX_POOL,
    MAX_POOL_PAD,
    MAX_POOL_STRIDE,
    ceil_div,
    channels_per_atom,
    pdp_line_width,
)
from xonnc.formats.nvdla.records import DataCube, PdpOp, PdpSurface
from xonnc.formats.nvdla.unread_input import hangs_when_fused, unread_input
from xonnc.runtime.nvdla.array_types import I64, U16, AnyArray
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.fixed_point import sign_extend
from xonnc.runtime.nvdla.floating_point import (
    FP17_MAX,
    half_from_order,
    half_order,
    half_to_single,
    quiet_half,
    single_to_half,
)
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.runtime.nvdla.pooling import PoolingGeometry, average_integers, average_singles, reduce_windows

# Bits the hardware keeps of an int8 padding value, for 1 to 7 padded pixels; 8 more for int16.
_PADDING_BITS = (8, 9, 10, 10, 11, 11, 11)
# Keys of `_order`: those of NaNs lie beyond all 16-bit values; padding lies beyond them, on the losing side.
_NAN = 1 << 18
_BEYOND = 1 << 20


def run(op: PdpOp, surface: PdpSurface, from_sdp: AnyArray | None, scope: OperationContext) -> AnyArray:
    """Pool `from_sdp` `[1, height, width, lanes]` or the source cube; return `[height, width, lanes]`."""
    precision = scope.precision(op.precision, "precision")
    mode = scope.member(PoolMode, op.pool_mode, "pool_mode")
    src, dst = surface.src_data, surface.dst_data
    if from_sdp is None:
        layout = scope.feature_layout(src, src.width, src.height, src.channel, precision.bytes)
        pixels = scope.read_pixels(src, layout, element_type(precision), "src_data")
    else:
        pixels = _from_sdp(from_sdp, src, precision, scope)
    if hangs_when_fused(op, surface):
        over = unread_input(op, surface)
        raise scope.refuse(
            f"the windows leave {over} over, of {src.height} rows; the engine deadlocks in on-the-fly mode"
        )
    pooling = _pooling(op, surface, pixels, scope)
    result = _pool(mode, op, pixels, pooling, precision).astype(element_type(precision))
    layout = scope.feature_layout(dst, dst.width, dst.height, dst.channel, precision.bytes)
    scope.write_pixels(dst, layout, result, "dst_data")
    return result


def _from_sdp(pixels: AnyArray, src: DataCube, precision: Precision, scope: OperationContext) -> AnyArray:
    """Check the SDP's output against src_data and crop it to whole atoms of channels."""
    lanes = channels_per_atom(scope.target, precision)
    needed = ceil_div(src.channel, lanes) * lanes
    images, height, width, delivered = pixels.shape
    if images != 1:
        raise scope.refuse(f"the SDP delivers {images} images; only one can be pooled on the fly")
    if (height, width) != (src.height, src.width) or delivered < needed:
        raise scope.refuse(
            f"src_data is {src.width} x {src.height} x {src.channel} but the SDP delivers "
            f"{width} x {height} x {delivered}"
        )
    if pixels.dtype != element_type(precision):
        raise scope.refuse(f"precision {precision.name} but the SDP delivers {pixels.dtype}")
    return pixels[0, :, :, :needed]


def _pooling(op: PdpOp, surface: PdpSurface, pixels: AnyArray, scope: OperationContext) -> PoolingGeometry:
    src, dst = surface.src_data, surface.dst_data
    if src.channel != dst.channel:
        raise scope.refuse(f"src_data has {src.channel} channels, dst_data {dst.channel}; pooling keeps them")
    pooling = PoolingGeometry(
        out_height=dst.height,
        out_width=dst.width,
        kernel_height=op.pool_height + 1,
        kernel_width=op.pool_width + 1,
        stride_y=op.stride_y,
        stride_x=op.stride_x,
        pad_top=op.pad_top,
        pad_left=op.pad_left,
    )
    if max(pooling.kernel_height, pooling.kernel_width) > MAX_POOL:
        raise scope.refuse(
            f"window {pooling.kernel_width} x {pooling.kernel_height}: the PDP takes up to {MAX_POOL}"
        )
    if max(op.pad_left, op.pad_right, op.pad_top, op.pad_bottom) > MAX_POOL_PAD:
        raise scope.refuse(f"padding beyond {MAX_POOL_PAD}: the PDP pads 0 to {MAX_POOL_PAD} pixels")
    if min(op.stride_x, op.stride_y) < 1 or max(op.stride_x, op.stride_y) > MAX_POOL_STRIDE:
        raise scope.refuse(f"strides {op.stride_x} x {op.stride_y}: the PDP takes 1 to {MAX_POOL_STRIDE}")
    height, width = pixels.shape[:2]
    most_x = (width + op.pad_left + op.pad_right - pooling.kernel_width) // op.stride_x + 1
    most_y = (height + op.pad_top + op.pad_bottom - pooling.kernel_height) // op.stride_y + 1
    if dst.width > most_x or dst.height > most_y or dst.width < 1 or dst.height < 1:
        raise scope.refuse(f"dst_data is {dst.width} x {dst.height} but the windows give {most_x} x {most_y}")
    if op.precision == Precision.FP16 and any(op.padding_value):
        raise scope.refuse("padding_value is not 0: FP16 pooling pads with 0 only")
    _check_split(op, surface, scope)
    return pooling


def _check_split(op: PdpOp, surface: PdpSurface, scope: OperationContext) -> None:
    """Check a split by width; the simulator runs it unsplit, with the same result if the widths add up."""
    if op.split_num < 1:
        raise scope.refuse("split_num 0: the field counts from 1")
    kernel_height = op.pool_height + 1
    most = pdp_line_width(scope.target, Precision(op.precision), kernel_height, op.stride_y)
    if op.split_num == 1:
        _check_width(surface.dst_data.width, most, scope)
        return
    if surface.src_data.type == MemoryType.HW:
        raise scope.refuse(f"split_num {op.split_num}: pooling on the fly cannot be split")
    _check_width(max(op.partial_width_first, op.partial_width_mid, op.partial_width_last), most, scope)
    middle = op.partial_width_mid * (op.split_num - 2)
    total = op.partial_width_first + middle + op.partial_width_last
    if total != surface.dst_data.width:
        raise scope.refuse(
            f"the {op.split_num} partial output widths add up to {total}, "
            f"dst_data is {surface.dst_data.width} wide"
        )


def _check_width(width: int, most: int, scope: OperationContext) -> None:
    if width > most:
        raise scope.refuse(
            f"{width} output columns at once: the line buffer holds {most} for this window; split the width"
        )


def _pool(
    mode: PoolMode, op: PdpOp, pixels: AnyArray, pooling: PoolingGeometry, precision: Precision
) -> AnyArray:
    if mode is PoolMode.AVG:
        if precision is Precision.FP16:
            wide = half_to_single(pixels.view(np.uint16), FP17_MAX)
            return quiet_half(single_to_half(average_singles(wide, pooling)))
        extra = 0 if precision is Precision.INT8 else 8
        padding = [
            sign_extend(value, bits + extra)
            for value, bits in zip(op.padding_value, _PADDING_BITS, strict=True)
        ]
        return average_integers(pixels.astype(np.int64), pooling, padding)
    is_max = mode is PoolMode.MAX
    order = _order(pixels, precision, 1 if is_max else -1)
    result = reduce_windows(
        pooling.padded(order, -_BEYOND if is_max else _BEYOND), pooling, _larger if is_max else _smaller
    )
    return _from_order(result) if precision is Precision.FP16 else result


def _order(pixels: AnyArray, precision: Precision, winner: int) -> I64:
    """Map pixels to integers of the same order; NaN maps beyond all values on the winning side: it passes."""
    if precision is not Precision.FP16:
        return pixels.astype(np.int64)
    bits = pixels.view(np.uint16)
    nan = np.isnan(bits.view(np.float16))
    return np.where(nan, winner * (_NAN + bits.astype(np.int64)), half_order(bits))


def _from_order(order: I64) -> U16:
    nan = np.abs(order) >= _NAN
    return np.where(nan, np.abs(order) - _NAN, half_from_order(np.where(nan, 0, order))).astype(np.uint16)


def _larger(a: I64, b: I64) -> I64:
    return np.maximum(a, b)


def _smaller(a: I64, b: I64) -> I64:
    return np.minimum(a, b)
