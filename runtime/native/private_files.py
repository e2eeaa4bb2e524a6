"""
Access to files of the cache folder, which are read only if no other user may have written to them.

Their content is run, or decides what is run. A folder or file that another user may have written to is
ignored, with one warning.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO


class UntrustedFileError(Exception):
    """A folder or file that other users may have written to, or that cannot be read."""


@contextmanager
def _open_private(path: Path, kind: int) -> Generator[int]:
    """
    Open a file or folder and check its owner and mode; raise `UntrustedFileError` if others may write to it.

    The checks are made on the open descriptor, so that the file cannot be replaced after them.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | _FOLLOW[kind])
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UntrustedFileError(f"{path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if stat.S_IFMT(status.st_mode) != kind:
            raise UntrustedFileError(f"{path}: neither a file nor a folder of programs")
        if status.st_uid != os.geteuid():
            raise UntrustedFileError(f"{path}: belongs to another user")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UntrustedFileError(f"{path}: others may write to it")
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def private_folder(path: Path) -> Generator[None]:
    """Check that only this user may write to a folder; raise `UntrustedFileError` otherwise."""
    with _open_private(path, stat.S_IFDIR):
        yield


_FOLLOW = {stat.S_IFDIR: os.O_DIRECTORY, stat.S_IFREG: os.O_NOFOLLOW}
"""The folder may be a symbolic link, since the user chose it; a file in it may not."""


@contextmanager
def private_file(path: Path) -> Generator[BinaryIO]:
    """Open a file for reading after checking that only this user may write to it."""
    with _open_private(path, stat.S_IFREG) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
        yield file


def require_private(path: Path) -> None:
    """Raise `UntrustedFileError` if `path` exists and is not a file that only this user may write to."""
    with suppress(FileNotFoundError), private_file(path):
        pass


@cache
def warn(reason: str) -> None:
    """Warn once why a folder or file is not used."""
    warnings.warn(
        f"{reason}; it is not used as a cache of compiled programs (XONNC_CACHE names another folder)",
        stacklevel=2,
    )
