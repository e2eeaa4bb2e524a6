"""
Rules of the container: ids, bindings, contents, addresses, tasks (docs/internals/nvdla-hardware.md §1.2 to
§1.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from xonnc.formats.nvdla.checks.problem import Violation, apply, outside
from xonnc.formats.nvdla.enumerations import (
    DataCategory,
    DataType,
    Interface,
    MemoryDomain,
    MemoryFlags,
    PixelFormat,
)
from xonnc.formats.nvdla.geometry import ceil_div
from xonnc.formats.nvdla.loadable import AddressEntry, Blob, Loadable, MemoryEntry, TaskEntry, TensorDesc
from xonnc.formats.nvdla.pixels import PIXEL_LAYOUTS
from xonnc.formats.nvdla.tasks import layout_of
from xonnc.targets import NvdlaTarget

MAX_ADDRESSES = 6144
"""The driver's limit of addresses per task (§1.2)."""
_MAX_UINT32 = (1 << 32) - 1
ELEMENT_BYTES: dict[int, int] = {
    DataType.FLOAT: 4,
    DataType.HALF: 2,
    DataType.INT16: 2,
    DataType.INT8: 1,
    DataType.UINT8: 1,
    DataType.UINT16: 2,
}
"""Bytes of an element of a bound tensor, by data type."""
FEATURES = (PixelFormat.FEATURE, PixelFormat.FEATURE_X8)
"""Pixel formats of bound feature tensors."""
_BINDINGS = ((MemoryFlags.INPUT, "input"), (MemoryFlags.OUTPUT, "output"))


def container_problems(loadable: Loadable, target: NvdlaTarget) -> Iterator[Violation]:
    """Yield the problems of a file's lists, without decoding descriptors."""
    yield from apply(LOADABLE_RULES, "loadable", loadable)
    for index, blob in enumerate(loadable.blobs):
        yield from apply(BLOB_RULES, f"blob {index} '{blob.name}'", blob)
    for index, memory in enumerate(loadable.memories):
        yield from apply(MEMORY_RULES, f"memory {index}", memory, loadable, target)
    for index, address in enumerate(loadable.addresses):
        yield from apply(ADDRESS_RULES, f"address {index}", address, loadable)
    for index, tensor in enumerate(loadable.tensors):
        yield from apply(TENSOR_RULES, f"tensor {index} '{tensor.name}'", tensor, loadable, target)
    for index, task in enumerate(loadable.tasks):
        yield from apply(TASK_RULES, f"task {index}", task, loadable)


def lists_filled(loadable: Loadable) -> Iterator[str]:
    """There is at least one task, one memory and one submit entry."""
    for name, entries in (
        ("task", loadable.tasks),
        ("memory", loadable.memories),
        ("submit", loadable.submits),
    ):
        if not entries:
            yield f"no {name}; the runtime loads nothing without one"


def ids_are_indexes(loadable: Loadable) -> Iterator[str]:
    """Ids of memories, addresses, tensors and tasks equal their list indices."""
    lists: tuple[tuple[str, Sequence[MemoryEntry | AddressEntry | TensorDesc | TaskEntry]], ...] = (
        ("memory", loadable.memories),
        ("address", loadable.addresses),
        ("tensor", loadable.tensors),
        ("task", loadable.tasks),
    )
    for name, entries in lists:
        for index, entry in enumerate(entries):
            if entry.id != index:
                yield f"{name} {index} has id {entry.id}; an id is the index in the list, here {index}"


def bindings_count_from_zero(loadable: Loadable) -> Iterator[str]:
    """The bind ids of the inputs are 0, 1, 2, …, each once; so are those of the outputs."""
    for flag, name in _BINDINGS:
        bound = sorted(memory.bind_id for memory in loadable.memories if memory.flags & flag)
        if bound != list(range(len(bound))):
            yield f"{name} bind ids {bound}; they are {list(range(len(bound)))}, each once"


def blob_names_differ(loadable: Loadable) -> Iterator[str]:
    """Blob names are unique."""
    for name, count in Counter(blob.name for blob in loadable.blobs).items():
        if count > 1:
            yield f"{count} blobs are called '{name}'; contents are found by name, so names differ"


def tasks_are_submitted(loadable: Loadable) -> Iterator[str]:
    """Every submit entry refers to existing tasks, and every task is in a submit entry."""
    submitted = {index for submit in loadable.submits for index in submit.task_id}
    for index in sorted(submitted - set(range(len(loadable.tasks)))):
        yield f"a submit names task {index} of {len(loadable.tasks)}"
    for index in range(len(loadable.tasks)):
        if index not in submitted:
            yield f"task {index} is in no submit; it would never run"


