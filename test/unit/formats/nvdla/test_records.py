"""Packed structures against the numbers and struct strings of docs/internals/nvdla-hardware.md §2."""

from __future__ import annotations

import random
import struct
from dataclasses import fields, replace

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla import records
from xonnc.formats.nvdla.records import (
    BdmaOp,
    BdmaSurface,
    BdmaTransfer,
    CdpOp,
    CdpSurface,
    CommonOpDesc,
    Consumer,
    ConvOp,
    ConvSurface,
    CvtParam,
    DataCube,
    EmuBufferDesc,
    EmuNetworkDesc,
    EmuOp,
    Layout,
    LutParam,
    LutSlope,
    NetworkDesc,
    OldEmuBufferDesc,
    OldEmuOp,
    PdpOp,
    PdpSurface,
    Record,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)

OLD, NEW = Layout.CUBES_28, Layout.CUBES_32

SIZES: dict[type[Record], tuple[int, int]] = {
    NetworkDesc: (40, 40),
    Consumer: (4, 4),
    CommonOpDesc: (36, 36),
    DataCube: (32, 28),
    CvtParam: (8, 8),
    BdmaTransfer: (32, 32),
    BdmaOp: (4, 4),
    BdmaSurface: (644, 644),
    ConvOp: (92, 92),
    ConvSurface: (172, 152),
    LutSlope: (4, 4),
    LutParam: (700, 700),
    SdpSubOp: (32, 32),
    SdpOp: (116, 116),
    SdpSurface: (160, 140),
    PdpOp: (52, 52),
    PdpSurface: (64, 56),
    CdpOp: (24, 24),
    CdpSurface: (64, 56),
    RubikOp: (4, 4),
    RubikSurface: (64, 56),
    EmuNetworkDesc: (256, 256),
    EmuOp: (24, 24),
    EmuBufferDesc: (256, 256),
    OldEmuOp: (16, 16),
    OldEmuBufferDesc: (256, 256),
}

OFFSETS: dict[type[Record], dict[str, int]] = {
    NetworkDesc: {"op_head": 16, "num_rois": 28, "num_addresses": 34, "input_layer": 36, "dynamic_roi": 38},
    CommonOpDesc: {"op_type": 3, "dependency_count": 4, "consumers": 8, "fused_parent": 32},
    DataCube: {"address": 2, "offset": 4, "size": 8, "width": 12, "channel": 16, "line_stride": 20},
    BdmaSurface: {"destination_type": 1, "num_transfers": 2, "transfers": 4},
    ConvOp: {
        "entry_per_slice": 6,
        "data_format": 8,
        "fetch_grain": 10,
        "batch": 20,
        "batch_stride": 24,
        "release": 30,
        "kernel_width_csc": 38,
        "input_height_cmac": 46,
        "bytes_per_kernel": 48,
        "mean_ry": 52,
        "conv_stride_x": 61,
        "dilation_y": 68,
        "pra_truncate": 71,
        "pad_val": 74,
        "in_cvt": 76,
        "out_cvt": 84,
    },
    ConvSurface: {"wmb_data": 32, "src_data": 96, "dst_data": 128, "offset_u": 160, "in_line_uv_stride": 168},
    LutParam: {
        "linear_only_table": 130,
        "linear_exp_offset": 644,
        "linear_only_offset": 646,
        "le_start": 648,
        "lo_end": 672,
        "le_underflow": 680,
        "lo_overflow": 692,
        "hybrid_priority": 696,
        "method": 699,
    },
    SdpSubOp: {"precision": 7, "alu_operand": 8, "mul_operand": 12, "alu_cvt": 16, "mul_cvt": 24},
    SdpOp: {"lut_index": 2, "out_cvt": 4, "conv_mode": 12, "batch_num": 13, "batch_stride": 16, "y_op": 84},
    SdpSurface: {"x1_data": 32, "y_data": 96, "dst_data": 128},
    PdpOp: {"split_num": 12, "pool_width": 14, "pad_bottom": 21, "precision": 22, "padding_value": 24},
    CdpOp: {"lut_index": 2, "in_cvt": 4, "out_cvt": 12, "local_size": 20, "bypass_out_mul": 22},
    EmuNetworkDesc: {"operation_buffer_desc_index": 2, "num_operations": 4},
    EmuOp: {"input_scale": 4, "output_scale": 8, "power": 12, "scale": 16, "shift": 20},
    EmuBufferDesc: {"address_index_offset": 2, "size": 6, "format": 10, "channel": 16, "surf_stride": 22},
    OldEmuOp: {"power": 4, "scale": 8, "shift": 12},
    OldEmuBufferDesc: {"size": 2, "format": 6, "channel": 12, "line_stride": 14, "surf_stride": 18},
}

