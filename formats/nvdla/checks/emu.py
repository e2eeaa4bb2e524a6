"""Rules of the CPU emulator's tasks (docs/internals/nvdla-hardware.md §2.5, §7)."""

from __future__ import annotations

from collections.abc import Iterator

from xonnc.formats.nvdla.accesses import EMU_ATOMS
from xonnc.formats.nvdla.checks.problem import Violation, apply, outside
from xonnc.formats.nvdla.enumerations import EmuFormat, EmuOpType
from xonnc.formats.nvdla.tasks import EmuOperation, EmuTask
from xonnc.targets import NvdlaTarget

_FORMATS = {32: (EmuFormat.INT8, EmuFormat.FF16), 8: (EmuFormat.INT8_8,)}
"""Supported buffer formats of the emulator, by memory atom."""


def emu_problems(task: EmuTask, target: NvdlaTarget) -> Iterator[Violation]:
    """Yield the problems of an emulator task and its operation."""
    yield from apply((one_operation,), task.name, task)
    for index, operation in enumerate(task.operations):
        location = f"{task.name} operation {index} ({EmuOpType(operation.op.op_type).name})"
        yield from apply(EMU_RULES, location, operation, target)


def one_operation(task: EmuTask) -> Iterator[str]:
    """A task of the emulator has exactly one operation."""
    if len(task.operations) != 1:
        yield f"num_operations {len(task.operations)}; a task of the emulator has 1"


def emu_formats(operation: EmuOperation, target: NvdlaTarget) -> Iterator[str]:
    """Both buffers have the same format, in the cube layout of the target."""
    known = _FORMATS.get(target.memory_atom_bytes, ())
    source, destination = operation.source.format, operation.destination.format
    if source not in known:
        names = " or ".join(f"{number.value} ({number.name})" for number in known)
        yield f"source format {source}; on {target.name} it is {names or 'none'}"
    elif destination != source:
        yield f"destination format {destination}; it is that of the source, {source}"


def emu_sizes(operation: EmuOperation, target: NvdlaTarget) -> Iterator[str]:
    """Sizes are at least 1 and equal for source and destination."""
    for field in ("width", "height", "channel"):
        size: int = getattr(operation.source, field)
        if size < 1:
            yield f"source {field} {size}; it is 1 or more"
            continue
        yield from outside(f"destination {field}", getattr(operation.destination, field), size, size)


def surfaces_cover_lines(operation: EmuOperation, target: NvdlaTarget) -> Iterator[str]:
    """The surface stride is at least the size of a surface's lines."""
    for field, buffer in (("source", operation.source), ("destination", operation.destination)):
        if buffer.format not in EMU_ATOMS:
            continue
        atom, element = EMU_ATOMS[buffer.format]
        extent = max(0, buffer.height - 1) * buffer.line_stride + buffer.width * atom
        if buffer.channel * element > atom and buffer.surf_stride < extent:
            yield f"{field} surf_stride {buffer.surf_stride}; what it steps over has {extent} bytes"


def softmax_is_of_one_pixel(operation: EmuOperation, target: NvdlaTarget) -> Iterator[str]:
    """
    A softmax reads consecutive elements, as many as there are channels: its cube has one pixel, with a
    surface stride of one atom.
    """
    if operation.op.op_type != EmuOpType.SOFTMAX:
        return
    for field, buffer in (("source", operation.source), ("destination", operation.destination)):
        if buffer.width * buffer.height > 1:
            yield f"{field} {buffer.width}x{buffer.height}; the emulator takes one pixel"
        elif buffer.format in EMU_ATOMS:
            atom, element = EMU_ATOMS[buffer.format]
            if buffer.channel * element > atom:
                yield from outside(f"{field} surf_stride", buffer.surf_stride, atom, atom)


EMU_RULES = (emu_formats, emu_sizes, surfaces_cover_lines, softmax_is_of_one_pixel)
