"""
The packed structures of DLA and EMU tasks (docs/internals/nvdla-hardware.md §2).

A structure is a frozen dataclass whose annotations say how each field is packed:

    class CvtParam(Record, size=8):
        scale: i16 = 0
        truncate: u8 = 0
        enable: u8 = 0
        offset: i32 = 0

Fields follow each other, little endian; `pad` gives padding bytes before a field, and the rest up to `size`
is padding at the end. Structures that differ between firmware interfaces do so in
`DataCube` alone, which had no `offset` before 0.12; the `Layout` given to `pack` and `unpack` decides.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias, get_args, get_type_hints

from xonnc.errors import XonncError


class Layout(Enum):
    """The firmware interface of a task."""

    CUBES_28 = "0.11"
    """Data cubes without an offset: firmware interfaces up to 0.11."""
    CUBES_32 = "0.12"
    """Data cubes with an offset: firmware interface 0.12 and later."""


class ScalarFormat(NamedTuple):
    """A number: its struct code and the values it can hold (`None` for floats)."""

    code: str
    name: str
    limits: tuple[int, int] | None


class Repeated(NamedTuple):
    """An array."""

    length: int
    of: ScalarFormat | type[Record]


Kind: TypeAlias = "ScalarFormat | Repeated | type[Record]"


def _int(code: str, name: str) -> ScalarFormat:
    bits = 8 * struct.calcsize("<" + code)
    low = -(1 << (bits - 1)) if code.islower() else 0
    return ScalarFormat(code, name, (low, low + (1 << bits) - 1))


u8 = Annotated[int, _int("B", "uint8")]
u16 = Annotated[int, _int("H", "uint16")]
u32 = Annotated[int, _int("I", "uint32")]
u64 = Annotated[int, _int("Q", "uint64")]
i8 = Annotated[int, _int("b", "int8")]
i16 = Annotated[int, _int("h", "int16")]
i32 = Annotated[int, _int("i", "int32")]
i64 = Annotated[int, _int("q", "int64")]
f32 = Annotated[float, ScalarFormat("f", "float32", None)]


@dataclass(frozen=True, kw_only=True)
class Record:
    """A packed structure; subclasses are frozen dataclasses of annotated fields."""

    SIZE: ClassVar[int] = 0
    PAD: ClassVar[dict[str, int]] = {}

    def __init_subclass__(cls, *, size: int = 0, pad: dict[str, int] | None = None) -> None:
        cls.SIZE = size
        cls.PAD = pad or {}

    def pack(self, layout: Layout = Layout.CUBES_32) -> bytes:
        """Return the packed bytes; a value that does not fit raises an error with its field."""
        codec = _codec(type(self), layout)
        packed = bytearray(codec.size)
        for field in codec.fields:
            _pack(
                field.kind, getattr(self, field.name), packed, field.offset, layout, (type(self), field.name)
            )
        return bytes(packed)

    @classmethod
    def unpack(cls, data: ReadBuffer, offset: int = 0, layout: Layout = Layout.CUBES_32) -> Self:
        """Unpack the structure at `offset` of `data`; too few bytes raise an error."""
        codec = _codec(cls, layout)
        if offset < 0 or len(data) - offset < codec.size:
            raise XonncError(
                f"{cls.__name__} takes {codec.size} bytes at {offset}, but there are {len(data)}"
            )
        return cls(
            **{field.name: _unpack(field.kind, data, offset + field.offset, layout) for field in codec.fields}
        )

    @classmethod
    def byte_size(cls, layout: Layout = Layout.CUBES_32) -> int:
        """Return the size of the structure."""
        return _codec(cls, layout).size

    @classmethod
    def offset_of(cls, name: str, layout: Layout = Layout.CUBES_32) -> int:
        """Return the offset of a field."""
        return next(field.offset for field in _codec(cls, layout).fields if field.name == name)


ReadBuffer: TypeAlias = "bytes | bytearray | memoryview"


class _Field(NamedTuple):
    name: str
    kind: Kind
    offset: int


class _Codec(NamedTuple):
    fields: tuple[_Field, ...]
    size: int


@cache
def _codec(cls: type[Record], layout: Layout) -> _Codec:
    """Return the packing of a structure, derived from its annotations."""
    hints = get_type_hints(cls, include_extras=True)
    names = [field.name for field in fields(cls)]
    if cls is DataCube and layout is Layout.CUBES_28:
        names.remove("offset")
    found: list[_Field] = []
    end = 0
    for name in names:
        kind: Kind = hints[name] if isinstance(hints[name], type) else get_args(hints[name])[1]
        begin = end + cls.PAD.get(name, 0)
        found.append(_Field(name, kind, begin))
        end = begin + _size(kind, layout)
    if layout is Layout.CUBES_32:
        if end > cls.SIZE:
            raise TypeError(f"{cls.__name__} packs to {end} bytes, not {cls.SIZE}")
        return _Codec(tuple(found), cls.SIZE)
    fields_32 = _codec(cls, Layout.CUBES_32).fields
    end_32 = max((field.offset + _size(field.kind, Layout.CUBES_32) for field in fields_32), default=0)
    return _Codec(tuple(found), end + cls.SIZE - end_32)


def _size(kind: Kind, layout: Layout) -> int:
    if isinstance(kind, ScalarFormat):
        return struct.calcsize("<" + kind.code)
    if isinstance(kind, Repeated):
        return kind.length * _size(kind.of, layout)
    return _codec(kind, layout).size


def _pack(
    kind: Kind,
    value: Any,
    packed: bytearray,
    offset: int,
    layout: Layout,
    field_name: tuple[type[Record], str],
) -> None:
    if isinstance(kind, ScalarFormat):
        if kind.limits and not kind.limits[0] <= value <= kind.limits[1]:
            low, high = kind.limits
            raise XonncError(
                f"{field_name[0].__name__}.{field_name[1]} = {value}: {kind.name} holds {low} to {high}"
            )
        try:
            struct.pack_into("<" + kind.code, packed, offset, value)
        except (OverflowError, struct.error):
            raise XonncError(f"{field_name[0].__name__}.{field_name[1]} = {value}: no {kind.name}") from None
    elif isinstance(kind, Repeated):
        if len(value) > kind.length:
            raise XonncError(
                f"{field_name[0].__name__}.{field_name[1]}: {len(value)} values, it holds {kind.length}"
            )
        step = _size(kind.of, layout)
        for index, item in enumerate(value):
            _pack(
                kind.of,
                item,
                packed,
                offset + index * step,
                layout,
                (field_name[0], f"{field_name[1]}[{index}]"),
            )
    else:
        packed[offset : offset + _size(kind, layout)] = value.pack(layout)


def _unpack(kind: Kind, data: ReadBuffer, offset: int, layout: Layout) -> Any:
    if isinstance(kind, ScalarFormat):
        return struct.unpack_from("<" + kind.code, data, offset)[0]
    if isinstance(kind, Repeated):
        if isinstance(kind.of, ScalarFormat):
            return struct.unpack_from(f"<{kind.length}{kind.of.code}", data, offset)
        step = _size(kind.of, layout)
        return tuple(_unpack(kind.of, data, offset + index * step, layout) for index in range(kind.length))
    return kind.unpack(data, offset, layout)


@dataclass(frozen=True, kw_only=True)
class NetworkDesc(Record, size=40):
    """`dla_network_desc`: where a task's arrays are, as indexes into its address list."""

    operation_desc_index: i16 = -1
    surface_desc_index: i16 = -1
    dependency_graph_index: i16 = -1
    lut_data_index: i16 = -1
    roi_array_index: i16 = -1
    surface_index: i16 = -1
    stat_list_index: i16 = -1
    reserved: i16 = 0
    op_head: Annotated[tuple[int, ...], Repeated(6, _int("h", "int16"))] = (-1,) * 6
    num_rois: u16 = 1
    num_operations: u16 = 0
    num_luts: u16 = 0
    num_addresses: u16 = 0
    input_layer: i16 = 0
    dynamic_roi: u8 = 0


