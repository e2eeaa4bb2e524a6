"""
The byte format of NNVM and TVM for parameters by name.

| field | type |
|---|---|
| magic `0xF7E58D4F05049CB7`, reserved 0 | two u64 |
| number of names; of each its length and bytes | u64; u64, bytes |
| number of tensors, equal to that of names | u64 |
| of each: magic `0xDD5E40F096B4A13F`, reserved 0 | two u64 |
| device type 1 (CPU), device 0, number of dimensions | three i32 |
| type code, bits, lanes | u8, u8, u16 |
| dimensions; size in bytes; data | i64 each; i64; bytes |

All little-endian (TVM, `src/runtime/file_utils.cc` and `include/tvm/runtime/ndarray.h`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError

Array = npt.NDArray[Any]

LIST_MAGIC = 0xF7E58D4F05049CB7
TENSOR_MAGIC = 0xDD5E40F096B4A13F
CPU = 1

_KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5}
"""DLPack's type codes."""

_OTHERS: Mapping[str, tuple[int, int]] = {
    "bool": (1, 1),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}
"""Code and bits of types whose name does not say them."""


def save_params(params: Mapping[str, Array]) -> bytes:
    """
    Write parameters in the byte format of NNVM and TVM.

    Parameters:
        params: arrays by name.

    Returns: the bytes.

    Raises: `XonncError` for an element type that the format lacks.

    Example:
        >>> Path("model.params").write_bytes(xonnc.save_params(params))
    """
    parts = [struct.pack("<QQQ", LIST_MAGIC, 0, len(params))]
    for name in params:
        encoded = name.encode()
        parts += [struct.pack("<Q", len(encoded)), encoded]
    parts.append(struct.pack("<Q", len(params)))
    for name, given in params.items():
        array = np.asarray(given)
        code, bits = _type_code(name, array.dtype)
        parts.append(struct.pack("<QQiii", TENSOR_MAGIC, 0, CPU, 0, array.ndim))
        parts.append(struct.pack(f"<BBH{array.ndim}qq", code, bits, 1, *array.shape, array.nbytes))
        parts.append(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return b"".join(parts)


def load_params(data: bytes) -> dict[str, Array]:
    """
    Read parameters that NNVM, TVM or `save_params` wrote.

    Parameters:
        data: the bytes.

    Returns: arrays by name.

    Raises: `XonncError` for bytes that are no parameters.

    Example:
        >>> xonnc.load_params(Path("model.params").read_bytes())
    """
    reader = _Reader(data)
    if reader.read("Q")[0] != LIST_MAGIC:
        raise XonncError("invalid parameters file format: it does not begin with 0xF7E58D4F05049CB7")
    reader.read("Q")
    names = [reader.text() for _ in range(reader.count())]
    if reader.count() != len(names):
        raise XonncError("invalid parameters file format: the numbers of names and tensors differ")
    found = {name: _tensor(reader, name) for name in names}
    if reader.left:
        raise XonncError(f"invalid parameters file format: {reader.left} bytes after the last tensor")
    return found


def _tensor(reader: _Reader, name: str) -> Array:
    if reader.read("Q")[0] != TENSOR_MAGIC:
        raise XonncError(f"invalid parameters file format: '{name}' does not begin with 0xDD5E40F096B4A13F")
    reader.read("Q")
    _, _, rank = reader.read("iii")
    code, bits, lanes = reader.read("BBH")
    if not 0 <= rank <= 64:
        raise XonncError(f"invalid parameters file format: '{name}' has {rank} dimensions")
    dtype = _dtype(name, code, bits, lanes)
    shape = reader.read(f"{rank}q")
    (size,) = reader.read("q")
    elements = 1
    for each in shape:
        elements *= each
    if min(shape, default=0) < 0 or size != elements * dtype.itemsize:
        raise XonncError(
            f"invalid parameters file format: '{name}' of {list(shape)} {dtype} has {size} bytes"
        )
    return np.frombuffer(reader.take(size), dtype).reshape(shape).copy()


def _type_code(name: str, dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.name in _OTHERS:
        return _OTHERS[dtype.name]
    kind = dtype.name.rstrip("0123456789")
    if kind not in _KINDS or dtype.name != f"{kind}{8 * dtype.itemsize}":
        raise XonncError(f"parameter '{name}': {dtype} has no code in the format of NNVM")
    return _KINDS[kind], 8 * dtype.itemsize


def _dtype(name: str, code: int, bits: int, lanes: int) -> np.dtype[Any]:
    others = {pair: text for text, pair in _OTHERS.items()}
    kinds = {number: text for text, number in _KINDS.items()}
    text = others.get((code, bits)) or f"{kinds.get(code, '?')}{bits}"
    try:
        found = np.dtype(getattr(ml_dtypes, text, text))
    except TypeError:
        found = None
    if found is None or lanes != 1:
        raise XonncError(
            f"parameter '{name}': type code {code}, {bits} bits, {lanes} lanes is no type of NumPy"
        )
    return found


class _Reader:
    """Reads packed fields of a byte string in order."""

    def __init__(self, data: bytes):
        self._data = memoryview(data)
        self._at = 0

    @property
    def left(self) -> int:
        """The number of bytes that are not read."""
        return len(self._data) - self._at

    def take(self, size: int) -> memoryview:
        if size > self.left:
            raise XonncError("invalid parameters file format: the data end early")
        self._at += size
        return self._data[self._at - size : self._at]

    def read(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}")))

    def count(self) -> int:
        return self.read("Q")[0]

    def text(self) -> str:
        return bytes(self.take(self.count())).decode(errors="replace")
