"""Functions of a convolution's sums, looked up in the SDP: every integer is that of the reference."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx import parser as onnx_parser
from xdsl.dialects.builtin import ModuleOp

from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.sweep import PlannedLayers
from xonnc.calibration import calibrate_module
from xonnc.compiler import Compilation, compile_model
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.dla_planning.lookup_tables import Function, sums_lut
from xonnc.lowering.onnx_to_dla.builders.unary_functions import gelu, swish
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

RANDOM = np.random.default_rng(7)
MAX_DEVIATION = 0.5 + 1 / 8 + 0.1
"""Rounding, the table's largest error, and that of the 16-bit operands."""

FUNCTIONS = {
    "Sigmoid": "",
    "Tanh": "",
    "HardSwish": "",
    "HardSigmoid": "<alpha=0.3>",
    "LeakyRelu": "<alpha=0.2>",
    "Abs": "",
    "Exp": "",
    "Neg": "",
}

CONVOLUTIONS = {
    "3x3": ((9, 7, 3, 3), "<pads=[1,1,1,1]>", (7, 6)),
    "1x1 with a stride": ((5, 7, 1, 1), "<strides=[2,2]>", (9, 5)),
    "depthwise": ((7, 1, 3, 3), "<group=7,pads=[1,1,1,1]>", (6, 6)),
    "in groups of 64 channels": ((128, 64, 1, 1), "<group=2>", (3, 2)),
    "with dilations": ((8, 7, 3, 3), "<dilations=[2,2]>", (7, 8)),
    "of one position": ((33, 7, 4, 3), "", (4, 3)),
}


def quantized_model(
    function: str,
    convolution: str = "3x3",
    spread: float = 1.0,
    scale: float = 0.05,
    zero: int = 128,
    given: tuple[float, int] = (0.04, 120),
) -> onnx.ModelProto:
    """A convolution whose result a function reads before it is quantized."""
    shape, attributes, image = CONVOLUTIONS[convolution]
    channels = shape[1] * (shape[0] if convolution == "depthwise" else 2 if "groups" in convolution else 1)
    size = float(np.prod(shape[1:])) ** 0.5
    held = {
        "w": RANDOM.integers(-127, 128, shape).astype(np.int8),
        "ws": (RANDOM.uniform(0.5, 1.5, shape[0]) * spread / 60 / size).astype(np.float32),
        "wz": np.zeros(shape[0], np.int8),
        "b": (RANDOM.standard_normal(shape[0]) * spread).astype(np.float32),
        "xs": np.array(given[0], np.float32),
        "xz": np.array(given[1], np.uint8),
        "ys": np.array(scale, np.float32),
        "yz": np.array(zero, np.uint8),
    }
    text = f"""
        xq = QuantizeLinear(x, xs, xz)
        xd = DequantizeLinear(xq, xs, xz)
        wd = DequantizeLinear<axis=0>(w, ws, wz)
        v = Conv{attributes}(xd, wd, b)
        r = {function}{FUNCTIONS.get(function, "")}(v)
        yq = QuantizeLinear(r, ys, yz)
        y = DequantizeLinear(yq, ys, yz)
    """
    nodes = [onnx_parser.parse_node(line.strip()) for line in text.strip().splitlines()]
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, (1, channels, *image))],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def compiled(model: onnx.ModelProto, target: str, folder: Path) -> Compilation:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return compile_model(path, target)


def check(model: onnx.ModelProto, target: str, folder: Path) -> None:
    """Every integer is that of the reference, in one pass after the convolution."""
    compilation = compiled(model, target, folder)
    assert "CDP" not in compilation.report.layers_by_engine
    reference = QuantizedReference(model, PlannedLayers(load_target(target)))
    simulator = Simulator(compilation.loadable, load_target(target))
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    for spread in (0.3, 2.0, 40.0):
        x = (spread * RANDOM.standard_normal(shape)).astype(np.float32)
        (found,), (expected,) = simulator.run([x]), reference.run({"x": x})
        np.testing.assert_array_equal(found.tensor.reshape(expected.shape), expected)
    assert max(reference.deviations) < MAX_DEVIATION


