"""QDQ models: their numbers in onnxruntime and as native code, the command and its messages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Range
from xonnc.lowering.qdq.qdq_params import ActivationType, activation_params, quantize_weights
from xonnc.model_check import check_model
from xonnc.runtime.reference import ReferenceModel
from xonnc.tools.driver import main

Array = npt.NDArray[Any]

NETWORK = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 3, 12, 12] x) => (float[1, 7] y) {
      [first] a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      [bend] b = Relu (a)
      [shrink] c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
      [left] d = Conv <pads = [1, 1, 1, 1]> (c, w2)
      [right] e = Conv (c, w3)
      [meet] f = Add (d, e)
      [leak] g = LeakyRelu (f)
      [wide] h = Concat <axis = 1> (g, c)
      [all] j = GlobalAveragePool (h)
      [flat] k = Flatten (j)
      [last] y = Gemm (k, w4, b4)
    }
"""
WEIGHTS = {
    "w1": (8, 3, 3, 3),
    "b1": (8,),
    "w2": (16, 8, 3, 3),
    "w3": (16, 8, 1, 1),
    "w4": (24, 7),
    "b4": (7,),
}


def with_weights(text: str, shapes: dict[str, tuple[int, ...]]) -> onnx.ModelProto:
    model = parser.parse_model(text)
    generator = np.random.default_rng(0)
    for name, shape in shapes.items():
        scale = np.sqrt(np.prod(shape[1:])) if len(shape) == 4 else 2.0
        array = (generator.standard_normal(shape) / scale).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return model


MODEL = with_weights(NETWORK, WEIGHTS)
IMAGES = np.random.default_rng(1).standard_normal((12, 1, 3, 12, 12)).astype(np.float32)
SAMPLES = [{"x": image} for image in IMAGES]


def run(session: xonnc.Session, feeds: dict[str, Array]) -> Array:
    (found,) = session.run(None, feeds)
    assert isinstance(found, np.ndarray)
    return found


def in_onnxruntime(model: onnx.ModelProto, folder: Path, feeds: dict[str, Array]) -> Array:
    path = folder / "quantized.onnx"
    path.write_bytes(model.SerializeToString())
    return ReferenceModel(path).run(feeds)[0]


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "network.onnx"
    path.write_bytes(MODEL.SerializeToString())
    np.savez(tmp_path / "samples.npz", x=IMAGES[:, 0])
    return path


@pytest.mark.parametrize(
    ("activations", "per_tensor", "cosine"),
    [("uint8", False, 0.9998), ("symmetric", True, 0.9995)],
)
def test_numbers_in_onnxruntime_and_native(
    activations: ActivationType, per_tensor: bool, cosine: float, tmp_path: Path
):
    quantized = xonnc.quantize(MODEL, SAMPLES, activations=activations, per_tensor=per_tensor)
    proto = quantized.proto()
    assert check_model(proto) == []
    assert all(layer.is_quantized for layer in quantized.layers)
    assert [layer.operator for layer in quantized.layers] == ["Conv", "Conv", "Conv", "Gemm"]
    (agreement,) = quantized.agreement
    assert agreement.output == "y"
    assert agreement.cosine > cosine
    native = xonnc.compile(proto, cache=False)
    for sample in SAMPLES[:3]:
        given, expected = run(native, sample), in_onnxruntime(proto, tmp_path, sample)
        np.testing.assert_allclose(given, expected, atol=0.02 * np.abs(expected).max())
    kernels = " ".join(line.what for line in native.report())
    assert "int8" in kernels
    assert not [line for line in native.report() if line.where != "native"]


