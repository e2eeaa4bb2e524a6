"""What rounding adds to means of channels, and biases that take it away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.utils
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module, measure_ranges, open_model, open_parts
from xonnc.compiler import run_frontend
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.quantization_statistics.bias_correction import (
    MIN_SAMPLES,
    bias_corrections,
    james_stein_means,
)
from xonnc.lowering.quantization_statistics.quantization_error import with_quantized_weights
from xonnc.runtime.calibration import RunModel
from xonnc.runtime.reference import ReferenceModel
from xonnc.simplifier import simplify

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

NETWORK = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 2, 8, 8] x) => (float[1, 5, 8, 8] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = Relu (a)
      c = Conv <pads = [1, 1, 1, 1], group = 2> (b, w2)
      d = Add (c, b)
      e = Relu (d)
      y = Conv <pads = [1, 1, 1, 1]> (e, w3)
    }
"""
SHAPES = {"w1": (4, 2, 3, 3), "b1": (4,), "w2": (4, 2, 3, 3), "w3": (5, 4, 3, 3)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = parser.parse_model(NETWORK)
    generator = np.random.default_rng(0)
    for name, shape in SHAPES.items():
        array = generator.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    found = tmp_path / "model.onnx"
    found.write_bytes(model.SerializeToString())
    return found


def images(count: int) -> list[Sample]:
    """Images far from zero, so that its edges differ from their middle."""
    generator = np.random.default_rng(1)
    return [{"x": 3 + generator.standard_normal((1, 2, 8, 8)).astype(np.float32)} for _ in range(count)]


def shift(path: Path, samples: list[Sample], *, measured: bool) -> float:
    """How far means of the output's channels are off at most, with biases as measured or not."""

    def calibrate(module: ModuleOp) -> Ranges:
        found = calibrate_module(module, samples, "percentile")
        return found if measured else {name: replace(one, bias_corrections=()) for name, one in found.items()}

    rounded = path.with_name("rounded.onnx")
    model = with_quantized_weights(export_proto(run_frontend(path, None, calibrate).module))
    # Of the last rounding only what comes before is looked at: it is fair.
    last = next(node for node in reversed(model.graph.node) if node.op_type == "Conv")
    del model.graph.output[:]
    model.graph.output.add(name=last.output[0])
    rounded.write_bytes(model.SerializeToString())
    exact, other = ReferenceModel(path), ReferenceModel(rounded)
    errors = [other.run(sample)[0] - exact.run(sample)[0] for sample in samples]
    return float(np.abs(np.mean(errors, axis=(0, 1, 3, 4))).max())


def test_means_are_what_they_were(path: Path):
    samples = images(16)
    assert shift(path, samples, measured=True) < 0.1 * shift(path, samples, measured=False)


def test_shifts_that_differ_between_images_are_reduced():
    """Columns: equal in all images; without a mean; as uncertain as it is large; between; zero."""
    shifts = np.array([[2.0, 1.0, 2.0, 3.0, 0.0], [2.0, -1.0, 0.0, 1.0, 0.0]])
    assert james_stein_means(shifts).tolist() == pytest.approx([2.0, 0.0, 0.0, 1.5, 0.0])
    weights = np.array([[1.0, 3.0, 2.0, 1.0, 1.0]] * 2)
    means = james_stein_means(shifts * weights, weights)
    assert means.tolist() == pytest.approx([2.0, 0.0, 0.0, 1.5, 0.0])
    weights[1] *= 0.5
    assert james_stein_means(2 * weights, weights).tolist() == pytest.approx([2.0] * 5)


DETECTOR = """
    <ir_version: 8, opset_import: ["" : 17]>
    detector (float[1, 2, 16, 16] x) => (float[1, 1, 16, 16] y) {
      z = Conv (x, w)
      y = Sigmoid (z)
    }
"""


@pytest.mark.parametrize(("function", "expected"), [("Sigmoid", 0.0), ("Relu", 2.5)])
def test_scores_of_objects_are_corrected_and_not_those_of_the_background(
    function: str, expected: float, tmp_path: Path
):
    """
    A kernel of 1.004 and 100 becomes 0.79 and 100: far below zero, where a sigmoid is constant, that is a
    large shift, which the few values around zero do not have. Clamps take the mean of all.
    """
    model = parser.parse_model(DETECTOR.replace("Sigmoid", function))
    weights = np.array([1.004, 100], np.float32).reshape(1, 2, 1, 1)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    path = tmp_path / "detector.onnx"
    path.write_bytes(model.SerializeToString())
    generator = np.random.default_rng(2)
    samples = [{"x": generator.normal(0, 0.01, (1, 2, 16, 16)).astype(np.float32)} for _ in range(12)]
    for sample in samples:
        sample["x"][0, 0] -= 12
        sample["x"][0, 0, 3, :8] += 12
    module = simplify(path).module
    found = bias_corrections(module, measure_ranges(module, samples), samples, open_parts)
    assert abs(found["z"][0]) == pytest.approx(expected, abs=0.2)


def test_few_samples_tell_nothing(path: Path):
    module = simplify(path).module
    ranges = calibrate_module(module, images(MIN_SAMPLES - 1))
    assert not any(one.bias_corrections for one in ranges.values())
    assert bias_corrections(module, ranges, images(MIN_SAMPLES - 1), open_parts) == {}
    ranges = measure_ranges(module, images(MIN_SAMPLES))
    measured = bias_corrections(module, ranges, images(MIN_SAMPLES), open_parts)
    assert {name: len(each) for name, each in measured.items()} == {"a": 4, "c": 4, "y": 5}


def test_parts_of_one_model_give_what_models_of_their_own_give(path: Path):
    """Each segment is compiled by itself, from the model in which they are beside each other."""

    def open_apart(model: onnx.ModelProto) -> Callable[[Sequence[str]], RunModel]:
        def part(names: Sequence[str]) -> RunModel:
            own = onnx.utils.Extractor(model).extract_model(_read_by(model, names), list(names))
            return open_model(own)

        return part

    module = simplify(path).module
    ranges = measure_ranges(module, images(MIN_SAMPLES))
    together, apart = (
        bias_corrections(module, ranges, images(MIN_SAMPLES), opened) for opened in (open_parts, open_apart)
    )
    assert together == apart


def _read_by(model: onnx.ModelProto, names: Sequence[str]) -> list[str]:
    """The inputs that outputs depend on."""
    needed = set(names)
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
    return [info.name for info in model.graph.input if info.name in needed]


def test_batches(tmp_path: Path):
    """Channels of a batch have means, though no ranges of their own."""
    path = tmp_path / "batch.onnx"
    model = parser.parse_model(NETWORK.replace("float[1,", "float[2,"))
    generator = np.random.default_rng(0)
    for name, shape in SHAPES.items():
        array = generator.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path.write_bytes(model.SerializeToString())
    samples = [
        {"x": 3 + generator.standard_normal((2, 2, 8, 8)).astype(np.float32)} for _ in range(MIN_SAMPLES)
    ]
    found = calibrate_module(simplify(path).module, samples)
    assert {name: len(one.bias_corrections) for name, one in found.items() if one.bias_corrections} == {
        "a": 4,
        "c": 4,
        "y": 5,
    }


CONSTANT_NODES = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 2, 8, 8] x) => (float[1, 5, 8, 8] y) {
      half = Constant <ATTRIBUTE> ()
      w3 = Constant <value = float[5, 4, 1, 1] {WEIGHTS}> ()
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = Mul (a, half)
      f = Erf (b)
      c = Conv <pads = [1, 1, 1, 1], group = 2> (f, w2)
      d = Mul (c, half)
      e = Erf (d)
      y = Conv (e, w3)
    }