@dataclass(frozen=True, kw_only=True)
class Consumer(Record, size=4):
    """`dla_consumer`: an operation and the event that wakes it; index -1 for none."""

    index: i16 = -1
    event: u8 = 1


@dataclass(frozen=True, kw_only=True)
class CommonOpDesc(Record, size=36, pad={"consumers": 3}):
    """`dla_common_op_desc`: one entry of the dependency graph; slot k of `consumers` is for engine k."""

    index: i16 = 0
    roi_index: i8 = 0
    op_type: u8 = 0
    dependency_count: u8 = 0
    consumers: Annotated[tuple[Consumer, ...], Repeated(6, Consumer)] = (Consumer(),) * 6
    fused_parent: Consumer = Consumer()


@dataclass(frozen=True, kw_only=True)
class DataCube(Record, size=32, pad={"line_stride": 2}):
    """`dla_data_cube`: a cube in memory; `address` indexes the task's address list, sizes are in elements."""

    type: u16 = 0
    address: i16 = -1
    offset: u32 = 0
    size: u32 = 0
    width: u16 = 0
    height: u16 = 0
    channel: u16 = 0
    line_stride: u32 = 0
    surf_stride: u32 = 0
    plane_stride: u32 = 0


@dataclass(frozen=True, kw_only=True)
class CvtParam(Record, size=8):
    """`dla_cvt_param`: `(x - offset) * scale >> truncate`."""

    scale: i16 = 0
    truncate: u8 = 0
    enable: u8 = 0
    offset: i32 = 0