@pytest.mark.parametrize(
    ("node", "weights", "axis", "channels"),
    [
        ("Conv (x, w)", (5, 4, 1, 1), 0, 5),
        ("Gemm (f, w)", (4, 7), 1, 7),
        ("Gemm <transB = 1> (f, w)", (7, 4), 0, 7),
        ("MatMul (f, w)", (4, 7), 1, 7),
    ],
)
def test_scales_are_those_of_output_channels(node: str, weights: tuple[int, ...], axis: int, channels: int):
    """Large weights of one channel leave the resolution of the others as it is."""
    model = with_weights(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        one (float[1, 4, 1, 1] x) => ({{result}} y) {{ f = Flatten (x) [only] y = {node} }}""".replace(
            "{result}",
            f"float[1, {channels}]" if "f" in node.split("(")[1] else f"float[1, {channels}, 1, 1]",
        ),
        {"w": weights},
    )
    array = numpy_helper.to_array(model.graph.initializer[0]).copy()
    sizes = np.geomspace(1, 1e4, channels)
    array *= sizes.reshape([-1 if each == axis else 1 for each in range(array.ndim)])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(array.astype(np.float32), "w"))
    samples = [
        {"x": each} for each in np.random.default_rng(3).normal(size=(8, 1, 4, 1, 1)).astype(np.float32)
    ]
    proto = xonnc.quantize(model, samples).proto()
    (scales,) = [
        numpy_helper.to_array(each)
        for each in proto.graph.initializer
        if each.data_type == onnx.TensorProto.FLOAT and list(each.dims)
    ]
    others = tuple(each for each in range(array.ndim) if each != axis)
    np.testing.assert_allclose(scales, np.abs(array).max(axis=others) / 127, rtol=1e-5)
    (stored,) = [
        numpy_helper.to_array(each) for each in proto.graph.initializer if list(each.dims) == [*weights]
    ]
    assert np.abs(stored.astype(int)).max(axis=others).tolist() == [127] * channels
    steps = scales.reshape([-1 if each == axis else 1 for each in range(array.ndim)])
    assert (np.abs(stored * steps - array) <= 0.501 * steps).all()


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("f = Flatten (x) [only] y = MatMul (f, f2)", {}),
        ("f = Squeeze (x) g = Unsqueeze (f, at) [only] y = MatMul (g, w)", {"w": (1, 4, 3)}),
        ("[only] y = MatMul (w, v)", {"w": (3, 4), "v": (4, 2)}),
    ],
)
def test_products_without_a_matrix_of_weights_stay_float(body: str, shapes: dict[str, tuple[int, ...]]):
    model = with_weights(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        none (float[1, 4, 1, 1] x, float[4, 2] f2) => (float[A, B] y, float[1, 4, 1, 1] z)
        <int64[2] at = {{0, 1}}> {{ {body} z = Neg (x) }}""",
        shapes,
    )
    generator = np.random.default_rng(3)
    samples = [
        {"x": generator.normal(size=(1, 4, 1, 1)), "f2": generator.normal(size=(4, 2))} for _ in range(4)
    ]
    single = [{name: array.astype(np.float32) for name, array in sample.items()} for sample in samples]
    with pytest.raises(XonncError, match="to quantize"):
        xonnc.quantize(model, single)


def test_weights_take_a_quarter(network: Path):
    quantized = xonnc.quantize(network, network.parent / "samples.npz")
    before, after = quantized.model.before, quantized.model.after
    assert after.operators["DequantizeLinear"] > 8
    assert after.bytes < 0.45 * before.bytes
    floats = [numpy_helper.to_array(each) for each in quantized.proto().graph.initializer]
    assert all(array.ndim < 2 for array in floats if array.dtype == np.float32)


def test_nodes_stay_float():
    quantized = xonnc.quantize(MODEL, SAMPLES, keep_float=["left", "y"])
    kept = [layer.node for layer in quantized.layers if not layer.is_quantized]
    assert kept == ["left", "last"]
    weights = {each.name: each.data_type for each in quantized.proto().graph.initializer}
    assert weights["w2"] == weights["w4"] == onnx.TensorProto.FLOAT


def test_compiled_in_int8_from_samples():
    session = xonnc.compile(MODEL, calibrate=SAMPLES, keep_float=["last"], cache=False)
    exact = xonnc.compile(MODEL, cache=False)
    given, expected = run(session, SAMPLES[0]), run(exact, SAMPLES[0])
    assert 0 < np.abs(given - expected).max() < 0.05 * np.abs(expected).max()
    with pytest.raises(XonncError, match="keep_float: without samples in calibrate="):
        xonnc.compile(MODEL, keep_float=["last"])


def test_dynamic_batch(tmp_path: Path):
    model = with_weights(NETWORK.replace("float[1,", "float[N,"), WEIGHTS)
    np.save(tmp_path / "x.npy", IMAGES[:, 0])
    quantized = xonnc.quantize(model, tmp_path / "x.npy")
    proto = quantized.proto()
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"
    x = IMAGES[:3, 0]
    expected = in_onnxruntime(proto, tmp_path, {"x": x})
    given = run(xonnc.compile(proto, cache=False), {"x": x})
    np.testing.assert_allclose(given, expected, atol=0.02 * np.abs(expected).max())


