"""onnxruntime in a child process: results, errors and crashes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from xonnc.errors import XonncError
from xonnc.runtime.reference_process import ReferenceProcess

MODEL = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 2] x) => (float[n, 2] y) { y = Neg (x) }
"""


def test_a_crash_is_an_error_and_another_process_takes_over(tmp_path: Path):
    path = tmp_path / "m.onnx"
    path.write_bytes(parser.parse_model(MODEL).SerializeToString())
    x = np.ones((3, 2), np.float32)
    with ReferenceProcess() as process:
        model = process.open(path)
        assert [port.shape for port in model.inputs()] == [(None, 2)]
        assert model.output_names() == ["y"]
        np.testing.assert_array_equal(model.run({"x": x})[0], -x)
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGFPE)
        with pytest.raises(XonncError, match=r"m\.onnx: onnxruntime crashes with SIGFPE$"):
            model.run({"x": x})
        np.testing.assert_array_equal(model.run({"x": x})[0], -x)
        assert process.pid not in (None, first)
    assert process.pid is None


def test_errors_of_the_child_process_are_those_of_the_reference(tmp_path: Path):
    path = tmp_path / "m.onnx"
    path.write_bytes(parser.parse_model(MODEL).SerializeToString())
    with ReferenceProcess() as process:
        with pytest.raises(XonncError, match=r"m\.onnx: onnxruntime does not run it: .*x"):
            process.open(path).run({})
        with pytest.raises(XonncError, match=r"none\.onnx: no such file"):
            process.open(tmp_path / "none.onnx")
        path.write_bytes(b"nothing")
        with pytest.raises(XonncError, match="onnxruntime does not open it"):
            process.open(path, is_optimized=True).inputs()