@dataclass(frozen=True, kw_only=True)
class BdmaTransfer(Record, size=32):
    """`dla_bdma_transfer_desc`: `line_size` bytes, `line_repeat` lines, `surface_repeat` surfaces."""

    source_address: i16 = -1
    destination_address: i16 = -1
    line_size: u32 = 0
    line_repeat: u32 = 0
    source_line: u32 = 0
    destination_line: u32 = 0
    surface_repeat: u32 = 0
    source_surface: u32 = 0
    destination_surface: u32 = 0


@dataclass(frozen=True, kw_only=True)
class BdmaOp(Record, size=4):
    """`dla_bdma_op_desc`."""

    num_transfers: u16 = 0


@dataclass(frozen=True, kw_only=True)
class BdmaSurface(Record, size=644):
    """`dla_bdma_surface_desc`."""

    source_type: u8 = 0
    destination_type: u8 = 0
    num_transfers: u16 = 0
    transfers: Annotated[tuple[BdmaTransfer, ...], Repeated(20, BdmaTransfer)] = ()


@dataclass(frozen=True, kw_only=True)
class ConvOp(Record, size=92, pad={"entry_per_slice": 1, "batch": 8, "pra_truncate": 2}):
    """`dla_conv_op_desc`; strides, dilation, banks, batch and the grain count from one."""

    conv_mode: u8 = 0
    data_reuse: u8 = 0
    weight_reuse: u8 = 0
    skip_data_rls: u8 = 0
    skip_weight_rls: u8 = 0
    entry_per_slice: u16 = 0
    data_format: u8 = 36
    pixel_mapping: u8 = 0
    fetch_grain: u16 = 1
    batch: u8 = 1
    weight_format: u8 = 0
    data_bank: u8 = 0
    weight_bank: u8 = 0
    batch_stride: u32 = 0
    post_extension: u8 = 0
    pixel_override: u8 = 0
    release: u16 = 0
    input_width_csc: u16 = 0
    input_height_csc: u16 = 0
    input_channel_csc: u16 = 0
    kernel_width_csc: u16 = 0
    kernel_height_csc: u16 = 0
    kernel_channel_csc: u16 = 0
    input_width_cmac: u16 = 0
    input_height_cmac: u16 = 0
    bytes_per_kernel: u32 = 0
    mean_ry: i16 = 0
    mean_gu: i16 = 0
    mean_bv: i16 = 0
    mean_ax: i16 = 0
    mean_format: u8 = 0
    conv_stride_x: u8 = 1
    conv_stride_y: u8 = 1
    pad_x_left: u8 = 0
    pad_x_right: u8 = 0
    pad_y_top: u8 = 0
    pad_y_bottom: u8 = 0
    dilation_x: u8 = 1
    dilation_y: u8 = 1
    pra_truncate: u8 = 0
    in_precision: u8 = 0
    out_precision: u8 = 0
    pad_val: i16 = 0
    in_cvt: CvtParam = CvtParam()
    out_cvt: CvtParam = CvtParam()


