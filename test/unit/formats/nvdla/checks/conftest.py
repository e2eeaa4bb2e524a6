from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from xonnc.formats.nvdla.checks.loadable_check import check_loadable, findings
from xonnc.formats.nvdla.checks.problem import Violation
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.records import OP_BYTES, CommonOpDesc, EmuOp, LutParam, Record, surface_bytes
from xonnc.formats.nvdla.tasks import DlaTask, EmuTask, decode_tasks
from xonnc.targets import load_target

Edits: TypeAlias = Mapping[str, Any]


def replaced(value: Any, keys: list[str | int], new: Any) -> Any:
    """Return `value` with the field at path `keys` replaced; an index one past the end of a tuple appends."""
    if not keys:
        return new
    key, *rest = keys
    if isinstance(key, int):
        items: list[Any] = list(value)
        items[key : key + 1] = [replaced(items[key] if key < len(items) else None, rest, new)]
        return tuple(items)
    return replace(value, **{key: replaced(getattr(value, key), rest, new)})


def keys_of(path: str) -> list[str | int]:
    """Split a path: `op[0].in_cvt.scale` becomes ["op", 0, "in_cvt", "scale"]."""
    return [name or int(index) for name, index in re.findall(r"(\w+)|\[(\d+)\]", path.replace("[", ".["))]


def edited(loadable: Loadable, edits: Edits) -> Loadable:
    """
    Return a loadable with fields replaced.

    Paths that begin with `network`, `op[i]`, `surface[i]`, `graph[i]` or `lut[i]` refer to a DLA task, those
    with `emu_network`, `emu_op[i]`, `source[i]` or `destination[i]` to an emulator task: to the first of its
    kind, or to task n with the prefix `task[n].`. Other paths refer to the loadable.
    """
    for path, new in edits.items():
        keys = keys_of(path)
        expected = None
        if keys[0] == "task":
            expected, keys = keys[1], keys[2:]
        if keys[0] not in (*DLA_PARTS, *EMU_PARTS):
            loadable = replaced(loadable, keys, new)
            continue
        tasks = [task for task in decode_tasks(loadable) if expected in (None, task.id)]
        part, number = str(keys[0]), keys[1] if len(keys) > 1 and isinstance(keys[1], int) else 0
        if part in DLA_PARTS:
            task = next(task for task in tasks if isinstance(task, DlaTask))
            position, offset, record = _dla_part(task, part, number)
        else:
            task = next(task for task in tasks if isinstance(task, EmuTask))
            position, offset, record = _emu_part(task, part, number)
        rest = keys[2:] if len(keys) > 1 and isinstance(keys[1], int) else keys[1:]
        address = loadable.tasks[task.id].address_list[position]
        loadable = _stored(loadable, address, offset, replaced(record, rest, new))
    return loadable


DLA_PARTS = ("network", "op", "surface", "graph", "lut")
EMU_PARTS = ("emu_network", "emu_op", "source", "destination")


def _dla_part(task: DlaTask, kind: str, number: int) -> tuple[int, int, Record]:
    """Return a record of a DLA task: index of its array in the address list, byte offset there, record."""
    network = task.network
    parts: dict[str, tuple[int, int, Record]] = {"network": (0, 0, network)}
    if number < len(task.operations):
        operation = task.operations[number]
        graph_step, surface_step = CommonOpDesc.byte_size(), surface_bytes(task.layout)
        parts["op"] = (network.operation_desc_index, OP_BYTES * number, operation.op)
        parts["surface"] = (network.surface_desc_index, surface_step * number, operation.surface)
        parts["graph"] = (network.dependency_graph_index, graph_step * number, operation.dependency)
    if number < len(task.luts):
        parts["lut"] = (network.lut_data_index, LutParam.byte_size() * number, task.luts[number])
    return parts[kind]


def _emu_part(task: EmuTask, kind: str, number: int) -> tuple[int, int, Record]:
    network, operation = task.network, task.operations[number]
    buffers = network.operation_buffer_desc_index
    parts: dict[str, tuple[int, int, Record]] = {
        "emu_network": (0, 0, network),
        "emu_op": (network.operation_desc_index, EmuOp.byte_size() * number, operation.op),
        "source": (buffers, 512 * number, operation.source),
        "destination": (buffers, 512 * number + 256, operation.destination),
    }
    return parts[kind]


def _stored(loadable: Loadable, address: int, offset: int, record: Record) -> Loadable:
    """Return the loadable with `record` packed into the blob at an address, at a byte offset."""
    name = loadable.memories[loadable.addresses[address].mem_id].contents[0]
    packed = record.pack()

    def stored(data: bytes) -> bytes:
        return data[:offset] + packed + data[offset + len(packed) :]

    blobs = tuple(
        replace(blob, data=stored(bytes(blob.data))) if blob.name == name else blob for blob in loadable.blobs
    )
    return replace(loadable, blobs=blobs)


@pytest.fixture(scope="session")
def edited_vector(vector: Callable[[str], Loadable]) -> Callable[[str, Edits], Loadable]:
    """A golden vector with fields replaced."""
    return lambda name, edits: edited(vector(name), edits)


@pytest.fixture(scope="session")
def find_edited(vector: Callable[[str], Loadable]) -> Callable[[str, Edits], list[Violation]]:
    """Problems that the checks find in a golden vector with fields replaced, warnings included."""

    def find(name: str, edits: Edits) -> list[Violation]:
        return findings(edited(vector(name), edits), load_target(name.split("/")[0]))

    return find


@pytest.fixture(scope="session")
def check_edited(vector: Callable[[str], Loadable]) -> Callable[[str, Edits], list[Violation]]:
    """Problems that `check_loadable` reports in a golden vector with fields replaced."""

    def check(name: str, edits: Edits) -> list[Violation]:
        return check_loadable(edited(vector(name), edits), load_target(name.split("/")[0]))

    return check
