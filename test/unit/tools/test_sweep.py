"""`xonnc sweep`: cases, the store that resumes, workers that die, and the page that describes it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data, write_external_data_tensors
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import Sample, calibrate_module
from xonnc.errors import XonncError
from xonnc.executors.executor import Outcome
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.targets import load_target
from xonnc.tools.driver import main
from xonnc.tools.sweep import measure as measuring
from xonnc.tools.sweep import plan
from xonnc.tools.sweep.pareto import COSTS, pareto_front, render
from xonnc.tools.sweep.plan import Case, read_cases
from xonnc.tools.sweep.silicon import silicon
from xonnc.tools.sweep.store import ResultStore
from xonnc.tools.sweep.target_ranges import TargetChoice

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


def test_calibrations_are_an_axis_and_shared_by_targets(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    samples = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
    np.save(sweep.with_name("samples.npy"), samples)
    sweep.write_text(
        'models = ["model.onnx"]\ntargets = ["nv_small", "nv_large"]\nprecisions = ["int8", "float"]\n'
        'samples = "samples.npy"\ncalibrations = ["mse", "minmax"]'
    )
    methods: list[str] = []

    def counted(module: ModuleOp, samples: Sequence[Sample], method: str) -> Ranges:
        methods.append(method)
        return calibrate_module(module, samples, method)

    monkeypatch.setattr(measuring, "calibrate_module", counted)
    found = swept(capsys, sweep, "--jobs", 0)["results"]
    assert methods == ["mse", "minmax"]
    axes = [(one["target"], one["precision"], one["calibration"]) for one in found]
    expected = [(target, "int8", method) for method in methods for target in ("nv_small", "nv_large")]
    assert axes == [*expected, ("nv_small", "float", ""), ("nv_large", "float", "")]
    noise = [one["output_noise_db"] for one in found]
    assert noise[0] == noise[1] < -15
    assert noise[2] == noise[3] < -15
    assert noise[4:] == ["", ""]
    assert len({case.key() for case in read_cases(sweep)}) == 6


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
        ('models = ["*.onnx"]\ntargets = []', "no cases: models, targets, precisions and calibrations"),
        (
            'models = ["*.onnx"]\ntargets = ["nv_small"]\ncalibrations = ["max"]',
            "calibrations: 'max'; there are mse, minmax",
        ),
        (
            'models = ["*.onnx"]\ntargets = ["nv_small"]\nprecisions = ["int4"]',
            "'int4'; there are int8, float",
        ),
        ('models = ["*.onnx"]\ntargets = ["nv_small"]\nsamples = "gone.npz"', "gone.npz: no such file"),
        ('models = ["*.onnx"]', "no cases: models, targets, precisions and calibrations"),
        ('models = ["*.onnx"]\ntarget = "nv_small"', "target: tables [[target]], each with a base"),
        ('models = ["*.onnx"]\n[[target]]\ndram_gb_per_s = 1', "target: base: the name of a target"),
        ('models = ["*.onnx"]\n[[target]]\nbase = "nv_smal"', "did you mean 'nv_small'?"),
        (
            'models = ["*.onnx"]\n[[target]]\nbase = "nv_small"\ncbuf_bank = 4',
            "no property 'cbuf_bank'; did you mean 'cbuf_banks'?",
        ),
        ('models = ["*.onnx"]\n[[target]]\nbase = "nv_small"\ncbuf_banks = []', "cbuf_banks: no values"),
        (
            'models = ["*.onnx"]\n[[target]]\nbase = "nv_small"\natomic_k = [8, 9]',
            "atomic_k = 9; it is one of",
        ),
        (
            'models = ["*.onnx"]\n[[target]]\nbase = "nv_small"\n'
            f"clock_mhz = {list(range(1, 200))}\ndram_gb_per_s = {list(range(1, 200))}",
            "dram_gb_per_s: more than 10000 targets",
        ),
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


RANGES = """
models = ["*.onnx"]
[[target]]
base = "nv_small"
dram_gb_per_s = [1, 4]
atomic_k = [8, 16]
[[target]]
base = "own.toml"
precisions = [["int8"], ["int8", "fp16"]]
bdma = true
"""


def test_tables_vary_the_properties_of_a_target(sweep: Path):
    sweep.write_text(RANGES)
    own = (Path(plan.__file__).parents[2] / "targets" / "nv_full.toml").read_text()
    sweep.with_name("own.toml").write_text(own)
    cases = read_cases(sweep)
    labels = [case.target.label.removeprefix(f"{sweep.parent}/") for case in cases]
    assert labels == [
        "nv_small dram_gb_per_s=1 atomic_k=8",
        "nv_small dram_gb_per_s=1 atomic_k=16",
        "nv_small dram_gb_per_s=4 atomic_k=8",
        "nv_small dram_gb_per_s=4 atomic_k=16",
        "own.toml precisions=int8 bdma=true",
        "own.toml precisions=int8+fp16 bdma=true",
    ]
    target = cases[3].target.load()
    assert (target.dram_gb_per_s, target.atomic_k, target.atomic_c) == (4.0, 16, 8)
    assert not target.has_measured_cycles
    with cases[4].target.file() as path:
        assert load_target(path) == cases[4].target.load()
        assert load_target(path).precisions == ("int8",)
    assert len({case.key() for case in cases}) == len(cases)


def test_time_follows_the_varied_property_and_the_page_has_it(
    sweep: Path, capsys: pytest.CaptureFixture[str]
):
    sweep.write_text('models = ["*.onnx"]\n[[target]]\nbase = "nv_small"\ndram_gb_per_s = [0.25, 8]')
    page = sweep.with_name("results.html")
    slow, fast = swept(capsys, sweep, "--jobs", 0, "--html", page)["results"]
    assert slow["milliseconds"] > fast["milliseconds"]
    assert (slow["multipliers"], slow["cbuf_bytes"], slow["area_mm2_16nm"]) == (64, 1 << 17, 0.55)
    text = page.read_text()
    found = re.findall(r'type="application/json">(.*?)</script>', text, re.DOTALL)
    data = json.loads(found[0])
    assert data["fronts"]["model.onnx"]["dram_gb_per_s"] == [0, 1]
    assert data["fronts"]["model.onnx"]["multipliers"] == [1]
    assert "http" not in re.sub(r"<script>.*?</script>|<pre>.*?</pre>", "", text, flags=re.DOTALL)


def test_pareto_fronts():
    figures = [(5, 1), (4, 2), (6, 2), (3, 2), (1, 9), (1, 8), (9, 9)]
    rows = [{"milliseconds": float(time), "multipliers": float(cost)} for time, cost in figures]
    front = pareto_front(rows, "multipliers")
    assert front == [0, 3, 5]
    for index, row in enumerate(rows):
        beaten = any(
            other["milliseconds"] <= row["milliseconds"]
            and other["multipliers"] <= row["multipliers"]
            and other != row
            for other in rows
        )
        assert beaten == (index not in front)
    assert pareto_front([{"milliseconds": 1.0, "multipliers": ""}, {"multipliers": 2.0}], "multipliers") == []
    assert pareto_front([], "multipliers") == []


def test_a_page_shows_names_as_text():
    row = {"model": "</script><b>", "target": "t", "precision": "int8", "status": "refused", "message": "<i>"}
    page = render("<s>", [row])
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<title>&lt;s></title>" in page
    assert set(COSTS) >= {"area_mm2_16nm", "multipliers"}


def test_area_and_power_are_the_published_ones_and_between_them():
    published = silicon(load_target("nv_small"))
    assert published == pytest.approx({"area_mm2_28nm": 0.91, "area_mm2_16nm": 0.55, "power_mw_16nm": 21})
    wider = silicon(TargetChoice("nv_small", (("atomic_k", 16), ("clock_mhz", 500))).load())
    assert wider["area_mm2_16nm"] == pytest.approx(0.84)
    assert wider["power_mw_16nm"] == pytest.approx(31 / 2)
    assert silicon(load_target("nv_full")) == {}
    assert silicon(TargetChoice("nv_small", (("atomic_c", 4), ("atomic_k", 4))).load()) == {}


def test_the_smallest_configuration(
    small_model: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    times = {"nv_small": 50.0, "nv_small_256": 20.0, "nv_large": 2.0}

    def measured(case: Case) -> dict[str, float]:
        target = case.target.load()
        if target.name not in times:
            raise XonncError("refused\nbecause")
        figures = {"multipliers": target.atomic_c * target.atomic_k, "cbuf_bytes": 1, "dram_gb_per_s": 1}
        return {"milliseconds": times[target.name], "cpu_nodes": 2, **figures, **silicon(target)}

    monkeypatch.setattr(measuring, "measure", measured)
    model = small_model("model.onnx")
    command = ["size", str(model), "--jobs", "0", "--precision", "int8"]
    assert main([*command, "--fps", "30"]) == 0
    printed = capsys.readouterr().out
    assert "smallest     nv_small_256 in int8, with 50.0 inferences a second" in printed
    assert "the time of 2 nodes on the CPU" in printed
    assert re.search(r"nv_small +int8 +64 +50.000 +20.0 +0.55 +21 +2 +too slow", printed)
    assert re.search(r"nv_full +int8 +refused: refused\n", printed)
    assert main([*command, "--fps", "1000"]) == 1
    assert (
        "none reaches 1000 inferences a second; the fastest is nv_large, with 500.0"
        in capsys.readouterr().out
    )
    assert main([*command, "--fps", "30", "--json", "--target", "nv_large"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["smallest"] == "nv_large int8"
    assert [each["is_fast_enough"] for each in document["candidates"]] == [True]
    assert main([*command, "--fps", "1000", "-q"]) == 1
    assert capsys.readouterr().out == ""


def test_both_precisions_and_ranges_are_considered(sweep: Path, capsys: pytest.CaptureFixture[str]):
    sweep.write_text('models = ["*.onnx"]\n[[target]]\nbase = "nv_small"\ndram_gb_per_s = [1, 8]')
    model = sweep.with_name("model.onnx")
    command = ["size", str(model), "--fps", "1", "--jobs", "0", "--json"]
    assert main([*command, "--ranges", str(sweep)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["smallest"] == "nv_small dram_gb_per_s=1 int8"
    assert main([*command, "--target", "nv_full"]) == 0
    precisions = [each["precision"] for each in json.loads(capsys.readouterr().out)["candidates"]]
    assert sorted(precisions) == ["float", "int8"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fps", "0"], "--fps 0.0: a number above 0"),
        (["--fps", "nan"], "--fps nan: a number above 0"),
        (["--fps", "1", "--jobs", "-1"], "--jobs -1: a number of processes"),
        (["--fps", "1", "--target", "nv_smal"], "did you mean 'nv_small'?"),
        (["--fps", "1", "--target", "nv_small", "--ranges", "s.toml"], "give one of them"),
    ],
)
def test_wrong_options_of_size(
    options: list[str],
    message: str,
    small_model: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
):
    assert main(["size", str(small_model("model.onnx")), *options]) == (2 if "nv_smal" in options else 1)
    assert message in capsys.readouterr().err


def test_the_size_of_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["size", str(tmp_path / "gone.onnx"), "--fps", "1"]) == 1
    assert "gone.onnx: no such file" in capsys.readouterr().err
