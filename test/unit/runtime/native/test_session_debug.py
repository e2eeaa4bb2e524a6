"""Sessions give all named values, are pickled, and load with fewer threads."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import numpy_helper

import xonnc
from xonnc.errors import XonncError

Array = npt.NDArray[Any]

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[n, 3] x, float[3] scale) => (float[n, 3] y)
    <float[3] scale = {1, 2, -1}, float[1] unused = {0}> {
        a = Mul (x, scale)
        b = Relu (a)
        kept = Identity (b)
        dead = Neg (kept)
        y = Add (b, kept)
    }"""
)
X = np.array([[1, -2, 0.5], [-0.0, 3, 8]], np.float32)


def test_debug_gives_every_named_value():
    session = xonnc.compile(MODEL)
    found = session.run(None, {"x": X}, debug=True)
    a = X * np.array([1, 2, -1], np.float32)
    b = np.maximum(a, 0)
    expected = {"a": a, "b": b, "kept": b, "y": 2 * b}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(np.asarray(found[name], np.float32), array, err_msg=name)
    again = session.run(None, {"x": X, "scale": np.ones(3, np.float32)}, debug=True)
    np.testing.assert_array_equal(np.asarray(again["a"], np.float32), X)


def test_saved_sessions_have_no_model(tmp_path: Path):
    session = xonnc.compile(MODEL)
    session.run(None, {"x": X})
    session.save(tmp_path)
    loaded = xonnc.load(tmp_path)
    with pytest.raises(XonncError, match="debug: a session that was loaded has no model; compile the model"):
        loaded.run(None, {"x": X}, debug=True)
    with pytest.raises(XonncError, match="a session that was loaded cannot be pickled; pickle the folder"):
        pickle.dumps(loaded)


@pytest.mark.parametrize("kind", ["proto", "path", "external"])
def test_pickled_sessions_give_the_same(kind: str, tmp_path: Path):
    model: Any = MODEL
    if kind != "proto":
        model = tmp_path / "m.onnx"
        proto = onnx.ModelProto()
        proto.CopyFrom(MODEL)
        if kind == "external":
            weight = next(each for each in proto.graph.initializer if each.name == "scale")
            (tmp_path / "w").write_bytes(numpy_helper.to_array(weight).tobytes())
            weight.data_location = onnx.TensorProto.EXTERNAL
            weight.external_data.add(key="location", value="w")
            weight.ClearField("float_data")
        model.write_bytes(proto.SerializeToString())
    session = xonnc.compile(model, threads=2, level=1)
    content = pickle.dumps(session)
    if kind == "path":
        model.unlink()
    copy = pickle.loads(content)
    assert isinstance(copy, xonnc.Session)
    (expected,), (given,) = session.run(None, {"x": X}), copy.run(None, {"x": X})
    np.testing.assert_array_equal(np.asarray(given), np.asarray(expected))
    assert pickle.loads(pickle.dumps(copy)).outputs == session.outputs


def nothing(model: onnx.ModelProto) -> None:
    """Stand for `serialized` of a model that is too large."""


def test_models_in_memory_that_protobuf_cannot_write_compile(monkeypatch: pytest.MonkeyPatch):
    """Protobuf writes no message of 2 GB; compilation reads the tensors where they are."""
    monkeypatch.setattr("xonnc.native_sessions.serialized", nothing)
    session = xonnc.compile(MODEL)
    assert len(session.run(None, {"x": X})) == len(MODEL.graph.output)
    with pytest.raises(XonncError, match="a model in memory of more than 2 GB cannot be pickled; write it"):
        pickle.dumps(session)


def test_models_for_the_dla_are_not_pickled():
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 4, 2, 2] x) => (float[1, 4, 2, 2] y) { y = Relu (x) }"""
    )
    with pytest.raises(XonncError, match=r"models for NVDLA cannot be pickled; save\(…\) a package"):
        pickle.dumps(xonnc.compile(model, "nv_full"))


def test_a_saved_session_keeps_its_initializers(tmp_path: Path):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {10, 20}> { y = Add (x, b) }"""
    )
    session, one = xonnc.compile(model), np.ones(2, np.float32)
    assert np.asarray(session.run(None, {"x": one, "b": one})[0]).tolist() == [2, 2]
    session.save(tmp_path)
    assert np.asarray(xonnc.load(tmp_path).run(None, {"x": one})[0]).tolist() == [11, 21]


def test_saved_sessions_run_with_fewer_threads(tmp_path: Path):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[64, 512] x, float[512, 64] w) => (float[64, 64] y) { p = MatMul (x, w)  y = Sigmoid (p) }"""
    )
    generator = np.random.default_rng(0)
    feeds = {
        "x": generator.standard_normal((64, 512)).astype(np.float32),
        "w": generator.standard_normal((512, 64)).astype(np.float32),
    }
    session = xonnc.compile(model, threads=4)
    expected = np.asarray(session.run(None, feeds)[0])
    session.save(tmp_path)
    for threads in (1, 2, 4, None):
        loaded = xonnc.load(tmp_path, threads)
        np.testing.assert_array_equal(np.asarray(loaded.run(None, feeds)[0]), expected)
    loaded.save(tmp_path / "again")
    assert np.array_equal(np.asarray(xonnc.load(tmp_path / "again", 3).run(None, feeds)[0]), expected)
    for threads in (0, 5):
        with pytest.raises(XonncError, match=f"threads: {threads}; .* is compiled for 1 to 4"):
            xonnc.load(tmp_path, threads)


def test_names_of_the_package():
    assert {"compile", "load", "quantize", "__version__", "Session"} <= set(dir(xonnc))
    assert {"run", "run_async", "get_inputs", "io_binding", "inputs", "report"} <= set(
        dir(xonnc.compile(MODEL))
    )
