"""`xonnc explain` names the tensor because of which an operator has no kernel."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

from xonnc.native_explanation import explain_native

CASES = {
    "complex numbers": (
        '<ir_version: 8, opset_import: ["": 17]> g (bool[4] c, complex64[4] z, complex64[4] w) '
        "=> (complex64[4] y) { y = Where (c, z, w) }",
        "Where",
        "'z' is tensor<4xcomplex<f32>>; kernels only move complex numbers: compute real and imaginary parts",
    ),
    "sizes of each run": (
        '<ir_version: 8, opset_import: ["": 17]> g (float[n, 3] x) => (float[n, 3] y) '
        "{ a = Bernoulli (x)  b = Neg (x)  y = Mul (a, b) }",
        "Neg",
        "'x' is tensor<?x3xf32>, and some operator needs static sizes: a run compiles for its own, so give "
        "those of the inputs",
    ),
    "an unknown rank": (
        '<ir_version: 8, opset_import: ["": 17]> g (float[] x, int64[n] axes) => (float y) '
        "{ a = Squeeze (x, axes)  y = Relu (a) }",
        "Relu",
        "whose rank is known only at run time: give the shapes of the inputs, or Reshape it",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_blocking_tensor(name: str, tmp_path: Path):
    text, operator, reason = CASES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    found = {node.operator: node for node in explain_native(path).nodes}
    assert found[operator].engine in ("host", "session"), found
    assert (found[operator].reason or "").endswith(reason), found[operator].reason
