"""`xonnc sweep`: cases, the store that resumes, workers that die, and the page that describes it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data, write_external_data_tensors

from xonnc.errors import XonncError
from xonnc.executors.executor import Outcome
from xonnc.tools.driver import main
from xonnc.tools.sweep import measure as measuring
from xonnc.tools.sweep import plan
from xonnc.tools.sweep.plan import Case, read_cases
from xonnc.tools.sweep.store import ResultStore

PAGE = (Path(__file__).resolve().parents[3] / "docs/sweep.md").read_text()


@pytest.fixture
def sweep(tmp_path: Path, small_model: Callable[..., Path]) -> Path:
    small_model("model.onnx")
    path = tmp_path / "sweep.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])
    return path


def swept(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["sweep", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_example_of_the_page_and_its_second_run(sweep: Path, capsys: pytest.CaptureFixture[str]):
    table = sweep.with_name("results.csv")
    assert main(["sweep", str(sweep), "--jobs", "2", "--csv", str(table)]) == 0
    assert "ran          4 of 4 cases" in capsys.readouterr().out
    found = swept(capsys, sweep)
    assert found["ran"] == 0
    status = {(one["target"], one["precision"]): one["status"] for one in found["results"]}
    assert status["nv_small", "int8"] == status["nv_small_256", "int8"] == "done"
    assert status["nv_small", "float"] == "refused"
    refused = next(one for one in found["results"] if one["status"] == "refused")
    assert refused["message"].startswith("nothing runs on nv_small: ")
    rows = list(csv.DictReader(table.open()))
    assert [one["status"] for one in rows] == [one["status"] for one in found["results"]]
    times = {one["target"]: one["milliseconds"] for one in found["results"] if one["precision"] == "int8"}
    assert times["nv_small"] > times["nv_small_256"] > 0


def test_a_result_is_kept_as_long_as_its_contents_do(
    sweep: Path, small_model: Callable[..., Path], capsys: pytest.CaptureFixture[str]
):
    sweep.write_text('models = ["model.onnx"]\ntargets = ["nv_small"]')
    assert swept(capsys, sweep, "--jobs", 0)["ran"] == 1
    sweep.write_text('models = ["*.onnx"]\ntargets = ["nv_small", "nv_small_256"]')
    assert swept(capsys, sweep, "--jobs", 0)["ran"] == 1
    before = [case.key() for case in read_cases(sweep)]
    small_model("model.onnx", operator="Sigmoid").rename(sweep.with_name("other.onnx"))
    small_model("model.onnx")
    after = [case.key() for case in read_cases(sweep)]
    assert before == after[:2]
    assert len(set(after)) == 4


def test_an_interrupted_sweep_resumes(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    done: list[Case] = []

    def interrupted(case: Case) -> dict[str, float]:
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(case)
        return {"cycles": 1.0, "milliseconds": 1.0}

    with monkeypatch.context() as patched:
        patched.setattr(measuring, "measure", interrupted)
        assert main(["sweep", str(sweep), "--jobs", "0", "-q"]) != 0
    capsys.readouterr()
    assert swept(capsys, sweep, "--jobs", 0)["ran"] == 3


def test_a_lost_case_is_reported_and_runs_again_on_request(sweep: Path, capsys: pytest.CaptureFixture[str]):
    sweep.write_text('models = ["model.onnx"]\ntargets = ["nv_small"]')
    (case,) = read_cases(sweep)
    with ResultStore(sweep.with_suffix(".db")) as store:
        store.add(case.key(), Outcome(0, None, "its worker crashes with SIGKILL, 3 times", 3, is_lost=True))
    assert main(["sweep", str(sweep)]) == 1
    assert "lost: its worker crashes with SIGKILL, 3 times" in capsys.readouterr().out
    assert swept(capsys, sweep, "--jobs", 0, "--retry")["ran"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('models = ["no*.onnx"]\ntargets = ["nv_small"]', "models: no file 'no*.onnx'"),
        ('models = ["*.onnx"]\ntargets = ["nv_smal"]', "did you mean 'nv_small'?"),
        ('models = ["*.onnx"]\ntargets = []', "no cases: models, targets and precisions"),
        (
            'models = ["*.onnx"]\ntargets = ["nv_small"]\nprecisions = ["int4"]',
            "'int4'; there are int8, float",
        ),
        ('models = ["*.onnx"]\ntargets = ["nv_small"]\nsamples = "gone.npz"', "gone.npz: no such file"),
        ('models = ["*.onnx"]', "targets must be given"),
        ('model = ["*.onnx"]', "no property 'model'; did you mean 'models'?"),
    ],
)
def test_files_that_describe_no_sweep(sweep: Path, text: str, message: str):
    sweep.write_text(text)
    with pytest.raises(XonncError, match=re.escape(message)):
        read_cases(sweep)


def test_other_invalid_arguments(sweep: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["sweep", str(sweep), "--jobs", "-1"]) == 1
    assert "--jobs -1: a number of processes" in capsys.readouterr().err
    assert main(["sweep", str(sweep), "--store", str(sweep)]) == 1
    assert f"{sweep}: not a store of results" in capsys.readouterr().err


def test_external_data_are_contents_of_the_model(sweep: Path, tmp_path: Path):
    model = onnx.ModelProto.FromString((tmp_path / "model.onnx").read_bytes())
    convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
    write_external_data_tensors(model, str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    first, *_ = read_cases(sweep)
    key = first.key()
    plan.digest_of_model.cache_clear()
    weights = tmp_path / "weights.bin"
    weights.write_bytes(bytes(len(weights.read_bytes())))
    assert first.key() != key
