"""
Compiled programs on disk: what was compiled before is read.

They are in `XONNC_CACHE`, else `xonnc` in `XDG_CACHE_HOME` or `~/.cache`; `XONNC_CACHE=off` keeps none. The
oldest go when there is more than `XONNC_CACHE_SIZE` (4 GB).

What is in the files is run. So only a folder and files that belong to this user and that nobody else may
write to are used; any other is left alone, with one warning, and the model is compiled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from mmap import mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from xonnc import errors
from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import TensorFunction, TensorOrSequence
from xonnc.formats.native.stored_program import StoredProgram, read_stored, write_stored
from xonnc.runtime.native.private_files import (
    UntrustedFileError,
    private_file,
    private_folder,
    require_private,
    warn,
)

Array = npt.NDArray[np.generic]

DEFAULT_SIZE = 4_000_000_000
SUFFIX, CONSTANTS = ".xonnc", ".constants"

MIN_EXTERNAL_BYTES = 1 << 20
"""Bytes of a constant from which on it is a file of its own, which programs for all shapes read."""

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def cache_folder() -> Path | None:
    """Where programs are kept; `None` if they are not to be."""
    asked = os.environ.get("XONNC_CACHE")
    if asked is not None:
        return None if asked in ("", "off", "0") else Path(asked)
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "xonnc"
    except RuntimeError:
        # A user without a home.
        return None


def cache_limit() -> int:
    """How much may be kept."""
    asked = os.environ.get("XONNC_CACHE_SIZE")
    if asked is None:
        return DEFAULT_SIZE
    match = re.fullmatch(r"(\d+)([kMG]?)B?", asked.strip())
    if match is None:
        raise XonncError(f"XONNC_CACHE_SIZE={asked}: a number of bytes, as 500M or 4G, is expected")
    return int(int(match[1]) * UNITS[match[2]])


@dataclass
class ConstantFiles:
    """
    Constants in files of a folder, named by what is in them, which programs have in common.

    What was written or found whole before is not looked at again.
    """

    folder: Path
    used: set[Path] = field(default_factory=set[Path])
    """Files that were written or read since this was made empty."""
    _names: dict[tuple[int, int], tuple[Array, str]] = field(
        default_factory=dict[tuple[int, int], "tuple[Array, str]"]
    )
    _whole: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def write(self, array: Array) -> str | None:
        """Writes a constant if it is large and not there; the name of its file."""
        if array.nbytes < MIN_EXTERNAL_BYTES:
            return None
        held = np.ascontiguousarray(array)
        key = held.ctypes.data, held.nbytes
        if key not in self._names:
            content = held.reshape(-1).view(np.uint8).data
            # The array is kept so that no other comes to lie in its place.
            self._names[key] = held, sha256(content).hexdigest()
        name = self._names[key][1]
        path = self._path(name)
        require_private(path)
        if not path.is_file() or path.stat().st_size != held.nbytes:
            with atomic_write(path, sync=False, mode=0o600) as file:
                file.write(held.reshape(-1).view(np.uint8).data)
        self.used.add(path)
        return name

    def read(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        """The bytes of a file, which stay there; raises `XonncError` if it is damaged."""
        path = self._path(name)
        try:
            with private_file(path) as file:
                held = np.memmap(file, np.uint8, mode="r")
                state = name, os.fstat(file.fileno()).st_mtime_ns
        except (OSError, ValueError) as error:
            raise XonncError(f"{path}: cannot be read: {error}") from error
        if len(held) != size or (state not in self._whole and sha256(held.data).hexdigest() != name):
            path.unlink(missing_ok=True)
            raise XonncError(f"{path}: the constants are damaged")
        os.utime(path)
        self._whole.add((name, path.stat().st_mtime_ns))
        self.used.add(path)
        return held

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{CONSTANTS}"


def reference_function(content: bytes) -> TensorFunction:
    """What the reference evaluator computes of a model, which it reads when it is first asked."""
    made: list[TensorFunction] = []

    def run(held: Sequence[TensorOrSequence]) -> Sequence[TensorOrSequence]:
        if not made:
            # The evaluator is slow to import, and most programs need none.
            from xonnc.formats.onnx.reference_evaluator import program_of_model

            made.append(program_of_model(content))
        return made[0](held)

    return run


@dataclass(frozen=True)
class Cache:
    """Programs by key in a folder, which is made when something is kept."""

    folder: Path
    limit: int

    @cached_property
    def constants(self) -> ConstantFiles:
        """Those that are files of their own."""
        return ConstantFiles(self.folder)

    def get(self, key: str) -> StoredProgram | None:
        """The program of a key; one that is damaged is removed."""
        path = self.folder / f"{key}{SUFFIX}"
        try:
            with private_folder(self.folder), private_file(path) as file:
                found = self._read(path, file)
        except UntrustedFileError as reason:
            warn(str(reason))
            return None
        except OSError:
            return None
        return found

    def _read(self, path: Path, file: BinaryIO) -> StoredProgram | None:
        try:
            found = read_stored(path, self.constants, file, reference_function)
        except XonncError:
            path.unlink(missing_ok=True)
            return None
        # The time tells which were used least recently.
        os.utime(path)
        return found

    def put(self, key: str, stored: StoredProgram) -> None:
        """Keeps a program if there is room; a folder that is another's or cannot be written to keeps none."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with private_folder(self.folder):
                path = self.folder / f"{key}{SUFFIX}"
                self.constants.used.clear()
                require_private(path)
                write_stored(path, stored, self.constants)
                self._make_room({path, *self.constants.used})
        except UntrustedFileError as reason:
            warn(str(reason))
        except (OSError, XonncError):
            return

    def _make_room(self, newest: set[Path]) -> None:
        found = [(path.stat().st_mtime_ns, path.stat().st_size, path) for path in self._files()]
        total = sum(size for _, size, _ in found)
        # The newest are last, and go only if they are too large by themselves.
        for _, size, path in sorted(found, key=lambda each: (each[2] in newest, each[0])):
            if total <= self.limit:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _files(self) -> Iterable[Path]:
        return (path for suffix in (SUFFIX, CONSTANTS) for path in self.folder.glob(f"*{suffix}"))


def open_cache() -> Cache | None:
    """The cache that the environment says; `None` for none."""
    folder = cache_folder()
    return None if folder is None else Cache(folder, cache_limit())


@cache
def compiler_identity() -> str:
    """What tells this compiler from others: its own files, by name, size and time."""
    digest = sha256()
    for room in sorted(Path(errors.__file__).parent.iterdir()):
        # Rooms are links where the package is installed from its sources.
        found = room.resolve().rglob("*") if room.is_dir() else [room]
        for path in sorted(path for path in found if path.suffix in (".py", ".ll", ".toml")):
            state = path.stat()
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def cache_key(parts: Iterable[bytes | mmap]) -> str:
    """A key of everything that a compilation depends on."""
    digest = sha256(compiler_identity().encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
