"""
Valid values of descriptor fields: register widths and enumerations (docs/internals/nvdla-hardware.md §2.2,
§2.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TypeAlias

from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    ConvMode,
    LutMethod,
    LutPriority,
    PixelFormat,
    PixelMapping,
    PoolMode,
    Precision,
    RubikMode,
    SdpMode,
    SdpOpType,
    WeightFormat,
)
from xonnc.formats.nvdla.records import (
    CdpOp,
    ConvOp,
    CvtParam,
    DataCube,
    LutParam,
    PdpOp,
    Record,
    RubikOp,
    SdpOp,
    SdpSubOp,
)
from xonnc.targets import NvdlaTarget, limits

Allowed: TypeAlias = "type[IntEnum] | tuple[int, int]"
"""The valid values of a field: an enumeration, or a range with both ends."""

_SWITCH = (0, 1)
_SIZE = limits.DIMENSION.range
_KERNEL = limits.KERNEL.range
_PAD_BEFORE = limits.CONV_PAD_BEFORE.range
_PAD_AFTER = limits.CONV_PAD_AFTER.range
_POOL_PAD = limits.POOL_PAD.range
_PARTIAL = limits.PARTIAL_WIDTH.range

FIELDS: dict[type[Record], dict[str, Allowed]] = {
    ConvOp: {
        "conv_mode": ConvMode,
        "data_reuse": _SWITCH,
        "weight_reuse": _SWITCH,
        "skip_data_rls": _SWITCH,
        "skip_weight_rls": _SWITCH,
        "data_format": (0, PixelFormat.FEATURE),
        "pixel_mapping": (0, PixelMapping.PITCH_LINEAR),
        "weight_format": WeightFormat,
        "post_extension": (0, 2),
        "pixel_override": _SWITCH,
        "input_width_csc": _SIZE,
        "input_height_csc": _SIZE,
        "input_channel_csc": _SIZE,
        "kernel_width_csc": _KERNEL,
        "kernel_height_csc": _KERNEL,
        "kernel_channel_csc": _SIZE,
        "input_width_cmac": _SIZE,
        "input_height_cmac": _SIZE,
        "mean_format": _SWITCH,
        "conv_stride_x": limits.CONV_STRIDE.range,
        "conv_stride_y": limits.CONV_STRIDE.range,
        "pad_x_left": _PAD_BEFORE,
        "pad_x_right": _PAD_AFTER,
        "pad_y_top": _PAD_BEFORE,
        "pad_y_bottom": _PAD_AFTER,
        "dilation_x": limits.DILATION.range,
        "dilation_y": limits.DILATION.range,
        "pra_truncate": (0, 3),
        "in_precision": Precision,
        "out_precision": Precision,
    },
    SdpOp: {"src_precision": Precision, "dst_precision": Precision, "conv_mode": ConvMode},
    SdpSubOp: {
        "enable": _SWITCH,
        "alu_type": AluType,
        "type": SdpOpType,
        "mode": SdpMode,
        "act": Activation,
        "shift_value": (0, 63),
        "precision": Precision,
    },
    PdpOp: {
        "partial_in_width_first": _PARTIAL,
        "partial_in_width_mid": _PARTIAL,
        "partial_in_width_last": _PARTIAL,
        "partial_width_first": _PARTIAL,
        "partial_width_mid": _PARTIAL,
        "partial_width_last": _PARTIAL,
        "split_num": limits.POOL_PIECES.range,
        "pool_mode": PoolMode,
        "pool_width": (0, limits.POOL.most - 1),
        "pool_height": (0, limits.POOL.most - 1),
        "stride_x": limits.POOL_STRIDE.range,
        "stride_y": limits.POOL_STRIDE.range,
        "pad_left": _POOL_PAD,
        "pad_right": _POOL_PAD,
        "pad_top": _POOL_PAD,
        "pad_bottom": _POOL_PAD,
        "precision": Precision,
    },
    CdpOp: {
        "in_precision": Precision,
        "out_precision": Precision,
        "bypass_sqsum": _SWITCH,
        "bypass_out_mul": _SWITCH,
    },
    RubikOp: {"mode": RubikMode, "precision": Precision},
    CvtParam: {"truncate": (0, 63), "enable": _SWITCH},
    DataCube: {"width": _SIZE, "height": _SIZE, "channel": _SIZE},
    LutParam: {
        "hybrid_priority": LutPriority,
        "underflow_priority": LutPriority,
        "overflow_priority": LutPriority,
        "method": LutMethod,
    },
}
"""Fields whose valid values are fewer than their bits can hold."""


def illegal_values(record: Record, where: str = "") -> Iterator[str]:
    """Yield the fields of a record with invalid values; `where` is a prefix of their names."""
    for field, allowed in FIELDS[type(record)].items():
        value: int = getattr(record, field)
        if isinstance(allowed, tuple):
            if not allowed[0] <= value <= allowed[1]:
                yield f"{where}{field} {value}; it is {allowed[0]} to {allowed[1]}"
        elif value not in list(allowed):
            names = ", ".join(f"{member.value} {member.name}" for member in allowed)
            yield f"{where}{field} {value}; it is one of {names}"


def lut_fields(lut: LutParam) -> Iterator[str]:
    """The method and the priorities of a lookup table have known values."""
    yield from illegal_values(lut)


def missing_precision(field: str, value: int, target: NvdlaTarget) -> Iterator[str]:
    """Yield a finding if the target lacks a precision."""
    if value in list(Precision):
        lack = limits.lacks_precision(target, Precision(value).name.lower())
        yield from () if lack is None else (f"{field} {Precision(value).name}; {lack}",)


def missing_feature(field: str, feature: str, target: NvdlaTarget) -> Iterator[str]:
    """Yield a finding if the target lacks a feature."""
    lack = limits.lacks(target, feature)
    yield from () if lack is None else (f"{field}; {lack}",)