OLD_OFFSETS: dict[type[Record], dict[str, int]] = {
    DataCube: {"size": 4, "width": 8, "line_stride": 16, "plane_stride": 24},
    ConvSurface: {"wmb_data": 28, "src_data": 84, "dst_data": 112, "offset_u": 140, "in_line_uv_stride": 148},
    SdpSurface: {"x1_data": 28, "dst_data": 112},
    PdpSurface: {"dst_data": 28},
}


def test_every_structure_has_its_number():
    defined = {
        value
        for value in vars(records).values()
        if isinstance(value, type) and issubclass(value, Record) and value is not Record
    }
    assert defined == set(SIZES)


@pytest.mark.parametrize("record", SIZES, ids=lambda record: record.__name__)
def test_sizes(record: type[Record]):
    assert (record.byte_size(NEW), record.byte_size(OLD)) == SIZES[record]
    assert (len(record().pack(NEW)), len(record().pack(OLD))) == SIZES[record]


@pytest.mark.parametrize("record", OFFSETS, ids=lambda record: record.__name__)
def test_offsets(record: type[Record]):
    assert {name: record.offset_of(name) for name in OFFSETS[record]} == OFFSETS[record]


@pytest.mark.parametrize("record", OLD_OFFSETS, ids=lambda record: record.__name__)
def test_offsets_before_0_12(record: type[Record]):
    assert {name: record.offset_of(name, OLD) for name in OLD_OFFSETS[record]} == OLD_OFFSETS[record]


def test_a_list_of_surfaces_takes_644_bytes_each_in_both_layouts():
    assert (records.surface_bytes(NEW), records.surface_bytes(OLD), records.OP_BYTES) == (644, 644, 116)


def counted(record: type[Record], *, leave: tuple[str, ...] = ()) -> Record:
    """The structure with 1, 2, 3 … in its scalar fields."""
    plain = [field.name for field in fields(record) if isinstance(getattr(record(), field.name), int)]
    return record(**{name: 1 + i for i, name in enumerate(name for name in plain if name not in leave)})