def one_interface(loadable: Loadable) -> Iterator[str]:
    """All DLA blobs have the same interface version, hence the same cube layout (§1.7)."""
    versions = {blob.version for blob in loadable.blobs if blob.interface == Interface.DLA1}
    if len({layout_of(version) for version in versions}) > 1:
        shown = ", ".join(".".join(map(str, version)) for version in sorted(versions))
        yield f"DLA blobs of versions {shown}; a file is for firmware before 0.12 or since"


LOADABLE_RULES = (
    lists_filled,
    ids_are_indexes,
    bindings_count_from_zero,
    blob_names_differ,
    tasks_are_submitted,
    one_interface,
)


def blob_has_its_bytes(blob: Blob) -> Iterator[str]:
    """`size` does not exceed the blob's data; the runtime copies `size` bytes."""
    if blob.byte_size > len(blob.data):
        yield f"size {blob.byte_size}; it holds {len(blob.data)} bytes"


def blob_interface_known(blob: Blob) -> Iterator[str]:
    """`interface` is 0 (data), 1 (DLA) or 2 (CPU emulator)."""
    if blob.interface not in list(Interface):
        yield f"interface {blob.interface}; it is 0 (data), 1 (DLA) or 2 (CPU emulator)"


BLOB_RULES = (blob_has_its_bytes, blob_interface_known)


