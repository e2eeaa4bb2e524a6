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
from xonnc.formats.nvdla.interval_map import IntervalMap
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


@dataclass(eq=False)
class WrittenRange:
    """The bytes that one writer left in a memory object."""

    number: int
    writer: str
    written: ByteSet
    is_read: bool
    live: int = field(init=False)
    """The number of bytes that are not overwritten yet."""
    overwritten_by: str = ""

    def __post_init__(self):
        self.live = len(self.written)


@dataclass
class MemoryObject:
    """The contents of a memory object: its writers in order, and the last writer of each byte."""

    writers: list[WrittenRange] = field(default_factory=list[WrittenRange])
    last: IntervalMap[WrittenRange] = field(default_factory=IntervalMap[WrittenRange])

    @property
    def live(self) -> list[WrittenRange]:
        """The writers with bytes that are not overwritten."""
        return [writer for writer in self.writers if writer.live]

    def found(self, asked: ByteSet) -> dict[WrittenRange | None, int]:
        """Return how many of the bytes are the last ones of each writer, and how many of none."""
        counts: dict[WrittenRange | None, int] = {}
        for begin, end in asked.ranges():
            for interval in self.last.intervals(begin, end):
                counts[interval.value] = counts.get(interval.value, 0) + interval.end - interval.begin
        return counts

    def write(self, writer: str, written: ByteSet, is_read: bool) -> None:
        """Set the bytes of a writer."""
        self.writers.append(WrittenRange(len(self.writers), writer, written, is_read))
        self.last.set_all(written.ranges(), self.writers[-1])


@dataclass
class MemoryContents:
    """Symbolic contents of all memory objects while operations run in the order that events enforce."""

    loadable: Loadable
    target: NvdlaTarget
    problems: list[Violation] = field(default_factory=list[Violation])
    _contents: dict[int, MemoryObject] = field(default_factory=dict[int, MemoryObject])

    def __post_init__(self):
        for index, memory in enumerate(self.loadable.memories):
            if given := self._given_bytes(memory):
                self._object(index).write(_given(memory), given, is_read=True)

    def _object(self, index: int) -> MemoryObject:
        return self._contents.setdefault(index, MemoryObject())

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

    def read(self, location: str, access: Access, addresses: tuple[Address, ...]) -> None:
        """Apply a read: all of it must have been written, and no part overwritten since."""
        region = access.region(addresses)
        if region is None or access.is_padding:
            return
        requested = ByteSet.of(region)
        found = self._object(region.memory).found(requested)
        missing = found.pop(None, 0)
        for writer in sorted((each for each in found if each), key=lambda each: each.number):
            writer.is_read = True
            self._find_damage(location, access, writer, requested, found[writer])
        if missing:
            first = self._first_missing(region.memory, requested)
            self._find(
                location,
                "written-before-read",
                f"{access.field} in memory {region.memory} from byte {first} ({missing} bytes) "
                "is read, but nothing has written it",
            )

    def _first_missing(self, memory: int, requested: ByteSet) -> int:
        """Return the first byte of a set that nothing has written."""
        last = self._object(memory).last
        return next(
            interval.begin
            for begin, end in requested.ranges()
            for interval in last.intervals(begin, end)
            if interval.value is None
        )

    def _find_damage(
        self, location: str, access: Access, content: WrittenRange, requested: ByteSet, live: int
    ) -> None:
        """Report if part of what a reader needs of a writer has been overwritten; `live` bytes are not."""
        if content.overwritten_by and live < (needed := len(content.written & requested)):
            self._find(
                location,
                "live-data-kept",
                f"{access.field} holds what {content.writer} wrote, of which {content.overwritten_by} has "
                f"overwritten {needed - live} of {needed} bytes; the two need memory of their own",
            )

    def write(self, location: str, access: Access, addresses: tuple[Address, ...]) -> None:
        """Apply a write: it must not overwrite constants, inputs, or data that is not read yet."""
        region = access.region(addresses)
        if region is None:
            return
        memory = self.loadable.memories[region.memory]
        if memory.flags & (MemoryFlags.INPUT | MemoryFlags.SET):
            self._find(
                location,
                "given-data-kept",
                f"{access.field} writes to memory {region.memory}, {_given(memory)}; a second run would not "
                "find what the first did",
            )
        written = ByteSet.of(region)
        contents = self._object(region.memory)
        found = contents.found(written)
        for writer in sorted((each for each in found if each), key=lambda each: each.number):
            writer.live -= found[writer]
            writer.overwritten_by = location
            if not writer.live and not writer.is_read:
                self._find(
                    location,
                    "results-are-read",
                    f"overwrites all that {writer.writer} wrote before anybody reads it",
                )
        contents.write(location, written, access.is_padding)

    def ends(self) -> Iterator[Violation]:
        """Yield, after the last task, results that are never read and outputs that are not written."""
        for index, memory in enumerate(self.loadable.memories):
            if memory.flags & MemoryFlags.OUTPUT:
                yield from self._unwritten(index, memory)
                continue
            for content in self._object(index).live:
                if not content.is_read:
                    reason = (
                        f"what it writes to memory {index} from byte {content.written.first} is read by none"
                    )
                    yield Violation(content.writer, "results-are-read", reason)

    def _unwritten(self, index: int, memory: MemoryEntry) -> Iterator[Violation]:
        """Yield an output that nothing writes, or its missing elements."""
        contents = self._object(index).live
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

    def _find(self, location: str, rule: str, reason: str) -> None:
        self.problems.append(Violation(location, rule, reason))


def _elements(tensor: TensorDesc, target: NvdlaTarget) -> ByteSet:
    """Return the bytes of a bound cube's elements; none for other tensors."""
    element = ELEMENT_BYTES.get(tensor.data_type, 1)
    atom = atom_bytes(tensor, target)
    if not atom or tensor.stride_1 < tensor.w * atom:
        return ByteSet.none()
    height = Repetition(tensor.h, tensor.stride_1, "stride_1")
    images = Repetition(tensor.n, tensor.size // max(tensor.n, 1), "batch_stride")
    full, lanes = divmod(tensor.c * element, atom)
    result = ByteSet.none()
    if full:
        surfaces = Repetition(full, tensor.stride_2, "stride_2")
        result = ByteSet.of(Region(0, tensor.offset, tensor.w * atom, (height, surfaces, images)))
    if lanes:
        last = tensor.offset + full * tensor.stride_2
        result = result | ByteSet.of(
            Region(0, last, lanes, (Repetition(tensor.w, atom, "atom"), height, images))
        )
    return result


def _given(memory: MemoryEntry) -> str:
    if memory.flags & MemoryFlags.INPUT:
        return f"input {memory.bind_id}"
    return f"the constants '{memory.contents[0]}'" if memory.contents else "constants"