EMBEDDING = """
    <ir_version: 8, opset_import: ["" : 11]>
    words (int64[1, L] ids) => (float[1, L, 5] y) {
      e = Gather (table, ids)
      [proj] y = MatMul (e, w)
    }
"""


def test_integer_inputs_and_old_opsets(tmp_path: Path):
    model = with_weights(EMBEDDING, {"table": (40, 8), "w": (8, 5)})
    ids = np.random.default_rng(1).integers(0, 40, (6, 1, 9))
    np.save(tmp_path / "ids.npy", ids)
    with pytest.raises(XonncError, match=r"input 'ids': .*--input-shape ids:1,…"):
        xonnc.quantize(model, tmp_path / "ids.npy")
    quantized = xonnc.quantize(model, tmp_path / "ids.npy", input_shapes={"ids": (1, 9)})
    proto = quantized.proto()
    assert check_model(proto) == []
    assert proto.opset_import[0].version == 13
    expected = in_onnxruntime(proto, tmp_path, {"ids": ids[0]})
    given = run(xonnc.compile(proto, cache=False), {"ids": ids[0]})
    np.testing.assert_allclose(given, expected, atol=0.02 * np.abs(expected).max())
    kept = xonnc.quantize(model, tmp_path / "ids.npy", per_tensor=True, input_shapes={"ids": (1, 9)})
    assert kept.proto().opset_import[0].version == 11


OLD_CLASSIFIER = """
    <ir_version: 8, opset_import: ["" : 9]>
    pictures (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y) {
      c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
      y = Softmax (c)
    }
"""


def test_an_operator_of_an_old_opset_is_quantized_per_tensor(tmp_path: Path):
    model = with_weights(OLD_CLASSIFIER, {"w": (4, 3, 3, 3), "b": (4,)})
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    with pytest.raises(
        XonncError, match=r"Softmax\): the version of opset 12; scales per channel need opset 13"
    ):
        xonnc.quantize(model, [{"x": x}])
    proto = xonnc.quantize(model, [{"x": x}], per_tensor=True).proto()
    assert check_model(proto) == []
    assert proto.opset_import[0].version == 10
    expected = in_onnxruntime(proto, tmp_path, {"x": x})
    np.testing.assert_allclose(run(xonnc.compile(proto, cache=False), {"x": x}), expected, atol=0.02)


@pytest.mark.parametrize(
    ("least", "largest", "kind", "scale", "zero"),
    [
        (-1.0, 1.55, "uint8", 0.01, 100),
        (-1.0, 1.55, "int8", 0.01, -28),
        (-1.27, 1.0, "symmetric", 0.01, 0),
        (1.0, 2.55, "uint8", 0.01, 0),
        (-2.55, -1.0, "uint8", 0.01, 255),
        (0.0, 0.0, "uint8", 1.0, 0),
        (-1e-44, 1e-44, "symmetric", 1.0, 0),
    ],
)
def test_parameters_of_activations(
    least: float, largest: float, kind: ActivationType, scale: float, zero: int
):
    params = activation_params(Range(least, largest), kind)
    assert params.scale == np.float32(scale)
    assert params.zero_point == zero


def test_parameters_of_weights():
    weights = np.array([[1.27, -0.5], [0, 0], [1e-9, 0]], np.float32)
    bias = np.array([1.0, 0.0, 1e6], np.float32)
    stored = quantize_weights(weights, 0, bias, np.float32(0.5), is_per_tensor=False)
    assert stored.weights.tolist() == [[127, -50], [0, 0], [0, 0]]
    assert stored.scales[1] == 1.0
    assert stored.bias is not None
    np.testing.assert_allclose(stored.bias * stored.bias_scales, bias, rtol=1e-6)
    assert stored.bias[2] > 2**30, "the scale grows until the bias fits"
    whole = quantize_weights(weights, 0, None, np.float32(0.5), is_per_tensor=True)
    assert whole.scales.shape == whole.bias_scales.shape == ()


def test_command(network: Path, capsys: pytest.CaptureFixture[str]):
    samples, output, table = (network.parent / name for name in ("samples.npz", "q.onnx", "table.json"))
    flags = ["quantize", str(network), "--calibrate", str(samples), "-o", str(output)]
    assert main([*flags, "--keep-float", "first", "--save-calib", str(table)]) == 0
    said = capsys.readouterr().out
    assert "network.onnx   3 of 4 layers in INT8" in said
    assert "in float     first" in said
    assert "y: cosine 0.9" in said
    first = Counter(node.op_type for node in onnx.load_model_from_string(output.read_bytes()).graph.node)
    again = ["quantize", str(network), "--calib", str(table), "-o", str(output), "--json"]
    assert main(again) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == [str(output)]
    assert told["layers"][0] == {"node": "first", "operator": "Conv", "is_quantized": True}
    assert told["agreement"] == []
    assert (
        Counter(node.op_type for node in onnx.load_model_from_string(output.read_bytes()).graph.node) > first
    )


