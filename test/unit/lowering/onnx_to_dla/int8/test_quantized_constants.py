"""Models that quantize their float weights themselves, as training tools export them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.writer import to_bytes

CONVOLUTION = """<ir_version: 9, opset_import: ["" : 19]>
network (float[1, 3, 5, 6] x) => (float[1, 4, 3, 4] y)
    <float s = {{0.03}}, int8 z = {{0}}, float t = {{0.05}}, {weights}> {{
  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
  {quantize}
  w = DequantizeLinear<axis = 0>(wq, ws, wz)
  c = Conv(d, w)
  r = QuantizeLinear(c, t, z) y = DequantizeLinear(r, t, z)
}}"""


@pytest.mark.parametrize("scale", [[0.5], [0.5, 0.25, 0.125, 2.0]])
def test_the_loadable_is_that_of_integer_weights(scale: list[float], tmp_path: Path):
    integers = np.random.default_rng(2).integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
    scales = np.array(scale, np.float32)
    shape = "float" if scales.size == 1 else f"float[{scales.size}]"
    zeros = ", ".join("0" for _ in scales)
    parameters = (
        f"{shape} ws = {{{', '.join(map(str, scales))}}}, {shape.replace('float', 'int8')} wz = {{{zeros}}}"
    )
    found: list[bytes] = []
    for quantize in ("", "wq = QuantizeLinear<axis = 0>(wf, ws, wz)"):
        name = "wf" if quantize else "wq"
        model = parser.parse_model(CONVOLUTION.format(weights=parameters, quantize=quantize))
        values = integers * scales.reshape(-1, 1, 1, 1) if quantize else integers
        model.graph.initializer.append(numpy_helper.from_array(values, name))
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        found.append(to_bytes(compile_model(path, "nv_small").loadable))
    assert found[0] == found[1]
