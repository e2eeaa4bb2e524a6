"""
External tensor data, read without leaving the model's folder.

A model names its data files, and a model may come from anywhere. A data file is opened relative to the
folder's file descriptor, one path component at a time, never through a symbolic link; it must be a regular
file with a single hard link, and the data must lie within it. Each rule closes a vulnerability of the
reference library: `..` and absolute paths (CVE-2022-25882, CVE-2024-27318), symbolic links in any component
(CVE-2026-27489, CVE-2026-34447), hard links and sizes (CVE-2026-34446).

A location that goes through links is read as the file that they lead to, if that is below the folder of the
model's own file, links resolved; onnxruntime has the same rule. In the cache of Hugging Face, model and data
are links into one folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from xonnc.errors import XonncError
from xonnc.formats.file_types import identify_placeholder
from xonnc.formats.input_files import record_input
from xonnc.formats.onnx.memory_mapped_files import map_descriptor
from xonnc.formats.onnx.utf8_checks import check_names

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN_DATA = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""O_NONBLOCK: opening a named pipe must not block until a writer opens it."""

MAX_DIGITS = 18
"""Digits of an offset or a length: as many as 63 bits hold, whatever they are."""


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
    fields = {entry.key: entry.value for entry in entries}
    try:
        check_names([*fields, *fields.values()])
    except XonncError as error:
        raise XonncError(f"tensor '{tensor}': external data: {error}") from error
    if not fields.get("location"):
        raise XonncError(f"tensor '{tensor}': external data without a location; it names no file to read")
    offset = _size(tensor, "offset", fields["offset"]) if "offset" in fields else 0
    length = _size(tensor, "length", fields["length"]) if "length" in fields else None
    return ExternalDataReference(fields["location"], offset, length)


@dataclass
class DataFolder:
    """The folder of a model; maps each of its data files once."""

    path: Path | None
    """`None` for a model read from a stream, which can have no external data."""

    target: Path | None = None
    """The folder of the file to which the model's path leads, if that is a symbolic link."""

    _maps: dict[str, memoryview] = field(default_factory=dict[str, memoryview])

    @staticmethod
    def of_model(path: Path) -> DataFolder:
        """Return the folder of the model at `path`."""
        return DataFolder(path.parent, path.resolve().parent if path.is_symlink() else None)

    def data(self, tensor: str, reference: ExternalDataReference, size: int) -> memoryview:
        """
        Return the `size` bytes of a tensor as a view of the mapped file; raise `XonncError` for any
        violation.
        """
        context = f"tensor '{tensor}': external data '{reference.location}'"
        if reference.length is not None and reference.length != size:
            raise XonncError(f"{context}: length {reference.length}, but type and shape ask for {size} bytes")
        mapped = self._maps.get(reference.location)
        if mapped is None:
            mapped = self._maps[reference.location] = self._map(context, reference.location)
        if reference.offset + size > len(mapped):
            raise XonncError(
                f"{context}: bytes {reference.offset} to {reference.offset + size} "
                f"of a file of {len(mapped)} bytes; "
                "it is cut short, or belongs to another model"
            )
        return mapped[reference.offset : reference.offset + size]

    def _map(self, context: str, location: str) -> memoryview:
        if self.path is None:
            raise XonncError(
                f"{context}: a model read from a stream has no folder; give its file name instead"
            )
        parts = _components(context, location)
        try:
            descriptor = _open_below(context, self.path, parts)
        except _SymbolicLinkError as link:
            descriptor = self._open_linked(context, self.path.joinpath(*parts), link)
        except _MissingFileError as error:
            raise XonncError(f"{error}{self._hint()}") from error
        try:
            return _map_regular(context, descriptor)
        finally:
            os.close(descriptor)

    def _hint(self) -> str:
        if self.target is None:
            return ""
        return (
            f"; the model's path is a link into {self.target}, so give its path there if its data are there"
        )

    def _open_linked(self, context: str, path: Path, link: _SymbolicLinkError) -> int:
        """Open the file to which links of `path` lead, if it is below the folder of the model's file."""
        assert self.path is not None
        folder = self.target or self.path.resolve()
        try:
            target = path.resolve()
        except (OSError, RuntimeError):
            raise link from None
        if not target.is_relative_to(folder):
            raise XonncError(
                f"{link} to {target}, which is not below the folder of the model's file, {folder}; "
                "copy or move the file there"
            ) from None
        # By its components, none of which is a link: the path may lead elsewhere by now.
        return _open_below(context, folder, target.relative_to(folder).parts)


class _SymbolicLinkError(XonncError):
    """A component of the path is a symbolic link."""


class _MissingFileError(XonncError):
    """The file, or a folder on the way, does not exist."""


def _open_below(context: str, path: Path, parts: Sequence[str]) -> int:
    """Return a descriptor of the file `parts` below the folder `path`, reached through no link."""
    try:
        folder = os.open(path, _OPEN_FOLDER)
    except OSError as error:
        raise XonncError(f"{context}: {path}: {error.strerror}") from error
    try:
        # Each component is opened relative to its parent's descriptor without following links. A check of
        # the path alone could be defeated by exchanging a folder for a link between the check and `open`.
        for part in parts[:-1]:
            inner = _open_at(context, part, _OPEN_FOLDER | os.O_NOFOLLOW, folder)
            os.close(folder)
            folder = inner
        return _open_at(context, parts[-1], _OPEN_DATA, folder)
    finally:
        os.close(folder)


def _map_regular(context: str, descriptor: int) -> memoryview:
    # Of the open descriptor, not of the path, which may name another file by now. A hard link can give
    # a file outside of the folder a name inside, so files with several names are refused.
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise XonncError(f"{context} is not a regular file; only regular files are read")
    if status.st_nlink > 1:
        raise XonncError(
            f"{context} is a hard link ({status.st_nlink} names); copy it so that it has one name"
        )
    record_input(descriptor)
    try:
        mapped = map_descriptor(descriptor, status.st_size)
    except OSError as error:
        raise XonncError(f"{context}: cannot be mapped: {error.strerror}") from error
    if (meaning := identify_placeholder(mapped)) is not None:
        raise XonncError(f"{context} is {meaning}")
    return mapped


def _components(context: str, location: str) -> list[str]:
    """Split a relative path that stays below the folder into components."""
    if location.startswith("/"):
        raise XonncError(f"{context} is an absolute path; it must be in the model's folder")
    parts = [part for part in location.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise XonncError(f"{context} leads out of the model's folder by '..'; it must stay inside")
    if not parts or location.endswith("/"):
        raise XonncError(f"{context} names a folder; it must name a file")
    if "\0" in location:
        raise XonncError(f"{context!r} has a zero byte in it; it must be a file name")
    return parts


def _open_at(context: str, part: str, flags: int, folder: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if _is_link(part, folder):
            raise _SymbolicLinkError(f"{context} goes through the symbolic link '{part}'") from error
        kind = _MissingFileError if isinstance(error, FileNotFoundError) else XonncError
        raise kind(f"{context}: '{part}' cannot be opened: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise XonncError(f"{context!r}: not a file name") from error


def _is_link(part: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _size(tensor: str, key: str, text: str) -> int:
    """Parse a number of bytes: decimal digits alone (`int()` also accepts `-1`, `1_0` and ` 7`)."""
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise XonncError(
            f"tensor '{tensor}': external data {key} '{text}'; it must be a number of bytes, 0 or more, "
            f"of at most {MAX_DIGITS} digits"
        )
    return int(text)
