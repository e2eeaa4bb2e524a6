"""
Text dump of a loadable, for reading and comparing: stable, one item per line, tables and weights as digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import fields
from enum import IntEnum, IntFlag
from typing import Any

from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    ConvMode,
    DataCategory,
    DataFormat,
    DataType,
    EmuFormat,
    EmuOpType,
    Event,
    EventOp,
    Interface,
    LutMethod,
    LutPriority,
    MemoryDomain,
    MemoryFlags,
    MemoryType,
    OpType,
    PixelFormat,
    PoolMode,
    Precision,
    RubikMode,
    SdpMode,
    SdpOpType,
    WeightFormat,
)
from xonnc.formats.nvdla.loadable import Blob, Loadable, MemoryEntry, TensorDesc
from xonnc.formats.nvdla.operation_descriptions import (
    Description,
    describe_cdp,
    describe_conv,
    describe_converter,
    describe_pdp,
    describe_rubik,
    describe_sdp,
    describe_stage,
    name_of,
    shape_of,
)
from xonnc.formats.nvdla.records import (
    BdmaSurface,
    CdpOp,
    CdpSurface,
    CommonOpDesc,
    Consumer,
    ConvOp,
    ConvSurface,
    CvtParam,
    DataCube,
    EmuBufferDesc,
    LutParam,
    LutSlope,
    PdpOp,
    PdpSurface,
    Record,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)
from xonnc.formats.nvdla.tasks import Address, DlaTask, EmuTask, Operation, Surface, decode_tasks

_NAMES: dict[str, type[IntEnum]] = {
    "conv_mode": ConvMode,
    "data_format": PixelFormat,
    "weight_format": WeightFormat,
    "in_precision": Precision,
    "out_precision": Precision,
    "src_precision": Precision,
    "dst_precision": Precision,
    "precision": Precision,
    "alu_type": AluType,
    "type": SdpOpType,
    "mode": SdpMode,
    "act": Activation,
    "pool_mode": PoolMode,
    "method": LutMethod,
    "hybrid_priority": LutPriority,
    "underflow_priority": LutPriority,
    "overflow_priority": LutPriority,
}
"""Fields that print as the name of their value."""

THEMES: dict[type[Record], tuple[tuple[str, ...], ...]] = {
    ConvOp: (
        ("conv_mode", "in_precision", "out_precision", "batch", "batch_stride"),
        ("data_format", "input_width_csc", "input_height_csc", "input_channel_csc"),
        (
            "pixel_mapping",
            "pixel_override",
            "mean_format",
            "mean_ry",
            "mean_gu",
            "mean_bv",
            "mean_ax",
            "in_cvt",
            "post_extension",
        ),
        (
            "weight_format",
            "kernel_width_csc",
            "kernel_height_csc",
            "kernel_channel_csc",
            "bytes_per_kernel",
            "dilation_x",
            "dilation_y",
        ),
        (
            "conv_stride_x",
            "conv_stride_y",
            "pad_x_left",
            "pad_x_right",
            "pad_y_top",
            "pad_y_bottom",
            "pad_val",
        ),
        ("input_width_cmac", "input_height_cmac", "pra_truncate", "out_cvt"),
        (
            "data_bank",
            "weight_bank",
            "entry_per_slice",
            "fetch_grain",
            "release",
            "data_reuse",
            "weight_reuse",
            "skip_data_rls",
            "skip_weight_rls",
        ),
    ),
    LutParam: (
        ("method", "hybrid_priority", "underflow_priority", "overflow_priority"),
        ("linear_exp_offset", "le_start", "le_end", "le_underflow", "le_overflow"),
        ("linear_only_offset", "lo_start", "lo_end", "lo_underflow", "lo_overflow"),
    ),
    PdpOp: (
        ("pool_mode", "precision"),
        (
            "pool_width",
            "pool_height",
            "stride_x",
            "stride_y",
            "pad_left",
            "pad_right",
            "pad_top",
            "pad_bottom",
            "padding_value",
        ),
        (
            "split_num",
            "partial_in_width_first",
            "partial_in_width_mid",
            "partial_in_width_last",
            "partial_width_first",
            "partial_width_mid",
            "partial_width_last",
        ),
    ),
}
"""Fields that are printed on one line together; other records take one line."""


def dump_text(loadable: Loadable) -> str:
    """Return the text of a loadable; equal loadables give equal text."""
    return "\n".join(_lines(loadable)) + "\n"


def _lines(loadable: Loadable) -> Iterator[str]:
    yield f"loadable {_version(loadable.version)}"
    yield ""
    for tensor in loadable.tensors:
        yield _tensor(tensor)
    for memory in loadable.memories:
        yield from _memory(loadable, memory)
    for address in loadable.addresses:
        yield f"address {address.id} = memory {address.mem_id} + {address.offset:#x}, {address.size} bytes"
    for event in loadable.events:
        yield f"event {event.id} target {event.target} value {event.val} {name_of(EventOp, event.op)}"
    for reloc in loadable.relocs:
        yield f"reloc address {reloc.address_id} + {reloc.offset} type {reloc.reloc_type} of {reloc.write_id}"
    for submit in loadable.submits:
        yield f"submit {submit.id} tasks {' '.join(map(str, submit.task_id))}"
    for task in decode_tasks(loadable):
        yield ""
        yield from _dla_task(task) if isinstance(task, DlaTask) else _emu_task(task)


def _version(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


def _flags(value: int) -> str:
    flags: IntFlag = MemoryFlags(value & 31)
    return "|".join(flag.name.lower() for flag in MemoryFlags if flag & flags and flag.name) or "none"


def _digest(blob: Blob) -> str:
    data = blob.data if isinstance(blob.data, bytes | memoryview) else bytes(blob.data)
    return hashlib.sha256(data).hexdigest()[:12]


def _tensor(tensor: TensorDesc) -> str:
    strides = [getattr(tensor, f"stride_{axis}") for axis in range(8)]
    while strides and not strides[-1]:
        strides.pop()
    return (
        f"tensor {tensor.id} '{tensor.name}' memory {tensor.mem_id} + {tensor.offset:#x}, "
        f"{tensor.size} bytes: {name_of(DataType, tensor.data_type)} "
        f"{tensor.n}x{tensor.c}x{tensor.h}x{tensor.w} "
        f"{name_of(DataCategory, tensor.data_category)} {name_of(DataFormat, tensor.data_format)} "
        f"{name_of(PixelFormat, tensor.pixel_format)} strides {' '.join(map(str, strides))}"
    )


def _memory(loadable: Loadable, memory: MemoryEntry) -> Iterator[str]:
    bound = ""
    if memory.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT):
        bound = f" bind {memory.bind_id} tensor {memory.tensor_desc_id}"
    yield (
        f"memory {memory.id} {name_of(MemoryDomain, memory.domain)} {memory.size} bytes "
        f"{_flags(memory.flags)}{bound}"
    )
    for name, offset in zip(memory.contents, memory.offsets, strict=False):
        blob = loadable.by_name.get(name)
        if blob is None:
            yield f"  + {offset:#x} '{name}' missing"
            continue
        digest = _digest(blob) if blob.interface == Interface.NONE else "described below"
        yield (
            f"  + {offset:#x} '{name}' {name_of(Interface, blob.interface)} {_version(blob.version)} "
            f"{blob.byte_size} bytes {digest}"
        )


def _location(addresses: tuple[Address, ...], index: int, offset: int) -> str:
    if not 0 <= index < len(addresses):
        return "-" if index == -1 else f"address {index} of {len(addresses)}"
    return f"memory {addresses[index].memory} + {addresses[index].offset + offset:#x}"


def _dla_task(task: DlaTask) -> Iterator[str]:
    yield f"task {task.id} dla interface {task.layout.value}"
    heads = (
        f"{OpType(slot).name.lower()} {head}" for slot, head in enumerate(task.network.op_head) if head != -1
    )
    yield f"  heads {', '.join(heads)}"
    for operation in task.operations:
        description = _describe(operation)
        yield f"  op {operation.index} {operation.engine.name.lower()}: {description.words}"
        yield f"    {_dependency(operation.dependency)}"
        yield from (f"    {line}" for line in _fields(operation, description.covered))
        yield from (f"    {line}" for line in _surface(operation.surface, task))
    for index, lut in enumerate(task.luts):
        yield f"  lut {index}"
        yield from (f"    {line}" for line in _lut(lut))


def _dependency(entry: CommonOpDesc) -> str:
    """
    `waits for 2 events; completed: conv 4; programmed: sdp 3; enabled: parent 1`: the consumers by event.
    """
    wakes: dict[int, list[str]] = {}
    for slot, consumer in enumerate(entry.consumers):
        if consumer.index != -1:
            wakes.setdefault(consumer.event, []).append(f"{OpType(slot).name.lower()} {consumer.index}")
    parent = entry.fused_parent
    if parent.index != -1:
        wakes.setdefault(parent.event, []).append(f"parent {parent.index}")
    count = entry.dependency_count
    covered = [f"waits for {count} event{'' if count == 1 else 's'}"]
    for event, woken in sorted(wakes.items()):
        covered.append(f"{name_of(Event, event).removeprefix('op_')}: {', '.join(woken)}")
    return "; ".join(covered)


def _describe(operation: Operation) -> Description:
    match operation.op, operation.surface:
        case ConvOp() as op, ConvSurface() as surface:
            return describe_conv(op, surface)
        case SdpOp() as op, SdpSurface() as surface:
            return describe_sdp(op, surface.src_data)
        case PdpOp() as op, PdpSurface() as surface:
            return describe_pdp(op, surface)
        case CdpOp() as op, CdpSurface() as surface:
            return describe_cdp(op, surface.src_data)
        case RubikOp() as op, RubikSurface() as surface:
            return describe_rubik(op, surface)
        case _, BdmaSurface() as surface:
            count = surface.num_transfers
            return Description(f"{count} transfer{'' if count == 1 else 's'}", frozenset({"num_transfers"}))
        case _:
            return Description("")


def _fields(operation: Operation, covered: frozenset[str]) -> Iterator[str]:
    """Yield the fields of an operation that its description does not cover, and the SDP's stages."""
    op = operation.op
    if operation.engine is OpType.RUBIK:
        line = _line(op, leave=covered, names={"mode": RubikMode, "precision": Precision})
        yield from [line] if line else []
        return
    yield from _themes(op, covered)
    if isinstance(op, SdpOp):
        for name, stage in (("x1", op.x1_op), ("x2", op.x2_op), ("y", op.y_op)):
            if stage.enable:
                description = describe_stage(name, stage, op.src_precision, op.lut_index)
                rest = _line(stage, leave=description.covered)
                yield f"{name}: {description.words}" + (f"; {rest}" if rest else "")


