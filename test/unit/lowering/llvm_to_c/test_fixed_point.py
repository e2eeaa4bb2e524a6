"""One row times weights of 4 bits, in C source for this processor, under sanitizers: what a session gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from c_programs import outputs_of

from xonnc.native import compile_native

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
model (float[1,32] x) => (float[1,4] y)
<float[1,4] s = {0.5, -1.0, 2.0, 0.25}>
{
  b = DequantizeLinear<axis = 0, block_size = 32>(w, s)
  y = MatMul(x, b)
}
"""


@pytest.mark.parametrize("special", [1.5, np.nan, -np.inf])
def test_c_source_gives_what_a_session_gives(tmp_path: Path, special: float):
    model, rng = onnx.parser.parse_model(TEXT), np.random.default_rng(2)
    packed = rng.integers(0, 256, 64, np.uint8).tobytes()
    model.graph.initializer.append(
        onnx.helper.make_tensor("w", onnx.TensorProto.INT4, [32, 4], packed, raw=True)
    )
    x = rng.normal(size=(1, 32)).astype(np.float32)
    x[0, 7] = special
    expected = np.asarray(compile_native(model).run(None, {"x": x})[0])
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    (found,) = outputs_of(tmp_path, model, [x], [expected], target="cpu", flags=flags)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
