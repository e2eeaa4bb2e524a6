"""Files that are no models of ours are named for what they are, with a way out."""

from __future__ import annotations

import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from xonnc.formats.file_types import identify_bytes
from xonnc.tools.driver import main


def archive(members: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return held.getvalue()


def tar(*names: str) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as file:
        for name in names:
            file.addfile(tarfile.TarInfo(name))
    return held.getvalue()


def legacy_torch() -> bytes:
    """As torch before 1.6 wrote files: a number, a version, what is held, one pickle after another."""
    return b"".join(pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


FILES: Mapping[str, tuple[bytes, str]] = {
    "torch": (
        archive({"m/data.pkl": b"\x80\x02", "m/version": b"3"}),
        "a PyTorch file; export it with torch.onnx.export",
    ),
    "torch.export": (
        archive({"m/models/model.json": b"{}", "m/archive_format": b"pt2"}),
        "a PyTorch file; export it with torch.onnx.export",
    ),
    "old torch": (legacy_torch(), "a PyTorch file; export it with torch.onnx.export"),
    "oldest torch": (tar("sys_info", "pickle", "storages"), "a PyTorch file; export it"),
    "pickle": (pickle.dumps([1, 2]), "a pickle of Python objects; export the model in it to ONNX"),
    "saved model": (b"\x08\x01\x12\xc4\x02\x0a\x20" + bytes(40), "a TensorFlow SavedModel; convert it with"),
    "frozen graph": (b"\n\x18\n\x01x\x12\x0bPlaceholder\x00", "a TensorFlow graph; convert it with"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(24), "a TensorFlow Lite model; convert it with"),
    "keras h5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file, as Keras writes models (.h5); export it"),
    "keras": (archive({"config.json": b"{}", "model.weights.h5": b""}), "a Keras model (.keras); export it"),
    "core ml": (b"\x08\x04\x12\x30\n\x24com.github.apple.coremltools.version", "a Core ML model; export"),
    "safetensors": (safetensors(), "safetensors, weights without a graph; export the model"),
    "openvino": (b'<?xml version="1.0"?>\n<net name="m" version="11">', "an OpenVINO model (.xml); give"),
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(57), "an ELF library or program; give the model"),
    "zip": (archive({"models/m.onnx": b""}), "a ZIP archive; unpack it and give models/m.onnx"),
    "arrays": (archive({"w.npy": b""}), "numpy arrays (.npz), which hold data and no model"),
    "broken zip": (b"PK\x03\x04" + bytes(9), "a damaged ZIP archive; get the file again"),
    "tar": (tar("m.onnx"), "a tar archive; unpack it and give the model in it"),
    "gzip": (b"\x1f\x8b\x08" + bytes(20), "compressed by gzip; unpack it first"),
    "array": (b"\x93NUMPY\x01\x00" + bytes(20), "a numpy array (.npy), which holds data and no model"),
    "page": (b"\n<!DOCTYPE html>\n<html>", "an HTML page, not the file behind it; download the file itself"),
    "pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n",
        "a Git LFS pointer, which stands for the file; 'git lfs pull' gets it",
    ),
    "xml": (b'<?xml version="1.0"?>\n<a/>', "an XML file, which is no model"),
    "json": (b'{"nodes": [1, 2]}', "JSON; a model in it is called .json"),
    "onnx text": (b"<ir_version: 8, opset_import: []>", "ONNX as text; call it .onnxtxt"),
    "ir": (b"// RUN: x\n\nbuiltin.module {\n}\n", "IR as text; onnx-opt and onnx-translate take it as .mlir"),
    "text": ("Größe: Meßwerte\n".encode(), "plain text, which is no model"),
    "notes": (
        b"# A module\nIts `builtin.module` and ir_version are told.\n",
        "plain text, which is no model",
    ),
    "gguf": (b"GGUF\x03\0\0\0" + bytes(20), "a GGUF file of llama.cpp"),
    "ort": (b"\x20\0\0\0ORTM" + bytes(24), "a model in onnxruntime's own format (.ort); give the ONNX model"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["check", "inspect", "report", "simulate"])
def test_commands_name_what_they_do_not_take(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    content, meaning = FILES[name]
    path = tmp_path / ("m.onnx" if command == "check" else "m.nvdla")
    path.write_bytes(content)
    assert main([command, str(path)]) == 1
    captured = capsys.readouterr()
    assert f"{path}: " in captured.err
    assert f"this is {meaning}" in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("name", ["torch", "old torch", "page", "pointer", "elf", "tflite", "text"])
def test_packages_are_told_from_others(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    content, meaning = FILES[name]
    path = tmp_path / "m.xpkg"
    path.write_bytes(content)
    assert main(["inspect", str(path)]) == 1
    assert f"{path}: no package: this is {meaning}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["torch", "page", "pointer"])
@pytest.mark.parametrize("ending", ["json", "onnxtxt"])
def test_models_as_text_are_told_from_others(
    name: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    content, meaning = FILES[name]
    path = tmp_path / f"m.{ending}"
    path.write_bytes(content)
    assert main(["check", str(path)]) == 1
    assert f"{path}: not an ONNX model: this is {meaning}" in capsys.readouterr().err


def test_text_with_a_mistake_keeps_its_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, content in (("m.json", '{"graph": 1,,}'), ("m.onnxtxt", "<ir_version: 8> g (")):
        (tmp_path / name).write_text(content)
        assert main(["check", str(tmp_path / name)]) == 1
        assert "this is" not in capsys.readouterr().err


def test_models_and_packages_given_as_loadables(
    small_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model, path = small_model("m.onnx"), tmp_path / "m.nvdla"
    assert main(["compile", str(model), "-o", str(tmp_path / "m.xpkg"), "-q"]) == 0
    for source, meaning in ((model, "an ONNX model"), (tmp_path / "m.xpkg", "a package")):
        path.write_bytes(source.read_bytes())
        assert main(["inspect", str(path)]) == 1
        assert f"{path}: no NVDLA loadable: this is {meaning}; " in capsys.readouterr().err


def test_what_is_damaged_stays_what_it_is(
    small_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model, loadable = small_model("m.onnx"), tmp_path / "m.nvdla"
    assert main(["compile", str(model), "-o", str(loadable), "-q"]) == 0
    for command, path in (("check", model), ("inspect", loadable)):
        path.write_bytes(path.read_bytes()[:-7])
        assert main([command, str(path)]) == 1
        assert ": this is" not in capsys.readouterr().err


def test_loadables_given_as_models(
    small_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model, path = small_model("m.onnx"), tmp_path / "l.onnx"
    assert main(["compile", str(model), "-o", str(tmp_path / "m.nvdla"), "-q"]) == 0
    path.write_bytes((tmp_path / "m.nvdla").read_bytes())
    assert main(["compile", str(path)]) == 1
    assert f"{path}: not an ONNX model: this is an NVDLA loadable; " in capsys.readouterr().err


def test_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    package = tmp_path / "m.mlpackage"
    package.mkdir()
    for path, meaning in ((tmp_path, "a TensorFlow SavedModel; "), (package, "a Core ML model; ")):
        assert main(["check", str(path)]) == 1
        assert f"{path} is a folder; it must be a file: {meaning}" in capsys.readouterr().err


def test_noise_is_not_recognised():
    random = np.random.default_rng(0)
    assert [identify_bytes(random.bytes(64)) for _ in range(100)] == [None] * 100
    assert identify_bytes(b"") is None
