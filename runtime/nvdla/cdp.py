"""The cross-channel data processor: local response normalisation (docs/internals/nvdla-hardware.md §4.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import LRN_SIZES
from xonnc.formats.nvdla.records import CdpOp, CdpSurface
from xonnc.runtime.nvdla.array_types import AnyArray
from xonnc.runtime.nvdla.element_types import element_type
from xonnc.runtime.nvdla.fixed_point import convert
from xonnc.runtime.nvdla.floating_point import FP17_MAX, half_to_single, quiet_half, single_to_half
from xonnc.runtime.nvdla.lookup_table import LookupTable
from xonnc.runtime.nvdla.lrn import normalise_integers, normalise_singles
from xonnc.runtime.nvdla.operation_context import OperationContext


def run(op: CdpOp, surface: CdpSurface, luts: Sequence[LookupTable], scope: OperationContext) -> AnyArray:
    """Normalise the source cube into the destination and return what it wrote, `[height, width, lanes]`."""
    precision = scope.precision(op.in_precision, "in_precision")
    if op.in_precision != op.out_precision:
        raise scope.refuse(f"in_precision {op.in_precision} and out_precision {op.out_precision} differ")
    if op.local_size not in LRN_SIZES:
        raise scope.refuse(f"local_size {op.local_size}: the CDP takes 3, 5, 7 or 9")
    if not 0 <= op.lut_index < len(luts):
        raise scope.refuse(f"lut_index {op.lut_index}: the task has {len(luts)} lookup tables")
    src, dst = surface.src_data, surface.dst_data
    size = precision.bytes
    layout = scope.feature_layout(src, src.width, src.height, src.channel, size)
    pixels = scope.read_pixels(src, layout, element_type(precision), "src_data")
    if precision is Precision.FP16:
        result = _singles(op, pixels, src.channel, luts[op.lut_index])
    else:
        result = _integers(op, pixels, src.channel, luts[op.lut_index], precision)
    scope.write_pixels(
        dst, scope.feature_layout(dst, src.width, src.height, src.channel, size), result, "dst_data"
    )
    return result


def _integers(op: CdpOp, pixels: AnyArray, channels: int, lut: LookupTable, precision: Precision) -> AnyArray:
    bits = 8 * precision.bytes
    by = op.in_cvt
    x = convert(pixels.astype(np.int64), by.offset, by.scale, by.truncate, bits + 1)
    # Lanes past the last channel count as zero.
    x[:, :, channels:] = 0
    y = normalise_integers(x, lut, op.local_size, bool(op.bypass_sqsum), bool(op.bypass_out_mul))
    by = op.out_cvt
    return convert(y, by.offset, by.scale, by.truncate, bits).astype(element_type(precision))


def _singles(op: CdpOp, pixels: AnyArray, channels: int, lut: LookupTable) -> AnyArray:
    x = half_to_single(pixels.view(np.uint16), FP17_MAX)
    x[:, :, channels:] = 0
    return quiet_half(
        single_to_half(
            normalise_singles(x, lut, op.local_size, bool(op.bypass_sqsum), bool(op.bypass_out_mul))
        )
    )
