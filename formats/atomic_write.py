"""
Atomic file output: a file gets its whole new content, or keeps the old one.

Regular files are written under a temporary name in their folder, flushed to the disk and renamed over the
old file, whose mode and owner they keep. Symbolic links are followed. Character devices and named pipes
(`/dev/null`, `/dev/stdout`, a FIFO) cannot be replaced, so they are written through. Folders, block devices
and sockets are refused, and so is any file that `input_files` knows as an input.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedWriter, FileIO, UnsupportedOperation
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from xonnc.errors import XonncError
from xonnc.formats.input_files import require_not_input

_MAX_LINKS = 40
"""Symbolic links that are followed, as many as Linux follows."""

_NAME_BYTES = 100
"""Of the target's name in the temporary one, so that a name of the greatest length has a temporary one."""


@contextmanager
def atomic_write(path: Path, *, sync: bool = True, mode: int = 0o666) -> Generator[BinaryIO]:
    """
    Open a stream whose content replaces the file `path` if the block succeeds; else nothing changes.

    Without `sync` the content need not survive a loss of power. A new file gets `mode`, less the process's
    umask. Raises `XonncError` for what cannot be written.
    """
    with atomic_writes(sync=sync, mode=mode) as files, files.open(path) as stream:
        yield stream


@contextmanager
def atomic_writes(*, sync: bool = True, mode: int = 0o666) -> Generator[OutputFiles]:
    """Open several files that are all replaced if the block succeeds, or none."""
    files = OutputFiles(sync, mode)
    try:
        yield files
        files.commit()
    finally:
        files.discard()


@dataclass
class OutputFiles:
    """Files written under temporary names until `commit` renames all of them."""

    sync: bool
    mode: int
    """Of new files, less the process's umask."""
    _finished: dict[Path, Path] = field(default_factory=dict[Path, Path])
    """Temporary files by what they become."""

    @contextmanager
    def open(self, path: Path) -> Generator[BinaryIO]:
        """Return a stream for the content of `path`; `XonncError` if it cannot be written."""
        with name_path_in_errors(path):
            target = _target(path)
            if not isinstance(target, Path):
                with BufferedWriter(_NonSeekable(target, "w")) as stream:
                    yield stream
                return
            self._require_new(path, target)
            temporary, descriptor = _create_beside(target, self.mode)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    yield stream
                if self.sync:
                    _sync(temporary)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            self._finished[target] = temporary

    def adopt(self, finished: Path, path: Path) -> None:
        """Use a file that another program wrote into the same folder as the content of `path`."""
        with name_path_in_errors(path):
            target = _target(path)
            if not isinstance(target, Path):
                with os.fdopen(target, "wb") as stream:
                    stream.write(finished.read_bytes())
                return
            self._require_new(path, target)
            if finished.stat().st_dev != target.parent.stat().st_dev:
                # The folder is reached through a link to another file system.
                with self.open(path) as stream:
                    stream.write(finished.read_bytes())
                return
            _copy_mode(finished, target)
            if self.sync:
                _sync(finished)
            self._finished[target] = finished

    def commit(self) -> None:
        """Rename all files; only conditions that arose since they were opened can make it fail."""
        for target in self._finished:
            # Some inputs are opened only when their content is written.
            if (status := _status(target)) is not None:
                require_not_input(target, status)
        for target, temporary in self._finished.items():
            with name_path_in_errors(target):
                os.replace(temporary, target)
        if self.sync:
            for folder in {target.parent for target in self._finished}:
                # Not every file system has folders that can be flushed.
                with suppress(OSError):
                    _sync(folder)
        self._finished.clear()

    def discard(self) -> None:
        """Remove the temporary files that were not renamed."""
        for temporary in self._finished.values():
            temporary.unlink(missing_ok=True)
        self._finished.clear()

    def _require_new(self, path: Path, target: Path) -> None:
        if target in self._finished:
            raise XonncError(f"{path}: two outputs of this name; give each its own")


class _NonSeekable(FileIO):
    """A device or pipe, without seeks: `/dev/null` claims to be seekable, but is always at position 0."""

    def seekable(self) -> bool:
        """Return False."""
        return False

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Raise `UnsupportedOperation`."""
        raise UnsupportedOperation("seek")

    def tell(self) -> int:
        """Raise `UnsupportedOperation`."""
        raise UnsupportedOperation("tell")


@contextmanager
def name_path_in_errors(path: Path) -> Generator[None]:
    """Add the path of the output to operating system errors, except for broken pipes."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise XonncError(f"{path}: cannot be written: {error.strerror or error}") from error


def require_writable(path: Path) -> None:
    """
    Check before any work that `atomic_write` can write an output.

    Raises `XonncError` for folders and other things that are no files, for files without permission to write,
    for inputs, and for names in folders that do not exist.
    """
    with name_path_in_errors(path):
        status = _status(path)
    if status is None:
        folder = (_resolved(path) if path.is_symlink() else path).parent
        if not folder.is_dir():
            raise XonncError(f"{path}: the folder {folder} does not exist")
        return
    _require_file(path, status)


def is_special(path: Path) -> bool:
    """Return whether an output is a device or named pipe, whose file name has no meaningful suffix."""
    with name_path_in_errors(path):
        status = _status(path)
    return status is not None and not stat.S_ISREG(status.st_mode)


def _target(path: Path) -> Path | int:
    """Return the regular file behind `path`, or an open descriptor for other kinds of file."""
    status = _status(path)
    if status is not None:
        _require_file(path, status)
    if (descriptor := _own_descriptor(path)) is not None:
        # Reopening a redirected standard output would lose its position, and renaming the file itself.
        return os.dup(descriptor)
    if status is None or stat.S_ISREG(status.st_mode):
        return _resolved(path)
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file at `path`; `None` if there is none."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _require_file(path: Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise XonncError(f"{path}: is a folder; name a file in it")
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
        raise XonncError(f"{path}: neither a file nor a pipe or a character device; name a file")
    if not os.access(path, os.W_OK):
        raise XonncError(f"{path}: cannot be written: Permission denied")
    require_not_input(path, status)


def _resolved(path: Path) -> Path:
    """Return the target of symbolic links; it need not exist."""
    return Path(os.path.realpath(path))


def _own_descriptor(path: Path) -> int | None:
    """Return the descriptor of this process that `/dev/stdout` and the like denote."""
    for _ in range(_MAX_LINKS):
        folder = os.path.realpath(path.parent)
        if folder == f"/proc/{os.getpid()}/fd" and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = Path(folder, os.readlink(path))
    return None


def _create_beside(target: Path, mode: int) -> tuple[Path, int]:
    """Create a file in the folder of `target` for writing, with the mode of `target` if it exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    stem = os.fsdecode(os.fsencode(target.name)[:_NAME_BYTES])
    # A random name: what a killed run left behind never stands in the way.
    temporary = target.with_name(f".{stem}.{token_hex(8)}.tmp")
    # What was private stays so from the first byte on.
    descriptor = os.open(temporary, flags, 0o600 if target.exists() else mode)
    try:
        _copy_mode(temporary, target)
    except OSError:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
        raise
    return temporary, descriptor


def _copy_mode(temporary: Path, target: Path) -> None:
    """Copy the permissions of the replaced file, and its owner if permitted."""
    old = _status(target)
    if old is None:
        return
    new = os.stat(temporary)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with suppress(PermissionError):
            os.chown(temporary, old.st_uid, old.st_gid)
    # Without set-user-ID and the like, which writing to a file takes away too.
    os.chmod(temporary, stat.S_IMODE(old.st_mode) & 0o777)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
