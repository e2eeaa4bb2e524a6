"""Nodes kept in float for an accuracy: the noisy ones, those that are cheap, none where none is needed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

import xonnc
from xonnc.calibration import Sample, calibrate_module, select_float
from xonnc.compiler import run_frontend
from xonnc.dla_model import DlaModel, compile_for_dla
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.lowering.quantization_statistics.float_selection import FloatSelection, first_that, lowest_cosine
from xonnc.tools.driver import main

Array = npt.NDArray[Any]

NETWORK = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 3, 24, 24] x) => (float[1, 5, 24, 24] y) {
      [first] a = Conv <pads = [1, 1, 1, 1]> (x, w1)
      [bend] b = Relu (a)
      [second] c = Conv <pads = [1, 1, 1, 1]> (b, w2)
      [wide] d = Mul (c, large)
      [join] e = Concat <axis = 1> (c, d)
      [last] y = Conv (e, w3)
    }
"""
"""The integers of `e` are the steps of `d`, in which `c`, the only part that `last` reads, is nearly lost."""


@pytest.fixture
def model() -> onnx.ModelProto:
    generator = np.random.default_rng(0)
    w3 = generator.standard_normal((5, 32, 1, 1))
    w3[:, 16:] = 0
    weights = {
        "w1": generator.standard_normal((16, 3, 3, 3)) / 5,
        "w2": generator.standard_normal((16, 16, 3, 3)) / 12,
        "w3": w3,
        "large": np.array(60.0),
    }
    found = parser.parse_model(NETWORK)
    for name, array in weights.items():
        found.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return found


@pytest.fixture
def path(model: onnx.ModelProto, tmp_path: Path) -> Path:
    found = tmp_path / "network.onnx"
    found.write_bytes(model.SerializeToString())
    return found


def images(count: int = 4) -> list[Sample]:
    generator = np.random.default_rng(1)
    return [{"x": generator.standard_normal((1, 3, 24, 24)).astype(np.float32)} for _ in range(count)]


def selected(path: Path, accuracy: float) -> FloatSelection:
    found: list[FloatSelection] = []

    def calibrate(module: ModuleOp) -> Ranges:
        ranges = calibrate_module(module, images())
        found.append(select_float(module, ranges, images(), accuracy))
        return ranges

    run_frontend(path, None, calibrate)
    return found[0]


def test_noisy_nodes_stay_in_float(path: Path):
    found = selected(path, 0.999)
    assert found.quantized_accuracy < 0.99
    assert found.accuracy >= 0.999
    # The product of two convolutions costs more than what follows them.
    assert "first" not in found.nodes
    assert "join" in found.nodes


def test_nothing_where_integers_do(path: Path):
    found = selected(path, 0.5)
    assert found == FloatSelection((), (), found.quantized_accuracy, found.quantized_accuracy)


def test_all_of_the_accuracy(path: Path):
    found = selected(path, 1.0)
    assert set(found.nodes) == {"first", "bend", "second", "wide", "join", "last"}
    assert found.accuracy == pytest.approx(1, abs=1e-6)


def test_steps_are_told(path: Path):
    told: list[tuple[int, int]] = []

    def calibrate(module: ModuleOp) -> Ranges:
        ranges = calibrate_module(module, images())
        select_float(module, ranges, images(), 0.999, lambda done, count, _: told.append((done, count)))
        return ranges

    run_frontend(path, None, calibrate)
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert all(done <= count for done, count in told)


@pytest.mark.parametrize("accuracy", [0.0, -1.0, 1.5, float("nan")])
def test_accuracies_that_are_none(path: Path, accuracy: float):
    with pytest.raises(XonncError, match="a cosine similarity, above 0 and at most 1"):
        selected(path, accuracy)


def test_lowest_of_the_outputs():
    one, two, three = (np.array(each, np.float32) for each in ([1, 0], [1, 1], [0, 0]))
    assert lowest_cosine([[one, one]], [[one, two]]) == pytest.approx(0.5**0.5)
    assert lowest_cosine([[three]], [[three]]) == 1
    assert lowest_cosine([[three]], [[one]]) == 0
    # Sizes that depend on data cannot be compared.
    assert lowest_cosine([[one]], [[np.zeros(3, np.float32)]]) == 1
    assert lowest_cosine([], []) == 1


def cosine_to_float(compiled: DlaModel, path: Path) -> float:
    exact = xonnc.compile(path, cache=False)
    samples = images(8)[4:]
    expected, found = (
        [[np.asarray(each) for each in model.run(None, sample)] for sample in samples]
        for model in (exact, compiled)
    )
    return lowest_cosine(expected, found)


def test_packages_are_as_accurate(path: Path):
    quantized = compile_for_dla(path, "nv_small", calibrate=images())
    assert cosine_to_float(quantized, path) < 0.99
    choices: list[dict[str, Any]] = [{"accuracy": 0.999}, {"keep_float": ["wide", "join", "last"]}]
    for options in choices:
        compiled = compile_for_dla(path, "nv_small", calibrate=images(), **options)
        reasons = {node.name: node.reason for node in compiled.report().cpu_nodes}
        assert reasons["join"] == "it is kept in float"
        assert "first" not in reasons
        assert compiled.report().compiled
        assert cosine_to_float(compiled, path) > 0.998


