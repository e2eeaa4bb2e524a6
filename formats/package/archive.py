"""
The package file: a ZIP archive with uncompressed members.

The same parts give the same bytes: members have no dates, and stand in the order of the steps, the manifest
last. Nothing is ever unpacked to disk.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, BinaryIO

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.byte_sink import Bytes, ByteSink
from xonnc.formats.file_types import PACKAGE, identify_file
from xonnc.formats.input_files import record_input
from xonnc.formats.package.manifest import HostFile, Manifest, PackageStep, read_manifest, write_manifest

MANIFEST = "manifest.json"

SUFFIX = ".xpkg"
"""The file extension of packages."""

MAX_MANIFEST_BYTES = 16 << 20
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first day that the format can say."""

_ENCRYPTED = 1

WritePart = Callable[[ByteSink], object]
"""Writes a part's bytes to a stream that cannot go back."""


class _HashingWriter:
    """A stream that counts bytes and computes their SHA-256."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: Bytes, /) -> int:
        """Write bytes and update count and digest."""
        self._digest.update(data)
        self.size += memoryview(data).nbytes
        return self._stream.write(data)

    def hexdigest(self) -> str:
        """Return the SHA-256 of the bytes written."""
        return self._digest.hexdigest()


def write_package(
    path: Path, manifest: Manifest, parts: Sequence[WritePart], host_files: Mapping[str, bytes] | None = None
) -> int:
    """
    Write a package through a temporary file; return its size in bytes.

    `parts` write the files of the manifest's steps, whose sizes and digests become known by that.
    `host_files` are the contents of the host files that the manifest names.
    """
    with atomic_write(path) as file:
        _write(file, manifest, parts, host_files or {})
    return path.stat().st_size


def host_file(name: str, content: bytes) -> HostFile:
    """Return the manifest's entry for a file."""
    return HostFile(name, len(content), hashlib.sha256(content).hexdigest())


def _write(
    file: BinaryIO, manifest: Manifest, parts: Sequence[WritePart], host_files: Mapping[str, bytes]
) -> None:
    steps: list[PackageStep] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for step, write in zip(manifest.steps, parts, strict=True):
            with archive.open(_member(step.file), "w", force_zip64=True) as stream:
                counted = _HashingWriter(stream)
                write(counted)
            for each in step.host_files:
                archive.writestr(_member(each.file), host_files[each.file])
            steps.append(replace(step, size=counted.size, sha256=counted.hexdigest()))
        archive.writestr(_member(MANIFEST), write_manifest(replace(manifest, steps=tuple(steps))))


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, ZIP_EPOCH)
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


@dataclass(frozen=True)
class Package:
    """The manifest of a package, and the bytes of each step's partition in the same order."""

    name: str
    manifest: Manifest
    parts: tuple[bytes, ...]
    host_files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """The native code of CPU partitions for the manifest's host, by file."""


def read_package(path: Path) -> Package:
    """Read a package and check each digest; `XonncError` if it is invalid."""
    if not path.is_file():
        raise XonncError(f"{path}: no such file")
    try:
        length = path.stat().st_size
        record_input(path)
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = _members(archive, length)
            manifest = _manifest(archive, members)
            parts = tuple(_part(archive, members, step) for step in manifest.steps)
            host_files = {
                each.file: _part(archive, members, each)
                for step in manifest.steps
                for each in step.host_files
            }
    except XonncError as error:
        raise XonncError(f"{path}: {_describe_foreign_file(path) or error}") from None
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, UnicodeDecodeError) as error:
        raise XonncError(
            f"{path}: {_describe_foreign_file(path) or f'no package, or damaged: {error}'}"
        ) from None
    return Package(str(path), manifest, parts, host_files)


def _describe_foreign_file(path: Path) -> str | None:
    """Name the type of a file that is no package, if known; it may be a damaged package."""
    meaning = identify_file(path)
    is_package = meaning is None or meaning == PACKAGE or "ZIP archive" in meaning
    return None if is_package else f"no package: this is {meaning}"


def _members(archive: zipfile.ZipFile, length: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; each is uncompressed, inside the file, and unique."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if name in found:
            raise XonncError(f"'{name}' is in it twice; names of members are different")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & _ENCRYPTED:
            raise XonncError(f"'{name}' is compressed or encrypted; members of packages are stored")
        if info.file_size != info.compress_size or info.header_offset + info.file_size > length:
            raise XonncError(f"'{name}' has {info.file_size} bytes, the file has {length}")
        found[name] = info
    return found


def _manifest(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Manifest:
    info = members.get(MANIFEST)
    if info is None:
        raise XonncError(f"it contains no {MANIFEST}: not a package")
    if info.file_size > MAX_MANIFEST_BYTES:
        raise XonncError(f"{MANIFEST} has {info.file_size} bytes; it has up to {MAX_MANIFEST_BYTES}")
    try:
        manifest = read_manifest(archive.read(info))
    except XonncError as error:
        raise XonncError(f"{MANIFEST}: {error}") from None
    files = {each.file for step in manifest.steps for each in (step, *step.host_files)}
    strangers = members.keys() - {MANIFEST, *files}
    if strangers:
        raise XonncError(f"'{min(strangers)}' is not listed in {MANIFEST}")
    return manifest


def _part(
    archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], step: PackageStep | HostFile
) -> bytes:
    info = members.get(step.file)
    if info is None:
        raise XonncError(f"no '{step.file}' in it, which {MANIFEST} names")
    if info.file_size != step.size:
        raise XonncError(f"'{step.file}' has {info.file_size} bytes, {MANIFEST} says {step.size}")
    data = archive.read(info)
    if hashlib.sha256(data).hexdigest() != step.sha256:
        raise XonncError(f"'{step.file}': its SHA-256 is not the one in {MANIFEST}; it was changed")
    return data
