"""What the engines refuse, one message each: settings and cubes the hardware would hang on or get wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    ConvMode,
    EmuFormat,
    EmuOpType,
    MemoryType,
    PixelFormat,
    PoolMode,
    Precision,
    RubikMode,
    SdpMode,
    SdpOpType,
    WeightFormat,
)
from xonnc.formats.nvdla.records import (
    BdmaSurface,
    BdmaTransfer,
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    CvtParam,
    DataCube,
    EmuBufferDesc,
    EmuOp,
    LutParam,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)
from xonnc.runtime.nvdla import bdma, cdp, cpu_emulator, pdp, rubik, sdp
from xonnc.runtime.nvdla.conv import ConvolutionCore
from xonnc.runtime.nvdla.lookup_table import lookup_table
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation, allocate
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.targets import load_target

FULL, SMALL = load_target("nv_full"), load_target("nv_small")
HW = DataCube(type=MemoryType.HW, width=4, height=3, channel=16)
CUBE = DataCube(address=0, width=4, height=3, channel=16, line_stride=128, surf_stride=384, size=384)
OUT = replace(CUBE, address=1)
ONE = CvtParam(scale=1)


def scope(*, small: bool = False) -> OperationContext:
    space = AddressSpace([MemoryLocation(allocate(4096), 0) for _ in range(3)])
    return OperationContext("op", space, SMALL if small else FULL, exact=False)


CONV = ConvOp(
    entry_per_slice=1,
    data_bank=1,
    weight_bank=1,
    input_width_csc=4,
    input_height_csc=3,
    input_channel_csc=16,
    kernel_width_csc=1,
    kernel_height_csc=1,
    kernel_channel_csc=16,
    input_width_cmac=4,
    input_height_cmac=3,
    bytes_per_kernel=32,
    in_precision=Precision.FP16,
    out_precision=Precision.FP16,
    out_cvt=ONE,
)
CONV_SURFACE = ConvSurface(
    weight_data=DataCube(address=2, size=512, width=1, height=1, channel=16),
    src_data=CUBE,
    dst_data=HW,
)
IMAGE = replace(
    CONV, data_format=PixelFormat.A16B16G16R16_F, kernel_channel_csc=4, input_channel_csc=4, entry_per_slice=1
)
IMAGE_SURFACE = replace(
    CONV_SURFACE,
    weight_data=DataCube(address=2, size=128),
    src_data=replace(CUBE, channel=4, line_stride=32),
)


def test_the_convolution_that_the_refusals_start_from_runs():
    core = ConvolutionCore()
    assert core.run(CONV, CONV_SURFACE, scope()).shape == (1, 3, 4, 16)
    assert core.run(IMAGE, IMAGE_SURFACE, scope()).shape == (1, 3, 4, 16)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"in_precision": 7}, "op: in_precision 7: it is one of 0 INT8, 1 INT16, 2 FP16"),
        ({"out_precision": 0}, "op: in_precision 2 and out_precision 0 differ"),
        ({"weight_format": 5}, "op: weight_format 5: it is one of 0 UNCOMPRESSED"),
        ({"conv_mode": 5}, "op: conv_mode 5: it is one of 0 DIRECT"),
        ({"post_extension": 3}, "op: post_extension 3: it is 0, 1 or 2"),
        ({"out_cvt": CvtParam(scale=2)}, "op: out_cvt scale 2, offset 0: the core only truncates"),
        ({"conv_stride_x": 0}, "op: conv_stride_x 0: nv_full takes 1 to 8"),
        ({"dilation_y": 33}, "op: dilation_y 33: nv_full takes 1 to 32"),
        ({"batch": 0}, "op: batch 0: nv_full takes 1 to 32"),
        ({"input_width_cmac": 5}, "op: input_width_cmac x input_height_cmac is 5 x 3 but dst_data is 4 x 3"),
        ({"kernel_height_csc": 33}, "op: kernel_height_csc 33: the core takes 1 to 32"),
        ({"kernel_channel_csc": 15}, "op: kernel_channel_csc 15 does not fit an input of 16 channels"),
        ({"entry_per_slice": 2}, "op: entry_per_slice 2: a row of the input takes 1"),
        (
            {"weight_bank": 16},
            "op: data_bank 1 and weight_bank 16: each is at least 1 and together at most 16",
        ),
        ({"weight_reuse": 1}, "op: weight_reuse is set but no operation before it kept such weights"),
        ({"data_reuse": 1}, "op: data_reuse is set but no operation before it kept such data"),
        (
            {"in_cvt": CvtParam(scale=1, enable=1, offset=3)},
            "op: in_cvt or mean on FP16 input: only integers",
        ),
        ({"data_format": 37}, "op: data_format 37 is not a pixel format"),
        ({"conv_mode": ConvMode.WINOGRAD}, "op: a Winograd kernel of 1 x 1: transformed weights are 4 x 4"),
        ({"kernel_width_csc": 32, "dilation_x": 32}, "op: dst_data 4 x 3 takes 992 columns and 0 rows past"),
    ],
)
def test_convolution(changes: dict[str, int], message: str):
    with pytest.raises(XonncError, match=message):
        ConvolutionCore().run(replace(CONV, **changes), CONV_SURFACE, scope())


WINOGRAD = replace(
    CONV,
    conv_mode=ConvMode.WINOGRAD,
    kernel_width_csc=4,
    kernel_height_csc=4,
    input_width_csc=8,
    input_height_cmac=4,
    entry_per_slice=2,
)


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("by_rows", [False, True])
def test_convolution_windows_past_the_end(by_rows: bool, before: int):
    core, size = ConvolutionCore(), CUBE.height if by_rows else CUBE.width

    def run(past: int) -> tuple[int, ...]:
        reached = size + before + past
        if by_rows:
            op = replace(CONV, input_height_cmac=reached, pad_y_top=before)
            cube = replace(HW, height=reached)
        else:
            op = replace(CONV, input_width_cmac=reached, pad_x_left=before)
            cube = replace(HW, width=reached)
        return core.run(op, replace(CONV_SURFACE, dst_data=cube), scope()).shape

    assert run(66) == ((1, size + before + 66, 4, 16) if by_rows else (1, 3, size + before + 66, 16))
    past = "0 columns and 67 rows" if by_rows else "67 columns and 0 rows"
    with pytest.raises(XonncError, match=f"takes {past} past the end of the input; the core pads up to 66"):
        run(67)


def test_convolution_outputs_that_no_memory_holds():
    op = replace(
        CONV,
        entry_per_slice=2048,
        input_width_cmac=8192,
        input_height_cmac=8192,
        input_width_csc=8192,
        input_height_csc=8192,
    )
    source = replace(CUBE, width=8192, height=8192, line_stride=8192 * 32, surf_stride=8192 * 8192 * 32)
    surface = replace(CONV_SURFACE, src_data=source, dst_data=replace(HW, width=8192, height=8192))
    with pytest.raises(XonncError, match="an output of over 268435456 elements; no memory would hold it"):
        ConvolutionCore().run(op, surface, scope())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conv_stride_x": 2}, "op: conv_mode WINOGRAD takes stride 1 and dilation 1"),
        ({"data_format": PixelFormat.R8}, "op: conv_mode WINOGRAD with image input"),
        (
            {"input_width_cmac": 4, "input_height_cmac": 3},
            "op: a Winograd output of 4 x 3: both are multiples",
        ),
        ({"kernel_channel_csc": 18}, "op: kernel_channel_csc 18: Winograd takes groups of 4 channels"),
        ({"kernel_channel_csc": 12}, "op: kernel_channel_csc 12 does not fit an input of 16 channels"),
    ],
)
def test_winograd(changes: dict[str, int], message: str):
    op = replace(WINOGRAD, **changes)
    dst = replace(HW, width=op.input_width_cmac, height=op.input_height_cmac)
    with pytest.raises(XonncError, match=message):
        ConvolutionCore().run(op, replace(CONV_SURFACE, dst_data=dst), scope())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"src_data": replace(CUBE, channel=0)}, "op: src_data is 4 x 3 x 0; every dimension is 1 to 8192"),
        (
            {"weight_data": DataCube(address=2, size=500)},
            "op: weight_data.size 500: 512 bytes of weights take 512",
        ),
        ({"weight_data": DataCube(address=9, size=512)}, "op weight_data: address index 9 is not in"),
        ({"src_data": replace(CUBE, offset=4000)}, "op src_data: 384 bytes at offset 4000 leave"),
    ],
)
def test_convolution_cubes(changes: dict[str, DataCube], message: str):
    with pytest.raises(XonncError, match=message):
        ConvolutionCore().run(CONV, replace(CONV_SURFACE, **changes), scope())


@pytest.mark.parametrize(
    ("op", "surface", "message"),
    [
        (
            replace(IMAGE, data_format=PixelFormat.A8B8G8R8),
            IMAGE_SURFACE,
            "op: pixel format A8B8G8R8 with prec",
        ),
        (
            replace(IMAGE, kernel_width_csc=2),
            IMAGE_SURFACE,
            "op: kernel_width_csc 2: image input takes kernels",
        ),
        (
            replace(IMAGE, kernel_channel_csc=6),
            IMAGE_SURFACE,
            "op: kernel_channel_csc 6 does not fit an input of 4",
        ),
        (
            replace(IMAGE, data_format=PixelFormat.R16_F),
            IMAGE_SURFACE,
            "op: src_data has 4 channels but pixel format R16F delivers 1",
        ),
        (
            IMAGE,
            replace(IMAGE_SURFACE, src_data=replace(IMAGE_SURFACE.src_data, line_stride=8)),
            "op: src_data plane 0: 3 rows of 32 bytes with line stride 8; rows must not be empty or overlap",
        ),
    ],
)
def test_image_input(op: ConvOp, surface: ConvSurface, message: str):
    with pytest.raises(XonncError, match=message):
        ConvolutionCore().run(op, surface, scope())


def test_what_the_small_configuration_lacks():
    core, small = ConvolutionCore(), scope(small=True)
    with pytest.raises(XonncError, match="op: in_precision FP16: nv_small has no such data path"):
        core.run(CONV, CONV_SURFACE, small)
    op = replace(CONV, in_precision=0, out_precision=0, entry_per_slice=8)
    with pytest.raises(XonncError, match="op: batch 2: nv_small takes 1 to 1"):
        core.run(replace(op, batch=2), CONV_SURFACE, small)
    with pytest.raises(XonncError, match="op: conv_mode WINOGRAD: nv_small convolves directly only"):
        core.run(replace(op, conv_mode=ConvMode.WINOGRAD), CONV_SURFACE, small)
    with pytest.raises(XonncError, match="op: compressed weights: nv_small takes them uncompressed only"):
        core.run(replace(op, weight_format=WeightFormat.COMPRESSED), CONV_SURFACE, small)
    with pytest.raises(XonncError, match="op: y_op: nv_small has no Y stage"):
        sdp.run(replace(SDP_INT8, y_op=SdpSubOp(enable=1)), SDP_SURFACE, None, [], small)
    with pytest.raises(XonncError, match="op: nv_small has no Rubik engine"):
        rubik.run(RubikOp(), RubikSurface(), small)
    with pytest.raises(XonncError, match="op: nv_small has no BDMA engine"):
        bdma.run(BdmaSurface(), small)


SDP = SdpOp(src_precision=Precision.FP16, dst_precision=Precision.FP16, out_cvt=ONE)
SDP_INT8 = SdpOp(out_cvt=ONE)
SDP_SURFACE = SdpSurface(src_data=CUBE, x1_data=OUT, x2_data=OUT, y_data=OUT, dst_data=OUT)
STAGE = SdpSubOp(enable=1, type=SdpOpType.ADD, alu_type=AluType.SUM, mode=SdpMode.PER_KERNEL, precision=2)


def test_the_sdp_operation_that_the_refusals_start_from_runs():
    assert sdp.run(replace(SDP, x1_op=STAGE), SDP_SURFACE, None, [], scope()).shape == (1, 3, 4, 16)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (replace(SDP, dst_precision=0), "op: FP16 to INT8: the SDP has no such conversion"),
        (replace(SDP, src_precision=9), "op: src_precision 9: it is one of"),
        (replace(SDP, batch_num=0), "op: batch_num 0: the field counts from 1"),
        (replace(SDP, x1_op=replace(STAGE, mode=9)), "op: x1_data mode 9: it is one of"),
        (replace(SDP, x1_op=replace(STAGE, type=9)), "op: x1 type 9: it is one of"),
        (replace(SDP, x1_op=replace(STAGE, act=9)), "op: x1 act 9: it is one of"),
        (replace(SDP, x1_op=replace(STAGE, alu_type=9)), "op: x1 alu_type 9: it is one of"),
        (
            replace(SDP, y_op=replace(STAGE, alu_type=AluType.EQL)),
            "op: y_: the EQL comparison writes no output",
        ),
        (
            replace(SDP, x2_op=replace(STAGE, act=Activation.LUT)),
            "op: x2: only the Y stage has a lookup table",
        ),
        (
            replace(SDP, y_op=replace(STAGE, act=Activation.LUT)),
            "op: lut_index -1: the task has 0 lookup tables",
        ),
        (
            replace(SDP, x1_op=replace(STAGE, precision=1)),
            "op: x1_data has precision INT16 in FP16 processing",
        ),
        (
            replace(SDP, src_precision=1, dst_precision=1, x2_op=replace(STAGE, precision=0)),
            "op: x2_data: 16-bit data takes 2-byte operands in X2 and Y",
        ),
    ],
)
def test_sdp(op: SdpOp, message: str):
    with pytest.raises(XonncError, match=message):
        sdp.run(op, SDP_SURFACE, None, [], scope())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"src_data": replace(CUBE, height=0)}, "op: src_data is 4 x 0 x 16; every dimension is at least 1"),
        ({"x1_data": replace(OUT, offset=4090)}, "op x1_data: 32 bytes at offset 4090 leave"),
        (
            {"src_data": replace(CUBE, width=1, height=1)},
            "op: src_data surf_stride 384: for one pixel surfaces are packed, 32",
        ),
        (
            {
                "src_data": replace(CUBE, width=1, height=1, surf_stride=32),
                "dst_data": replace(OUT, surf_stride=32),
            },
            "op: x1_data surf_stride 384: for one pixel surfaces are packed, 32",
        ),
    ],
)
def test_sdp_cubes(changes: dict[str, DataCube], message: str):
    with pytest.raises(XonncError, match=message):
        sdp.run(replace(SDP, x1_op=STAGE), replace(SDP_SURFACE, **changes), None, [], scope())


def test_sdp_behind_a_convolution():
    surface = replace(SDP_SURFACE, src_data=HW)
    singles = np.zeros((1, 3, 4, 16), np.float32)
    integers = np.zeros((1, 3, 4, 16), np.int64)
    assert sdp.run(SDP, surface, singles, [], scope()).shape == (1, 3, 4, 16)
    with pytest.raises(XonncError, match="op: src_precision FP16 is not that of the convolution before"):
        sdp.run(SDP, surface, integers, [], scope())
    with pytest.raises(XonncError, match="op: batch_num 1 after a convolution of 2 images"):
        sdp.run(SDP, surface, np.zeros((2, 3, 4, 16), np.float32), [], scope())
    with pytest.raises(XonncError, match="op: INT16 to INT8 after a convolution"):
        sdp.run(replace(SDP, src_precision=1, dst_precision=0), surface, integers, [], scope())
    with pytest.raises(
        XonncError, match="op: src_data is 4 x 3 x 16 but the convolution delivers 4 x 2 x 16"
    ):
        sdp.run(SDP, surface, singles[:, :2], [], scope())


PDP = PdpOp(pool_mode=PoolMode.MAX, pool_width=1, pool_height=1, precision=2)
PDP_SURFACE = PdpSurface(src_data=CUBE, dst_data=replace(OUT, width=3, height=2))


def test_the_pooling_that_the_refusals_start_from_runs():
    assert pdp.run(PDP, PDP_SURFACE, None, scope()).shape == (2, 3, 16)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"precision": 9}, "op: precision 9: it is one of"),
        ({"pool_mode": 9}, "op: pool_mode 9: it is one of 0 AVG"),
        ({"pool_width": 8}, "op: window 9 x 2: the PDP takes up to 8"),
        ({"pad_left": 8}, "op: padding beyond 7: the PDP pads 0 to 7 pixels"),
        ({"stride_x": 9}, "op: strides 9 x 1: the PDP takes 1 to 8"),
        ({"stride_y": 2}, "op: dst_data is 3 x 2 but the windows give 3 x 1"),
        ({"padding_value": (1,) * 7}, "op: padding_value is not 0: FP16 pooling pads with 0 only"),
        ({"split_num": 0}, "op: split_num 0: the field counts from 1"),
        (
            {"split_num": 2, "partial_width_first": 1},
            "op: the 2 partial output widths add up to 1, dst_data is 3",
        ),
        ({"split_num": 2, "partial_width_mid": 999}, "op: 999 output columns at once: the line buffer holds"),
    ],
)
def test_pdp(changes: dict[str, int], message: str):
    with pytest.raises(XonncError, match=message):
        pdp.run(replace(PDP, **changes), PDP_SURFACE, None, scope())


def test_pdp_channels_must_agree():
    surface = replace(PDP_SURFACE, dst_data=replace(OUT, width=3, height=2, channel=8))
    with pytest.raises(XonncError, match="op: src_data has 16 channels, dst_data 8; pooling keeps them"):
        pdp.run(PDP, surface, None, scope())


def test_pdp_on_the_fly():
    surface = replace(PDP_SURFACE, src_data=HW)
    pixels = np.zeros((1, 3, 4, 16), np.uint16)
    assert pdp.run(PDP, surface, pixels, scope()).shape == (2, 3, 16)
    with pytest.raises(XonncError, match="op: the SDP delivers 2 images; only one can be pooled on the fly"):
        pdp.run(PDP, surface, np.zeros((2, 3, 4, 16), np.uint16), scope())
    with pytest.raises(XonncError, match="op: src_data is 4 x 3 x 16 but the SDP delivers 4 x 2 x 16"):
        pdp.run(PDP, surface, pixels[:, :2], scope())
    with pytest.raises(XonncError, match="op: precision FP16 but the SDP delivers int16"):
        pdp.run(PDP, surface, pixels.view(np.int16), scope())
    with pytest.raises(XonncError, match="op: the windows leave 1 row over, of 3 rows; the engine deadlocks"):
        pdp.run(replace(PDP, stride_y=2), replace(surface, dst_data=replace(OUT, height=1)), pixels, scope())
    with pytest.raises(XonncError, match="op: split_num 2: pooling on the fly cannot be split"):
        pdp.run(replace(PDP, split_num=2), surface, pixels, scope())


CDP = CdpOp(in_precision=2, out_precision=2, lut_index=0, local_size=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"out_precision": 1}, "op: in_precision 2 and out_precision 1 differ"),
        ({"local_size": 4}, "op: local_size 4: the CDP takes 3, 5, 7 or 9"),
        ({"lut_index": 1}, "op: lut_index 1: the task has 1 lookup tables"),
    ],
)
def test_cdp(changes: dict[str, int], message: str):
    surface, luts = CdpSurface(src_data=CUBE, dst_data=OUT), [lookup_table(LutParam())]
    assert cdp.run(CDP, surface, luts, scope()).shape == (3, 4, 16)
    with pytest.raises(XonncError, match=message):
        cdp.run(replace(CDP, **changes), surface, luts, scope())


@pytest.mark.parametrize(
    ("op", "changes", "message"),
    [
        (RubikOp(mode=9), {}, "op: mode 9: it is one of 0 CONTRACT"),
        (RubikOp(stride_x=33, stride_y=1), {}, "op: contract strides 33 x 1: Rubik takes 1 to 32"),
        (
            RubikOp(mode=RubikMode.SPLIT),
            {"dst_data": replace(OUT, line_stride=32, plane_stride=32)},
            "op: dst_data line_stride 32, plane_stride 32: rows of 32 bytes or planes of 3 rows",
        ),
        (
            RubikOp(mode=RubikMode.MERGE),
            {"dst_data": replace(OUT, width=0)},
            "op: src_data: a tensor of 0 x 3 x 16 is empty",
        ),
    ],
)
def test_rubik(op: RubikOp, changes: dict[str, DataCube], message: str):
    surface = replace(RubikSurface(src_data=CUBE, dst_data=OUT), **changes)
    with pytest.raises(XonncError, match=message):
        rubik.run(op, surface, scope())


COPY = BdmaTransfer(
    source_address=0, destination_address=1, line_size=32, line_repeat=2, source_line=32, destination_line=64,
    surface_repeat=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"line_repeat": 0},
            "op: transfer 0 source: line_size 32, line_repeat 0, surface_repeat 1; all start at 1",
        ),
        (
            {"source_line": 16},
            "op: transfer 0 source: line stride 16, surface stride 0: 2 lines of 32 bytes would",
        ),
        ({"destination_line": 8192}, "op transfer 0 destination: 8224 bytes at offset 0 leave"),
    ],
)
def test_bdma(changes: dict[str, int], message: str):
    bdma.run(BdmaSurface(num_transfers=1, transfers=(COPY,)), scope())
    with pytest.raises(XonncError, match=message):
        bdma.run(BdmaSurface(num_transfers=1, transfers=(replace(COPY, **changes),)), scope())


def test_bdma_takes_twenty_transfers():
    with pytest.raises(XonncError, match="op: num_transfers 21: one operation takes up to 20"):
        bdma.run(BdmaSurface(num_transfers=21, transfers=(COPY,) * 20), scope())


BUFFER = EmuBufferDesc(
    address_index=0, format=EmuFormat.FF16, width=1, height=1, channel=4, line_stride=32, surf_stride=32
)


@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        (BUFFER, replace(BUFFER, format=0), "op: source format 3 and destination format 0 differ"),
        (
            replace(BUFFER, format=2),
            replace(BUFFER, format=2),
            "op: buffer format 2: the emulator computes INT8",
        ),
        (replace(BUFFER, channel=0), BUFFER, "op: channel 0: softmax takes at least one element"),
    ],
)
def test_emulator(src: EmuBufferDesc, dst: EmuBufferDesc, message: str):
    with pytest.raises(XonncError, match=message):
        cpu_emulator.run(EmuOp(op_type=EmuOpType.SOFTMAX), src, dst, scope())