def no_ranges(_: ModuleOp) -> Ranges:
    return {}


def test_ranges_by_a_function_have_no_samples(path: Path):
    options: tuple[dict[str, Any], ...] = ({"accuracy": 0.9}, {"wide": 1}, {"keep_float": ["join"]})
    for option in options[:2]:
        with pytest.raises(XonncError, match=f"{next(iter(option))}: it is measured on samples, which calib"):
            compile_for_dla(path, "nv_small", calibrate=no_ranges, **option)
    for option in options:
        with pytest.raises(XonncError, match=f"{next(iter(option))}: without samples in calibrate="):
            compile_for_dla(path, "nv_small", **option)
    with pytest.raises(XonncError, match="wide layers: 99; this model has 0"):
        compile_for_dla(path, "nv_small", calibrate=images(), wide=99)


def test_qdq_models(path: Path):
    found = xonnc.quantize(path, images(), accuracy=0.9999)
    assert found.selection is not None
    assert found.selection.nodes
    assert found.selection.quantized_accuracy < 0.9999 <= min(each.cosine for each in found.agreement)
    with pytest.raises(
        XonncError, match=r"an accuracy of 0\.9 is measured on samples; give them to calibrate"
    ):
        xonnc.quantize(path, lambda module: found.ranges, accuracy=0.9)


def test_command(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    samples, table, output = (tmp_path / name for name in ("samples.npz", "table.json", "network.xpkg"))
    np.savez(samples, x=np.concatenate([sample["x"] for sample in images()]))
    flags = ["compile", str(path), "--target", "nv_small", "-o", str(output)]
    assert main([*flags, "--calibrate", str(samples), "--accuracy", "0.999", "--save-calib", str(table)]) == 0
    said = capsys.readouterr().out
    assert "in float (" in said
    assert re.search(
        r"accuracy     (1\.0000|0\.999\d) with \d nodes in float \(.*join.*\), 0\.\d{4} without", said
    )
    assert main([*flags, "--calibrate", str(samples), "--accuracy", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["accuracy"]
    assert found["nodes"] == []
    assert found["accuracy"] == found["quantized_accuracy"]
    for wrong, message in (
        (
            ["--calib", str(table), "--accuracy", "0.9"],
            "--accuracy is measured on samples: --calibrate gives",
        ),
        (["--calibrate", str(samples), "--accuracy", "2"], "accuracy 2: a cosine similarity, above 0 and at"),
        (["--accuracy", "0.9"], "--accuracy is for quantized models"),
        (["--calib", str(table), "--wide", "1"], "--wide is for samples"),
        (["--calibrate", str(samples), "--wide", "1"], "wide layers: 1; this model has 0"),
        (["--wide", "auto"], "--wide is for quantized models"),
        (["--wide", "1", "--wide-budget", "2"], "--wide-budget is for --wide auto"),
        (["--calibrate", str(samples), "--keep-float", "jion"], "no node 'jion'; did you mean 'join'?"),
    ):
        assert main([*flags, *wrong]) == 1
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*flags, "--wide", "few"])
    assert "--wide: 'few' is neither a number of layers nor auto" in capsys.readouterr().err
    loadable = [*flags[:-1], str(output.with_suffix(".nvdla"))]
    assert main([*loadable, "--calibrate", str(samples), "--keep-float", "join"]) == 1
    assert "join (Concat): it is kept in float" in capsys.readouterr().err
    native = ["compile", str(path), "--target", "cpu", "-o", str(output.with_suffix(".so"))]
    assert main([*native, "--calibrate", str(samples), "--wide", "1"]) == 1
    assert "--wide is for NVDLA" in capsys.readouterr().err


def test_command_for_any_runtime(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    samples, output = tmp_path / "samples.npz", tmp_path / "quantized.onnx"
    np.savez(samples, x=np.concatenate([sample["x"] for sample in images()]))
    flags = ["quantize", str(path), "--calibrate", str(samples), "--accuracy", "0.9999", "-o", str(output)]
    assert main(flags) == 0
    assert re.search(r"accuracy     0\.9999 with|accuracy     1\.0000 with", capsys.readouterr().out)
    assert main([*flags, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"]["accuracy"] >= 0.9999


@pytest.mark.parametrize("size", range(18))
def test_the_first_count_that_reaches_a_goal_is_found_in_few_tries(size: int):
    counts = [3 * number + 1 for number in range(size)]
    for goal in [*counts, 1000]:
        tried: list[int] = []

        def reaches(count: int, goal: int = goal, tried: list[int] = tried) -> bool:
            tried.append(count)
            return count >= goal

        assert first_that(counts, reaches) == (goal if goal in counts else None)
        assert len(tried) <= 2 * size.bit_length() + 1
        assert len(set(tried)) == len(tried) or goal == counts[-1]
