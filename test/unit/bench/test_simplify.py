"""The benchmark of simplification: what it concludes from samples, and that a sample is taken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.simplification.results import Measurements, Requirement, ratio, requirements
from bench.simplification.sample import FailedMeasurement, Measurement, disagreement, run_sample
from bench.simplification.tables import as_json, from_json, tables
from bench.zoo.convolutional import mnist_cnn
from bench.zoo.synthetic import chain


def measurements(
    cells: dict[str, dict[str, tuple[float, float, int]]], megabytes: float = 100.0
) -> Measurements:
    """Figures of one sample each: seconds, peak and nodes by model and tool."""
    made = Measurements(["xonnc", "onnx.load"], {model: megabytes for model in cells})
    for model, row in cells.items():
        for tool, (seconds, peak, nodes) in row.items():
            made.cell(model, tool).add(Measurement(seconds, 0.1, peak, {"Add": nodes}))
    return made


def requirement(measurements: Measurements, beginning: str) -> Requirement:
    """The verdict that begins with those words."""
    (found,) = (each for each in requirements(measurements) if each.text.startswith(beginning))
    return found


def test_nodes_are_compared_with_the_best() -> None:
    row = {"xonnc": (1.0, 1.0, 10), "onnxsim": (1.0, 1.0, 12), "ort-basic": (1.0, 1.0, 9)}
    assert requirement(measurements({"lstm": row}), "nodes").failures == ["lstm: 10 of 9 (ort-basic)"]
    del row["ort-basic"]
    assert requirement(measurements({"lstm": row}), "nodes").passed


@pytest.mark.parametrize(("megabytes", "is_asked"), [(39.0, False), (40.0, True)])
def test_large_models_are_compared_with_onnxruntime(megabytes: float, is_asked: bool) -> None:
    row = {"xonnc": (3.0, 1.0, 1), "ort-basic": (2.0, 1.0, 1)}
    found = [
        each.failures
        for each in requirements(measurements({"lstm": row}, megabytes))
        if "from 40 MB" in each.text
    ]
    assert found == ([["lstm: 1.50 of ort-basic"]] if is_asked else [])


def test_time_is_compared_with_every_rival() -> None:
    row = {"xonnc": (3.0, 1.0, 1), "onnxslim": (2.0, 1.0, 1), "onnxscript": (4.0, 1.0, 1)}
    assert requirement(measurements({"lstm": row}), "faster").failures == ["lstm: 1.50 of onnxslim"]


def test_minima_that_contradict_medians_are_noise() -> None:
    made = measurements({"lstm": {"xonnc": (3.0, 1.0, 1), "onnxslim": (2.0, 1.0, 1)}})
    for seconds in (1.0, 3.0):
        made.cell("lstm", "xonnc").add(Measurement(seconds, 0.1, 1.0, {}))
    assert requirement(made, "faster").failures == ["lstm: 1.50 of onnxslim (noisy)"]


def test_rounds_are_compared_in_pairs() -> None:
    made = measurements({"lstm": {"xonnc": (1.0, 1.0, 1), "onnxslim": (2.0, 1.0, 1)}})
    for factor in (10.0, 0.5):
        made.cell("lstm", "xonnc").add(Measurement(factor, 0.1, 1.0, {}))
        made.cell("lstm", "onnxslim").add(Measurement(2 * factor, 0.1, 1.0, {}))
    assert ratio(made.cell("lstm", "xonnc"), made.cell("lstm", "onnxslim")) == 0.5
    assert requirement(made, "faster").passed


def test_peak_is_measured_by_the_file() -> None:
    assert requirement(measurements({"lstm": {"xonnc": (1.0, 190.0, 1)}}), "peak").passed
    assert requirement(measurements({"lstm": {"xonnc": (1.0, 191.0, 1)}}), "peak").failures == [
        "lstm: 191 MB of 190"
    ]


def test_chains_cost_the_same_a_node() -> None:
    flat = {"chain_1000": {"xonnc": (0.1, 1.0, 1)}, "chain_5000": {"xonnc": (0.6, 1.0, 1)}}
    assert requirement(measurements(flat), "a node costs").passed
    flat["chain_5000"] = {"xonnc": (0.7, 1.0, 1)}
    assert requirement(measurements(flat), "a node costs").failures == ["1000: 100 us, 5000: 140 us"]


def test_failures_and_disagreements_are_misses() -> None:
    made = measurements({"lstm": {"xonnc": (1.0, 1.0, 1)}, "unet": {"xonnc": (1.0, 1.0, 1)}})
    made.cell("lstm", "xonnc").add(FailedMeasurement("over 3 s"))
    made.cell("unet", "xonnc").disagreement = "y: 1 of 2 elements differ"
    failures = requirement(made, "every model").failures
    assert failures == ["lstm: over 3 s", "unet: y: 1 of 2 elements differ"]
    assert "| lstm | 100 | – | failed |" in tables(made)
    assert "* lstm, xonnc: over 3 s" in tables(made)


def test_tables_are_multiples() -> None:
    made = measurements({"lstm": {"onnx.load": (0.5, 200.0, 7), "xonnc": (1.0, 150.0, 6)}})
    assert "| lstm | 100 | 0.500 | 2 |" in tables(made)
    assert "| lstm | 100 | 1.50 |" in tables(made)
    assert "| lstm | 7 | 6 |" in tables(made)


def test_figures_are_kept_as_json() -> None:
    made = measurements({"lstm": {"onnx.load": (0.5, 200.0, 7), "xonnc": (1.0, 150.0, 6)}})
    assert from_json(as_json(made)) == made


def test_a_sample_counts_and_writes(tmp_path: Path) -> None:
    source, written = tmp_path / "model.onnx", tmp_path / "written.onnx"
    source.write_bytes(mnist_cnn().SerializeToString())
    found = run_sample("xonnc", source, 60, written)
    assert isinstance(found, Measurement)
    assert found.operators["Conv"] == 2
    assert 0 < found.seconds < found.start + 60
    assert disagreement(source, written, 2, 60) == ""
    written.write_bytes(chain(4).SerializeToString())
    assert "outputs" in disagreement(source, written, 2, 60)


def test_a_sample_that_fails_says_why(tmp_path: Path) -> None:
    found = run_sample("xonnc", tmp_path / "none.onnx", 60)
    assert isinstance(found, FailedMeasurement)
    assert "none.onnx" in found.reason
    assert run_sample("onnx.load", tmp_path / "none.onnx", 0.001) == FailedMeasurement("over 0 s")
