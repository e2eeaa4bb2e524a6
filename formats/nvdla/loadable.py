"""
The contents of an NVDLA loadable as plain data (docs/internals/nvdla-hardware.md §1.1); see `reader` and
`writer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

from xonnc.formats.nvdla.enumerations import Interface

Version: TypeAlias = tuple[int, int, int]

SCHEMA_VERSION: Version = (0, 7, 0)
"""The schema version that is written."""


class Data(Protocol):
    """Bytes that may be produced while the file is written, so that weights are never held twice."""

    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...


@dataclass(frozen=True, kw_only=True)
class Blob:
    """Named bytes that are copied into memory objects when the file is loaded."""

    name: str
    data: memoryview | bytes | Data
    interface: int = 0
    sub_interface: int = 0
    version: Version = (0, 0, 0)
    size: int | None = None
    """Size of `data` that counts; `None` for all."""

    @property
    def byte_size(self) -> int:
        """Size that is copied."""
        return len(self.data) if self.size is None else self.size


@dataclass(frozen=True, kw_only=True)
class MemoryEntry:
    """A memory object: its size in bytes, what fills it, and as which input or output it is bound."""

    id: int
    domain: int = 0
    flags: int = 0
    size: int = 0
    alignment: int = 4096
    contents: tuple[str, ...] = ()
    offsets: tuple[int, ...] = ()
    bind_id: int = 0
    tensor_desc_id: int = 0


@dataclass(frozen=True, kw_only=True)
class AddressEntry:
    """An address in a memory object, in bytes."""

    id: int
    mem_id: int = 0
    offset: int = 0
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class EventEntry:
    """An event between tasks, which runtimes ignore."""

    id: int
    type: int = 0
    target: int = 0
    val: int = 0
    op: int = 0


@dataclass(frozen=True, kw_only=True)
class TaskEntry:
    """Work for one processor: `address_list` are ids of address entries, element 0 its network descriptor."""

    id: int
    interface: int = 0
    instance: int = -1
    address_list: tuple[int, ...] = ()
    pre_actions: tuple[int, ...] = ()
    post_actions: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SubmitEntry:
    """Tasks that run one after another; submits run in the order of the list."""

    id: int
    task_id: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TensorDesc:
    """A bound input or output: dimensions in elements, strides and size in bytes."""

    name: str
    id: int = 0
    mem_id: int = 0
    size: int = 0
    offset: int = 0
    data_format: int = 0
    data_type: int = 0
    data_category: int = 0
    pixel_format: int = 0
    pixel_mapping: int = 0
    n: int = 0
    c: int = 0
    h: int = 0
    w: int = 0
    stride_0: int = 0
    stride_1: int = 0
    stride_2: int = 0
    stride_3: int = 0
    stride_4: int = 0
    stride_5: int = 0
    stride_6: int = 0
    stride_7: int = 0


@dataclass(frozen=True, kw_only=True)
class RelocEntry:
    """A stride in a descriptor that follows a tensor's; xonnc writes none."""

    address_id: int = 0
    write_id: int = 0
    offset: int = 0
    interface: int = 0
    sub_interface: int = 0
    reloc_type: int = 0


@dataclass(frozen=True, kw_only=True)
class Loadable:
    """A whole file."""

    version: Version = SCHEMA_VERSION
    tasks: Sequence[TaskEntry] = ()
    memories: Sequence[MemoryEntry] = ()
    addresses: Sequence[AddressEntry] = ()
    events: Sequence[EventEntry] = ()
    blobs: Sequence[Blob] = ()
    tensors: Sequence[TensorDesc] = ()
    relocs: Sequence[RelocEntry] = ()
    submits: Sequence[SubmitEntry] = ()
    by_name: dict[str, Blob] = field(init=False, repr=False, compare=False, default_factory=dict[str, Blob])

    def __post_init__(self):
        self.by_name.update((blob.name, blob) for blob in self.blobs)

    @cached_property
    def descriptor_names(self) -> Sequence[str | None]:
        """The first blob with descriptors in each memory object, `None` where there is none."""
        described = {blob.name for blob in self.by_name.values() if blob.interface != Interface.NONE}
        return [next((name for name in one.contents if name in described), None) for one in self.memories]
