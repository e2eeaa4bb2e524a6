"""The compiler from the Python side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.compiler import STAGES, InternalCompilerError, compile_model
from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.problem import Violation


def test_a_model_compiles_and_runs(small_model: Callable[..., Path], tmp_path: Path):
    compilation = xonnc.compile_model(small_model("small.onnx"))
    assert compilation.imported.operators["Conv"] == 1
    assert compilation.imported.parameters == 8 * 27 + 8 + 5 * 128 + 5
    compilation.write(tmp_path / "small.nvdla")
    loadable = xonnc.read_loadable(tmp_path / "small.nvdla")
    (output,) = xonnc.simulate(loadable, xonnc.load_target("nv_full"), [np.zeros((1, 3, 8, 8), np.float32)])
    assert output.tensor.sum() == pytest.approx(1.0, abs=1e-2)


def test_every_stage_is_seen_in_order(small_model: Callable[..., Path]):
    seen: list[str] = []
    compile_model(small_model("small.onnx"), on_stage=lambda stage, module: seen.append(stage))
    assert tuple(seen) == STAGES[:-1]


def test_what_our_own_checks_refuse_is_a_bug(
    small_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> list[Violation]:
        return [Violation("task 0", "test", "something is off")]

    monkeypatch.setattr("xonnc.compiler.check_loadable", refuse)
    with pytest.raises(InternalCompilerError, match="task 0: something is off"):
        compile_model(small_model("small.onnx"))


def test_the_public_names_are_there():
    assert all(getattr(xonnc, name) for name in xonnc.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        xonnc.__getattr__("nothing")


def test_a_model_without_an_opset_of_the_standard_domain(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["ai.onnx.ml": 3]>
    g (float[2, 1] x) => (float[2, 1] y) { y = ai.onnx.ml.Scaler<offset = [1.0], scale = [2.0]>(x) }"""
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    with pytest.raises(XonncError, match=r"the model names no opset of ai\.onnx$"):
        compile_model(path)


def test_loops_are_unrolled(tmp_path: Path):
    """A loop of convolutions runs on NVDLA as the same convolutions without a loop."""
    weights = np.random.default_rng(0).normal(0, 0.3, (4, 4, 3, 3)).astype(np.float32)
    images = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4, 8, 8]) for name in "vxyw"
    ]
    count = onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [])
    condition = onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])

    def layer(source: str, result: str) -> list[onnx.NodeProto]:
        conv = onnx.helper.make_node("Conv", [source, "f"], [f"{result}_c"], pads=[1, 1, 1, 1])
        return [conv, onnx.helper.make_node("Relu", [f"{result}_c"], [result])]

    def saved(name: str, nodes: list[onnx.NodeProto]) -> Path:
        constants = {"f": weights, "n": np.array(3, np.int64)}
        graph = onnx.helper.make_graph(
            nodes,
            name,
            [images[1]],
            [images[2]],
            [onnx.numpy_helper.from_array(array, key) for key, array in constants.items()],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    body = onnx.helper.make_graph(
        layer("v", "w"), "body", [count, condition, images[0]], [condition, images[3]]
    )
    loop = saved("loop", [onnx.helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)])
    chain = saved("chain", [*layer("x", "a"), *layer("a", "b"), *layer("b", "y")])
    x = np.random.default_rng(1).normal(size=(1, 4, 8, 8)).astype(np.float32)
    found, expected = (xonnc.compile(path, target="nv_full").run(None, {"x": x})[0] for path in (loop, chain))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("body", ["g (float[2,3] x) => () { y = Tanh(x) }", "g () => () { }"])
def test_a_model_without_outputs_is_refused(body: str):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {body}')
    with pytest.raises(XonncError, match="the model has no outputs, so that it computes nothing"):
        compile_model(model, "nv_full")
