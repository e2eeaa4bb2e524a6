"""External data: what is read, and everything that is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from xonnc.errors import XonncError
from xonnc.formats.onnx.external_data import DataFolder, parse_external_data
from xonnc.formats.onnx.tensors import TensorReader

WEIGHTS = np.arange(8, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with data in it, and data outside that must not be read."""
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    for path in (tmp_path / "secret", inside / "w.bin", inside / "sub" / "w.bin"):
        path.write_bytes(WEIGHTS.tobytes())
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "w.bin").write_bytes(WEIGHTS.tobytes())
    return inside


def read(folder: Path | None, **said: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The tensor that `said` describes."""
    tensor = onnx.TensorProto(name="w", dims=[8], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    for key, value in said.items():
        tensor.external_data.add(key=key, value=value)
    return TensorReader(folder=DataFolder(folder)).array(tensor)


@pytest.mark.parametrize("location", ["w.bin", "./w.bin", "sub/w.bin", "sub//./w.bin"])
def test_data_in_the_folder_is_mapped(folder: Path, location: str) -> None:
    np.testing.assert_array_equal(read(folder, location=location, length="32", checksum="ignored"), WEIGHTS)


def test_an_offset_is_honoured(folder: Path) -> None:
    (folder / "two.bin").write_bytes(bytes(3) + WEIGHTS.tobytes())
    np.testing.assert_array_equal(read(folder, location="two.bin", offset="3"), WEIGHTS)


def test_a_file_is_mapped_once(folder: Path) -> None:
    data = DataFolder(folder)
    tensor = onnx.TensorProto(name="w", dims=[8], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    reader = TensorReader(folder=data)
    first = reader.array(tensor)
    (folder / "w.bin").unlink()
    np.testing.assert_array_equal(first, reader.array(tensor))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"location": "../secret"}, r"leads out of the model's folder by '\.\.'"),
        ({"location": "sub/../../secret"}, r"leads out of the model's folder by '\.\.'"),
        ({"location": "sub/../w.bin"}, r"leads out of the model's folder by '\.\.'"),
        ({"location": "/etc/passwd"}, "is an absolute path"),
        ({"location": "sub"}, "not a regular file"),
        ({"location": "sub/"}, "names a folder"),
        ({"location": "."}, "names a folder"),
        ({"location": "none.bin"}, "'none.bin' cannot be opened: No such file"),
        ({"location": "none/w.bin"}, "'none' cannot be opened"),
        ({"location": "w.bin/x"}, "'w.bin' cannot be opened: Not a directory"),
        ({"location": "w\0.bin"}, "zero byte"),
        ({"location": "\udcff\ud800"}, "not a file name"),
        ({"location": ""}, "without a location"),
        ({}, "without a location"),
        ({"location": "w.bin", "offset": "-4"}, "offset '-4'"),
        ({"location": "w.bin", "offset": "1_0"}, "offset '1_0'"),
        ({"location": "w.bin", "offset": "9" * 40}, "offset '999.* at most 18 digits"),
        ({"location": "w.bin", "length": "0x20"}, "length '0x20'"),
        ({"location": "w.bin", "offset": "4"}, "bytes 4 to 36 of a file of 32 bytes"),
        ({"location": "w.bin", "offset": "9223372036854775"}, "of a file of 32 bytes"),
        ({"location": "w.bin", "length": "16"}, "length 16, but type and shape ask for 32"),
        ({"location": "w.bin", "length": "64"}, "length 64, but type and shape ask for 32"),
    ],
)
def test_what_is_said_is_checked(folder: Path, said: dict[str, str], message: str) -> None:
    if "\ud800" in said.get("location", ""):
        with pytest.raises(XonncError, match=message):
            DataFolder(folder).data("w", reference_to(said["location"]), 32)
        return
    with pytest.raises(XonncError, match=f"tensor 'w': .*{message}") as caught:
        read(folder, **said)
    assert "\n" not in str(caught.value)


def reference_to(location: str):
    """A reference protobuf itself could not spell."""
    from xonnc.formats.onnx.external_data import ExternalDataReference

    return ExternalDataReference(location, 0, None)


def link_file(folder: Path) -> str:
    (folder / "link.bin").symlink_to(folder / "w.bin")
    return "link.bin"


def link_out(folder: Path) -> str:
    (folder / "out.bin").symlink_to(folder.parent / "secret")
    return "out.bin"


def link_folder(folder: Path) -> str:
    (folder / "away").symlink_to(folder.parent / "outside")
    return "away/w.bin"


def link_deep(folder: Path) -> str:
    (folder / "sub" / "away").symlink_to(folder.parent / "outside")
    return "sub/away/w.bin"


def link_dangling(folder: Path) -> str:
    (folder / "dangling.bin").symlink_to(folder / "nowhere")
    return "dangling.bin"


@pytest.mark.parametrize("make", [link_file, link_out, link_folder, link_deep, link_dangling])
def test_symbolic_links_are_not_followed(folder: Path, make: Callable[[Path], str]) -> None:
    with pytest.raises(XonncError, match="goes through the symbolic link"):
        read(folder, location=make(folder))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
            "is a Git LFS pointer.*git lfs pull",
        ),
        (
            b"\n<!DOCTYPE html>\n<html><head><title>404</title></head></html>",
            "is an HTML page.*download the file",
        ),
    ],
)
def test_what_stands_for_a_file_is_not_read_as_weights(folder: Path, content: bytes, message: str) -> None:
    (folder / "w.bin").write_bytes(content)
    with pytest.raises(XonncError, match=f"^tensor 'w': external data 'w.bin' {message}"):
        read(folder, location="w.bin")


def test_hard_links_are_refused(folder: Path) -> None:
    os.link(folder.parent / "secret", folder / "hard.bin")
    with pytest.raises(XonncError, match=r"is a hard link \(2 names\)"):
        read(folder, location="hard.bin")


def test_a_pipe_is_refused_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe.bin")
    with pytest.raises(XonncError, match="not a regular file"):
        read(folder, location="pipe.bin")


def test_a_stream_has_no_folder() -> None:
    with pytest.raises(XonncError, match="read from a stream has no folder"):
        read(None, location="w.bin")


def test_the_folder_itself_may_be_a_link(folder: Path) -> None:
    alias = folder.parent / "alias"
    alias.symlink_to(folder)
    np.testing.assert_array_equal(read(alias, location="w.bin"), WEIGHTS)


@pytest.mark.parametrize("damaged", [b"w.bin", b"location"])
def test_what_is_no_text_is_named(damaged: bytes) -> None:
    """Protobuf gives bytes that are not UTF-8 as `bytes` where `str` is declared."""
    tensor = onnx.TensorProto(name="w")
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "w.bin"
    changed = tensor.SerializeToString().replace(damaged, b"\xff" + damaged[1:])
    with pytest.raises(XonncError, match=r"tensor 'w': external data: the name b.* is not UTF-8 text"):
        parse_external_data("w", onnx.TensorProto.FromString(changed).external_data)