def _surface(surface: Surface, task: DlaTask) -> Iterator[str]:
    if isinstance(surface, BdmaSurface):
        for transfer in surface.transfers[: surface.num_transfers]:
            source = _location(task.addresses, transfer.source_address, 0)
            destination = _location(task.addresses, transfer.destination_address, 0)
            rest = _line(transfer, leave=("source_address", "destination_address"))
            yield f"{source} to {destination}: {rest}"
        return
    for field in fields(surface):
        cube = getattr(surface, field.name)
        if not isinstance(cube, DataCube):
            if cube:
                yield f"{field.name} {cube}"
        elif cube.address != -1 or cube.width:
            yield f"{field.name:<11} {_cube(cube, task)}"


def _cube(cube: DataCube, task: DlaTask) -> str:
    location = _location(task.addresses, cube.address, cube.offset)
    if cube.type == MemoryType.HW:
        location = "on the fly"
    strides = {"line": cube.line_stride, "surf": cube.surf_stride, "plane": cube.plane_stride}
    covered = "".join(f" {name} {stride}" for name, stride in strides.items() if stride)
    return f"{location} {shape_of(cube)}{covered}" + (f", {cube.size} bytes" if cube.size else "")


def _themes(record: Record, covered: Collection[str] = ()) -> Iterator[str]:
    """Yield the fields of a record except those covered already, one theme per line."""
    every = tuple(field.name for field in fields(record))
    for theme in THEMES.get(type(record), (every,)):
        line = _line(record, leave=[name for name in every if name not in theme or name in covered])
        if line:
            yield line


