"""The hand-written models of the conformance set, through import, export, simplify and native code."""

from __future__ import annotations

import sys
from pathlib import Path

import executor_tasks
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.conformance.__main__ import ResultStore, measure
from bench.conformance.float_networks import float_network
from bench.conformance.generate import INPUTS, MODEL, generate
from bench.conformance.handwritten import STYLES
from bench.conformance.measure import (
    Expected,
    StageRunner,
    differences,
    onnxruntime,
)
from bench.conformance.model_specs import ModelSpec, read_feeds, write_feeds
from bench.conformance.page import page, problems
from xonnc.contexts import new_context
from xonnc.executors.executor import InProcess
from xonnc.executors.local_processes import LocalProcesses
from xonnc.formats.onnx.exporter import export_model
from xonnc.formats.onnx.importer import import_model
from xonnc.native import compile_native
from xonnc.simplifier import simplify
from xonnc.tools.equivalence import compare_models

SAMPLE = (
    *("tf_convolution", "tf_loop_of_vectors", "tf_lstm", "tf_detection_tail", "keras_opset7"),
    *("darknet_opset8", "mxnet_opset8", "torch_opset9", "duplicate_names", "unsorted_nodes"),
    *("overridable_weights", "layer_norm_in_pieces", "branch_with_network", "embedding_lookup"),
    *("paddle_classifier", "paddle_resize", "resize_opset10", "unknown_dimensions", "wrong_declarations"),
    *("sparse_weights", "strings"),
)
"""Of `STYLES`."""

NETWORKS = ("residual", "depthwise", "perceptron", "recurrent", "attention")


@pytest.mark.parametrize("name", [*SAMPLE, *NETWORKS])
def test_a_model_as_the_field_writes_it(name: str, tmp_path: Path):
    model, feeds = STYLES[name][2]() if name in STYLES else float_network(name)()
    path, copy, simple = (tmp_path / f"{each}.onnx" for each in ("model", "copy", "simple"))
    path.write_bytes(model.SerializeToString())
    expected = onnxruntime(path).run(None, feeds)
    export_model(import_model(path, new_context()), copy)
    assert differences(onnxruntime(copy).run(None, feeds), expected) == ""
    simplify(path).write(simple)
    assert differences(onnxruntime(simple).run(None, feeds), expected) == ""
    assert all(one.passed for one in compare_models(path, simple, 2))
    session = compile_native(path, cache=False, level=1)
    assert differences(session.run(None, feeds), expected) == ""
    assert session.host_calls() == []


def test_inputs_come_back_with_their_names_and_types(tmp_path: Path):
    feeds = {
        "a:0": np.arange(3, dtype=np.int32),
        "words/of": np.array([["x", "Zürich", ""]], object),
        "nothing": np.zeros((0, 2), np.float16),
    }
    write_feeds(tmp_path / INPUTS, feeds)
    found = read_feeds(tmp_path / INPUTS)
    assert list(found) == list(feeds)
    for name, array in feeds.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_a_package_that_fails_leaves_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def fails(path: Path) -> dict[str, np.ndarray]:
        raise ModuleNotFoundError("no such package")

    assert not generate(ModelSpec("none", "a package", fails), tmp_path / "none")
    assert (tmp_path / "none" / "failure.txt").read_text().startswith("ModuleNotFoundError: no such package")
    assert not (tmp_path / "none" / MODEL).exists()
    assert "none: ModuleNotFoundError" in capsys.readouterr().err


RESULTS: dict[str, dict[str, object]] = {
    "good": {
        **{
            "source": "torch",
            "nodes": 9,
            "simplified_nodes": 5,
            "opset": 17,
            "round_trip": "",
            "simplify": "",
        },
        **{"native": "", "host": {}, "ratio": 0.8, "nv_small": "", "nv_small_nodes": [4, 5, 1]},
        **{"nv_small_cosine": 0.9991, "nv_full": "RefusalError: no"},
    },
    "bad": {
        **{"source": "by hand", "nodes": 2, "round_trip": "", "simplify": "output 0: shape [1] for [2]"},
        **{"native": "", "host": {"STFT": 2}, "reasons": ["STFT: a | b"], "ratio": 1.25},
        "contributed": ["FusedConv", "Gelu"],
    },
    "ugly": {"source": "torch", "nodes": 7, "unanswered": "Fail: does not load"},
}