@dataclass(frozen=True, kw_only=True)
class ConvSurface(Record, size=172):
    """`dla_conv_surface_desc`."""

    weight_data: DataCube = DataCube()
    wmb_data: DataCube = DataCube()
    wgs_data: DataCube = DataCube()
    src_data: DataCube = DataCube()
    dst_data: DataCube = DataCube()
    offset_u: i64 = 0
    in_line_uv_stride: u32 = 0


@dataclass(frozen=True, kw_only=True)
class LutSlope(Record, size=4):
    """`dla_slope`: the line past a table's end; in FP16 pipelines `scale` holds FP16 bits."""

    scale: i16 = 0
    shifter: i8 = 0


@dataclass(frozen=True, kw_only=True)
class LutParam(Record, size=700, pad={"linear_only_offset": 1, "le_start": 1}):
    """`dla_lut_param`: the 65-entry (LE) and 257-entry (LO) tables and how they are indexed."""

    linear_exp_table: Annotated[tuple[int, ...], Repeated(65, _int("h", "int16"))] = (0,) * 65
    linear_only_table: Annotated[tuple[int, ...], Repeated(257, _int("h", "int16"))] = (0,) * 257
    linear_exp_offset: i8 = 0
    linear_only_offset: i8 = 0
    le_start: u64 = 0
    le_end: u64 = 0
    lo_start: u64 = 0
    lo_end: u64 = 0
    le_underflow: LutSlope = LutSlope()
    le_overflow: LutSlope = LutSlope()
    lo_underflow: LutSlope = LutSlope()
    lo_overflow: LutSlope = LutSlope()
    hybrid_priority: u8 = 0
    underflow_priority: u8 = 0
    overflow_priority: u8 = 0
    method: u8 = 0


@dataclass(frozen=True, kw_only=True)
class SdpSubOp(Record, size=32):
    """`dla_sdp_op`: one stage (X1, X2 or Y) of the SDP."""

    enable: u8 = 0
    alu_type: u8 = 0
    type: u8 = 0
    mode: u8 = 0
    act: u8 = 0
    shift_value: u8 = 0
    truncate: u8 = 0
    precision: u8 = 0
    alu_operand: i32 = 0
    mul_operand: i32 = 0
    alu_cvt: CvtParam = CvtParam()
    mul_cvt: CvtParam = CvtParam()


@dataclass(frozen=True, kw_only=True)
class SdpOp(Record, size=116, pad={"batch_stride": 2}):
    """`dla_sdp_op_desc`."""

    src_precision: u8 = 0
    dst_precision: u8 = 0
    lut_index: i16 = -1
    out_cvt: CvtParam = CvtParam()
    conv_mode: u8 = 0
    batch_num: u8 = 1
    batch_stride: u32 = 0
    x1_op: SdpSubOp = SdpSubOp()
    x2_op: SdpSubOp = SdpSubOp()
    y_op: SdpSubOp = SdpSubOp()


@dataclass(frozen=True, kw_only=True)
class SdpSurface(Record, size=160):
    """`dla_sdp_surface_desc`."""

    src_data: DataCube = DataCube()
    x1_data: DataCube = DataCube()
    x2_data: DataCube = DataCube()
    y_data: DataCube = DataCube()
    dst_data: DataCube = DataCube()


@dataclass(frozen=True, kw_only=True)
class PdpOp(Record, size=52, pad={"padding_value": 1}):
    """`dla_pdp_op_desc`; `pool_width` and `pool_height` are one less than the window."""

    partial_in_width_first: u16 = 0
    partial_in_width_mid: u16 = 0
    partial_in_width_last: u16 = 0
    partial_width_first: u16 = 0
    partial_width_mid: u16 = 0
    partial_width_last: u16 = 0
    split_num: u8 = 1
    pool_mode: u8 = 0
    pool_width: u8 = 0
    pool_height: u8 = 0
    stride_x: u8 = 1
    stride_y: u8 = 1
    pad_left: u8 = 0
    pad_right: u8 = 0
    pad_top: u8 = 0
    pad_bottom: u8 = 0
    precision: u8 = 0
    padding_value: Annotated[tuple[int, ...], Repeated(7, _int("i", "int32"))] = (0,) * 7


