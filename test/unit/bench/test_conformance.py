"""The hand-written models of the conformance set, through import, export, simplify and native code."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.conformance.by_hand import STYLES, float_network
from bench.conformance.generate import INPUTS, MODEL, generate
from bench.conformance.measure import differences, onnxruntime
from bench.conformance.recipes import Recipe, read_feeds, write_feeds
from xonnc.contexts import new_context
from xonnc.equivalence import compare_models
from xonnc.formats.onnx.exporter import export_model
from xonnc.formats.onnx.importer import import_model
from xonnc.native import compile_native
from xonnc.simplifier import simplify

SAMPLE = (
    *("tf_convolution", "tf_loop_of_vectors", "tf_lstm", "tf_detection_tail", "keras_opset7"),
    *("darknet_opset8", "mxnet_opset8", "torch_opset9", "duplicate_names", "unsorted_nodes"),
    *("overridable_weights", "layer_norm_in_pieces", "branch_with_network", "embedding_lookup"),
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
    session = compile_native(path, cache=False, level=0)
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

    assert not generate(Recipe("none", "a package", fails), tmp_path / "none")
    assert (tmp_path / "none" / "failure.txt").read_text().startswith("ModuleNotFoundError: no such package")
    assert not (tmp_path / "none" / MODEL).exists()
    assert "none: ModuleNotFoundError" in capsys.readouterr().err
