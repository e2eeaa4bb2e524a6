"""
Operations in words, for the text dump: kernel sizes instead of sizes less one, operands instead of mode
numbers.

Each function takes an operation as it is in the file, valid or not, and returns its description and the
fields that it covers; the dump prints the other fields by name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    ConvMode,
    PixelFormat,
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
    ConvSurface,
    CvtParam,
    DataCube,
    PdpOp,
    PdpSurface,
    Record,
    RubikOp,
    SdpOp,
    SdpSubOp,
)


@dataclass(frozen=True)
class Description:
    """Words about a record, and the names of the fields that they cover."""

    words: str
    covered: frozenset[str] = frozenset()


def name_of(kind: type[IntEnum], value: int) -> str:
    """Return the name of a value, or its number if it has none."""
    return kind(value).name.lower() if value in list(kind) else str(value)


def shape_of(cube: DataCube) -> str:
    """Channels, height and width."""
    return f"{cube.channel}x{cube.height}x{cube.width}"


def describe_conv(op: ConvOp, surface: ConvSurface) -> Description:
    """`direct 3x3, stride 2x2, 3x55x224 to 64x27x111, fp16`: sizes are height by width."""
    source, result = surface.src_data, surface.dst_data
    is_image = op.data_format != PixelFormat.FEATURE
    # The columns of an image's kernel lie side by side as channels of one column
    # (docs/internals/nvdla-hardware.md §3.4).
    columns = op.kernel_width_csc * (op.kernel_channel_csc // max(1, source.channel) if is_image else 1)
    words = [f"{name_of(ConvMode, op.conv_mode)} {op.kernel_height_csc}x{columns}"]
    words += _not_one("stride", op.conv_stride_y, op.conv_stride_x)
    words += _not_one("dilation", op.dilation_y, op.dilation_x)
    words += _pads(op.pad_y_top, op.pad_x_left, op.pad_y_bottom, op.pad_x_right)
    words.append(f"{shape_of(source)} to {shape_of(result)}")
    words += _precisions(op.in_precision, op.out_precision)
    if is_image:
        words.append(f"image {name_of(PixelFormat, op.data_format)}")
    if op.batch != 1:
        words.append(f"batch of {op.batch}")
    if op.weight_format == WeightFormat.COMPRESSED:
        words.append("compressed weights")
    flags = {
        "weight_reuse": "weights of the convolution before",
        "skip_weight_rls": "weights kept for the next",
        "data_reuse": "data of the convolution before",
        "skip_data_rls": "data kept for the next",
    }
    words += [covered for field, covered in flags.items() if getattr(op, field) == 1]
    covered = {
        *("conv_mode", "kernel_height_csc", "kernel_width_csc", "conv_stride_x", "conv_stride_y"),
        *("dilation_x", "dilation_y", "pad_x_left", "pad_x_right", "pad_y_top", "pad_y_bottom"),
        *("in_precision", "out_precision", "data_format", "batch"),
        *(field for field in flags if getattr(op, field) == 1),
    }
    if op.weight_format in list(WeightFormat):
        covered.add("weight_format")
    same = {
        "input_width_csc": source.width,
        "input_height_csc": source.height,
        "input_channel_csc": source.channel,
        "input_width_cmac": result.width,
        "input_height_cmac": result.height,
        "release": source.height,
        "fetch_grain": 1,
    }
    if not is_image:
        same["kernel_channel_csc"] = source.channel
    covered |= {field for field, value in same.items() if getattr(op, field) == value}
    return Description(", ".join(words), frozenset(covered | _idle(op, in_cvt=op.in_cvt, out_cvt=op.out_cvt)))


def describe_sdp(op: SdpOp, source: DataCube) -> Description:
    """`64x27x111, fp16`: the stages are described separately."""
    words = [shape_of(source), *_precisions(op.src_precision, op.dst_precision)]
    if op.batch_num != 1:
        words.append(f"batch of {op.batch_num}")
    covered = {"src_precision", "dst_precision", "batch_num", "x1_op", "x2_op", "y_op"}
    if op.conv_mode == ConvMode.DIRECT:
        covered.add("conv_mode")
    return Description(", ".join(words), frozenset(covered | _idle(op, out_cvt=op.out_cvt)))


def describe_stage(name: str, stage: SdpSubOp, source: int, lut: int) -> Description:
    """`+ int16 per channel, * int16 per channel, >> 6, relu`; X adds first, Y multiplies first (§4.2)."""
    alu = {
        AluType.MAX: "max",
        AluType.MIN: "min",
        AluType.SUM: "+",
        AluType.EQL: "=",
    }.get(AluType(stage.alu_type) if stage.alu_type in list(AluType) else AluType.SUM, "+")
    is_y = name == "y"
    adds = f"{alu} {_operand(stage, stage.alu_operand, source, is_y)}"
    multiplies = f"* {_operand(stage, stage.mul_operand, source, is_y)}"
    if stage.shift_value:
        adds += f" << {stage.shift_value}"
    words = {
        SdpOpType.MUL: [multiplies],
        SdpOpType.ADD: [adds],
        SdpOpType.BOTH: [multiplies, adds] if is_y else [adds, multiplies],
    }.get(SdpOpType(stage.type) if stage.type in list(SdpOpType) else SdpOpType.NONE, [])
    if stage.truncate:
        words.append(f">> {stage.truncate}")
    if stage.act == Activation.LUT:
        words.append(f"table {lut}")
    elif stage.act != Activation.NONE:
        words.append(name_of(Activation, stage.act))
    covered = {"enable", "truncate"}
    for field, kind in (("type", SdpOpType), ("mode", SdpMode), ("act", Activation), ("alu_type", AluType)):
        if getattr(stage, field) in list(kind):
            covered.add(field)
    if stage.type != SdpOpType.NONE:
        covered |= {"precision", "alu_operand", "mul_operand", "shift_value"}
    cvts = _idle(stage, alu_cvt=stage.alu_cvt, mul_cvt=stage.mul_cvt)
    return Description(", ".join(words) or "passes", frozenset(covered | cvts))


def _operand(stage: SdpSubOp, constant: int, source: int, is_y: bool) -> str:
    if stage.mode == SdpMode.PER_LAYER:
        return _constant(constant, source, is_y)
    where = {SdpMode.PER_KERNEL: "channel", SdpMode.PER_POINT: "element"}
    mode = SdpMode(stage.mode) if stage.mode in list(SdpMode) else None
    return f"{name_of(Precision, stage.precision)} per {where.get(mode, '?') if mode else '?'}"


def _constant(bits: int, source: int, is_y: bool) -> str:
    """Return a scalar operand: FP16 bits in X and FP32 bits in Y if the source is FP16."""
    if source != Precision.FP16:
        return str(bits)
    if is_y:
        (value,) = struct.unpack("<f", struct.pack("<i", bits))
    else:
        (value,) = struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))
    return repr(value)


def describe_pdp(op: PdpOp, surface: PdpSurface) -> Description:
    """`max 3x3, stride 2x2, pad 1 all around, 12x6x6 to 12x3x3, fp16`."""
    words = [f"{name_of(PoolMode, op.pool_mode)} {op.pool_height + 1}x{op.pool_width + 1}"]
    words += _not_one("stride", op.stride_y, op.stride_x)
    words += _pads(op.pad_top, op.pad_left, op.pad_bottom, op.pad_right)
    words.append(f"{shape_of(surface.src_data)} to {shape_of(surface.dst_data)}")
    words.append(name_of(Precision, op.precision))
    if op.split_num != 1:
        taken = (op.partial_in_width_first, op.partial_in_width_mid, op.partial_in_width_last)
        given = (op.partial_width_first, op.partial_width_mid, op.partial_width_last)
        words.append(f"in {op.split_num} columns of {_columns(*taken)} to {_columns(*given)}")
    covered = {"pool_mode", "pool_width", "pool_height", "stride_x", "stride_y", "precision"}
    covered |= {"pad_left", "pad_right", "pad_top", "pad_bottom", "split_num"}
    if op.split_num != 1:
        parts = ("first", "mid", "last")
        covered |= {f"partial_in_width_{part}" for part in parts} | {
            f"partial_width_{part}" for part in parts
        }
    return Description(", ".join(words), frozenset(covered))


def _columns(first: int, middle: int, last: int) -> str:
    return f"{first}, {middle} each, {last}" if middle else f"{first}, {last}"


def describe_cdp(op: CdpOp, source: DataCube) -> Description:
    """`normalises over 5 channels with table 0, 24x4x4, int8`."""
    words = [f"normalises over {op.local_size} channels with table {op.lut_index}"]
    if op.bypass_sqsum:
        words.append("of the value, not the sum of squares")
    if op.bypass_out_mul:
        words.append("giving the table's value itself")
    words += [shape_of(source), *_precisions(op.in_precision, op.out_precision)]
    covered = {"local_size", "lut_index", "in_precision", "out_precision"}
    covered |= {field for field in ("bypass_sqsum", "bypass_out_mul") if getattr(op, field) in (0, 1)}
    return Description(", ".join(words), frozenset(covered | _idle(op, in_cvt=op.in_cvt, out_cvt=op.out_cvt)))


def describe_rubik(op: RubikOp, surface: PdpSurface) -> Description:
    """`contract 2x2, 64x4x4 to 16x8x8, fp16`."""
    words = [name_of(RubikMode, op.mode)]
    covered = {"mode", "precision"}
    if op.mode == RubikMode.CONTRACT:
        words[0] += f" {op.stride_y}x{op.stride_x}"
        covered |= {"stride_x", "stride_y"}
    words.append(f"{shape_of(surface.src_data)} to {shape_of(surface.dst_data)}")
    words.append(name_of(Precision, op.precision))
    return Description(", ".join(words), frozenset(covered))


def describe_converter(by: CvtParam) -> str:
    """`(x - 3) * 5 >> 2`, without parts that have no effect."""
    words = f"(x - {by.offset})" if by.offset else "x"
    words += f" * {by.scale}" if by.scale != 1 else ""
    words += f" >> {by.truncate}" if by.truncate else ""
    return words + ("" if by.enable else " off")


def _idle(record: Record, **converters: CvtParam) -> set[str]:
    """Return the converters without effect, as compilers write them."""
    idle = (CvtParam(), CvtParam(scale=1), CvtParam(scale=1, enable=1))
    return {name for name, converter in converters.items() if converter in idle}


def _not_one(what: str, y: int, x: int) -> Iterator[str]:
    if (y, x) != (1, 1):
        yield f"{what} {y}x{x}"


def _pads(top: int, left: int, bottom: int, right: int) -> Iterator[str]:
    if top == left == bottom == right:
        if top:
            yield f"pad {top} all around"
        return
    sides = {"top": top, "left": left, "bottom": bottom, "right": right}
    yield "pad " + " ".join(f"{side} {count}" for side, count in sides.items() if count)


def _precisions(source: int, result: int) -> Iterator[str]:
    first, second = name_of(Precision, source), name_of(Precision, result)
    yield first if first == second else f"{first} to {second}"