@dataclass(frozen=True, kw_only=True)
class PdpSurface(Record, size=64):
    """`dla_pdp_surface_desc`."""

    src_data: DataCube = DataCube()
    dst_data: DataCube = DataCube()


@dataclass(frozen=True, kw_only=True)
class CdpOp(Record, size=24):
    """`dla_cdp_op_desc`."""

    in_precision: u8 = 0
    out_precision: u8 = 0
    lut_index: i16 = -1
    in_cvt: CvtParam = CvtParam()
    out_cvt: CvtParam = CvtParam()
    local_size: u8 = 0
    bypass_sqsum: u8 = 0
    bypass_out_mul: u8 = 0


@dataclass(frozen=True, kw_only=True)
class CdpSurface(PdpSurface, size=64):
    """`dla_cdp_surface_desc`."""


@dataclass(frozen=True, kw_only=True)
class RubikOp(Record, size=4):
    """`dla_rubik_op_desc`."""

    mode: u8 = 0
    precision: u8 = 0
    stride_x: u8 = 0
    stride_y: u8 = 0


@dataclass(frozen=True, kw_only=True)
class RubikSurface(PdpSurface, size=64):
    """`dla_rubik_surface_desc`."""


@dataclass(frozen=True, kw_only=True)
class EmuNetworkDesc(Record, size=256):
    """`emu_network_desc`: where an emulator task's arrays are."""

    operation_desc_index: i16 = -1
    operation_buffer_desc_index: i16 = -1
    num_operations: u16 = 0


@dataclass(frozen=True, kw_only=True)
class EmuOp(Record, size=24, pad={"input_scale": 3}):
    """
    One operation of the CPU emulator; `power`, `scale` and `shift` are for POWER alone.

    SOFTMAX has an axis byte where `power` begins, which the emulator ignores.
    """

    op_type: u8 = 0
    input_scale: f32 = 1.0
    output_scale: f32 = 1.0
    power: f32 = 0.0
    scale: f32 = 0.0
    shift: f32 = 0.0


@dataclass(frozen=True, kw_only=True)
class EmuBufferDesc(Record, size=256):
    """`emu_buffer_desc`: a cube in memory as the CPU emulator sees it."""

    address_index: i16 = -1
    address_index_offset: u32 = 0
    size: u32 = 0
    format: u16 = 0
    width: u16 = 0
    height: u16 = 0
    channel: u16 = 0
    line_stride: u32 = 0
    surf_stride: u32 = 0


@dataclass(frozen=True, kw_only=True)
class OldEmuOp(Record, size=16, pad={"power": 3}):
    """`EmuOp` as written for firmware interfaces up to 0.11."""

    op_type: u8 = 0
    power: f32 = 0.0
    scale: f32 = 0.0
    shift: f32 = 0.0

    def current(self) -> EmuOp:
        """The same operation in today's form."""
        return EmuOp(op_type=self.op_type, power=self.power, scale=self.scale, shift=self.shift)


@dataclass(frozen=True, kw_only=True)
class OldEmuBufferDesc(Record, size=256):
    """`EmuBufferDesc` as written for firmware interfaces up to 0.11."""

    address_index: i16 = -1
    size: u32 = 0
    format: u16 = 0
    width: u16 = 0
    height: u16 = 0
    channel: u16 = 0
    line_stride: u32 = 0
    surf_stride: u32 = 0

    def current(self) -> EmuBufferDesc:
        """The same buffer in today's form; formats then were INT8, INT16 and FP16."""
        return EmuBufferDesc(
            address_index=self.address_index,
            size=self.size,
            format={0: 0, 1: 2, 2: 3}.get(self.format, self.format),
            width=self.width,
            height=self.height,
            channel=self.channel,
            line_stride=self.line_stride,
            surf_stride=self.surf_stride,
        )


OP_BYTES = 116
"""Size of an operation in a task's list, for any engine."""


def surface_bytes(layout: Layout) -> int:
    """Return the size of a surface in a task's list: that of the largest, the BDMA's, which has no cubes."""
    return BdmaSurface.byte_size(layout)
