"""
Read NumPy's array files, `.npy` and `.npz`; sizes are checked before any allocation.

`numpy.load` raises half a dozen kinds of exceptions for damaged files, and believes the sizes in them.
"""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError

Array = npt.NDArray[Any]

MAX_RANK = 64
"""The rank that NumPy's arrays can have."""

DEFLATE_RATIO = 1032
"""Deflate makes at most this many bytes of one (zlib's "Maximum Compression Factor")."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""The header formats, by version; version 3 is for structured arrays alone (NEP 1)."""

_DAMAGED = (
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions of NumPy and `zipfile` for bytes that are no array."""


def read_array(path: Path) -> Array:
    """Return the array of a `.npy` file; `XonncError` for other files."""
    _require_file(path)
    try:
        with path.open("rb") as file:
            return _array(file, os.fstat(file.fileno()).st_size)
    except _DAMAGED as error:
        raise XonncError(f"{path}: no array in it ({_reason(error)})") from None


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a `.npz` file by name, that of a `.npy` file as `''`; `XonncError` for others."""
    _require_file(path)
    found: dict[str, Array] = {}
    try:
        # By what it holds, as NumPy does, whatever it is called.
        with path.open("rb") as file:
            is_one = file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX
        if is_one:
            return {"": read_array(path)}
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.file_size > DEFLATE_RATIO * (info.compress_size + 1):
                    raise ValueError(
                        f"'{info.filename}' has {info.compress_size} bytes; too few for {info.file_size}"
                    )
                with archive.open(info) as member:
                    found[info.filename.removesuffix(".npy")] = _array(member, info.file_size)
    except _DAMAGED as error:
        raise XonncError(f"{path}: no arrays in it ({_reason(error)})") from None
    return found


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise XonncError(f"{path}: no such file")


def _array(file: IO[bytes], size: int) -> Array:
    """Return the array in an open file of `size` bytes."""
    version = np.lib.format.read_magic(file)
    header = _HEADERS.get(version)
    if header is None:
        raise ValueError(f"version {version[0]}.{version[1]} of the format; 1.0 and 2.0 are read")
    shape, in_columns, dtype = header(file)
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
        raise ValueError(f"elements of type {dtype}; tensors have numbers, booleans or text")
    if len(shape) > MAX_RANK or any(type(extent) is not int or extent < 0 for extent in shape):
        raise ValueError(f"shape {str(shape)[:100]}; it is up to {MAX_RANK} integers from 0 on")
    expected = prod(shape) * dtype.itemsize
    available = size - file.tell()
    if expected > available:
        raise ValueError(f"{available} bytes of elements; {dtype} of shape {list(shape)} takes {expected}")
    flat: Array = np.frombuffer(bytearray(file.read(expected)), dtype, prod(shape))
    return flat.reshape(shape, order="F" if in_columns else "C")


def _reason(error: Exception) -> str:
    """Return the reason of an error in one line."""
    text = " ".join(str(error).split())[:200]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"