def test_native_code_in_int8(network: Path, capsys: pytest.CaptureFixture[str]):
    samples, output = network.parent / "samples.npz", network.with_suffix(".c")
    flags = ["-o", str(output), "--calibrate", str(samples), "--no-malloc", "--json"]
    assert main(["compile", str(network), *flags]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["weight_bytes"] < 9000
    assert told["operators"]["DequantizeLinear"] > 8
    np.save(network.parent / "x.npy", SAMPLES[0]["x"])
    given = network.parent / "y.npy"
    flags = ["--input", str(network.parent / "x.npy"), "--output", str(given), "-q"]
    assert main(["run", str(network), *flags, "--calibrate", str(samples)]) == 0
    expected = run(xonnc.compile(MODEL), SAMPLES[0])
    assert 0 < np.abs(np.load(given) - expected).max() < 0.05 * np.abs(expected).max()


ONLY_RELU = '<ir_version: 8, opset_import: ["" : 17]> g (float[1] x) => (float[1] y) { y = Relu (x) }'


def test_messages(network: Path, capsys: pytest.CaptureFixture[str]):
    def refused(message: str, *flags: str, model: Path = network) -> None:
        output = network.parent / "q.onnx"
        assert main(["quantize", str(model), "-o", str(output), *flags]) == 1
        assert message in capsys.readouterr().err
        assert not output.exists()

    samples = str(network.parent / "samples.npz")
    refused("--calibrate gives samples to measure ranges on, --calib a table")
    refused(
        "keep-float: no node 'frist'; did you mean 'first'?", "--calibrate", samples, "--keep-float", "frist"
    )
    refused("no input 'z'; there are x", "--calibrate", samples, "--input-shape", "z:1")
    relu = network.parent / "relu.onnx"
    relu.write_bytes(parser.parse_model(ONLY_RELU).SerializeToString())
    refused("relu.onnx: nothing to quantize: no Conv", "--calibrate", samples, model=relu)
    done = network.parent / "done.onnx"
    assert main(["quantize", str(network), "-o", str(done), "-q", "--calibrate", samples]) == 0
    refused("done.onnx: is quantized already", "--calibrate", samples, model=done)
    little = network.parent / "little.json"
    little.write_text('{"x": {"scale": 1}}')
    refused("no range in the calibration table for 'b'", "--calib", str(little))
    assert main(["compile", str(network), "-o", str(network.parent / "m.so"), "--keep-float", "first"]) == 1
    assert "--keep-float is for quantized models: --calibrate or --calib" in capsys.readouterr().err
    assert main(["compile", str(network), "--target", "nv_small", "--keep-float", "first"]) == 1
    assert "--keep-float is for quantized models" in capsys.readouterr().err


def test_messages_of_the_function():
    kind: Any = "int4"
    with pytest.raises(XonncError, match="no type of activations 'int4'; did you mean 'int8'"):
        xonnc.quantize(MODEL, SAMPLES, activations=kind)
    with pytest.raises(XonncError, match="no calibration method 'max'"):
        xonnc.quantize(MODEL, SAMPLES, method="max")
    with pytest.raises(XonncError, match="network: no samples to calibrate with"):
        xonnc.quantize(MODEL, [])


def test_samples_in_a_file_need_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 3, H, 8] x) => (float[N, 4, H, 8] y) <float[4, 3, 1, 1] w = {
    1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}> { y = Conv (x, w) }"""
    path, samples = tmp_path / "m.onnx", tmp_path / "s.npy"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    np.save(samples, np.zeros((2, 3, 8, 8), np.float32))
    assert main(["quantize", str(path), "-o", str(tmp_path / "q.onnx"), "--calibrate", str(samples)]) == 1
    message = (
        "input 'x': tensor<?x3x?x8xf32>; samples in a file need a shape: --input-shape x:1,…, or input_shapes"
    )
    assert message in capsys.readouterr().err
    assert not (tmp_path / "q.onnx").exists()
