"""
Limits of the engines, and costs of convolution plans.

A check returns `None`, or the rule that is violated with the value found; the limits are those of
`targets/limits.py` and of the target's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf, prod

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla_planning.convolution_tiling import (
    ConvBuffer,
    ConvBufferDemand,
    ConvolutionPlan,
    candidate_plans,
    plan_convolution,
)
from xonnc.lowering.dla_planning.plan_cycles import plan_cycles
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget, limits


def conv_limits(source: CubeShape, kernels: int, window: Window2D) -> str | None:
    """Check the register fields of the convolution core: sizes, kernel, strides, dilations and pads."""
    top, left, bottom, right = window.pads
    return (
        limits.DIMENSION.broken(max(*source, kernels))
        or limits.KERNEL.broken(max(window.kernel))
        or limits.CONV_STRIDE.broken(max(window.strides))
        or limits.DILATION.broken(max(window.dilations))
        or limits.CONV_PAD_BEFORE.broken(max(top, left))
        or limits.CONV_PAD_AFTER.broken(max(bottom, right))
    )


def pool_limits(source: CubeShape, window: Window2D) -> str | None:
    """
    Check the register fields of the PDP: sizes, kernel, strides, and pads, which must be below the kernel.
    """
    return (
        limits.POOL_SIZE.broken(max(source))
        or limits.POOL.broken(max(window.kernel))
        or limits.POOL_STRIDE.broken(max(window.strides))
        or limits.POOL_PAD.broken(max(window.pads))
        or pads_below("pooling pad", window.pads, window.kernel)
    )


def pads_below(what: str, pads: Sequence[int], reach: tuple[int, int]) -> str | None:
    """Check that every window overlaps the image."""
    top, left, bottom, right = pads
    if max(top, bottom) < reach[0] and max(left, right) < reach[1]:
        return None
    return f"{what}s {list(pads)} (the PDP takes less than the kernel's {reach[0]}x{reach[1]})"


def buffer_demand(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> ConvBufferDemand:
    """Return what a convolution puts into the buffer."""
    group = min(geometry.kernel_group(target, precision), kernels)
    bytes_per_kernel = prod(window.kernel_shape(precision, source.channels)) * precision.bytes
    atoms = geometry.surfaces(target, precision, source.channels)
    row_bytes = atoms * source.width * target.memory_atom_bytes
    if window.is_winograd:
        entries = _winograd_entries(target, precision, source, window)
    elif window.pixel_bytes:
        padded = window.pads[1] + source.width + window.pads[3]
        entries = geometry.image_entries_per_slice(target, precision, padded, source.channels)
        row_bytes = geometry.image_line_bytes(source.width, window.pixel_bytes)
    else:
        entries = geometry.feature_entries_per_slice(target, precision, source.width, source.channels)
    return ConvBufferDemand(
        height=source.height,
        output_height=window.output_size(source)[0],
        kernel_height=window.dilated_kernel[0],
        stride=window.strides[0],
        pad_top=window.pads[0],
        entries_per_slice=entries,
        row_bytes=row_bytes,
        weight_bytes=geometry.weight_bytes(target, kernels, bytes_per_kernel),
        group_bytes=geometry.weight_bytes(target, group, bytes_per_kernel),
        is_winograd=window.is_winograd,
    )


def _winograd_entries(target: NvdlaTarget, precision: Precision, source: CubeShape, window: Window2D) -> int:
    """Return the entries of the buffer for a row, whose columns are stored with the padding."""
    columns = geometry.winograd_extended(window.output_size(source)[1])
    channels = geometry.winograd_channels(precision, source.channels)
    return geometry.winograd_entries_per_slice(target, precision, columns, channels, 1, 1)


def buffer_of(target: NvdlaTarget, is_compressed: bool = False) -> ConvBuffer:
    """Return the convolution buffer of a target; the masks of compressed weights have a bank of it."""
    return ConvBuffer(target.cbuf_banks - is_compressed, target.cbuf_entries, target.cbuf_entry_bytes)


@cache
def fits_buffer(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> bool:
    """Return whether the convolution buffer holds what one row of results takes, and a kernel group."""
    rows = buffer_demand(target, precision, source, kernels, window)
    return next(candidate_plans(rows, buffer_of(target)), None) is not None


@cache
def conv_plan(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> ConvolutionPlan | None:
    """Return the cheapest plan for the convolution buffer, `None` if nothing fits."""
    rows = buffer_demand(target, precision, source, kernels, window)
    return plan_convolution(
        rows,
        buffer_of(target),
        lambda plan: plan_cycles(target, precision, source, kernels, window, rows, plan),
    )


def kernels_at_once(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> int | None:
    """Return how many kernels of a convolution fit the buffer at once, `None` if not even one does."""
    group = min(geometry.kernel_group(target, precision), kernels)
    fitting = (
        count for count in range(group, 0, -1) if fits_buffer(target, precision, source, count, window)
    )
    return next(fitting, None)


def convolution_cycles(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> float:
    """Return the cycles of the best plan; infinite if nothing fits the buffer."""
    plan = conv_plan(target, precision, source, kernels, window)
    if plan is None:
        return inf
    rows = buffer_demand(target, precision, source, kernels, window)
    return plan_cycles(target, precision, source, kernels, window, rows, plan)


def min_cycles(
    target: NvdlaTarget, precision: Precision, source: CubeShape, kernels: int, window: Window2D
) -> int:
    """Return a lower bound of `convolution_cycles` of a feature cube: multiplications that never wait."""
    blocks = geometry.ceil_div(source.channels, target.atomic_c)
    groups = geometry.ceil_div(kernels, geometry.kernel_group(target, precision))
    return groups * blocks * prod(window.kernel) * prod(window.output_size(source))


def pool_split_num(
    target: NvdlaTarget, precision: Precision, source: CubeShape, window: Window2D
) -> int | None:
    """
    Return into how many column ranges the PDP splits its rows, `None` if more than 64 would be needed
    (docs/internals/nvdla-hardware.md §3.8).
    """
    columns = window.output_size(source)[1]
    widest = geometry.pdp_line_width(target, precision, window.kernel[0], window.strides[0])
    pieces = geometry.ceil_div(columns, widest)
    while pieces <= min(limits.POOL_PIECES.most, columns):
        if column_splits(source.width, columns, pieces, window) is not None:
            return pieces
        pieces += 1
    return None


def column_splits(
    width: int, outputs: int, pieces: int, window: Window2D
) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """
    Return input and output widths of the first, middle and last column range of a pooling
    (docs/internals/nvdla-hardware.md §3.8).

    Adjacent ranges share `kernel - stride` columns. All zero without a split; `None` if the last range would
    be empty.
    """
    if pieces == 1:
        return (0, 0, 0), (0, 0, 0)
    kernel, stride, left, right = window.kernel[1], window.strides[1], window.pads[1], window.pads[3]
    middle = geometry.ceil_div(outputs, pieces)
    last = outputs - middle * (pieces - 1)
    first_in = (middle - 1) * stride + kernel - left
    middle_in = middle * stride
    last_in = (last - 1) * stride + kernel - right - (kernel - stride)
    if last < 1 or last_in < 1 or first_in < 1 or first_in + middle_in * (pieces - 2) >= width:
        return None
    if pieces == 2:
        return (first_in, 0, last_in), (middle, 0, last)
    return (first_in, middle_in, last_in), (middle, middle, last)