# The struct strings are the specification's; numbers go in the order of the declaration.
@pytest.mark.parametrize(
    ("record", "string"),
    [
        (DataCube, "<HhIIHHHxxIII"),
        (CvtParam, "<hBBi"),
        (BdmaTransfer, "<hh7I"),
        (EmuBufferDesc, "<hIIHHHHII230x"),
        (Consumer, "<hBx"),
        (RubikOp, "<4B"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_struct_strings(record: type[Record], string: str):
    packed = counted(record).pack()
    count = len(fields(record))
    assert packed == struct.pack(string, *range(1, count + 1))


def test_struct_string_of_the_convolution():
    op = counted(ConvOp)
    numbers = list(range(1, 44))
    head = struct.pack("<5Bx H2BH 8x 4BI2BH8HI4h9B 2x 3Bh", *numbers)
    assert len(head) == 76
    assert op.pack() == head + CvtParam().pack() * 2


def test_struct_string_of_the_network():
    network = NetworkDesc(
        operation_desc_index=1,
        surface_desc_index=2,
        dependency_graph_index=3,
        lut_data_index=4,
        roi_array_index=5,
        surface_index=6,
        stat_list_index=7,
        op_head=(8, 9, 10, 11, 12, 13),
        num_rois=14,
        num_operations=15,
        num_luts=16,
        num_addresses=17,
        input_layer=18,
        dynamic_roi=19,
    )
    numbers = [1, 2, 3, 4, 5, 6, 7, 0, *range(8, 20), 0]
    assert network.pack() == struct.pack("<8h6h4HhBB", *numbers)


def test_struct_string_of_the_dependency_graph():
    consumers = tuple(Consumer(index=10 + slot, event=1 + slot % 5) for slot in range(6))
    entry = CommonOpDesc(
        index=1,
        roi_index=-2,
        op_type=3,
        dependency_count=4,
        consumers=consumers,
        fused_parent=Consumer(index=99, event=3),
    )
    pairs = [number for slot in range(6) for number in (10 + slot, 1 + slot % 5)]
    assert entry.pack() == struct.pack("<hbBB3x" + "hBx" * 7, 1, -2, 3, 4, *pairs, 99, 3)


@pytest.mark.parametrize("layout", Layout, ids=lambda layout: layout.value)
@pytest.mark.parametrize("record", SIZES, ids=lambda record: record.__name__)
def test_random_bytes_come_back(record: type[Record], layout: Layout):
    data = random.Random(5).randbytes(record.byte_size(layout) + 7)
    first = record.unpack(data, 7, layout)
    # Padding is lost, floats may be NaN: what is packed again reads as the same bytes.
    assert record.unpack(first.pack(layout), 0, layout).pack(layout) == first.pack(layout)


def test_a_cube_keeps_all_but_its_offset_in_the_old_layout():
    cube = DataCube(type=1, address=2, offset=64, size=3, width=4, height=5, channel=6, line_stride=7)
    assert DataCube.unpack(cube.pack(OLD), 0, OLD) == replace(cube, offset=0)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (CvtParam(scale=70000), "CvtParam.scale = 70000: int16 holds -32768 to 32767"),
        (CvtParam(scale=-32769), "CvtParam.scale = -32769: int16 holds -32768 to 32767"),
        (CvtParam(truncate=256), "CvtParam.truncate = 256: uint8 holds 0 to 255"),
        (CvtParam(offset=1 << 31), "CvtParam.offset = 2147483648: int32 holds -2147483648 to 2147483647"),
        (DataCube(width=65536), "DataCube.width = 65536: uint16 holds 0 to 65535"),
        (DataCube(size=1 << 32), "DataCube.size = 4294967296: uint32 holds 0 to 4294967295"),
        (CommonOpDesc(roi_index=128), "CommonOpDesc.roi_index = 128: int8 holds -128 to 127"),
        (LutParam(le_start=-1), "LutParam.le_start = -1: uint64 holds 0 to 18446744073709551615"),
        (
            ConvSurface(offset_u=1 << 63),
            "ConvSurface.offset_u = 9223372036854775808: "
            "int64 holds -9223372036854775808 to 9223372036854775807",
        ),
        (
            NetworkDesc(op_head=(0, 0, 40000, 0, 0, 0)),
            "NetworkDesc.op_head[2] = 40000: int16 holds -32768 to 32767",
        ),
        (ConvOp(in_cvt=CvtParam(enable=-1)), "CvtParam.enable = -1: uint8 holds 0 to 255"),
        (EmuOp(power=1e300), "EmuOp.power = 1e+300: no float32"),
        (NetworkDesc(op_head=(0,) * 7), "NetworkDesc.op_head: 7 values, it holds 6"),
        (BdmaSurface(transfers=(BdmaTransfer(),) * 21), "BdmaSurface.transfers: 21 values, it holds 20"),
        (PdpOp(padding_value=(0,) * 8), "PdpOp.padding_value: 8 values, it holds 7"),
        (
            LutParam(linear_only_table=(0,) * 258),
            "LutParam.linear_only_table: 258 values, it holds 257",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_names_its_field(record: Record, message: str):
    with pytest.raises(XonncError) as caught:
        record.pack()
    assert str(caught.value) == message


def test_shorter_arrays_leave_zeros():
    packed = BdmaSurface(num_transfers=1, transfers=(BdmaTransfer(source_address=3),)).pack()
    transfers = BdmaSurface.unpack(packed).transfers
    assert (len(transfers), transfers[0].source_address) == (20, 3)
    assert set(packed[36:]) == {0}


@pytest.mark.parametrize("offset", [-1, 5, 9])
def test_too_few_bytes_are_an_error(offset: int):
    with pytest.raises(XonncError, match=rf"CvtParam takes 8 bytes at {offset}, but there are 12"):
        CvtParam.unpack(bytes(12), offset)


def test_old_emulator_structures_in_todays_form():
    op = OldEmuOp(op_type=0, power=2.0, scale=0.5, shift=1.0).current()
    assert op == EmuOp(op_type=0, power=2.0, scale=0.5, shift=1.0, input_scale=1.0, output_scale=1.0)
    formats = [OldEmuBufferDesc(format=number).current().format for number in range(4)]
    assert formats == [0, 2, 3, 3]
    old = OldEmuBufferDesc(
        address_index=1, size=2, width=3, height=4, channel=5, line_stride=6, surf_stride=7
    )
    new = old.current()
    assert (new.address_index, new.address_index_offset, new.size) == (1, 0, 2)
    assert (new.width, new.height, new.channel, new.line_stride, new.surf_stride) == (3, 4, 5, 6, 7)


def test_record_that_outgrows_its_size_is_a_mistake_of_ours():
    outgrown = type("Outgrown", (CvtParam,), {}, size=4)
    with pytest.raises(TypeError, match="Outgrown packs to 8 bytes, not 4"):
        outgrown.byte_size()
