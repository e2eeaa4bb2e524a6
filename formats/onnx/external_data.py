"""
External tensor data, read without leaving the model's folder.

A model names its data files, and a model may come from anywhere. A data file is opened relative to the
folder's file descriptor, one path component at a time, never through a symbolic link; it must be a regular
file with a single hard link, and the data must lie within it. Each rule closes a vulnerability of the
reference library: `..` and absolute paths (CVE-2022-25882, CVE-2024-27318), symbolic links in any component
(CVE-2026-27489, CVE-2026-34447), hard links and sizes (CVE-2026-34446).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from xonnc.errors import XonncError
from xonnc.formats.input_files import record_input
from xonnc.formats.onnx.memory_mapped_files import map_descriptor
from xonnc.formats.onnx.utf8_checks import check_names

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN_DATA = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: opening a named pipe must not block until a writer opens it."""


class Entry(Protocol):
    """A key and its value, as in `TensorProto.external_data`."""

    @property
    def key(self) -> str: ...

    @property
    def value(self) -> str: ...


@dataclass(frozen=True)
class ExternalDataReference:
    """Location, offset in bytes, and length in bytes (`None` if not given) of a tensor's external data."""

    location: str
    offset: int
    length: int | None


def parse_external_data(tensor: str, entries: Iterable[Entry]) -> ExternalDataReference:
    """Parse and validate the `external_data` of the tensor named `tensor`; unknown keys are ignored."""
    said = {entry.key: entry.value for entry in entries}
    try:
        check_names([*said, *said.values()])
    except XonncError as error:
        raise XonncError(f"tensor '{tensor}': external data: {error}") from error
    if not said.get("location"):
        raise XonncError(f"tensor '{tensor}': external data without a location; it names no file to read")
    offset = _size(tensor, "offset", said["offset"]) if "offset" in said else 0
    length = _size(tensor, "length", said["length"]) if "length" in said else None
    return ExternalDataReference(said["location"], offset, length)


@dataclass
class DataFolder:
    """The folder of a model; maps each of its data files once."""

    path: Path | None
    """`None` for a model read from a stream, which can have no external data."""

    _maps: dict[str, memoryview] = field(default_factory=dict[str, memoryview])

    def data(self, tensor: str, wanted: ExternalDataReference, size: int) -> memoryview:
        """
        Return the `size` bytes of a tensor as a view of the mapped file; raise `XonncError` for any
        violation.
        """
        place = f"tensor '{tensor}': external data '{wanted.location}'"
        if wanted.length is not None and wanted.length != size:
            raise XonncError(f"{place}: length {wanted.length}, but type and shape ask for {size} bytes")
        whole = self._maps.get(wanted.location)
        if whole is None:
            whole = self._maps[wanted.location] = self._map(place, wanted.location)
        if wanted.offset + size > len(whole):
            raise XonncError(
                f"{place}: bytes {wanted.offset} to {wanted.offset + size} of a file of {len(whole)} bytes; "
                "it is cut short, or belongs to another model"
            )
        return whole[wanted.offset : wanted.offset + size]

    def _map(self, place: str, location: str) -> memoryview:
        if self.path is None:
            raise XonncError(f"{place}: a model read from a stream has no folder; give its file name instead")
        parts = _components(place, location)
        try:
            folder = os.open(self.path, _OPEN_FOLDER)
        except OSError as error:
            raise XonncError(f"{place}: {self.path}: {error.strerror}") from error
        try:
            for part in parts[:-1]:
                inner = _open_at(place, part, _OPEN_FOLDER | os.O_NOFOLLOW, folder)
                os.close(folder)
                folder = inner
            descriptor = _open_at(place, parts[-1], _OPEN_DATA, folder)
        finally:
            os.close(folder)
        try:
            return _map_regular(place, descriptor)
        finally:
            os.close(descriptor)


def _map_regular(place: str, descriptor: int) -> memoryview:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise XonncError(f"{place} is not a regular file; only regular files are read")
    if status.st_nlink > 1:
        raise XonncError(f"{place} is a hard link ({status.st_nlink} names); copy it so that it has one name")
    record_input(descriptor)
    try:
        return map_descriptor(descriptor, status.st_size)
    except OSError as error:
        raise XonncError(f"{place}: cannot be mapped: {error.strerror}") from error


def _components(place: str, location: str) -> list[str]:
    """Split a relative path that stays below the folder into components."""
    if location.startswith("/"):
        raise XonncError(f"{place} is an absolute path; it must be in the model's folder")
    parts = [part for part in location.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise XonncError(f"{place} leads out of the model's folder by '..'; it must stay inside")
    if not parts or location.endswith("/"):
        raise XonncError(f"{place} names a folder; it must name a file")
    if "\0" in location:
        raise XonncError(f"{place!r} has a zero byte in it; it must be a file name")
    return parts


def _open_at(place: str, part: str, flags: int, folder: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if _is_link(part, folder):
            raise XonncError(
                f"{place} goes through the symbolic link '{part}'; links are not followed"
            ) from error
        raise XonncError(f"{place}: '{part}' cannot be opened: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise XonncError(f"{place!r}: not a file name") from error


def _is_link(part: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _size(tensor: str, key: str, text: str) -> int:
    """Parse a number of bytes: decimal digits alone (`int()` also accepts `-1`, `1_0` and ` 7`)."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise XonncError(
            f"tensor '{tensor}': external data {key} '{text}'; it must be a number of bytes, 0 or more"
        )
    return int(text)
