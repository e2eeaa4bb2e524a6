"""A batch normalization is not folded into weights whose infinities its offset would turn into NaN."""

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.formats.onnx.reference_evaluator import reference_of


@pytest.mark.parametrize("linear", ["Conv", "MatMul"])
@pytest.mark.parametrize("weight", ["1", "-inf"])
def test_infinite_weights(linear: str, weight: str) -> None:
    weights = (
        "float[2, 2] w = {1, %s, 3, -2}" if linear == "MatMul" else "float[2, 2, 1, 1] w = {1, %s, 3, -2}"
    )
    shape = "[2, 2]" if linear == "MatMul" else "[2, 2, 1, 1]"
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float{shape} x) => (float{shape} y) <
            float[2] scale = {{-0.5, 1.5}}, float[2] bias = {{1, 1}}, float[2] mean = {{1.25, 0.5}},
            float[2] var = {{0.25, 1}}, {weights % weight}, float[2] b = {{1, 2}}
        > {{
            n = BatchNormalization (x, scale, bias, mean, var)
            {"m = MatMul (n, w) y = Add (m, b)" if linear == "MatMul" else "y = Conv (n, w, b)"}
        }}""")
    x = np.array([[-6.5, 4], [22, -25.5]], np.float32).reshape((2, 2) if linear == "MatMul" else (2, 2, 1, 1))
    simplified = xonnc.simplify(model).proto()
    kinds = [node.op_type for node in simplified.graph.node]
    assert ("BatchNormalization" in kinds) == (weight == "-inf")
    np.testing.assert_allclose(
        np.asarray(reference_of(simplified)({"x": x})[0]),
        np.asarray(reference_of(model)({"x": x})[0]),
        rtol=1e-5,
    )
