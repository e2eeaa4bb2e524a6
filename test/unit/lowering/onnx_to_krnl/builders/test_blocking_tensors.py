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
    "an operator that the session runs": (
        '<ir_version: 8, opset_import: ["": 17]> g (float[n, 3] x, seq(float[k]) q) => '
        "(float[n, 3] y, int64 l) { y = Neg (x)  l = SequenceLength (q) }",
        "Neg",
        "'x' is tensor<?x3xf32>, and the session runs 'l' (SequenceLength): a run compiles for its own "
        "sizes, so give those of the inputs",
    ),
    "an operator without dynamic kernel": (
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 3, h, 4] x) => '
        "(float[n, c, h2, w2] y) { [pool1] a = LpPool <kernel_shape = [3, 3]> (x)"
        "  y = Neg (a) }",
        "Neg",
        "'a' is tensor<1x3x?x2xf32>, and 'pool1' (LpPool) needs static sizes: a run compiles for its own "
        "sizes, so give those of the inputs",
    ),
    "dimensions that only some inputs have equal": (
        '<ir_version: 8, opset_import: ["": 17]> g (float[n, 3] x, int64[2] s, float[m] z) => '
        "(float[p, m] y) { a = Reshape (x, s)  y = Add (a, z) }",
        "Reshape",
        "'x' is tensor<?x3xf32>, and dimensions are equal only for certain values of inputs: a run compiles "
        "for its own sizes, so give those of the inputs",
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
