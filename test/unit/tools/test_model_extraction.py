"""Merging of models whose weights are large or in other files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

from xonnc.formats.onnx import save_model
from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.loaded_export import load_proto
from xonnc.runtime.reference import open_session
from xonnc.tools.driver import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_merged_models_that_one_file_does_not_hold(monkeypatch: pytest.MonkeyPatch):
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[2, 400] x) => (float[2, 400] y)
    <float w = {1}> {y = Add(x, w)}"""
    for name, scale in (("one.onnx", 1.0), ("two.onnx", 0.5)):
        model = onnx.parser.parse_model(text)
        weights = (np.arange(400) * scale).astype(np.float32)
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
        Path(name).write_bytes(model.SerializeToString())
    assert main(["merge", "one.onnx", "two.onnx", "whole.onnx", "-q"]) == 0
    assert not Path("whole.onnx.data").exists()
    with monkeypatch.context() as patched:
        patched.setattr(save_model, "MAX_FILE_BYTES", 3000)
        assert main(["merge", "one.onnx", "two.onnx", "out.onnx", "-q"]) == 0
    assert Path("out.onnx").stat().st_size < 1000
    assert Path("out.onnx.data").stat().st_size == 3200
    assert models_equal(load_proto("whole.onnx"), load_proto("out.onnx")) == []
    session, _ = open_session(Path("whole.onnx").read_bytes(), "whole.onnx", threads=1)
    x = np.ones((2, 400), np.float32)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x + np.arange(400) * 1.5)
    # Either model may come with external data.
    main(["convert-opset", "17", "one.onnx", "apart.onnx", "--external-data", "-q"])
    assert main(["merge", "apart.onnx", "two.onnx", "again.onnx", "-q"]) == 0
    assert models_equal(load_proto("whole.onnx"), load_proto("again.onnx")) == []


def test_merging_reads_no_weights():
    """Two models of 64 MB are merged with less than one of them in memory."""
    weights = np.ones((4096, 4096), np.float32)
    for name in ("one.onnx", "two.onnx"):
        model = onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["": 17]> g (float[1, 4096] x) => (float[1, 4096] y)
            <float w = {1}> {y = MatMul(x, w)}"""
        )
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
        Path(name).write_bytes(model.SerializeToString())
    tracemalloc.start()
    assert main(["merge", "one.onnx", "two.onnx", "out.onnx", "-q"]) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert Path("out.onnx").stat().st_size > 2 * weights.nbytes
    assert peak < weights.nbytes // 4
