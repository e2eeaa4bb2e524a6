"""
Conversion of loadables to firmware interface 0.11, whose data cubes have no offset
(docs/internals/nvdla-hardware.md §1.7).

An offset in a memory object needs an address of its own there. New addresses are appended to those of a task,
so that all other indexes stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import EmuFormat, EmuOpType, Interface
from xonnc.formats.nvdla.loadable import AddressEntry, Blob, Data, Loadable, TaskEntry, Version
from xonnc.formats.nvdla.records import (
    DataCube,
    EmuBufferDesc,
    EmuOp,
    Layout,
    OldEmuBufferDesc,
    OldEmuOp,
    surface_bytes,
)
from xonnc.formats.nvdla.tasks import DlaTask, EmuTask, Surface, decode_tasks

DLA_VERSION: Version = (0, 11, 0)

FORMATS = {EmuFormat.INT8: 0, EmuFormat.INT16: 1, EmuFormat.FF16: 2}
"""Buffer formats of the CPU emulator, and their numbers in interface 0.11."""


def to_interface_011(loadable: Loadable) -> Loadable:
    """
    Convert a loadable to firmware interface 0.11.

    Raises `XonncError` for operations that the CPU emulator of that version lacks.
    """
    return _Interface011Writer(loadable).loadable()


class _Interface011Writer:
    def __init__(self, loadable: Loadable):
        self._from = loadable
        self._addresses = list(loadable.addresses)
        self._ids: dict[tuple[int, int], int] = {}
        """New addresses by an old one and the bytes after it."""
        self._data: dict[str, Data] = {}
        """New contents of blobs by name."""

    def loadable(self) -> Loadable:
        """The whole file."""
        decoded = decode_tasks(self._from)
        tasks = [self._task(entry, task) for entry, task in zip(self._from.tasks, decoded, strict=True)]
        return replace(
            self._from,
            tasks=tuple(tasks),
            addresses=tuple(self._addresses),
            blobs=tuple(map(self._blob, self._from.blobs)),
        )

    def _blob(self, blob: Blob) -> Blob:
        data = self._data.get(blob.name, blob.data)
        version = DLA_VERSION if blob.interface == Interface.DLA1 else blob.version
        return replace(blob, data=data, version=version)

    def _task(self, entry: TaskEntry, task: DlaTask | EmuTask) -> TaskEntry:
        numbers = list(entry.address_list)
        if isinstance(task, EmuTask):
            self._write(entry, task.network.operation_desc_index, b"".join(self._emu_ops(task)))
            buffers = b"".join(self._emu_buffers(task, numbers))
            self._write(entry, task.network.operation_buffer_desc_index, buffers)
        else:
            size = surface_bytes(Layout.CUBES_28)
            surfaces = [self._moved(operation.surface, numbers) for operation in task.operations]
            packed = b"".join(each.pack(Layout.CUBES_28).ljust(size, b"\0") for each in surfaces)
            self._write(entry, task.network.surface_desc_index, packed)
            self._write(entry, 0, replace(task.network, num_addresses=len(numbers)).pack())
        return replace(entry, address_list=tuple(numbers))

    def _write(self, entry: TaskEntry, index: int, data: bytes) -> None:
        """Replace the contents of the only blob at an address of a task, which no other task reads."""
        memory = self._from.memories[self._from.addresses[entry.address_list[index]].mem_id]
        (name,) = memory.contents
        self._data[name] = data

    def _moved(self, surface: Surface, numbers: list[int]) -> Surface:
        cubes = {field.name: getattr(surface, field.name) for field in fields(surface)}
        changed = {
            name: replace(cube, address=self._address(cube.address, cube.offset, numbers), offset=0)
            for name, cube in cubes.items()
            if isinstance(cube, DataCube) and cube.address >= 0 and cube.offset
        }
        return replace(surface, **changed)

    def _address(self, index: int, offset: int, numbers: list[int]) -> int:
        """Return the index in a task's address list of `offset` bytes after another address."""
        key = numbers[index], offset
        if key not in self._ids:
            base = self._addresses[numbers[index]]
            self._ids[key] = len(self._addresses)
            self._addresses.append(
                AddressEntry(
                    id=len(self._addresses),
                    mem_id=base.mem_id,
                    offset=base.offset + offset,
                    size=max(base.size - offset, 0),
                )
            )
        number = self._ids[key]
        if number not in numbers:
            numbers.append(number)
        return numbers.index(number)

    def _emu_ops(self, task: EmuTask) -> Iterator[bytes]:
        for operation in task.operations:
            op: EmuOp = operation.op
            if (op.input_scale, op.output_scale) != (1.0, 1.0):
                what = "softmax" if op.op_type == EmuOpType.SOFTMAX else "power"
                raise XonncError(
                    f"{task.name}: a {what} of scaled integers; the CPU emulator supports these from "
                    "firmware interface 0.12; end the model before it"
                )
            yield OldEmuOp(op_type=op.op_type, power=op.power, scale=op.scale, shift=op.shift).pack()

    def _emu_buffers(self, task: EmuTask, numbers: list[int]) -> Iterator[bytes]:
        for operation in task.operations:
            for buffer in (operation.source, operation.destination):
                yield self._emu_buffer(task, buffer, numbers).pack()

    def _emu_buffer(self, task: EmuTask, buffer: EmuBufferDesc, numbers: list[int]) -> OldEmuBufferDesc:
        known = {int(now): then for now, then in FORMATS.items()}
        if buffer.format not in known:
            raise XonncError(
                f"{task.name}: a buffer of format {buffer.format}, which the CPU emulator does not know "
                "before firmware interface 0.12; end the model before it"
            )
        index = buffer.address_index
        if buffer.address_index_offset:
            index = self._address(index, buffer.address_index_offset, numbers)
        return OldEmuBufferDesc(
            address_index=index,
            size=buffer.size,
            format=known[buffer.format],
            width=buffer.width,
            height=buffer.height,
            channel=buffer.channel,
            line_stride=buffer.line_stride,
            surf_stride=buffer.surf_stride,
        )
