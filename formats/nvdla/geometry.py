"""
Sizes that the hardware derives from shapes (docs/internals/nvdla-hardware.md §3.2 to §3.8).

Pure functions of a target, shared by the compiler and the checks.
"""

from __future__ import annotations

from typing import Final

from xonnc.formats.nvdla.enumerations import Precision
from xonnc.targets import NvdlaTarget, limits

MAX_DIMENSION: Final = limits.DIMENSION.most
MAX_KERNEL: Final = limits.KERNEL.most
MAX_CONV_STRIDE: Final = limits.CONV_STRIDE.most
MAX_DILATION: Final = limits.DILATION.most
MAX_CONV_PAD_AFTER: Final = limits.CONV_PAD_AFTER.most
MAX_POOL: Final = limits.POOL.most
MAX_POOL_STRIDE: Final = limits.POOL_STRIDE.most
MAX_POOL_PAD: Final = limits.POOL_PAD.most
MAX_CONTRACT_STRIDE: Final = limits.CONTRACT_STRIDE.most
IMAGE_LINE_ALIGNMENT: Final = 32
"""Line strides of images are multiples of this many bytes (§3.3)."""
LRN_SIZES: Final = limits.LRN_SIZES
WINOGRAD_SIDE: Final = 4
"""Rows and columns of Winograd's transformed kernels; sizes of the output are multiples of it (§3.4)."""


def ceil_div(value: int, divisor: int) -> int:
    """`value / divisor` rounded up."""
    return -(-value // divisor)


def round_up(value: int, multiple: int) -> int:
    """`value` rounded up to a multiple of `multiple`."""
    return ceil_div(value, multiple) * multiple


def channels_per_atom(target: NvdlaTarget, precision: Precision) -> int:
    """Return the channels in an atom of a feature cube: X of §3.2."""
    return target.memory_atom_bytes // precision.bytes


def surfaces(target: NvdlaTarget, precision: Precision, channels: int) -> int:
    """Return the number of surfaces of a feature cube."""
    return ceil_div(channels, channels_per_atom(target, precision))


def kernel_group(target: NvdlaTarget, precision: Precision) -> int:
    """Return the kernels that are computed at once: G of §3.4."""
    return target.atomic_k // precision.bytes


def feature_entries_per_slice(target: NvdlaTarget, precision: Precision, width: int, channels: int) -> int:
    """Return the entries of the convolution buffer for one row of a feature cube (§3.7)."""
    atoms = ceil_div(channels * precision.bytes, target.memory_atom_bytes)
    per_entry = target.cbuf_entry_bytes // target.memory_atom_bytes
    last = atoms % per_entry
    # One to three atoms of a pixel remain. The hardware packs 1 or 2 of them of several pixels into an entry,
    # but gives 3 a whole one.
    fraction = width if last == 3 else ceil_div(last * width, per_entry)
    return atoms // per_entry * width + fraction


def image_entries_per_slice(
    target: NvdlaTarget, precision: Precision, padded_width: int, channels: int
) -> int:
    """Return the entries for one row of an image; `channels` are those of the pixel format (§3.7)."""
    return ceil_div(padded_width * channels * precision.bytes, target.cbuf_entry_bytes)


def image_line_bytes(width: int, pixel_bytes: int) -> int:
    """Return the least line stride of an image (§3.3)."""
    return round_up(width * pixel_bytes, IMAGE_LINE_ALIGNMENT)


def winograd_channels(precision: Precision, channels: int) -> int:
    """Return the channels of Winograd's input and kernels, padded to whole units of 32 bytes (§3.4)."""
    return round_up(channels, 32 // precision.bytes)


def winograd_extended(outputs: int) -> int:
    """Return the rows or columns of input in the buffer for `outputs` rows or columns by Winograd (§3.4)."""
    return outputs + WINOGRAD_SIDE


def winograd_entries_per_slice(
    target: NvdlaTarget,
    precision: Precision,
    extended_width: int,
    channels: int,
    stride_x: int,
    stride_y: int,
) -> int:
    """Return the entries for one row in Winograd mode, `channels` being the padded ones (§3.7)."""
    columns = extended_width // (4 * stride_x)
    return columns * ceil_div(channels * precision.bytes, 32) * stride_x * stride_y


def data_banks(target: NvdlaTarget, entries_per_slice: int, rows: int) -> int:
    """Return the banks for `rows` rows."""
    return ceil_div(entries_per_slice * rows, target.cbuf_entries)


def weight_bytes(target: NvdlaTarget, kernels: int, bytes_per_kernel: int) -> int:
    """Return the exact size of packed weights in memory, in whole buffer entries (§3.4)."""
    return round_up(kernels * bytes_per_kernel, target.cbuf_entry_bytes)


def weight_banks(target: NvdlaTarget, kernels: int, bytes_per_kernel: int) -> int:
    """Return the banks for `kernels` kernels."""
    bank = target.cbuf_entries * target.cbuf_entry_bytes
    return ceil_div(weight_bytes(target, kernels, bytes_per_kernel), bank)


def pdp_line_width(target: NvdlaTarget, precision: Precision, kernel_height: int, stride_y: int) -> int:
    """Return the widest output row that the PDP's line buffer holds (§3.8)."""
    rows = ceil_div(kernel_height, stride_y)
    lines = next(power for power in (1, 2, 4, 8) if power >= rows)
    bits = 14 if precision is Precision.INT8 else 28
    return 7 * 1024 * 8 // (lines * kernel_group(target, precision) * bits)


def operand_group(target: NvdlaTarget, source: Precision) -> int:
    """Return the lanes of operands that the SDP fetches at once, by the precision of its source (§3.5)."""
    return target.memory_atom_bytes // source.bytes