def _line(
    record: Record, *, leave: Collection[str] = (), names: dict[str, type[IntEnum]] | None = None
) -> str:
    """Return the fields of a record that differ from the defaults, and all enumerations."""
    names = _NAMES if names is None else names
    default = type(record)()
    parts: list[str] = []
    for field in fields(record):
        value = getattr(record, field.name)
        named = field.name in names
        if (
            _is_off(record, field.name)
            or field.name in leave
            or (value == getattr(default, field.name) and not named)
        ):
            continue
        parts.append(f"{field.name} {name_of(names[field.name], value) if named else _value(value)}")
    return ", ".join(parts)


def _is_off(record: Record, field: str) -> bool:
    """Whether a field is a disabled converter; output converters apply whatever `enable` says."""
    return (
        isinstance(record, ConvOp | SdpSubOp)
        and field in ("in_cvt", "alu_cvt", "mul_cvt")
        and not getattr(record, field).enable
    )


def _value(value: Any) -> str:
    if isinstance(value, CvtParam):
        return describe_converter(value)
    if isinstance(value, LutSlope):
        return f"{value.scale} >> {value.shifter}"
    if isinstance(value, int) and value >= 1 << 31:
        return hex(value)
    if isinstance(value, Consumer | SdpSubOp):
        return f"[{_line(value)}]"
    return str(value)


def _lut(lut: LutParam) -> Iterator[str]:
    for name, table in (("le", lut.linear_exp_table), ("lo", lut.linear_only_table)):
        digest = hashlib.sha256(repr(table).encode()).hexdigest()[:12]
        yield f"{name} {table[0]} to {table[-1]}, {len(table)} entries {digest}"
    yield from _themes(lut)


def _emu_task(task: EmuTask) -> Iterator[str]:
    yield f"task {task.id} emulator"
    for operation in task.operations:
        op = operation.op
        if op.op_type == EmuOpType.POWER:
            what = f"power ({op.shift} + {op.scale} x) ^ {op.power}"
        else:
            what = "softmax"
        yield f"  {what}, scales {op.input_scale} {op.output_scale}"
        for role, buffer in (("source", operation.source), ("destination", operation.destination)):
            yield f"    {role:<11} {_buffer(buffer, task)}"


def _buffer(buffer: EmuBufferDesc, task: EmuTask) -> str:
    return (
        f"{_location(task.addresses, buffer.address_index, buffer.address_index_offset)} "
        f"{name_of(EmuFormat, buffer.format)} {buffer.channel}x{buffer.height}x{buffer.width} "
        f"line {buffer.line_stride} surf {buffer.surf_stride}, {buffer.size} bytes"
    )
