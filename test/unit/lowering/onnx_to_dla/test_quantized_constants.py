"""Models that quantize their float weights themselves, as training tools export them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.transforms.rules.decompose_quantized import quantized_array

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


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_the_integers_are_those_of_onnxruntime(kind: type[np.int8], axis: int | None, tmp_path: Path):
    random = np.random.default_rng(4)
    x = np.concatenate([random.normal(0, 100, 34), [0.0, -0.0, 0.5, 1.5, -2.5, 1e9, -1e9, 3e38]])
    x = x.reshape(6, 7).astype(np.float32)
    count = () if axis is None else x.shape[axis]
    scale = random.uniform(0.01, 3, count).astype(np.float32)
    zero = random.integers(np.iinfo(kind).min, np.iinfo(kind).max, count).astype(kind)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", element, x.shape)],
        [numpy_helper.from_array(scale, "s"), numpy_helper.from_array(zero, "z")],
    )
    opset = helper.make_opsetid("", 21)
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    path.write_bytes(model.SerializeToString())
    (expected,) = ReferenceModel(path).run({"x": x})
    found = quantized_array(x, scale, zero, axis)
    assert found.dtype == kind
    assert np.array_equal(found, expected)


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
