"""`xonnc compile --target tosa`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.xdsl_opt_main import xDSLOptMain

import xonnc
from xonnc.tools.driver import main


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    return small_model("small.onnx", operator="Tanh")


def test_it_writes_the_generic_form(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "small.mlir"
    assert main(["compile", str(model), "--target", "tosa"]) == 0
    text = output.read_text()
    assert '"tosa.tanh"' in text
    assert "onnx." not in text
    assert "tanh 1" in capsys.readouterr().out
    assert xonnc.compile_tosa(model).ops["tanh"] == 1


def test_xdsl_reads_it(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "--target", "tosa", "-q"]) == 0
    xDSLOptMain(args=[str(tmp_path / "small.mlir")]).run()
    assert "tosa.tanh" in capsys.readouterr().out


def test_json(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "--target", "tosa", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["target"], told["output"], told["ops"]["tanh"]) == ("tosa", None, 1)
    assert not (tmp_path / "small.mlir").exists()


def test_it_stops_after_a_stage(model: Path, tmp_path: Path):
    output = tmp_path / "early.mlir"
    command = ["compile", str(model), "--target", "tosa", "-o", str(output), "-q"]
    assert main([*command, "--stop-after", "simplified"]) == 0
    assert "onnx.Tanh" in output.read_text()


def test_a_refusal_writes_nothing(
    small_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = small_model("small.onnx", operator="Atan")
    assert main(["compile", str(model), "--target", "tosa"]) == 1
    assert "(Atan): there is no lowering to TOSA" in capsys.readouterr().err
    assert not (tmp_path / "small.mlir").exists()


@pytest.mark.parametrize("option", ["--package", "--no-malloc", "--require-dla"])
def test_options_of_other_targets_are_refused(model: Path, option: str, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), "--target", "tosa", option]) == 1
    assert f"{option} is not for target tosa" in capsys.readouterr().err
