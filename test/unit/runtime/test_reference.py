"""onnxruntime as reference: what it does not take is told in one line."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from onnx import parser

from xonnc.errors import XonncError
from xonnc.runtime.reference import ReferenceModel


def test_numbers_that_onnxruntime_cannot_be_given(tmp_path: Path):
    path = tmp_path / "model.onnx"
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> m (bfloat16[2] x) => (float[2] y) { y = Cast <to = 1> (x) }'
    )
    path.write_bytes(parser.parse_model(text).SerializeToString())
    with pytest.raises(XonncError, match="onnxruntime does not"):
        ReferenceModel(path).run({"x": np.ones(2, ml_dtypes.bfloat16)})


def test_inputs_that_are_missing(tmp_path: Path):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> m (float[2] x) => (float[2] y) { y = Abs(x) }'
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(XonncError, match=r"onnxruntime does not run it: .*missing"):
        ReferenceModel(path).run({})
