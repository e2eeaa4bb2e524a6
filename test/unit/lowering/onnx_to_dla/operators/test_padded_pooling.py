"""A Pad before a pool, of which no window reads all rows and columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

import xonnc
from xonnc.runtime.reference import ReferenceModel as Onnxruntime


@pytest.mark.parametrize("pads", ["1, 1, 0, 0, 1, 1", "1, 1, 0, 0, 2, 2", "0, 0, 0, 0, 1, 1"])
@pytest.mark.parametrize("is_int8", [False, True])
def test_rows_that_no_window_reads_are_not_written(is_int8: bool, pads: str, tmp_path: Path):
    """As BiT of transformers begins: zeros around an image, where data may be negative."""
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 8, 8, 8] x) => (float[1, 8, r, c] y) <int64[8] pads = {{0, 0, {pads}}}> {{
          n = Neg (x)
          p = Pad (n, pads)
          y = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (p)
        }}"""
    )
    x = np.random.default_rng(3).normal(size=(1, 8, 8, 8)).astype(np.float32)
    samples = {"x": x}
    target = "nv_small" if is_int8 else "nv_full"
    compiled = xonnc.compile(model, target, **({"calibrate": [samples]} if is_int8 else {}))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    (requested,) = Onnxruntime(tmp_path / "model.onnx").run(samples)
    (given,) = compiled.run(None, samples)
    np.testing.assert_allclose(np.asarray(given), requested, atol=0.03 if is_int8 else 0.003)
