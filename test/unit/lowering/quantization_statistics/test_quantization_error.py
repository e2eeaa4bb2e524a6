"""What rounding does to each value: numbers that can be worked out by hand."""

from __future__ import annotations

import json
from math import inf, log10
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

from xonnc.calibration import open_model
from xonnc.errors import XonncError
from xonnc.lowering.quantization_statistics.quantization_error import (
    measure_quantization_error,
    output_noise,
)
from xonnc.tools.driver import main

ROUNDED = """<ir_version: 8, opset_import: ["" : 17]>
    rounded (float[1, 4] x) => (float[1, 4] y) {
      q = QuantizeLinear (x, scale, zero)
      d = DequantizeLinear (q, scale, zero)
      y = Neg (d)
    }"""

PLAIN = """<ir_version: 8, opset_import: ["" : 17]>
    plain (float[1, 4] x) => (float[1, 4] y) { y = Neg (x) }"""

WEIGHTS = """<ir_version: 8, opset_import: ["" : 17]>
    weights (float[1, 2] x) => (float[1, 2] y) {
      q = QuantizeLinear (x, scale, zero)
      d = DequantizeLinear (q, scale, zero)
      m = MatMul (d, w)
      n = QuantizeLinear (m, scale, zero)
      y = DequantizeLinear (n, scale, zero)
    }"""


def model(text: str, **held: npt.ArrayLike) -> onnx.ModelProto:
    found = parser.parse_model(text)
    for name, numbers in held.items():
        found.graph.initializer.append(numpy_helper.from_array(np.asarray(numbers), name))
    return found


def test_saturation_and_noise():
    """In steps of a half 0.75 becomes 1, 80 is cut to 63.5; the other two are exact."""
    quantized = model(ROUNDED, scale=np.float32(0.5), zero=np.int8(0))
    samples = [{"x": np.array([[0.75, 80, -3, 2]], np.float32)}]
    (found,) = measure_quantization_error(quantized, None, samples, open_model)
    signal, noise = 0.75**2 + 80**2 + 9 + 4, 0.25**2 + 16.5**2
    assert (found.name, found.operator, found.element) == ("x", "input", "int8")
    assert (found.scale, found.zero_point, found.saturated) == (0.5, 0, 0.25)
    exact, rounded = np.array([0.75, 80, -3, 2]), np.array([1, 63.5, -3, 2])
    norms = np.linalg.norm(exact) * np.linalg.norm(rounded)
    assert found.cosine == pytest.approx(exact @ rounded / norms)
    assert found.histogram_range == (-64, 63.5)
    assert found.histogram_float[-1] == found.histogram_quantized[-1] == 1, "80 is in the last step"
    assert sum(found.histogram_float) == sum(found.histogram_quantized) == 4
    assert found.signal_to_noise == pytest.approx(10 * log10(signal / noise))


def test_errors_add_up_from_value_to_value():
    """0.7 becomes 0.5 at the input; that is exact in the finer steps after, but not what floats compute."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    chain (float[1, 2] x) => (float[1, 2] y) {
      q = QuantizeLinear (x, coarse, zero)
      d = DequantizeLinear (q, coarse, zero)
      n = Neg (d)
      r = QuantizeLinear (n, fine, zero)
      y = DequantizeLinear (r, fine, zero)
    }"""
    quantized = model(text, coarse=np.float32(0.5), fine=np.float32(0.25), zero=np.int8(0))
    samples = [{"x": np.array([[0.7, 2]], np.float32)}]
    first, second = measure_quantization_error(quantized, None, samples, open_model)
    assert (first.name, second.name, second.operator) == ("x", "n", "Neg")
    expected = 10 * log10((0.7**2 + 4) / 0.2**2)
    assert first.signal_to_noise == pytest.approx(expected, rel=1e-5)
    assert second.signal_to_noise == pytest.approx(expected, rel=1e-5)


def test_what_is_exact_has_no_noise():
    quantized = model(ROUNDED, scale=np.float32(0.5), zero=np.uint8(7))
    (found,) = measure_quantization_error(
        quantized, None, [{"x": np.array([[1, 2, 3, -3.5]], np.float32)}] * 2, open_model
    )
    assert (found.zero_point, found.saturated, found.signal_to_noise) == (7, 0.0, inf)
    assert found.cosine == pytest.approx(1)
    assert found.histogram_float == found.histogram_quantized


