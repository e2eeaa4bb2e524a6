"""Operations in words, and which fields the words tell."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from xonnc.formats.nvdla.enumerations import PixelFormat
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.operation_descriptions import (
    Description,
    describe_cdp,
    describe_conv,
    describe_converter,
    describe_pdp,
    describe_rubik,
    describe_sdp,
    describe_stage,
)
from xonnc.formats.nvdla.records import (
    CdpOp,
    ConvOp,
    ConvSurface,
    CvtParam,
    DataCube,
    PdpOp,
    PdpSurface,
    RubikOp,
    SdpOp,
    SdpSubOp,
)
from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks

INT8, INT16, FP16 = 0, 1, 2
MUL, ADD, BOTH = 1, 2, 3
PER_LAYER, PER_KERNEL, PER_POINT = 0, 1, 2
RELU, LUT, PRELU = 1, 2, 3
HALF_THREE = 0x4200
SINGLE_MINUS_HALF = -0x41000000


def cube(channel: int, height: int, width: int) -> DataCube:
    return DataCube(channel=channel, height=height, width=width)


CONV = ConvOp(
    kernel_width_csc=5,
    kernel_height_csc=3,
    kernel_channel_csc=12,
    input_width_csc=8,
    input_height_csc=6,
    input_channel_csc=12,
    input_width_cmac=4,
    input_height_cmac=4,
    release=6,
    in_precision=FP16,
    out_precision=FP16,
    out_cvt=CvtParam(scale=1, enable=1),
)
CONV_SURFACE = ConvSurface(src_data=cube(12, 6, 8), dst_data=cube(16, 4, 4))
POOLED = PdpSurface(src_data=cube(12, 6, 6), dst_data=cube(12, 3, 3))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "direct 3x5, 12x6x8 to 16x4x4, fp16"),
        ({"conv_stride_x": 2}, "direct 3x5, stride 1x2, 12x6x8 to 16x4x4, fp16"),
        ({"dilation_y": 3}, "direct 3x5, dilation 3x1, 12x6x8 to 16x4x4, fp16"),
        ({"conv_mode": 1}, "winograd 3x5, 12x6x8 to 16x4x4, fp16"),
        ({"conv_mode": 7}, "7 3x5, 12x6x8 to 16x4x4, fp16"),
        ({"in_precision": INT8}, "direct 3x5, 12x6x8 to 16x4x4, int8 to fp16"),
        ({"in_precision": 9, "out_precision": 9}, "direct 3x5, 12x6x8 to 16x4x4, 9"),
        ({"batch": 3}, "direct 3x5, 12x6x8 to 16x4x4, fp16, batch of 3"),
        ({"weight_format": 1}, "direct 3x5, 12x6x8 to 16x4x4, fp16, compressed weights"),
        (
            {"pad_x_left": 1, "pad_x_right": 1, "pad_y_top": 1, "pad_y_bottom": 1},
            "direct 3x5, pad 1 all around, 12x6x8 to 16x4x4, fp16",
        ),
        (
            {"pad_x_left": 1, "pad_y_bottom": 2},
            "direct 3x5, pad left 1 bottom 2, 12x6x8 to 16x4x4, fp16",
        ),
        (
            {"weight_reuse": 1, "skip_data_rls": 1},
            "direct 3x5, 12x6x8 to 16x4x4, fp16, weights of the convolution before, data kept for the next",
        ),
        (
            # Five columns of four components side by side.
            {"data_format": PixelFormat.A8B8G8R8, "kernel_width_csc": 1, "kernel_channel_csc": 60},
            "direct 3x5, 12x6x8 to 16x4x4, fp16, image a8b8g8r8",
        ),
    ],
)
def test_convolutions(changes: dict[str, int], words: str):
    assert describe_conv(replace(CONV, **changes), CONV_SURFACE).words == words


def test_sizes_that_are_those_of_the_cubes_are_told():
    covered = describe_conv(CONV, CONV_SURFACE).covered
    sizes = {"input_width_csc", "input_height_cmac", "kernel_channel_csc", "release", "out_cvt"}
    assert sizes <= covered
    odd = replace(CONV, input_width_csc=9, input_height_cmac=9, kernel_channel_csc=9, release=9)
    odd = replace(odd, out_cvt=CvtParam(scale=1, truncate=1, enable=1))
    assert not sizes & describe_conv(odd, CONV_SURFACE).covered


def test_what_decides_performance_is_left_to_the_fields():
    covered = describe_conv(CONV, CONV_SURFACE).covered
    assert not {"data_bank", "weight_bank", "entry_per_slice", "bytes_per_kernel"} & covered


@pytest.mark.parametrize(
    ("name", "stage", "source", "words"),
    [
        ("x1", SdpSubOp(type=0), INT8, "passes"),
        ("x1", SdpSubOp(type=0, act=RELU), INT8, "relu"),
        ("x1", SdpSubOp(type=ADD, alu_type=2, alu_operand=-7), INT8, "+ -7"),
        ("x1", SdpSubOp(type=ADD, alu_type=0, alu_operand=3), INT8, "max 3"),
        ("x1", SdpSubOp(type=ADD, alu_type=1, alu_operand=3), INT8, "min 3"),
        ("y", SdpSubOp(type=ADD, alu_type=3, alu_operand=3), INT8, "= 3"),
        ("x1", SdpSubOp(type=MUL, mul_operand=5, truncate=4, act=PRELU), INT16, "* 5, >> 4, prelu"),
        ("x1", SdpSubOp(type=ADD, alu_type=2, mode=PER_KERNEL, precision=INT16), INT8, "+ int16 per channel"),
        ("x1", SdpSubOp(type=ADD, alu_type=2, mode=PER_POINT), INT8, "+ int8 per element"),
        (
            "x1",
            SdpSubOp(type=BOTH, alu_type=2, mode=PER_KERNEL, precision=INT16, shift_value=2, truncate=6),
            INT8,
            "+ int16 per channel << 2, * int16 per channel, >> 6",
        ),
        # The Y stage multiplies first.
        (
            "y",
            SdpSubOp(type=BOTH, alu_type=2, alu_operand=1, mul_operand=2),
            INT8,
            "* 2, + 1",
        ),
        # FP16 bits in X, FP32 bits in Y.
        ("x2", SdpSubOp(type=MUL, mul_operand=HALF_THREE), FP16, "* 3.0"),
        ("y", SdpSubOp(type=MUL, mul_operand=SINGLE_MINUS_HALF), FP16, "* -0.5"),
        ("y", SdpSubOp(type=0, act=LUT), INT8, "table 4"),
        # What means nothing is shown as it is.
        ("x1", SdpSubOp(type=MUL, mode=9, precision=8), INT8, "* 8 per ?"),
        ("x1", SdpSubOp(type=9, act=9), INT8, "9"),
    ],
)
def test_stages(name: str, stage: SdpSubOp, source: int, words: str):
    assert describe_stage(name, replace(stage, enable=1), source, lut=4).words == words


def test_operands_of_a_stage_that_passes_are_not_told():
    assert "alu_operand" not in describe_stage("x1", SdpSubOp(enable=1, alu_operand=3), INT8, -1).covered
    assert (
        "alu_operand" in describe_stage("x1", SdpSubOp(enable=1, type=ADD, alu_operand=3), INT8, -1).covered
    )


def test_sdp():
    op = SdpOp(src_precision=INT16, dst_precision=INT8, batch_num=2)
    assert describe_sdp(op, cube(64, 27, 111)).words == "64x27x111, int16 to int8, batch of 2"
    assert "out_cvt" in describe_sdp(op, cube(1, 1, 1)).covered
    scaled = replace(op, out_cvt=CvtParam(scale=3, enable=1), conv_mode=1)
    assert not {"out_cvt", "conv_mode", "lut_index"} & describe_sdp(scaled, cube(1, 1, 1)).covered


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (PdpOp(pool_mode=1, pool_width=2, pool_height=1), "max 2x3, 12x6x6 to 12x3x3, int8"),
        (
            PdpOp(pool_mode=0, pool_width=1, pool_height=1, stride_x=2, stride_y=2, precision=FP16),
            "avg 2x2, stride 2x2, 12x6x6 to 12x3x3, fp16",
        ),
        (
            PdpOp(
                split_num=4,
                partial_in_width_first=8,
                partial_in_width_mid=6,
                partial_in_width_last=5,
                partial_width_first=4,
                partial_width_mid=3,
                partial_width_last=2,
                pad_top=1,
            ),
            "avg 1x1, pad top 1, 12x6x6 to 12x3x3, int8, in 4 columns of 8, 6 each, 5 to 4, 3 each, 2",
        ),
        (
            PdpOp(
                split_num=2,
                partial_in_width_first=8,
                partial_in_width_last=5,
                partial_width_first=4,
                partial_width_last=2,
            ),
            "avg 1x1, 12x6x6 to 12x3x3, int8, in 2 columns of 8, 5 to 4, 2",
        ),
    ],
)
def test_poolings(op: PdpOp, words: str):
    assert describe_pdp(op, POOLED).words == words


def test_normalisation():
    op = CdpOp(local_size=5, lut_index=1)
    assert describe_cdp(op, cube(24, 4, 4)).words == "normalises over 5 channels with table 1, 24x4x4, int8"
    op = replace(op, bypass_sqsum=1, bypass_out_mul=1)
    assert describe_cdp(op, cube(24, 4, 4)).words == (
        "normalises over 5 channels with table 1, of the value, not the sum of squares, "
        "giving the table's value itself, 24x4x4, int8"
    )


def test_reshaping():
    surface = PdpSurface(src_data=cube(64, 4, 4), dst_data=cube(16, 8, 12))
    op = RubikOp(mode=0, precision=FP16, stride_x=3, stride_y=2)
    assert describe_rubik(op, surface).words == "contract 2x3, 64x4x4 to 16x8x12, fp16"
    assert describe_rubik(replace(op, mode=1), surface) == Description(
        "split, 64x4x4 to 16x8x12, fp16", frozenset({"mode", "precision"})
    )


@pytest.mark.parametrize(
    ("converter", "words"),
    [
        (CvtParam(scale=1, enable=1), "x"),
        (CvtParam(scale=3, enable=1), "x * 3"),
        (CvtParam(scale=1, truncate=4, offset=-2, enable=1), "(x - -2) >> 4"),
        (CvtParam(scale=0, truncate=1), "x * 0 >> 1 off"),
    ],
)
def test_converters(converter: CvtParam, words: str):
    assert describe_converter(converter) == words


def test_any_bytes_have_words(vector: Callable[[str], Loadable]):
    chance = random.Random(7)
    for _ in range(300):
        surface = ConvSurface.unpack(chance.randbytes(ConvSurface.SIZE))
        pooled = PdpSurface.unpack(chance.randbytes(PdpSurface.SIZE))
        sdp = SdpOp.unpack(chance.randbytes(SdpOp.SIZE))
        phrases = [
            describe_conv(ConvOp.unpack(chance.randbytes(ConvOp.SIZE)), surface),
            describe_sdp(sdp, surface.src_data),
            describe_stage("x1", sdp.x1_op, sdp.src_precision, 0),
            describe_stage("y", replace(sdp.y_op, mode=0), FP16, 0),
            describe_pdp(PdpOp.unpack(chance.randbytes(PdpOp.SIZE)), pooled),
            describe_cdp(CdpOp.unpack(chance.randbytes(CdpOp.SIZE)), pooled.src_data),
            describe_rubik(RubikOp.unpack(chance.randbytes(RubikOp.SIZE)), pooled),
        ]
        assert all(description.words and "\n" not in description.words for description in phrases)


def test_fields_that_are_told_exist(vector: Callable[[str], Loadable]):
    for name in ("nv_full/graph_lenetish_fp16", "nv_full/sdp_x1x2y_int16"):
        for task in decode_tasks(vector(name)):
            assert isinstance(task, DlaTask)
            for operation in task.operations:
                op, surface = operation.op, operation.surface
                if isinstance(op, ConvOp) and isinstance(surface, ConvSurface):
                    assert all(hasattr(op, field) for field in describe_conv(op, surface).covered)
                if isinstance(op, SdpOp):
                    assert all(hasattr(op, field) for field in describe_sdp(op, cube(1, 1, 1)).covered)
                    assert all(hasattr(op.x1_op, f) for f in describe_stage("x1", op.x1_op, 0, 0).covered)
                if isinstance(op, PdpOp) and isinstance(surface, PdpSurface):
                    assert all(hasattr(op, field) for field in describe_pdp(op, surface).covered)