"""


@pytest.mark.parametrize("attribute", ["value = float {0.5}", "value_float = 0.5", "value_floats = [0.5]"])
def test_constant_nodes_are_read_by_several_parts(attribute: str, tmp_path: Path):
    # As torch writes the numbers of GELU, which its export shares between layers.
    weights = ", ".join(str(each) for each in np.linspace(-1, 1, 20).tolist())
    given = parser.parse_model(CONSTANT_NODES.replace("ATTRIBUTE", attribute).replace("WEIGHTS", weights))
    generator = np.random.default_rng(0)
    for name in ("w1", "b1", "w2"):
        array = generator.standard_normal(SHAPES[name]).astype(np.float32)
        given.graph.initializer.append(numpy_helper.from_array(array, name))
    written = tmp_path / "constants.onnx"
    written.write_bytes(given.SerializeToString())
    corrected: list[list[str]] = []

    def calibrate(module: ModuleOp) -> Ranges:
        found = calibrate_module(module, images(MIN_SAMPLES))
        corrected.append([name for name, one in found.items() if one.bias_corrections])
        return found

    run_frontend(written, None, calibrate)
    assert [len(names) for names in corrected] == [3]


def test_networks_without_sums_have_none(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["" : 17]>
        network (float[1, 2, 8, 8] x) => (float[1, 2, 8, 8] y) { y = Relu (x) }"""
    path = tmp_path / "relu.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    found: list[Ranges] = []

    def calibrate(module: ModuleOp) -> Ranges:
        found.append(calibrate_module(module, images(MIN_SAMPLES)))
        return found[0]

    run_frontend(path, None, calibrate)
    assert not any(one.bias_corrections for one in found[0].values())
