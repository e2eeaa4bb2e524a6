"""
Data flow through memory over all tasks: writes before reads, live data, outputs
(docs/internals/nvdla-hardware.md §1.3, §1.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xonnc.formats.nvdla.accesses import Access
from xonnc.formats.nvdla.byte_regions import ByteSet, Region, Repetition
from xonnc.formats.nvdla.checks.container import ELEMENT_BYTES, atom_bytes
from xonnc.formats.nvdla.checks.problem import Violation
from xonnc.formats.nvdla.enumerations import MemoryFlags
from xonnc.formats.nvdla.loadable import Loadable, MemoryEntry, TensorDesc
from xonnc.formats.nvdla.tasks import Address
from xonnc.targets import NvdlaTarget

RULES = {
    "written-before-read": (
        "Bytes that are read were written by an earlier operation, are constants of the loadable, or are a "
        "bound input."
    ),
    "live-data-kept": "A result is not partly overwritten before its last reader has finished.",
    "given-data-kept": (
        "No operation writes to constants or inputs, so that a second run reads the same values."
    ),
    "results-are-read": "Every intermediate result is read before it is overwritten or the network ends.",
    "outputs-are-written": "Every element of every output is written by some operation.",
}
"""Rules of the data flow."""


@dataclass
class WrittenRange:
    """The bytes that one writer left in a memory object."""

    writer: str
    written: ByteSet
    live: ByteSet
    """The bytes that are not overwritten yet."""
    is_read: bool
    overwritten_by: str = ""


@dataclass
class MemoryContents:
    """Symbolic contents of all memory objects while operations run in the order that events enforce."""

    loadable: Loadable
    target: NvdlaTarget
    problems: list[Violation] = field(default_factory=list[Violation])
    _contents: dict[int, list[WrittenRange]] = field(default_factory=dict[int, list[WrittenRange]])

    def __post_init__(self):
        for index, memory in enumerate(self.loadable.memories):
            given = self._given_bytes(memory)
            if given:
                self._contents[index] = [WrittenRange(_given(memory), given, given, is_read=True)]

    def _given_bytes(self, memory: MemoryEntry) -> ByteSet:
        """
        Return the bytes defined before anything runs: all of an input, of other memories those of blobs.
        """
        if memory.flags & MemoryFlags.INPUT:
            return ByteSet.range(0, memory.size)
        given = ByteSet.none()
        if memory.flags & MemoryFlags.SET:
            for name, offset in zip(memory.contents, memory.offsets, strict=True):
                given = given | ByteSet.range(offset, offset + self.loadable.by_name[name].byte_size)
        return given

    def read(self, place: str, access: Access, addresses: tuple[Address, ...]) -> None:
        """Apply a read: all of it must have been written, and no part overwritten since."""
        region = access.region(addresses)
        if region is None or access.is_padding:
            return
        wanted = ByteSet.of(region)
        found = [
            (content, content.written & wanted)
            for content in self._contents.get(region.memory, ())
            if _meet(content.written, wanted)
        ]
        missing = wanted
        for content, part in found:
            content.is_read = content.is_read or bool(content.live & wanted)
            missing = missing - (content.live & wanted)
            self._find_damage(place, access, content, part, wanted)
        if missing:
            self._find(
                place,
                "written-before-read",
                f"{access.field} in memory {region.memory} from byte {missing.first} ({len(missing)} bytes) "
                "is read, but nothing has written it",
            )

    def _find_damage(
        self, place: str, access: Access, content: WrittenRange, part: ByteSet, wanted: ByteSet
    ) -> None:
        """Report if part of a writer's data that a reader needs has been overwritten."""
        live = content.live & wanted
        if live and len(live) < len(part) and content.overwritten_by:
            self._find(
                place,
                "live-data-kept",
                f"{access.field} holds what {content.writer} wrote, of which {content.overwritten_by} has "
                f"overwritten {len(part) - len(live)} of {len(part)} bytes; the two need memory of their own",
            )

    def write(self, place: str, access: Access, addresses: tuple[Address, ...]) -> None:
        """Apply a write: it must not overwrite constants, inputs, or data that is not read yet."""
        region = access.region(addresses)
        if region is None:
            return
        memory = self.loadable.memories[region.memory]
        if memory.flags & (MemoryFlags.INPUT | MemoryFlags.SET):
            self._find(
                place,
                "given-data-kept",
                f"{access.field} writes to memory {region.memory}, {_given(memory)}; a second run would not "
                "find what the first did",
            )
        written = ByteSet.of(region)
        contents = self._contents.setdefault(region.memory, [])
        for content in contents:
            if _meet(content.live, written):
                self._overwrite(content, place, written)
        contents[:] = [content for content in contents if content.live]
        contents.append(WrittenRange(place, written, written, is_read=access.is_padding))

    def _overwrite(self, content: WrittenRange, place: str, written: ByteSet) -> None:
        left = content.live - written
        if len(left) == len(content.live):
            return
        content.live = left
        content.overwritten_by = place
        if not left and not content.is_read:
            self._find(
                place,
                "results-are-read",
                f"overwrites all that {content.writer} wrote before anybody reads it",
            )

    def ends(self) -> Iterator[Violation]:
        """Yield, after the last task, results that are never read and outputs that are not written."""
        for index, memory in enumerate(self.loadable.memories):
            if memory.flags & MemoryFlags.OUTPUT:
                yield from self._unwritten(index, memory)
                continue
            for content in self._contents.get(index, ()):
                if not content.is_read:
                    reason = (
                        f"what it writes to memory {index} from byte {content.written.first} is read by none"
                    )
                    yield Violation(content.writer, "results-are-read", reason)

    def _unwritten(self, index: int, memory: MemoryEntry) -> Iterator[Violation]:
        """Yield an output that nothing writes, or its missing elements."""
        contents = self._contents.get(index, ())
        missing = _elements(self.loadable.tensors[memory.tensor_desc_id], self.target)
        size = len(missing)
        for content in contents:
            missing = missing - content.written
        if not contents:
            reason = f"output {memory.bind_id}; no operation writes to it"
        elif missing:
            reason = (
                f"output {memory.bind_id} from byte {missing.first} ({len(missing)} of {size} bytes); no "
                "operation writes there"
            )
        else:
            return
        yield Violation(f"memory {index}", "outputs-are-written", reason)

    def _find(self, place: str, rule: str, reason: str) -> None:
        self.problems.append(Violation(place, rule, reason))


