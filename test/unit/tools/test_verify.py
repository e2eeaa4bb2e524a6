"""`xonnc verify` through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from xonnc.tools.driver import main

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


@pytest.fixture
def models(tmp_path: Path) -> tuple[str, str]:
    """A model, and another that differs for negative inputs."""
    found: list[str] = []
    for name, body in (
        ("a", "n = Neg (x) b = Abs (n) y = Exp (b)"),
        ("b", "n = Neg (x) b = Relu (n) y = Exp (b)"),
    ):
        model = parser.parse_model(f"{HEAD} main (float[2, 3] x) => (float[2, 3] y) {{ {body} }}")
        found.append(str(tmp_path / f"{name}.onnx"))
        Path(found[-1]).write_bytes(model.SerializeToString())
    return found[0], found[1]


def test_agreement(models: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    assert main(["verify", models[0]]) == 0
    out = capsys.readouterr().out
    assert "a.onnx native -O2" in out
    assert "agree on 4 inputs" in out
    assert main(["verify", models[0], "--simplify", "-q", "--profile", "all"]) == 0
    assert not capsys.readouterr().out


def test_a_difference_exits_with_1(models: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    assert main(["verify", *models, "--profile", "normal,zeros", "-n", "2"]) == 1
    out = capsys.readouterr().out
    assert [line.split()[-1] for line in out.splitlines() if " allowed" in line] == ["DIFFERS", "DIFFERS"]
    assert "2 comparisons of 4 DIFFER" in out


def test_a_difference_of_shapes_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, times in (("a", 2), ("b", 3)):
        text = f"{HEAD} main (float[3] x) => (float[n] y) <int64[1] s = {{{times}}}> {{ y = Tile (x, s) }}"
        (tmp_path / f"{name}.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    assert main(["verify", str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx"), "--profile", "normal"]) == 1
    assert "DIFFERS: float32[9], expected float32[6]" in capsys.readouterr().out


def test_layers_name_the_first_wrong_value(models: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    assert main(["verify", *models, "--layers"]) == 1
    out = capsys.readouterr().out
    assert "first wrong  b on normal 0" in out
    assert "SNR" in out


def test_json(models: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    assert main(["verify", *models, "--json", "--profile", "normal"]) == 1
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert output["passed"] is False
    assert output["relative_error"] > output["allowed"]


def test_matrix(models: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    assert main(["verify", models[0], "--matrix", "--profile", "normal"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("O0", "O3", "simplified", "reference"))
    assert main(["verify", models[0], "--matrix", "--json", "--profile", "normal"]) == 0
    assert json.loads(capsys.readouterr().out)["O1"]["passed"] is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--matrix", "--layers"], "--matrix: compares MODEL with itself"),
        (["--rtol", "-1"], "--rtol -1.0: a number of at least 0"),
        (["--atol", "inf"], "--atol inf: a number of at least 0"),
        (["--profile", "nan"], "no profile 'nan'"),
    ],
)
def test_wrong_options(
    models: tuple[str, str], options: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["verify", models[0], *options]) == 1
    assert said in capsys.readouterr().err


LARGE = """main (float[1,8,4,4] x) => (float[1,8,3,3] y) {
  a = Constant <value_float = 40000.0> () b = Constant <value_float = 0.001> ()
  m = Mul (x, a) p = MaxPool <kernel_shape = [2, 2]> (m) y = Mul (p, b)
}"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A model with values beyond float16's range, and a folder with inputs for which it has some."""
    path = tmp_path / "large.onnx"
    path.write_bytes(parser.parse_model(f"{HEAD} {LARGE}").SerializeToString())
    for name, first, last in (("many", -4, 4), ("few", -1, 1)):
        (tmp_path / name).mkdir()
        np.save(
            tmp_path / name / "x.npy", np.linspace(first, last, 128, dtype=np.float32).reshape(1, 8, 4, 4)
        )
    return path


def compiled(model: Path, suffix: str = ".nvdla") -> str:
    loadable = model.with_suffix(suffix)
    assert main(["compile", str(model), "--target", "nv_full", "-o", str(loadable), "-q"]) == 0
    return str(loadable)


@pytest.mark.parametrize("suffix", [".nvdla", ".xpkg"])
def test_values_beyond_float16_are_a_hint(suffix: str, large: Path, capsys: pytest.CaptureFixture[str]):
    loadable = compiled(large, suffix)
    command = ["verify", str(large), loadable, "--inputs", str(large.parent / "many")]
    assert main(command) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("hint")]
    assert "m reaches 1.6e+05, beyond float16's range (65504): calibrate for INT8, by 'xonnc" in line
    assert main([*command, "--json"]) == 1
    (hint,) = json.loads(capsys.readouterr().out)["hints"].values()
    assert hint in line


def test_no_hint_if_all_values_are_in_range(large: Path, capsys: pytest.CaptureFixture[str]):
    loadable = compiled(large)
    assert main(["verify", str(large), loadable, "--inputs", str(large.parent / "few")]) == 0
    assert "hint" not in capsys.readouterr().out
    # Differs since it is another model, with values in range.
    other = large.with_name("other.onnx")
    other.write_bytes(parser.parse_model(f"{HEAD} {LARGE.replace('40000.0', '-2.0')}").SerializeToString())
    assert main(["verify", str(other), loadable, "--inputs", str(large.parent / "few")]) == 1
    assert "hint" not in capsys.readouterr().out


def test_no_hint_if_nothing_was_clamped(large: Path, capsys: pytest.CaptureFixture[str]):
    """The model has values beyond float16, the loadable of another one has none."""
    other = large.with_name("other.onnx")
    other.write_bytes(parser.parse_model(f"{HEAD} {LARGE.replace('40000.0', '-2.0')}").SerializeToString())
    loadable = compiled(other)
    assert main(["verify", str(large), loadable, "--inputs", str(large.parent / "many")]) == 1
    assert "hint" not in capsys.readouterr().out