def test_weights_are_those_that_the_engines_get():
    """Of a column whose largest weight is 127 steps, 0.0354 is 4: what was 3.54 steps becomes 3, not 4."""
    held = np.array([[1, 0], [0.0354, 1]], np.float32)
    quantized = model(WEIGHTS, w=held, scale=np.ones((), np.float32), zero=np.zeros((), np.int8))
    _, found = measure_quantization_error(
        quantized, None, [{"x": np.array([[0, 100]], np.float32)}], open_model
    )
    decibels = 10 * log10((3.54**2 + 100**2) / 0.54**2)
    assert (found.name, found.operator) == ("m", "MatMul")
    assert found.signal_to_noise == pytest.approx(decibels, abs=0.01)


def test_no_quantization():
    with pytest.raises(XonncError, match="the model has no QuantizeLinear; give a calibration"):
        measure_quantization_error(model(PLAIN), None, [{}], open_model)


def test_no_samples():
    with pytest.raises(XonncError, match="no samples to measure the quantization error with"):
        measure_quantization_error(model(ROUNDED), None, [], open_model)


CLASSIFIER = """<ir_version: 8, opset_import: ["" : 17]>
    classifier (float[1, 6] x) => (float[1, 5] y) {
      [first] a = MatMul (x, v)
      [bend] b = Relu (a)
      [second] c = MatMul (b, w)
      [shares] y = Softmax (c)
    }"""


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    v, w = (random.standard_normal(shape).astype(np.float32) for shape in ((6, 16), (16, 5)))
    (tmp_path / "model.onnx").write_bytes(model(CLASSIFIER, v=v, w=w).SerializeToString())
    np.save(tmp_path / "x.npy", random.standard_normal((8, 6)).astype(np.float32))
    return tmp_path


def test_the_report_of_a_model(classifier: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--target", "nv_small", "--calibrate", str(classifier / "x.npy")]
    assert main(["report", str(classifier / "model.onnx"), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith("value "))
    assert lines[begin].split() == "value made by type scale zero saturated SNR dB cosine".split()
    assert [line.split()[:3] for line in lines[begin + 1 :]] == [
        ["x", "input", "uint8"],
        ["b", "Relu", "uint8"],
        ["c", "MatMul", "int8"],
        ["y", "Softmax", "int8"],
    ]
    assert main(["report", str(classifier / "model.onnx"), *options, "--json"]) == 0
    errors = json.loads(capsys.readouterr().out)["quantization_errors"]
    assert [one["name"] for one in errors] == ["x", "b", "c", "y"]
    x, b, c, y = errors
    assert min(one["signal_to_noise"] for one in (x, b, y)) > 30
    # Scores that leave no share are cut off, which is noise in them but none in the shares.
    assert c["saturated"] > 0 == x["saturated"]


def test_a_loadable_has_no_floats(classifier: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", "net.nvdla", "--calibrate", str(classifier / "x.npy")]) == 1
    assert (
        "net.nvdla: a loadable has no float values to compare with; give --calibrate the ONNX model"
        in capsys.readouterr().err
    )


def test_the_noise_of_outputs():
    quantized = model(ROUNDED, scale=np.float32(0.5), zero=np.int8(0))
    floats = parser.parse_model(PLAIN)
    samples = [{"x": np.array([[0.75, 80, -3, 2]], np.float32)}, {"x": np.ones((1, 4), np.float32)}]
    signal, noise = 0.75**2 + 80**2 + 9 + 4 + 4, 0.25**2 + 16.5**2
    found = output_noise(quantized, floats, samples, open_model)
    assert found == pytest.approx(10 * log10(noise / signal))
    assert output_noise(quantized, floats, samples[1:], open_model) == -inf
    text = ROUNDED.replace("Neg (d)", "Add (d, one)")
    zeros = model(text, scale=np.float32(1), zero=np.int8(0), one=np.float32(1))
    nothing = [{"x": np.zeros((1, 4), np.float32)}]
    assert output_noise(zeros, floats, nothing, open_model) == inf