def _elements(tensor: TensorDesc, target: NvdlaTarget) -> ByteSet:
    """Return the bytes of a bound cube's elements; none for other tensors."""
    element = ELEMENT_BYTES.get(tensor.data_type, 1)
    atom = atom_bytes(tensor, target)
    if not atom or tensor.stride_1 < tensor.w * atom:
        return ByteSet.none()
    height = Repetition(tensor.h, tensor.stride_1, "stride_1")
    full, lanes = divmod(tensor.c * element, atom)
    result = ByteSet.none()
    if full:
        surfaces = Repetition(full, tensor.stride_2, "stride_2")
        result = ByteSet.of(Region(0, tensor.offset, tensor.w * atom, (height, surfaces)))
    if lanes:
        last = tensor.offset + full * tensor.stride_2
        result = result | ByteSet.of(Region(0, last, lanes, (Repetition(tensor.w, atom, "atom"), height)))
    return result


def _given(memory: MemoryEntry) -> str:
    if memory.flags & MemoryFlags.INPUT:
        return f"input {memory.bind_id}"
    return f"the constants '{memory.contents[0]}'" if memory.contents else "constants"


def _meet(first: ByteSet, second: ByteSet) -> bool:
    """Whether the ranges from first to last byte overlap."""
    if not (first and second):
        return False
    return bool(first.begins[0] < second.ends[-1] and second.begins[0] < first.ends[-1])
