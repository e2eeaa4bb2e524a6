"""Files as memory maps: opened once, never copied, unmapped when the last array that looks into them dies."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from xonnc.errors import XonncError, cannot_read
from xonnc.formats.file_types import identify_folder
from xonnc.formats.input_files import record_input


def map_descriptor(descriptor: int, size: int) -> memoryview:
    """The `size` bytes of an open file as a read-only map; the descriptor may be closed afterwards."""
    if not size:
        return memoryview(b"")
    return memoryview(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ))


def map_file(path: Path) -> memoryview:
    """Map a file read-only; a pipe, which cannot be mapped, is read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        record_input(descriptor)
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            meaning = identify_folder(path)
            known = "" if meaning is None else f": {meaning}"
            raise XonncError(f"{path} is a folder; it must be a file{known}")
        size = status.st_size
        return map_descriptor(descriptor, size) if size else memoryview(_read_all(descriptor))
    except OSError as error:
        raise cannot_read(path, error) from error
    finally:
        os.close(descriptor)


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        return stream.read()
