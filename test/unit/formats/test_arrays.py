"""NumPy's files: whole ones are read as NumPy reads them, damaged ones are one clear error."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.errors import XonncError
from xonnc.formats.arrays import read_array, read_arrays

Array = npt.NDArray[Any]


def header(text: str, version: tuple[int, int] = (1, 0)) -> bytes:
    """A `.npy` file without elements whose header is `text`."""
    body = text.encode("latin1") + b"\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(body))
    return b"\x93NUMPY" + bytes(version) + size + body


def saved(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3), np.int8),
        np.array(3, np.float32),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(["a", "bc"]),
        np.arange(3, dtype=">f4"),
        np.array([True, False]),
    ],
    ids=["empty", "rank 0", "columns", "text", "big endian", "booleans"],
)
def test_arrays_are_read(array: Array, tmp_path: Path):
    path = tmp_path / "a.npy"
    path.write_bytes(saved(array))
    found = read_array(path)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    np.savez_compressed(tmp_path / "a.npz", x=array)
    assert np.array_equal(read_arrays(tmp_path / "a.npz")["x"], array)
    assert np.array_equal(read_arrays(path)[""], array)


DAMAGED = {
    "empty": b"",
    "another format": b"\x7fELF" + bytes(99),
    "cut in the header": saved(np.arange(9))[:40],
    "cut in the elements": saved(np.arange(9))[:-1],
    "too large for memory": header("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}"),
    "overflow": header("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 99)}"),
    "negative": header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
    "rank": header("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 65 + ")}"),
    "no shape": header("{'descr': '<f4', 'fortran_order': False, 'shape': 3}"),
    "boolean shape": header("{'descr': '|b1', 'fortran_order': False, 'shape': (True,)}") + b"\0",
    "open bracket": header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,"),
    "deep": header("(" * 3000),
    "no type": header("{'descr': 'zebra', 'fortran_order': False, 'shape': (1,)}") + bytes(8),
    "pickled": header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}") + bytes(8),
    "structured": header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}") + bytes(4),
    "version": header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", (9, 0)) + bytes(4),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_arrays_are_one_error(name: str, tmp_path: Path):
    path = tmp_path / "a.npy"
    path.write_bytes(DAMAGED[name])
    with pytest.raises(XonncError, match=r"a\.npy: no array in it \(") as caught:
        read_array(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(("name", "element"), [("pickled", "object"), ("structured", r"\[\('a', '<f4'\)\]")])
def test_elements_that_no_tensor_has(name: str, element: str, tmp_path: Path):
    path = tmp_path / "a.npy"
    path.write_bytes(DAMAGED[name])
    with pytest.raises(
        XonncError, match=rf"elements of type {element}; tensors have numbers, booleans or text"
    ):
        read_array(path)


def archive(size: int = 1, content: bytes = b"") -> bytes:
    """A `.npz` whose member is said to have `size` times its size."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", content or saved(np.arange(99)))
    data = bytearray(stream.getvalue())
    directory = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, struct.unpack_from("<I", data, directory + 24)[0] * size)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04" + bytes(30),
        archive()[:-30],
        archive(10_000),
        archive(content=b"no array"),
        bytes([*archive()[:60], 255, 255, 255, *archive()[63:]]),
    ],
    ids=["empty", "start only", "cut", "bomb", "text", "damaged stream"],
)
def test_damaged_archives_are_one_error(data: bytes, tmp_path: Path):
    path = tmp_path / "a.npz"
    path.write_bytes(data)
    with pytest.raises(XonncError, match=r"a\.npz: no arrays in it \("):
        read_arrays(path)


def test_a_member_that_cannot_be_so_large(tmp_path: Path):
    path = tmp_path / "a.npz"
    path.write_bytes(archive(10_000))
    with pytest.raises(XonncError, match=r"no arrays in it \('x\.npy' has \d+ bytes; too few for \d+\)$"):
        read_arrays(path)


def test_a_file_that_is_not_there(tmp_path: Path):
    for read in (read_array, read_arrays):
        with pytest.raises(XonncError, match="no such file"):
            read(tmp_path / "a.npz")