def memory_is_allocated(memory: MemoryEntry, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """
    A memory is in DRAM, or in the on-chip memory of a target that has one; it is allocated by the runtime or
    bound by the application.
    """
    if memory.domain == MemoryDomain.SRAM and target.cvsram_bytes:
        if memory.size > target.cvsram_bytes:
            yield f"size {memory.size}; the on-chip memory of {target.name} has {target.cvsram_bytes}"
    elif memory.domain != MemoryDomain.SYSTEM:
        yield f"domain {memory.domain}; the runtime allocates domain 0 (DRAM) only"
    if not memory.flags & (MemoryFlags.ALLOC | MemoryFlags.INPUT | MemoryFlags.OUTPUT):
        yield f"flags {memory.flags}: neither ALLOC nor bound; a task would get no memory"


def memory_size_fits(memory: MemoryEntry, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """The size of a memory is above 0 and fits 32 bits."""
    yield from outside("size", memory.size, 1, _MAX_UINT32)


def contents_are_complete(memory: MemoryEntry, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """Every content entry has an offset and a blob; contents require the flag SET."""
    if len(memory.contents) != len(memory.offsets):
        yield f"{len(memory.contents)} contents at {len(memory.offsets)} offsets; each content has one"
    if memory.contents and not memory.flags & MemoryFlags.SET:
        yield f"flags {memory.flags} without SET; its contents would never be copied"
    for name in memory.contents:
        if name not in loadable.by_name:
            yield f"content '{name}'; there is no blob of that name"


def contents_fit(memory: MemoryEntry, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """Contents are inside the memory and do not overlap."""
    spans: list[tuple[int, int, str]] = []
    for name, offset in zip(memory.contents, memory.offsets, strict=False):
        blob = loadable.by_name.get(name)
        if blob is None:
            continue
        end = offset + blob.byte_size
        spans.append((offset, end, name))
        if end > memory.size:
            yield f"content '{name}' reaches byte {end}; the memory has {memory.size}"
    for (_, end, first), (begin, _, second) in pairwise(sorted(spans)):
        if begin < end:
            yield f"content '{second}' at {begin} overlaps '{first}', which ends at {end}"


def bound_memory_has_a_tensor(memory: MemoryEntry, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """A bound memory has a tensor descriptor; the application allocates the tensor's size."""
    if not memory.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT):
        return
    if memory.tensor_desc_id >= len(loadable.tensors):
        yield f"tensor_desc_id {memory.tensor_desc_id}; there are {len(loadable.tensors)} tensors"
        return
    tensor = loadable.tensors[memory.tensor_desc_id]
    if tensor.size < memory.size:
        yield f"size {memory.size}; its tensor '{tensor.name}' has {tensor.size}, and that is allocated"


MEMORY_RULES = (
    memory_is_allocated,
    memory_size_fits,
    contents_are_complete,
    contents_fit,
    bound_memory_has_a_tensor,
)


def address_is_in_memory(address: AddressEntry, loadable: Loadable) -> Iterator[str]:
    """The memory id of an address exists, and its offset fits 32 bits."""
    if address.mem_id >= len(loadable.memories):
        yield f"mem_id {address.mem_id}; there are {len(loadable.memories)} memories"
        return
    size = loadable.memories[address.mem_id].size
    yield from outside("offset", address.offset, 0, _MAX_UINT32)
    if size and address.offset >= size:
        yield f"offset {address.offset}; memory {address.mem_id} has {size} bytes"


ADDRESS_RULES = (address_is_in_memory,)


def tensor_is_in_memory(tensor: TensorDesc, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """A tensor descriptor refers to a memory that is bound to it."""
    if tensor.mem_id >= len(loadable.memories):
        yield f"mem_id {tensor.mem_id}; there are {len(loadable.memories)} memories"
        return
    memory = loadable.memories[tensor.mem_id]
    if not memory.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT):
        yield f"mem_id {tensor.mem_id}; that memory is neither input nor output"
    elif memory.tensor_desc_id != tensor.id:
        yield f"mem_id {tensor.mem_id}; that memory belongs to tensor {memory.tensor_desc_id}"


def tensor_has_a_shape(tensor: TensorDesc, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """
    The dimensions of a tensor are at least 1, and its extent by dimensions and strides is within its
    size.
    """
    dimensions = (tensor.n, tensor.c, tensor.h, tensor.w)
    if min(dimensions) < 1:
        yield f"dimensions n, c, h, w {dimensions}; each is 1 or more"
    elif tensor.offset + tensor.h * tensor.stride_1 > tensor.size:
        yield f"{tensor.h} lines of {tensor.stride_1} bytes at {tensor.offset}; its size is {tensor.size}"


def tensor_strides_agree(tensor: TensorDesc, loadable: Loadable, target: NvdlaTarget) -> Iterator[str]:
    """
    Strides 0, 1 and 2 are the bytes of an element, a line and a surface (or a plane, for planar
    formats); all surfaces are within the size.
    """
    element = ELEMENT_BYTES.get(tensor.data_type)
    if element is None:
        yield f"data_type {tensor.data_type}; it is 1 to {max(ELEMENT_BYTES)}"
        return
    yield from outside("stride_0", tensor.stride_0, element, element)
    if tensor.pixel_format in PIXEL_LAYOUTS:
        line = tensor.w * PIXEL_LAYOUTS[tensor.pixel_format].plane_bytes[0]
        if tensor.stride_1 < line:
            yield f"stride_1 {tensor.stride_1}; a line of {tensor.w} pixels has {line} bytes"
        elif tensor.offset + tensor.n * tensor.h * tensor.stride_1 > tensor.size:
            lines = f"{tensor.n} x {tensor.h} lines of {tensor.stride_1} bytes at {tensor.offset}"
            yield f"{lines}; its size is {tensor.size}"
        return
    if tensor.pixel_format not in FEATURES:
        yield f"pixel_format {tensor.pixel_format}; it is 0 to {PixelFormat.FEATURE_X8}"
        return
    yield from outside("stride_1", tensor.stride_1, tensor.w * element, _MAX_UINT32)
    if tensor.stride_2 < tensor.h * tensor.stride_1:
        yield f"stride_2 {tensor.stride_2}; {tensor.h} lines of {tensor.stride_1} bytes take more"
    # Lines too short for atoms hold the elements of one channel, as the Rubik engine's split writes them.
    atom = atom_bytes(tensor, target)
    is_planar = tensor.data_category == DataCategory.PLANAR or tensor.stride_1 < tensor.w * atom
    surfaces = tensor.c if is_planar else ceil_div(tensor.c * element, atom)
    if tensor.offset + tensor.n * surfaces * tensor.stride_2 > tensor.size:
        what = "planes" if is_planar else "surfaces"
        yield (
            f"{tensor.n} x {surfaces} {what} of {tensor.stride_2} bytes at {tensor.offset}; "
            f"its size is {tensor.size}"
        )


def atom_bytes(tensor: TensorDesc, target: NvdlaTarget) -> int:
    """
    Return the bytes of an atom of a bound feature tensor, 0 for other tensors.

    16-byte atoms have no format of their own (§1.1) and use that of 32 bytes.
    """
    match tensor.pixel_format:
        case PixelFormat.FEATURE_X8:
            return 8
        case PixelFormat.FEATURE:
            return 16 if target.memory_atom_bytes == 16 else 32
        case _:
            return 0


TENSOR_RULES = (tensor_is_in_memory, tensor_has_a_shape, tensor_strides_agree)


def task_goes_to_a_processor(task: TaskEntry, loadable: Loadable) -> Iterator[str]:
    """`interface` is the accelerator or the CPU emulator; `instance` is 0 or "any"."""
    if task.interface not in (Interface.DLA1, Interface.EMU1):
        yield f"interface {task.interface}; it is 1 (DLA) or 2 (CPU emulator)"
    if task.instance not in (-1, 0):
        yield f"instance {task.instance}; it is -1 (any) or 0"


def task_addresses_exist(task: TaskEntry, loadable: Loadable) -> Iterator[str]:
    """The address list has existing addresses, at most 6144; element 0 is the network descriptor."""
    yield from outside("addresses", len(task.address_list), 1, MAX_ADDRESSES)
    for index in sorted(set(task.address_list)):
        if index >= len(loadable.addresses):
            yield f"address {index}; there are {len(loadable.addresses)}"


TASK_RULES = (task_goes_to_a_processor, task_addresses_exist)
