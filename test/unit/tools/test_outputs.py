"""What all tools hold to of their outputs: no input is replaced, and names say what is in the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import set_external_data

from xonnc.tools import driver, opt, translate

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[1,512] x) => (float[1,512] y)
{ s = Mul (x, w) y = Relu (s) }
"""

IR = "func.func @f(%0: tensor<1xf32>) -> tensor<1xf32> {\n  onnx.Return %0 : tensor<1xf32>\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = onnx.parser.parse_model(TEXT)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((1, 512), 2, np.float32), "w"))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (weight,) = model.graph.initializer
    (tmp_path / "data.bin").write_bytes(weight.raw_data)
    set_external_data(weight, "data.bin")
    weight.ClearField("raw_data")
    (tmp_path / "external.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "m.mlir").write_text(IR)
    (tmp_path / "link.nvdla").symlink_to("m.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "hard.so")
    (tmp_path / "calib.json").write_text('{"x": {"scale": 0.01}}')
    np.save(tmp_path / "x.npy", np.ones((1, 512), np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XONNC_CACHE", "off")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def onnx_opt(argv: Sequence[str]) -> int:
    return opt.main(argv)


def onnx_translate(argv: Sequence[str]) -> int:
    return translate.main(argv)


Tool = Callable[[Sequence[str]], int]


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        (driver.main, "compile m.onnx -o m.onnx"),
        (driver.main, "compile m.onnx -o ./m.onnx --package"),
        (driver.main, "compile m.onnx -o link.nvdla"),
        (driver.main, "compile m.onnx -o hard.so"),
        (driver.main, "compile m.onnx --calib calib.json --save-calib calib.json -o n.nvdla"),
        (driver.main, "simplify m.onnx m.onnx"),
        (driver.main, "simplify external.onnx new.onnx --external-data=data.bin"),
        (driver.main, "simplify external.onnx external.onnx"),
        (driver.main, "run m.onnx --input x.npy --output x.npy"),
        (driver.main, "reduce m.onnx -o m.onnx --check false"),
        (onnx_opt, "m.mlir -o m.mlir"),
        (onnx_translate, "m.onnx -o m.onnx"),
        (onnx_translate, "external.onnx -o new.onnx --external-data=data.bin"),
        (onnx_translate, "m.mlir -o m.mlir"),
    ],
)
def test_no_input_is_replaced(folder: Path, capsys: pytest.CaptureFixture[str], tool: Tool, command: str):
    before = contents(folder)
    assert tool(command.split()) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "is an input of this command" in told or "cannot be the same file" in told
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("tool", "command", "said"),
    [
        (driver.main, "compile m.onnx -o n.mlir", "the ending .mlir says IR"),
        (driver.main, "compile m.onnx -o n.foo", "the ending .foo is none of an output"),
        (driver.main, "compile m.onnx -o n.onnx", ".nvdla (NVDLA loadable), .xpkg (package), .so"),
        (driver.main, "compile m.onnx --package -o n.onnx", "supported: .xpkg (package)"),
        (driver.main, "compile m.onnx -o n.nvdla --stop-after dla", "supported: .mlir (IR)"),
        (driver.main, "simplify m.onnx n.nvdla", "the ending .nvdla says NVDLA loadable"),
        (driver.main, "simplify m.onnx n.pb", "the ending .pb is none of an output"),
        (driver.main, "reduce m.onnx -o n.json --check false", "supported: .onnx (ONNX model)"),
        (driver.main, "run m.onnx --input x.npy --output y.bin", "supported: .npy (array)"),
        (onnx_opt, "m.mlir -o n.onnx", "the ending .onnx says ONNX model"),
    ],
)
def test_names_say_what_is_in_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str], tool: Tool, command: str, said: str
):
    before = contents(folder)
    assert tool(command.split()) == 1
    assert said in capsys.readouterr().err
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        (driver.main, "compile m.onnx -q -o /dev/null"),
        (driver.main, "compile m.onnx -q --package -o /dev/null"),
        (driver.main, "simplify m.onnx -q /dev/null"),
        (driver.main, "run m.onnx -q --input x.npy --output /dev/null"),
        (onnx_opt, "m.mlir -o /dev/null"),
        (onnx_translate, "m.onnx --to json -o /dev/null"),
    ],
)
def test_devices_take_any_output(folder: Path, tool: Tool, command: str):
    before = contents(folder)
    assert tool(command.split()) == 0
    assert Path("/dev/null").is_char_device()
    assert contents(folder) == before


@pytest.mark.parametrize(
    "command",
    [
        "compile m.onnx -o /dev/full",
        "compile m.onnx --package -o /dev/full",
        "simplify m.onnx /dev/full",
        "run m.onnx --input x.npy --output /dev/full",
    ],
)
def test_a_full_disk_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], command: str):
    assert driver.main(command.split()) == 1
    assert capsys.readouterr().err == "xonnc: /dev/full: cannot be written: No space left on device\n"


@pytest.mark.parametrize("name", ["/", ".", "folder"])
@pytest.mark.parametrize(
    ("tool", "command"),
    [
        (driver.main, "compile m.onnx -o"),
        (driver.main, "simplify m.onnx"),
        (driver.main, "run m.onnx --input x.npy --output"),
        (driver.main, "reduce m.onnx --check false -o"),
        (onnx_opt, "m.mlir -o"),
        (onnx_translate, "m.onnx --to mlir -o"),
    ],
)
def test_folders_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], tool: Tool, command: str, name: str
):
    (folder / "folder").mkdir()
    assert tool([*command.split(), name]) == 1
    assert f"{name}: is a folder; name a file in it" in capsys.readouterr().err


def test_emit_needs_a_name(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert driver.main(["emit", "m.onnx", "-o", "/"]) == 1
    assert capsys.readouterr().err == "xonnc: /: is a folder; name a file in it\n"


def test_external_data_needs_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert driver.main("simplify m.onnx /dev/null --external-data=d".split()) == 1
    assert "/dev/null: external data needs a folder" in capsys.readouterr().err


def test_a_pipe_takes_an_array(folder: Path):
    reading, writing = os.pipe()
    assert driver.main(["run", "m.onnx", "-q", "--input", "x.npy", "--output", f"/dev/fd/{writing}"]) == 0
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        assert stream.read().startswith(b"\x93NUMPY")