def test_the_page_has_a_line_a_model_and_says_what_is_wrong():
    text = page(RESULTS, "Measured at night.", ["other", "one"])
    assert "\nMeasured at night.\n\n* 2 models\n" in text
    assert "| good | torch | 17 | 9 → 5 | yes | yes | yes | 0.80 | 4/5 (1), 0.9991 | **no** |" in text
    assert "| bad | by hand |  | 2 | yes | **no** | yes, host: STFT 2 | 1.25 |  |  |" in text
    assert "\nonnxruntime itself does not run these; their outputs are not compared: ugly.\n" in text
    assert "Not exported by these versions: one, other.\n\n| model |" in text
    assert "(contrib-operators.md)). By model:\n\n* bad: FusedConv, Gelu\n\n" in text
    assert "* simplified with equal outputs: 1 of 2 measured" in text
    assert "* native with equal outputs: 2 of 2 measured" in text
    assert "* without a call of the reference evaluator: 1 of 2 that run natively" in text
    assert "* compiled for both NVDLA configurations: 0 of 1 measured" in text
    assert "* at most 1.1 of onnxruntime's time: 1 of 2 measured" in text
    assert text.count("\n| ") == 3
    assert list(problems(RESULTS)) == [
        "bad: simplify: output 0: shape [1] for [2]",
        "bad: host calls STFT: STFT: a / b",
        "bad: 1.25 of onnxruntime's time",
        "good: nv_full: RefusalError: no",
    ]


def spec_of(name: str) -> ModelSpec:
    return ModelSpec(name, "torch", lambda path: {})


def test_a_worker_that_dies_is_told_and_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    results = ResultStore(tmp_path / "results.json")
    specs = [spec_of(name) for name in ("first", "dies", "last")]
    with LocalProcesses(1, attempts=1) as executor:
        measure(specs, tmp_path, ["graph"], results, executor, executor_tasks.report_or_die)
        found = results.by_model()
        assert found["first"] == found["last"] == {"nodes": 1, "source": "torch"}
        assert found["dies"] == {
            "nodes": 3,
            "graph_failed": "its worker crashes with SIGKILL",
            "source": "torch",
        }
        assert capsys.readouterr().out.count("graph: nodes") == 3
        # Measured stages are not measured again unless that is asked for.
        measure(specs, tmp_path, ["graph"], results, executor, executor_tasks.report_or_die)
        assert not capsys.readouterr().out
        measure(specs[:1], tmp_path, ["graph"], results, executor, executor_tasks.report_or_die, again=True)
        assert "first graph: nodes 1" in capsys.readouterr().out


def test_a_stage_that_fails_says_why(tmp_path: Path):
    results = ResultStore(tmp_path / "results.json")
    with InProcess() as executor:
        measure([spec_of("none")], tmp_path, ["graph"], results, executor, StageRunner(is_alone=False))
    assert "No such file" in results.by_model()["none"]["graph_failed"]


def test_figures_are_kept_by_stage(tmp_path: Path):
    results = ResultStore(tmp_path / "results.json")
    spec = ModelSpec("m", "torch", lambda path: {})
    results.add(spec, "graph", {"nodes": 3})
    results.add(spec, "native", {"ratio": 2.0, "host": {}})
    results.add(spec, "native", {"ratio": 1.0})
    assert ResultStore(tmp_path / "results.json").by_model() == {
        "m": {"nodes": 3, "ratio": 1.0, "source": "torch"}
    }


def test_differences_of_all_kinds_of_outputs():
    a = np.array([1.0, np.nan, 3.0], np.float32)
    assert differences([a], [a.copy()]) == ""
    assert differences([a + 1e-5], [a]) == ""
    assert differences([a + 0.1], [a]) == "output 0: 3.3e-02 of the largest value"
    assert differences([a[:2]], [a]) == "output 0: shape [2] for [3]"
    assert differences([np.nan_to_num(a)], [a]) == "output 0: other elements are infinite or NaN"
    assert differences([a.astype(np.float64)], [a]) == "output 0: float64 for float32"
    assert differences([], [a]) == "0 outputs for 1"
    maps = [{1: 0.25, 2: 0.75}]
    assert differences([[{2: 0.75, 1: 0.25}]], [maps]) == ""
    assert differences([[{1: 0.75, 2: 0.25}]], [maps]) != ""
    assert (
        differences([np.array(["a"], object)], [np.array(["b"], object)])
        == "output 0: 1 of 1 elements differ"
    )


def test_of_random_outputs_only_the_shapes_count():
    class Drawing:
        """A session with a random output and one that is none."""

        def __init__(self, shape: tuple[int, ...], value: float) -> None:
            self.shape, self.value = shape, value
            self.random = np.random.default_rng(len(shape))

        def run(self, names: None, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
            return [self.random.random(self.shape), np.full(2, self.value)]

    expected = Expected(Drawing((3,), 1.0), {})
    assert expected.is_random
    assert expected.differences(Drawing((3,), 1.0)) == ""
    assert expected.differences(Drawing((3, 1), 1.0)) == "output 0: shape [3, 1] for [3]"
    assert expected.differences(Drawing((3,), 2.0)) == "output 1: 1.0e+00 of the largest value"
