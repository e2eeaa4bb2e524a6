"""Networks as shared libraries and C source run from C, and give what the session gives."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench import aot
from bench.aot import TOLERANCE, AotResult, main, measure
from bench.zoo.convolutional import mnist_cnn
from bench.zoo.recurrent import lstm


@pytest.fixture(autouse=True)
def small_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An LSTM that is smaller than that of the benchmark, and MNIST."""

    def path_of(name: str) -> Path:
        path = tmp_path / name / "model.onnx"
        if not path.exists():
            path.parent.mkdir()
            made = mnist_cnn() if name == "mnist_cnn" else lstm(24, 40, 7)
            path.write_bytes(made.SerializeToString())
        return path

    monkeypatch.setattr(aot, "path_of", path_of)


@pytest.mark.parametrize("form", ["so", "c"])
@pytest.mark.parametrize("model", ["mnist_cnn", "lstm"])
def test_small_networks_run_from_c(model: str, form: str) -> None:
    result = measure(model, form, runs=1)
    assert result.difference < TOLERANCE
    assert result.files[f"model.{form}"] > 1000
    assert ("model.weight" in result.files) == (form == "c")


@pytest.mark.parametrize(("tolerance", "exit_code"), [(TOLERANCE, 0), (-1.0, 1)])
def test_the_table_is_written_and_other_outputs_fail(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tolerance: float,
    exit_code: int,
) -> None:
    result = AotResult("lstm", "so", 5, {"model.so": 7}, 9, 0.5, 0.25, 0.001, 0.002, 0.0)

    def measured(model: str, form: str) -> AotResult:
        return result

    monkeypatch.setattr(aot, "measure", measured)
    monkeypatch.setattr(aot, "TOLERANCE", tolerance)
    path = tmp_path / "rows.json"
    assert main(["--models", "lstm", "--forms", "so", "--json", str(path)]) == exit_code
    (written,) = json.loads(path.read_text())
    assert written["files"] == {"model.so": 7}
    stderr = capsys.readouterr().out
    assert "run 1.00 ms, session 2.00 ms" in stderr
    assert "| lstm | `.so` | 0.00 MB | 0.2 s | 0.00 MB | 1.00 ms |" in stderr


def test_what_a_program_says_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aot, "MAIN", "int main(void) { return 7; }")
    with pytest.raises(RuntimeError, match="exit code 7"):
        measure("mnist_cnn", "so", runs=1)
