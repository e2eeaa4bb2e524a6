"""Models that quantize their float weights themselves, as training tools export them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel

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


def test_an_export_of_torch(tmp_path: Path):
    """
    A network of three convolutions and a linear layer, trained with torch's `FakeQuantize`.

    `torch.onnx.export` (torch 2.13, opset 13) writes its weights as floats behind QuantizeLinear.
    """
    export = Path(__file__).parents[3] / "data" / "exports" / "torch_qat.onnx"
    nodes = onnx.load_model_from_string(export.read_bytes()).graph.node
    weights = {node.input[1] for node in nodes if node.op_type in ("Conv", "Gemm")}
    assert {node.op_type for node in nodes if node.output[0] in weights} == {"DequantizeLinear"}
    package = compile_package(export, "nv_small")
    assert len(package.compiled) == 1, "the first convolution runs on NVDLA"
    assert not any("constant operand" in node.reason for node in package.cpu_nodes)
    path = tmp_path / "model.xpkg"
    package.write(path)
    x = np.random.default_rng(3).standard_normal((1, 3, 16, 16)).astype(np.float32)
    (expected,) = ReferenceModel(export).run({"x": x})
    np.testing.assert_allclose(load_package(path).run({"x": x})["y"], expected, atol=1e-6)
