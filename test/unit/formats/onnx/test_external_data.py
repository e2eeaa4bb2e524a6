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
from xonnc.formats.onnx.loaded_export import load_proto
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
    (folder / "dangling.bin").symlink_to(folder.parent / "nowhere")
    return "dangling.bin"


def link_sibling(folder: Path) -> str:
    """A folder whose name begins with that of the model's."""
    (folder.parent / "model2").mkdir()
    (folder.parent / "model2" / "w.bin").write_bytes(WEIGHTS.tobytes())
    (folder / "sibling.bin").symlink_to(folder.parent / "model2" / "w.bin")
    return "sibling.bin"


@pytest.mark.parametrize("make", [link_out, link_folder, link_deep, link_dangling, link_sibling])
def test_links_out_of_the_folder_are_not_followed(folder: Path, make: Callable[[Path], str]) -> None:
    with pytest.raises(XonncError, match=r"link '.*' to .*, which is not below .*/model; copy"):
        read(folder, location=make(folder))


def test_links_within_the_folder_are_followed(folder: Path) -> None:
    (folder / "link.bin").symlink_to("sub/chain.bin")
    (folder / "sub" / "chain.bin").symlink_to(folder / "w.bin")
    np.testing.assert_array_equal(read(folder, location="link.bin"), WEIGHTS)


def test_a_link_to_itself_is_refused(folder: Path) -> None:
    (folder / "loop.bin").symlink_to("loop.bin")
    with pytest.raises(XonncError, match="symbolic link 'loop\\.bin'"):
        read(folder, location="loop.bin")


def test_a_hard_link_behind_a_link_is_refused(folder: Path) -> None:
    os.link(folder.parent / "secret", folder / "hard.bin")
    (folder / "link.bin").symlink_to("hard.bin")
    with pytest.raises(XonncError, match=r"is a hard link \(2 names\)"):
        read(folder, location="link.bin")


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A model's folder as in the cache of Hugging Face: model and data are links into another folder."""
    blobs, folder = tmp_path / "blobs", tmp_path / "snapshots" / "0123" / "onnx"
    blobs.mkdir()
    folder.mkdir(parents=True)
    for name, blob in (("model.onnx", "aa"), ("model.onnx_data", "bb")):
        (blobs / blob).write_bytes(WEIGHTS.tobytes())
        (folder / name).symlink_to(Path("../../../blobs") / blob)
    return folder


def of_snapshot(folder: Path, location: str) -> memoryview:
    """The data at `location` of the model in `folder`."""
    return DataFolder.of_model(folder / "model.onnx").data("w", reference_to(location), 32)


def test_model_and_data_may_be_links_into_one_folder(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_snapshot(snapshot, "model.onnx_data") == WEIGHTS.tobytes()
    monkeypatch.chdir(snapshot.parent)
    assert of_snapshot(Path("onnx"), "model.onnx_data") == WEIGHTS.tobytes()
    monkeypatch.chdir(snapshot)
    assert of_snapshot(Path(), "model.onnx_data") == WEIGHTS.tobytes()


def test_a_link_of_the_data_alone_leads_out(snapshot: Path) -> None:
    (snapshot / "model.onnx").unlink()
    (snapshot / "model.onnx").write_bytes(b"")
    with pytest.raises(
        XonncError, match=r"link 'model.onnx_data' to .*/bb, which is not below .*/onnx; copy"
    ):
        of_snapshot(snapshot, "model.onnx_data")


def test_links_to_elsewhere_are_refused_beside_a_linked_model(snapshot: Path) -> None:
    (snapshot / "w.bin").symlink_to(snapshot.parent / "w.bin")
    (snapshot.parent / "w.bin").write_bytes(WEIGHTS.tobytes())
    with pytest.raises(XonncError, match=r"0123/w.bin, which is not below .*/blobs; copy"):
        of_snapshot(snapshot, "w.bin")


def test_data_beside_a_linked_model_are_read(snapshot: Path) -> None:
    (snapshot / "w.bin").write_bytes(WEIGHTS.tobytes())
    assert of_snapshot(snapshot, "w.bin") == WEIGHTS.tobytes()


def test_data_beside_the_file_of_a_linked_model_name_it(folder: Path) -> None:
    alias = folder.parent / "alias.onnx"
    alias.symlink_to(folder / "m.onnx")
    data = DataFolder.of_model(alias)
    with pytest.raises(XonncError, match=r"'w.bin' cannot be opened: No such file.*a link into .*/model"):
        data.data("w", reference_to("w.bin"), 32)


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


def test_messages_of_whole_models_name_the_file(snapshot: Path) -> None:
    tensor = onnx.TensorProto(name="w", dims=[8], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [tensor]))
    (snapshot / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(XonncError, match=r"model.onnx: tensor 'w': external data 'w.bin'"):
        load_proto(snapshot / "model.onnx")
    (snapshot.parents[2] / "blobs" / "w.bin").write_bytes(WEIGHTS.tobytes())
    (snapshot / "w.bin").symlink_to("../../../blobs/w.bin")
    assert load_proto(snapshot / "model.onnx").graph.initializer[0].raw_data == WEIGHTS.tobytes()
