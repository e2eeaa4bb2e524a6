"""
The bytes that each operation reads and writes, from its descriptors (docs/internals/nvdla-hardware.md §3.2 to
§3.5, §4.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.byte_regions import Region, Repetition
from xonnc.formats.nvdla.enumerations import (
    EmuFormat,
    EmuOpType,
    MemoryType,
    PixelFormat,
    Precision,
    RubikMode,
    SdpMode,
    SdpOpType,
    WeightFormat,
)
from xonnc.formats.nvdla.pixels import PIXEL_LAYOUTS
from xonnc.formats.nvdla.records import (
    BdmaOp,
    BdmaSurface,
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    DataCube,
    EmuBufferDesc,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)
from xonnc.formats.nvdla.task_graph import fetches
from xonnc.formats.nvdla.tasks import Address, EmuOperation, Operation
from xonnc.targets import NvdlaTarget

_SINGLE = Repetition(1, 0, "batch_stride")
_RUBIK_UNIT = 32
"""The Rubik engine writes rows of planes in units of this many bytes (§4.6)."""


@dataclass(frozen=True)
class Access:
    """Bytes that an operation reads or writes: runs of `run` bytes at an address, repeated by `steps`."""

    field: str
    address: int
    offset: int
    run: int
    steps: tuple[Repetition, ...]
    writes: bool
    is_padding: bool = False
    """Whether the bytes are accessed but undefined."""
    on_chip: bool = False
    """Whether the engine uses its interface to the on-chip memory."""

    def region(self, addresses: tuple[Address, ...]) -> Region | None:
        """Return the bytes in memory, `None` if the address does not exist."""
        if not 0 <= self.address < len(addresses):
            return None
        address = addresses[self.address]
        return Region(address.memory, address.offset + self.offset, self.run, self.steps)


def accesses(operation: Operation, target: NvdlaTarget) -> list[Access]:
    """
    Return the accesses of one operation of a DLA task, in the order of its cubes.

    Fields with undefined values, such as an unknown precision, give no access; the checks reject them.
    """
    return [access for access in _accesses(operation, target) if access.run > 0 and _counted(access)]


def _counted(access: Access) -> bool:
    return all(step.times > 0 for step in access.steps)


def _accesses(operation: Operation, target: NvdlaTarget) -> Iterator[Access]:
    match operation.op, operation.surface:
        case ConvOp() as op, ConvSurface() as surface:
            return _conv(op, surface, target)
        case SdpOp() as op, SdpSurface() as surface:
            return _sdp(op, surface, target)
        case PdpOp() as op, PdpSurface() as surface:
            return _pair(surface, precision_of(op.precision), target)
        case CdpOp() as op, CdpSurface() as surface:
            return _pair(surface, precision_of(op.in_precision), target)
        case RubikOp() as op, RubikSurface() as surface:
            return _rubik(op, surface, target)
        case BdmaOp() as op, BdmaSurface() as surface:
            return _bdma(surface)
        case _:
            return iter(())


def precision_of(value: int) -> Precision | None:
    """Return the precision with this number, `None` if there is none."""
    return Precision(value) if value in list(Precision) else None


def _lines(height: int, cube: DataCube | EmuBufferDesc, surfaces: int) -> tuple[Repetition, Repetition]:
    """Return the repetitions of lines and surfaces of a cube."""
    return Repetition(height, cube.line_stride, "line_stride"), Repetition(
        surfaces, cube.surf_stride, "surf_stride"
    )


def _feature(
    target: NvdlaTarget,
    field: str,
    cube: DataCube,
    precision: Precision | None,
    *,
    writes: bool,
    shape: DataCube | None = None,
    even: bool = False,
    batch: Repetition = _SINGLE,
) -> Iterator[Access]:
    """
    Yield the accesses of a feature cube with its own strides; `shape` provides the size if it is another
    cube's.
    """
    if cube.type == MemoryType.HW or precision is None:
        return
    shape = shape or cube
    surfaces = geometry.surfaces(target, precision, shape.channel)
    run = shape.width * target.memory_atom_bytes
    on_chip = cube.type == MemoryType.CV
    steps = _lines(shape.height, cube, surfaces)
    yield Access(field, cube.address, cube.offset, run, (*steps, batch), writes, on_chip=on_chip)
    if even and surfaces % 2:
        odd = cube.offset + surfaces * cube.surf_stride
        steps = _lines(shape.height, cube, 1)
        yield Access(field, cube.address, odd, run, (*steps, batch), writes, True, on_chip)


def _conv(op: ConvOp, surface: ConvSurface, target: NvdlaTarget) -> Iterator[Access]:
    batch = Repetition(op.batch, op.batch_stride, "batch_stride")
    if op.data_format == PixelFormat.FEATURE:
        precision = precision_of(op.in_precision)
        yield from _feature(target, "src_data", surface.src_data, precision, writes=False, batch=batch)
    else:
        yield from _image(op, surface)
    yield _plain("weight_data", surface.weight_data)
    if op.weight_format == WeightFormat.COMPRESSED:
        yield _plain("wmb_data", surface.wmb_data)
        yield _plain("wgs_data", surface.wgs_data)


def _plain(field: str, cube: DataCube) -> Access:
    return Access(
        field, cube.address, cube.offset, cube.size, (), writes=False, on_chip=cube.type == MemoryType.CV
    )


def _image(op: ConvOp, surface: ConvSurface) -> Iterator[Access]:
    pixels = PIXEL_LAYOUTS.get(op.data_format)
    if pixels is None:
        return
    cube = surface.src_data
    on_chip = cube.type == MemoryType.CV
    for plane, size in enumerate(pixels.plane_bytes):
        line = Repetition(cube.height, cube.line_stride, "line_stride")
        chroma = Repetition(cube.height, surface.in_line_uv_stride, "in_line_uv_stride")
        offset = cube.offset + (surface.offset_u if plane else 0)
        steps = (chroma if plane else line,)
        yield Access("src_data", cube.address, offset, cube.width * size, steps, False, on_chip=on_chip)


def _sdp(op: SdpOp, surface: SdpSurface, target: NvdlaTarget) -> Iterator[Access]:
    shape = surface.src_data
    source, result = precision_of(op.src_precision), precision_of(op.dst_precision)
    batch = Repetition(op.batch_num, op.batch_stride, "batch_stride")
    # Between 8 and 16 bits, 16-bit surfaces are read and written in pairs (§3.5).
    converts = source is not result and Precision.INT8 in (source, result)
    yield from _feature(
        target, "src_data", shape, source, writes=False, even=converts and source is not Precision.INT8
    )
    for field, stage, cube in sdp_stages(op, surface):
        if source is not None:
            yield from _operand(target, field, stage, cube, shape, source)
    yield from _feature(
        target,
        "dst_data",
        surface.dst_data,
        result,
        writes=True,
        shape=shape,
        even=converts and result is not Precision.INT8,
        batch=batch,
    )


def sdp_stages(op: SdpOp, surface: SdpSurface) -> tuple[tuple[str, SdpSubOp, DataCube], ...]:
    """Return the cube names, stages and cubes of an SDP operation."""
    return (
        ("x1_data", op.x1_op, surface.x1_data),
        ("x2_data", op.x2_op, surface.x2_data),
        ("y_data", op.y_op, surface.y_data),
    )


def operand_bytes(target: NvdlaTarget, stage: SdpSubOp, source: Precision) -> int:
    """Return the bytes that a stage fetches at once: operands of one group of channels (§3.5)."""
    operands = 2 if stage.type == SdpOpType.BOTH else 1
    size = 1 if stage.precision == Precision.INT8 else 2
    return geometry.operand_group(target, source) * operands * size


def _operand(
    target: NvdlaTarget, field: str, stage: SdpSubOp, cube: DataCube, shape: DataCube, source: Precision
) -> Iterator[Access]:
    if not fetches(stage):
        return
    unit = operand_bytes(target, stage, source)
    on_chip = cube.type == MemoryType.CV
    groups = geometry.ceil_div(shape.channel, geometry.operand_group(target, source))
    if stage.mode == SdpMode.PER_KERNEL:
        size = geometry.round_up(groups * unit, target.memory_atom_bytes)
        yield Access(field, cube.address, cube.offset, size, (), False, on_chip=on_chip)
    else:
        steps = _lines(shape.height, cube, groups)
        yield Access(field, cube.address, cube.offset, shape.width * unit, steps, False, on_chip=on_chip)


def _pair(
    surface: PdpSurface | CdpSurface, precision: Precision | None, target: NvdlaTarget
) -> Iterator[Access]:
    yield from _feature(target, "src_data", surface.src_data, precision, writes=False)
    yield from _feature(target, "dst_data", surface.dst_data, precision, writes=True)


def _rubik(op: RubikOp, surface: RubikSurface, target: NvdlaTarget) -> Iterator[Access]:
    precision = precision_of(op.precision)
    if precision is None:
        return
    for field, cube, planar in (
        ("src_data", surface.src_data, op.mode == RubikMode.MERGE),
        ("dst_data", surface.dst_data, op.mode == RubikMode.SPLIT),
    ):
        writes = field == "dst_data"
        if planar:
            row = cube.width * precision.bytes
            run = geometry.round_up(row, _RUBIK_UNIT) if writes else row
            planes = Repetition(cube.channel, cube.plane_stride, "plane_stride")
            steps = (Repetition(cube.height, cube.line_stride, "line_stride"), planes)
            yield Access(
                field, cube.address, cube.offset, run, steps, writes, on_chip=cube.type == MemoryType.CV
            )
        else:
            yield from _feature(target, field, cube, precision, writes=writes)


def _bdma(surface: BdmaSurface) -> Iterator[Access]:
    for index, transfer in enumerate(surface.transfers[: surface.num_transfers]):
        lines, surfaces = transfer.line_repeat, transfer.surface_repeat
        yield Access(
            f"transfers[{index}].source",
            transfer.source_address,
            0,
            transfer.line_size,
            (
                Repetition(lines, transfer.source_line, "source_line"),
                Repetition(surfaces, transfer.source_surface, "source_surface"),
            ),
            writes=False,
            on_chip=surface.source_type == MemoryType.CV,
        )
        yield Access(
            f"transfers[{index}].destination",
            transfer.destination_address,
            0,
            transfer.line_size,
            (
                Repetition(lines, transfer.destination_line, "destination_line"),
                Repetition(surfaces, transfer.destination_surface, "destination_surface"),
            ),
            writes=True,
            on_chip=surface.destination_type == MemoryType.CV,
        )


EMU_ATOMS: dict[int, tuple[int, int]] = {
    EmuFormat.INT8: (32, 1),
    EmuFormat.INT8_8: (8, 1),
    EmuFormat.INT16: (32, 2),
    EmuFormat.FF16: (32, 2),
    EmuFormat.UINT8: (32, 1),
    EmuFormat.UINT16: (32, 2),
}
"""Bytes of an atom and of an element for each buffer format of the CPU emulator (§2.5)."""


def emu_accesses(operation: EmuOperation) -> list[Access]:
    """
    Return the accesses of an operation of the CPU emulator: elements, not whole atoms as the engines do, and
    a single pixel for a softmax (§2.5).
    """
    found: list[Access] = []
    for field, buffer in (("source", operation.source), ("destination", operation.destination)):
        if buffer.format in EMU_ATOMS:
            is_softmax = operation.op.op_type == EmuOpType.SOFTMAX
            writes = field == "destination"
            found += _emu_pixel(field, buffer, writes) if is_softmax else _emu_cube(field, buffer, writes)
    return [access for access in found if access.run > 0 and _counted(access)]


def _emu_pixel(field: str, buffer: EmuBufferDesc, writes: bool) -> Iterator[Access]:
    atom, element = EMU_ATOMS[buffer.format]
    address, begin, run = buffer.address_index, buffer.address_index_offset, buffer.channel * element
    yield Access(field, address, begin, run, (), writes)
    yield Access(field, address, begin + run, -run % atom, (), writes, is_padding=True)


def _emu_cube(field: str, buffer: EmuBufferDesc, writes: bool) -> Iterator[Access]:
    atom, element = EMU_ATOMS[buffer.format]
    address, begin = buffer.address_index, buffer.address_index_offset
    surfaces, lanes = divmod(buffer.channel * element, atom)
    yield Access(field, address, begin, buffer.width * atom, _lines(buffer.height, buffer, surfaces), writes)
    if lanes:
        last = begin + surfaces * buffer.surf_stride
        steps = (Repetition(buffer.width, atom, "atom"), *_lines(buffer.height, buffer, 1))
        yield Access(field, address, last, lanes, steps, writes)
        yield Access(field, address, last + lanes, atom - lanes, steps, writes, is_padding=True)
