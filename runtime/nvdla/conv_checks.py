"""
Checks of CONV operations, including mistakes that hardware does not detect (docs/internals/nvdla-hardware.md
§2.4, §7).
"""

from __future__ import annotations

from xonnc.formats.nvdla.enumerations import ConvMode, PixelFormat, Precision, WeightFormat
from xonnc.formats.nvdla.geometry import (
    MAX_CONV_STRIDE,
    MAX_DILATION,
    MAX_DIMENSION,
    MAX_KERNEL,
    WINOGRAD_SIDE,
    feature_entries_per_slice,
    image_entries_per_slice,
    winograd_entries_per_slice,
)
from xonnc.formats.nvdla.records import ConvOp, ConvSurface
from xonnc.runtime.nvdla.conv_weights import WINOGRAD_CHANNELS
from xonnc.runtime.nvdla.operation_context import OperationContext

# Kernel rows that the core multiplies in one step, by the value of the field post_extension.
POST_EXTENSIONS = (1, 2, 4)


def check(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> None:
    """Refuse operations that the firmware rejects, or on which the core hangs or computes wrong results."""
    scope.precision(op.in_precision, "in_precision")
    weight_format = scope.member(WeightFormat, op.weight_format, "weight_format")
    if weight_format is WeightFormat.COMPRESSED and not scope.target.weight_compression:
        raise scope.refuse(f"compressed weights: {scope.target.name} takes them uncompressed only")
    if op.in_precision != op.out_precision:
        raise scope.refuse(
            f"in_precision {op.in_precision} and out_precision {op.out_precision} differ; "
            "the core has one precision"
        )
    if op.post_extension >= len(POST_EXTENSIONS):
        raise scope.refuse(f"post_extension {op.post_extension}: it is 0, 1 or 2")
    if op.out_cvt.scale != 1 or op.out_cvt.offset != 0:
        raise scope.refuse(
            f"out_cvt scale {op.out_cvt.scale}, offset {op.out_cvt.offset}: "
            "the core only truncates (scale 1, offset 0)"
        )
    _check_counts(op, scope)
    _check_sizes(op, surface, scope)
    _check_channels(op, surface, scope)
    _check_buffer(op, surface, scope)


def _check_counts(op: ConvOp, scope: OperationContext) -> None:
    """Check the fields with a minimum of 1 against their maximum on this hardware."""
    counts = (
        ("conv_stride_x", op.conv_stride_x, MAX_CONV_STRIDE),
        ("conv_stride_y", op.conv_stride_y, MAX_CONV_STRIDE),
        ("dilation_x", op.dilation_x, MAX_DILATION),
        ("dilation_y", op.dilation_y, MAX_DILATION),
        ("batch", op.batch, scope.target.batch),
    )
    for name, value, most in counts:
        if not 1 <= value <= most:
            raise scope.refuse(f"{name} {value}: {scope.target.name} takes 1 to {most}")


def _check_sizes(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> None:
    dst, src = surface.dst_data, surface.src_data
    if (op.input_width_cmac, op.input_height_cmac) != (dst.width, dst.height):
        raise scope.refuse(
            f"input_width_cmac x input_height_cmac is {op.input_width_cmac} x {op.input_height_cmac} "
            f"but dst_data is {dst.width} x {dst.height}; both are the output size"
        )
    for name, cube in (("src_data", src), ("dst_data", dst)):
        sizes = cube.width, cube.height, cube.channel
        if min(sizes) < 1 or max(sizes) > MAX_DIMENSION:
            raise scope.refuse(
                f"{name} is {cube.width} x {cube.height} x {cube.channel}; "
                f"every dimension is 1 to {MAX_DIMENSION}"
            )
    for name, value in (("width", op.kernel_width_csc), ("height", op.kernel_height_csc)):
        if not 1 <= value <= MAX_KERNEL:
            raise scope.refuse(f"kernel_{name}_csc {value}: the core takes 1 to {MAX_KERNEL}")


def _check_channels(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> None:
    channels, kernel_channels = surface.src_data.channel, op.kernel_channel_csc
    mismatch = scope.refuse(
        f"kernel_channel_csc {kernel_channels} does not fit an input of {channels} channels"
    )
    is_feature = op.data_format == PixelFormat.FEATURE
    if scope.member(ConvMode, op.conv_mode, "conv_mode") is ConvMode.WINOGRAD:
        _check_winograd(op, surface, scope)
        if kernel_channels < channels:
            raise mismatch
    elif is_feature and not channels == kernel_channels == op.input_channel_csc:
        raise mismatch
    if is_feature:
        return
    if op.kernel_width_csc != 1:
        raise scope.refuse(
            f"kernel_width_csc {op.kernel_width_csc}: image input takes kernels flattened to width 1"
        )
    if kernel_channels < channels or kernel_channels % channels:
        raise mismatch


def _check_buffer(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> None:
    """Check the banks of the convolution buffer and `entry_per_slice`, which the core does not verify."""
    target, src = scope.target, surface.src_data
    precision = Precision(op.in_precision)
    if op.conv_mode == ConvMode.WINOGRAD:
        channels = op.kernel_channel_csc
        entries = winograd_entries_per_slice(target, precision, op.input_width_csc, channels, 1, 1)
    elif op.data_format == PixelFormat.FEATURE:
        entries = feature_entries_per_slice(target, precision, src.width, src.channel)
    else:
        padded = op.pad_x_left + src.width + op.pad_x_right
        entries = image_entries_per_slice(target, precision, padded, src.channel)
    if op.entry_per_slice != entries:
        raise scope.refuse(f"entry_per_slice {op.entry_per_slice}: a row of the input takes {entries}")
    # Compressed weights keep their mask in the last bank.
    banks = target.cbuf_banks - (op.weight_format == WeightFormat.COMPRESSED)
    if min(op.data_bank, op.weight_bank) < 1 or op.data_bank + op.weight_bank > banks:
        raise scope.refuse(
            f"data_bank {op.data_bank} and weight_bank {op.weight_bank}: "
            f"each is at least 1 and together at most {banks}"
        )


def _check_winograd(op: ConvOp, surface: ConvSurface, scope: OperationContext) -> None:
    dst = surface.dst_data
    if not scope.target.winograd:
        raise scope.refuse(f"conv_mode WINOGRAD: {scope.target.name} convolves directly only")
    if op.data_format != PixelFormat.FEATURE:
        raise scope.refuse("conv_mode WINOGRAD with image input; only feature cubes can be transformed")
    if (op.kernel_width_csc, op.kernel_height_csc) != (WINOGRAD_SIDE, WINOGRAD_SIDE):
        raise scope.refuse(
            f"a Winograd kernel of {op.kernel_width_csc} x {op.kernel_height_csc}: "
            "transformed weights are 4 x 4"
        )
    if (op.conv_stride_x, op.conv_stride_y, op.dilation_x, op.dilation_y) != (1, 1, 1, 1):
        raise scope.refuse("conv_mode WINOGRAD takes stride 1 and dilation 1")
    if dst.width % WINOGRAD_SIDE or dst.height % WINOGRAD_SIDE:
        raise scope.refuse(f"a Winograd output of {dst.width} x {dst.height}: both are multiples of 4")
    if op.kernel_channel_csc % WINOGRAD_CHANNELS:
        raise scope.refuse(f"kernel_channel_csc {op.kernel_channel_csc}: Winograd takes groups of 4 channels")
