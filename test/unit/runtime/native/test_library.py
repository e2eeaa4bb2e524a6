"""Libraries that were compiled ahead of time run in Python through what they export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.native.shared_library import exported_prefix
from xonnc.tools.driver import main

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[SIZES] x) => (float[SIZES] y, int64[2] s) <float[4] w = {1, -2, 3, 0.5}> {
  m = Mul(x, w) y = Tanh(m) s = Shape(x)
}
"""


def model_of(sizes: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(TEXT.replace("SIZES", sizes))


@pytest.mark.parametrize("sizes", ["2, 4", "n, 4"])
def test_a_library_gives_what_a_session_gives(tmp_path: Path, sizes: str) -> None:
    xonnc.compile_artifact(model_of(sizes), tmp_path / "net.so")
    library, session = xonnc.Library(tmp_path / "net.so"), xonnc.compile(model_of(sizes), cache=False)
    assert [port.name for port in library.outputs] == ["y", "s"]
    assert [(port.name, port.shape, port.dtype) for port in library.inputs] == [
        (port.name, port.shape, port.dtype) for port in session.inputs
    ]
    for rows in (2,) if sizes[0] == "2" else (2, 5, 1, 0):
        x = np.linspace(-3, 3, 4 * rows, dtype=np.float32).reshape(rows, 4)
        found, expected = library.run(None, {"x": x}), session.run(None, {"x": x})
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, np.asarray(other))
    (only,) = library.run(["s"], {"x": np.zeros((2, 4), np.float32)})
    assert only.tolist() == [2, 4]


def test_wrong_feeds_are_told(tmp_path: Path) -> None:
    xonnc.compile_artifact(model_of("2, 4"), tmp_path / "net.so")
    library = xonnc.Library(tmp_path / "net.so")
    with pytest.raises(XonncError, match="float64 was fed, the model takes float32"):
        library.run(None, {"x": np.zeros((2, 4))})
    with pytest.raises(XonncError, match="no output 'z'; there are y, s"):
        library.run(["z"], {"x": np.zeros((2, 4), np.float32)})


def test_names_other_than_the_files_are_found(tmp_path: Path) -> None:
    xonnc.compile_artifact(model_of("2, 4"), tmp_path / "net.so", prefix="other")
    (tmp_path / "net.so").rename(tmp_path / "moved.so")
    assert exported_prefix(tmp_path / "moved.so") == "other"
    assert len(xonnc.Library(tmp_path / "moved.so").inputs) == 1


def test_a_library_without_the_functions_that_it_promises_is_refused(tmp_path: Path) -> None:
    xonnc.compile_artifact(model_of("2, 4"), tmp_path / "net.so")
    held = (tmp_path / "net.so").read_bytes()
    (tmp_path / "other.so").write_bytes(held.replace(b"prefix net;", b"prefix nut;"))
    with pytest.raises(XonncError, match=r"other\.so: not a library compiled by xonnc: .*nut_"):
        xonnc.Library(tmp_path / "other.so")


@pytest.mark.parametrize("content", [b"", b"\x7fELF of another program", b"xonnc native model, prefix net;"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "net.so").write_bytes(content)
    with pytest.raises(XonncError, match=r"net\.so: (not a library compiled by xonnc|cannot be read)"):
        xonnc.Library(tmp_path / "net.so")


def test_an_absent_library_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(XonncError, match=r"^absent\.so: cannot be read: No such file or directory$"):
        xonnc.Library("absent.so")


def test_the_command_runs_a_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xonnc.compile_artifact(model_of("n, 4"), tmp_path / "net.so")
    np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
    command = ["run", str(tmp_path / "net.so"), "--input", str(tmp_path / "x.npy")]
    assert main([*command, "--output", f"y={tmp_path / 'y.npy'}"]) == 0
    assert "y 1x4 float32" in capsys.readouterr().out
    (expected, _) = xonnc.compile(model_of("n, 4"), cache=False).run(None, {"x": np.ones((1, 4), np.float32)})
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.asarray(expected))
    assert main(["run", str(tmp_path / "net.o")]) == 1
    assert "object file, which is for a program of your own" in capsys.readouterr().err
