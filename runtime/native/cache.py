"""
The cache of compiled programs on disk.

It is the folder `XONNC_CACHE`, else `xonnc` in `XDG_CACHE_HOME` or `~/.cache`; `XONNC_CACHE=off` disables it.
The least recently used files are removed above `XONNC_CACHE_SIZE` bytes (4 GB).

The files contain machine code that is run. So only a folder and files that belong to this user and that no
other user may write to are trusted; any other is ignored with one warning, and the model is compiled.
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
from xonnc.errors import XonncError, cannot_read
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
"""Constants of at least this size are stored in separate files, shared by the programs of a model."""

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def cache_folder() -> Path | None:
    """Return the cache folder; `None` if the cache is disabled."""
    asked = os.environ.get("XONNC_CACHE")
    if asked is not None:
        return None if asked in ("", "off", "0") else Path(asked)
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "xonnc"
    except RuntimeError:
        # The user has no home directory.
        return None


def cache_limit() -> int:
    """Return the maximum size of the cache in bytes."""
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
    Constants in separate files, named by the SHA-256 of their content, so that programs share them.

    A file is verified once per process and modification time.
    """

    folder: Path
    used: set[Path] = field(default_factory=set[Path])
    """Files written or read since this set was cleared."""
    _names: dict[tuple[int, int], tuple[Array, str]] = field(
        default_factory=dict[tuple[int, int], "tuple[Array, str]"]
    )
    _whole: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def write(self, array: Array) -> str | None:
        """Write a large constant unless the file exists; return its name, `None` for a small constant."""
        if array.nbytes < MIN_EXTERNAL_BYTES:
            return None
        data = np.ascontiguousarray(array)
        key = data.ctypes.data, data.nbytes
        if key not in self._names:
            content = data.reshape(-1).view(np.uint8).data
            # The key is an address: hold the array, so that no other array can be allocated there.
            self._names[key] = data, sha256(content).hexdigest()
        name = self._names[key][1]
        path = self._path(name)
        require_private(path)
        if not path.is_file() or path.stat().st_size != data.nbytes:
            with atomic_write(path, sync=False, mode=0o600) as file:
                file.write(data.reshape(-1).view(np.uint8).data)
        self.used.add(path)
        return name

    def read(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        """Memory-map the bytes of a file; raise `XonncError` if it is damaged."""
        path = self._path(name)
        try:
            with private_file(path) as file:
                data = np.memmap(file, np.uint8, mode="r")
                state = name, os.fstat(file.fileno()).st_mtime_ns
        except (OSError, ValueError) as error:
            raise cannot_read(path, error) from error
        if len(data) != size or (state not in self._whole and sha256(data.data).hexdigest() != name):
            path.unlink(missing_ok=True)
            raise XonncError(f"{path}: the constants are damaged")
        os.utime(path)
        self._whole.add((name, path.stat().st_mtime_ns))
        self.used.add(path)
        return data

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{CONSTANTS}"


def reference_function(content: bytes) -> TensorFunction:
    """Return a function that runs a serialised model in the reference evaluator, loaded on first use."""
    made: list[TensorFunction] = []

    def run(data: Sequence[TensorOrSequence]) -> Sequence[TensorOrSequence]:
        if not made:
            # The evaluator is slow to import, and most programs do not need it.
            from xonnc.formats.onnx.reference_evaluator import program_of_model

            made.append(program_of_model(content))
        return made[0](data)

    return run


@dataclass(frozen=True)
class Cache:
    """Programs by key in a folder, which is created on the first write."""

    folder: Path
    limit: int

    @cached_property
    def constants(self) -> ConstantFiles:
        """The constants in separate files."""
        return ConstantFiles(self.folder)

    def get(self, key: str) -> StoredProgram | None:
        """Return the program of a key, or `None`; a damaged file is removed."""
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
        # The modification time is the time of last use, for eviction.
        os.utime(path)
        return found

    def put(self, key: str, stored: StoredProgram) -> None:
        """Store a program; do nothing if the folder is not trusted or not writable."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with private_folder(self.folder):
                path = self.folder / f"{key}{SUFFIX}"
                self.constants.used.clear()
                require_private(path)
                write_stored(path, stored, self.constants)
                self._evict({path, *self.constants.used})
        except UntrustedFileError as reason:
            warn(str(reason))
        except (OSError, XonncError):
            return

    def _evict(self, newest: set[Path]) -> None:
        found = [(path.stat().st_mtime_ns, path.stat().st_size, path) for path in self._files()]
        total = sum(size for _, size, _ in found)
        # The files just written are removed last, only if they exceed the limit by themselves.
        for _, size, path in sorted(found, key=lambda each: (each[2] in newest, each[0])):
            if total <= self.limit:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _files(self) -> Iterable[Path]:
        return (path for suffix in (SUFFIX, CONSTANTS) for path in self.folder.glob(f"*{suffix}"))


def open_cache() -> Cache | None:
    """Return the cache that the environment configures; `None` if it is disabled."""
    folder = cache_folder()
    return None if folder is None else Cache(folder, cache_limit())


@cache
def compiler_identity() -> str:
    """Return a digest of this compiler: name, size and modification time of its source files."""
    digest = sha256()
    for entry in sorted(Path(errors.__file__).parent.iterdir()):
        # The folders are symbolic links in an editable installation.
        found = entry.resolve().rglob("*") if entry.is_dir() else [entry]
        for path in sorted(path for path in found if path.suffix in (".py", ".ll", ".toml")):
            state = path.stat()
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def cache_key(parts: Iterable[bytes | mmap]) -> str:
    """Return the key of a program: a digest of the compiler and of all inputs of the compilation."""
    digest = sha256(compiler_identity().encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