@pytest.mark.parametrize("target", ["nv_large", "nv_full"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_integer_of_a_function(function: str, target: str, tmp_path: Path):
    check(quantized_model(function), target, tmp_path)


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
def test_every_integer_behind_a_convolution(convolution: str, tmp_path: Path):
    check(quantized_model("Sigmoid", convolution, scale=1 / 255, zero=0), "nv_large", tmp_path)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0])
def test_sums_of_all_sizes(spread: float, tmp_path: Path):
    check(quantized_model("LeakyRelu", spread=spread, scale=spread / 40), "nv_large", tmp_path)


@pytest.mark.parametrize("spread", [3e4, 3e5])
@pytest.mark.parametrize(("function", "zero"), [("Sigmoid", 0), ("Tanh", 128)])
def test_large_sums_of_functions_with_bounds(function: str, zero: int, spread: float, tmp_path: Path):
    model = quantized_model(function, spread=spread, scale=1 / 255 if zero == 0 else 1 / 127, zero=zero)
    check(model, "nv_large", tmp_path)


def test_a_function_without_a_table_is_refused(tmp_path: Path):
    message = (
        r"no lookup table of sums approximates the function \(off by \d+\.\d steps\); insert QuantizeLinear"
    )
    with pytest.raises(XonncError, match=message):
        compiled(quantized_model("Sin"), "nv_large", tmp_path)


def test_without_a_table_in_the_sdp_sums_are_quantized_first(tmp_path: Path):
    compilation = compiled(quantized_model("Sigmoid"), "nv_small", tmp_path)
    assert compilation.report.layers_by_engine["CDP"] == 1


@pytest.mark.parametrize(
    "function", [np.tanh, np.abs, partial(swish, alpha=1.0), gelu, partial(np.clip, a_min=-1, a_max=3)]
)
@pytest.mark.parametrize("scale", [1e-3, 0.03, 1.0])
@pytest.mark.parametrize("zero", [-128, 0, 127])
def test_tables_are_near_the_function(function: Function, scale: float, zero: int):
    assert sums_lut(function, QuantizationParameters(scale, zero)).error < 1 / 8


def test_no_table_of_a_function_that_oscillates():
    assert sums_lut(np.sin, QuantizationParameters(1 / 127, 0)).error > 1


def calibrated(nodes: str, target: str, folder: Path) -> Compilation:
    """Compile float operators after a convolution of `x`, whose result is `v`, with measured ranges."""
    x = (2 * RANDOM.standard_normal((1, 8, 7, 6))).astype(np.float32)
    held = {name: RANDOM.standard_normal((8, 8, 1, 1)).astype(np.float32) / 3 for name in ("w", "u0")}
    text = f"v = Conv(x, w)\n{nodes}\ny = Conv(r, u0)"
    graph = helper.make_graph(
        [onnx_parser.parse_node(line.strip()) for line in text.splitlines()],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    path = folder / "float.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())

    def ranges(module: ModuleOp) -> Ranges:
        return calibrate_module(module, [{"x": x}], target=target)

    compilation = compile_model(path, target, calibrate=ranges)
    (output,) = Simulator(compilation.loadable, load_target(target)).run([x])
    (expected,) = ReferenceModel(path).run({"x": x})
    assert np.abs(output.numbers - expected).max() < 0.05 * np.abs(expected).max()
    return compilation


SILU = "s = Sigmoid(v)\nr = Mul(v, s)"


@pytest.mark.parametrize(
    ("nodes", "target", "tables"),
    [
        (SILU, "nv_small", 1),
        (SILU, "nv_large", 0),
        (SILU, "nv_full", 0),
        ("r = Tanh(v)", "nv_large", 0),
        # Something else reads the sums, so they are stored.
        ("t = Tanh(v)\nc = Conv(v, u0)\nr = Add(t, c)", "nv_large", 1),
        # What no table approximates keeps its pair, and a table with an entry for each integer.
        ("r = Sin(v)", "nv_large", 1),
    ],
)
def test_calibrated_sums_have_no_pair_where_the_sdp_looks_up(
    nodes: str, target: str, tables: int, tmp_path: Path
):
    compilation = calibrated(nodes, target, tmp_path)
    assert compilation.report.layers_by_engine.get("CDP", 0) == tables
