"""Results of convolutions and activations as two int8 tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser
from xdsl.utils.test_value import create_ssa_value

from xonnc.calibration import Auto, calibrate_module
from xonnc.compiler import compile_model, run_frontend
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import tensor_type
from xonnc.errors import XonncError
from xonnc.formats.nvdla.calibration import Range, Ranges, read_calibration, write_calibration
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.int8.dequantized import QuantizedCube
from xonnc.lowering.onnx_to_dla.int8.quantized_products import ElementwiseProduct
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values
from xonnc.lowering.onnx_to_dla.quantization.widen_activations_onnx import WidenActivations, wide_layers
from xonnc.lowering.quantization_statistics.quantization_error import with_quantized_weights
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[Any]
SHAPE = (1, 3, 7, 5)
FUNCTIONS = {
    "SiLU": [("Sigmoid", ["p"], "g"), ("Mul", ["p", "g"], "y")],
    "hard swish": [("HardSwish", ["p"], "y")],
}
OTHERS = {
    "a clamp": [("Relu", ["p"], "y")],
    "two functions that are read": [("Sigmoid", ["p"], "y"), ("Neg", ["y"], "u"), ("Add", ["u", "x1"], "n")],
    "two functions": [("Neg", ["p"], "n"), ("Sigmoid", ["p"], "y")],
    "a weight that is computed": [("Sigmoid", ["p"], "y"), ("Neg", ["x1"], "v0")],
    "groups of channels": [("Sigmoid", ["p"], "y")],
    "a sum of two shapes": [
        ("GlobalMaxPool", ["x1"], "u"),
        ("Sigmoid", ["p"], "s"),
        ("Add", ["s", "u"], "y"),
    ],
    "a product": [("Sigmoid", ["p"], "s"), ("Add", ["s", "x1"], "y"), ("Mul", ["y", "x1"], "n")],
}
"""What follows a convolution that cannot be wide."""


def require_simulated(simulator: Simulator, sample: Array, expected: Sequence[Array]) -> None:
    """Require that the outputs for a sample are those expected, to one step."""
    outputs = simulator.run([sample.reshape(simulator.inputs[0].shape)])
    for output, numbers in zip(outputs, expected, strict=True):
        assert output.grid is not None
        steps = np.abs(output.numbers.reshape(-1) - numbers.reshape(-1)) / output.grid.scale
        assert steps.max() <= 1.01


def network(path: Path, function: str, readers: int = 2) -> Path:
    """A convolution with an activation that convolutions read, whose sum is the output."""
    generator = np.random.default_rng(3)
    sizes = {"w": (12, 3, 3, 3), "v0": (4, 12, 3, 3), "v1": (4, 12, 1, 1)}
    constants = {name: generator.standard_normal(size) / 3 for name, size in sizes.items()}
    nodes = [helper.make_node("Conv", ["x", "w"], ["p"], "first", pads=[1] * 4)]
    nodes += [helper.make_node(op, read, [made], f"to_{made}") for op, read, made in FUNCTIONS[function]]
    nodes += [helper.make_node("Conv", ["y", "v0"], ["r0"], "second", pads=[1] * 4)]
    nodes += [helper.make_node("Conv", ["y", "v1"], ["r1"], "third")] if readers == 2 else []
    nodes += [helper.make_node("Add" if readers == 2 else "Relu", ["r0", "r1"][:readers], ["z"], "last")]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


SAMPLES = [{"x": np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)} for seed in range(8)]


def ranges(module: ModuleOp) -> Ranges:
    """The ranges of a module whose first layer is wide."""
    name_values(module)
    return calibrate_module(module, SAMPLES, target="nv_small", wide=1)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_tensors_hold_four_more_bits(function: str, tmp_path: Path):
    path = network(tmp_path / "model.onnx", function)
    target = load_target("nv_small")
    front = run_frontend(path, calibrate=ranges, nvdla=target)
    model = with_quantized_weights(export_proto(front.module))
    joined = next(node for node in model.graph.node if node.op_type == "Concat")
    conv = next(node for node in model.graph.node if node.op_type == "Conv")
    inspected = [*joined.input, conv.output[0]]
    result = model.graph.output[0].name
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inspected)
    (tmp_path / "rounded.onnx").write_bytes(model.SerializeToString())
    # Beyond the samples, whose range the second tensor's margin exceeds.
    feeds = {"x": 1.2 * SAMPLES[0]["x"]}
    outputs = dict(
        zip([result, *inspected], ReferenceModel(tmp_path / "rounded.onnx").run(feeds), strict=True)
    )
    first, second, sums = (outputs[name].astype(np.float64) for name in inspected)
    slope = 1 / (1 + np.exp(-sums)) if function == "SiLU" else np.clip(sums / 6 + 0.5, 0, 1)
    exact = sums * slope
    coarse, fine = (np.sqrt(np.square(found - exact).mean()) for found in (first, first + second / 16))
    assert fine < coarse / 8
    # Engines round what onnxruntime does not: half a step at most, and as much in what they read.
    loadable = compile_model(path, "nv_small", calibrate=ranges).loadable
    require_simulated(Simulator(loadable, target), feeds["x"], [outputs[result]])


def joining_network(path: Path, axis: int = 1, last: str = "Conv") -> Path:
    """Two convolutions whose activations are joined, of which a sum and a convolution read one too."""
    generator = np.random.default_rng(5)
    count, joined = (5, 13) if axis == 1 else (8, 8)
    sizes = {"w": (8, 3, 3, 3), "u": (count, 3, 1, 1), "v": (8, joined, 1, 1), "t": (8, 8, 1, 1)}
    nodes = [("Conv", ["x", "w"], "p"), ("HardSwish", ["p"], "y"), ("Conv", ["x", "u"], "q")]
    nodes += [("HardSwish", ["q"], "g"), ("Concat", ["g", "y"], "j")]
    options: dict[str, dict[str, Any]] = {"p": {"pads": [1] * 4}, "j": {"axis": axis}}
    nodes += [("Conv", ["j", "v"], "r") if last == "Conv" else (last, ["j"], "r")]
    nodes += [("Conv", ["y", "t"], "s"), ("Add", ["s", "y"], "m")]
    graph = helper.make_graph(
        [helper.make_node(op, read, [made], made, **options.get(made, {})) for op, read, made in nodes],
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, SHAPE)],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("r", "m")],
        [
            numpy_helper.from_array((generator.standard_normal(size) / 2).astype(np.float32), name)
            for name, size in sizes.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def test_second_tensors_are_parts_of_concatenations(tmp_path: Path):
    path, target = joining_network(tmp_path / "model.onnx"), load_target("nv_small")

    def both_ranges(module: ModuleOp) -> Ranges:
        name_values(module)
        return calibrate_module(module, SAMPLES, target="nv_small", wide=2)

    front = run_frontend(path, calibrate=both_ranges, nvdla=target)
    model = with_quantized_weights(export_proto(front.module))
    long = next(node for node in model.graph.node if node.op_type == "Concat" and len(node.input) == 4)
    assert sorted(len(node.input) for node in model.graph.node if node.op_type == "Concat") == [2, 4]
    sums = [node.output[0] for node in model.graph.node if node.op_type == "Conv"][:2]
    results = [output.name for output in model.graph.output]
    inspected = [*results, *sums, *long.input]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inspected)
    (tmp_path / "rounded.onnx").write_bytes(model.SerializeToString())
    found = ReferenceModel(tmp_path / "rounded.onnx").run(SAMPLES[0])
    of_y, of_g, g, y, fine_g, fine_y = (each.astype(np.float64) for each in found[2:])
    for convolved, first, second in ((of_y, y, fine_y), (of_g, g, fine_g)):
        exact = convolved * np.clip(convolved / 6 + 0.5, 0, 1)
        coarse, fine = (np.sqrt(np.square(each - exact).mean()) for each in (first, first + second / 16))
        assert fine < coarse / 6
    loadable = compile_model(path, "nv_small", calibrate=both_ranges).loadable
    require_simulated(Simulator(loadable, target), SAMPLES[0]["x"], found[:2])


def parting_network(path: Path, axis: int = 1, last: str = "Conv") -> Path:
    """A result in two parts; a convolution of one and its sum with that are joined with the other."""
    generator = np.random.default_rng(7)
    sizes = {"w": (16, 3, 3, 3), "u": (8, 8, 1, 1), "v": (8, 16, 1, 1), "t": (8, 8, 1, 1)}
    constants = {
        name: (generator.standard_normal(size) / 2).astype(np.float32) for name, size in sizes.items()
    }
    if axis == 2:
        constants |= {name: np.ones((8, count, 1, 1), np.float32) for name, count in (("u", 16), ("v", 32))}
    nodes = [helper.make_node("Conv", ["x", "w"], ["p"], pads=[1] * 4)]
    nodes += [helper.make_node("HardSwish", ["p"], ["y"])]
    nodes += [helper.make_node("Split", ["y"], ["a", "b"], axis=axis)]
    nodes += [helper.make_node("Conv", ["b", "u"], ["q"]), helper.make_node("HardSwish", ["q"], ["g"])]
    nodes += [helper.make_node("Add", ["b", "g"], ["m"])] if axis == 1 else []
    nodes += [helper.make_node("Concat", ["a", "m" if axis == 1 else "b"], ["j"], axis=1)]
    nodes += [helper.make_node("Conv", ["j", "v"], ["r"])]
    nodes += [helper.make_node("Conv", ["m" if axis == 1 else "g", "t"], ["s"])]
    nodes += [helper.make_node("Mul", ["m", "g"], ["n"])] if last == "Mul" else []
    results = ("r", "s", "n") if last == "Mul" else ("r", "s")
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 3, 6, 5))],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("wide", [1, 2])
def test_second_tensors_are_split_and_added(wide: int, tmp_path: Path):
    path, target = parting_network(tmp_path / "model.onnx"), load_target("nv_small")
    samples = [{"x": SAMPLES[seed]["x"][:, :, :6]} for seed in range(8)]

    def wide_ranges(module: ModuleOp) -> Ranges:
        name_values(module)
        return calibrate_module(module, samples, target="nv_small", wide=wide)

    model = with_quantized_weights(
        export_proto(run_frontend(path, calibrate=wide_ranges, nvdla=target).module)
    )
    long = next(node for node in model.graph.node if node.op_type == "Concat" and len(node.input) == 4)
    assert sorted(len(node.input) for node in model.graph.node if node.op_type == "Concat") == [2, 2, 4]
    convolved = [node.output[0] for node in model.graph.node if node.op_type == "Conv"][:2]
    split = next(node for node in model.graph.node if node.op_type == "Split")
    inspected = [*(output.name for output in model.graph.output), *convolved, *long.input, split.output[1]]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inspected)
    (tmp_path / "rounded.onnx").write_bytes(model.SerializeToString())
    found = ReferenceModel(tmp_path / "rounded.onnx").run(samples[0])
    of_y, of_g, a, m, fine_a, fine_m, b = (each.astype(np.float64) for each in found[2:])
    exact_y, exact_g = (each * np.clip(each / 6 + 0.5, 0, 1) for each in (of_y, of_g))
    # Without a second tensor of its own, one part of the sum is as it was rounded.
    exact_m = exact_y[:, 8:] + (exact_g if wide == 2 else m - b)
    for exact, first, second in ((exact_y[:, :8], a, fine_a), (exact_m, m, fine_m)):
        coarse, fine = (np.sqrt(np.square(each - exact).mean()) for each in (first, first + second / 16))
        assert fine < coarse / 6
    loadable = compile_model(path, "nv_small", calibrate=wide_ranges).loadable
    require_simulated(Simulator(loadable, target), samples[0]["x"], found[:2])


@pytest.mark.parametrize(("axis", "last", "count"), [(2, "Conv", 1), (1, "Mul", 2)])
def test_parts_and_sums_without_second_tensors(axis: int, last: str, count: int, tmp_path: Path):
    path = parting_network(tmp_path / "model.onnx", axis, last)

    def wide_ranges(module: ModuleOp) -> Ranges:
        name_values(module)
        samples = [{"x": sample["x"][:, :, :6]} for sample in SAMPLES[:2]]
        return calibrate_module(module, samples, target="nv_small", wide=1)

    module = run_frontend(path).module
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    assert len(list(wide_layers(function.body.block))) == count - (axis == 1)
    module = run_frontend(path, calibrate=wide_ranges, nvdla=load_target("nv_small")).module
    joins = [node for node in export_proto(module).graph.node if node.op_type == "Concat"]
    assert [len(node.input) for node in joins] == [2, 3] if axis == 1 else [2, 2]


def wide_layer(name: str, read: str, shape: str, scale: str) -> str:
    """A convolution with a sigmoid, both marked as wide."""
    stored = shape.replace("f32", "ui8")
    lines = [f'%p = "onnx.Conv"(%{read}, %w, %n) : ({shape}, tensor<1x1x1x1xf32>, none) -> {shape}']
    for made, of in (("p", "p"), ("y", "f")):
        lines += [f'%f = "onnx.Sigmoid"(%p1) : ({shape}) -> {shape}'] if of == "f" else []
        lines += [
            f'%{made}q = "onnx.QuantizeLinear"(%{of}, %{scale}, %z) {{dla.inserted, dla.wide}}'
            f" : ({shape}, tensor<f32>, tensor<ui8>) -> {stored}",
            f'%{made}1 = "onnx.DequantizeLinear"(%{made}q, %{scale}, %z) {{dla.inserted, dla.wide}}'
            f" : ({stored}, tensor<f32>, tensor<ui8>) -> {shape}",
        ]
    return re.sub(r"%(p|y|f)(q|1|)\b", rf"%{name}_\1\2", "\n".join(lines))


@pytest.mark.parametrize(
    ("first", "scale", "added", "count"),
    [
        ("2x2", "s", "b_y1", 1),
        ("2x2", "t", "b_y1", 0),
        ("2x2", "s", "x", 1),
        ("1x1", "s", "x", 0),
    ],
    ids=["one scale", "two scales", "one second tensor", "one second tensor of another shape"],
)
def test_sums_that_have_second_tensors(first: str, scale: str, added: str, count: int, context: Context):
    """The result, whose scale is that of the first summand, is read by a convolution."""
    shape, of_first = "tensor<1x1x2x2xf32>", f"tensor<1x1x{first}xf32>"
    other = wide_layer("b", "x", shape, scale) if added == "b_y1" else ""
    text = f"""func.func @f(%x: {shape}, %u: {of_first}) -> {shape} {{
      %w = onnx.Constant dense<1.0> : tensor<1x1x1x1xf32>
      %n = "onnx.NoValue"() {{value}} : () -> none
      %s = onnx.Constant dense<0.0625> : tensor<f32>
      %t = onnx.Constant dense<0.125> : tensor<f32>
      %z = onnx.Constant dense<64> : tensor<ui8>
      {wide_layer("a", "u", of_first, "s")}
      {other}
      %m = "onnx.Add"(%a_y1, %{added}) : ({of_first}, {shape}) -> {shape}
      %mq = "onnx.QuantizeLinear"(%m, %s, %z) {{dla.inserted}}
        : ({shape}, tensor<f32>, tensor<ui8>) -> {shape.replace("f32", "ui8")}
      %m1 = "onnx.DequantizeLinear"(%mq, %s, %z) {{dla.inserted}}
        : ({shape.replace("f32", "ui8")}, tensor<f32>, tensor<ui8>) -> {shape}
      %r = "onnx.Conv"(%m1, %w, %n) : ({shape}, tensor<1x1x1x1xf32>, none) -> {shape}
      onnx.Return %r : {shape} }}"""
    module = Parser(context, text).parse_module()
    WidenActivations().apply(context, module)
    module.verify()
    assert sum(isinstance(op, ConcatOp) for op in module.walk()) == count


@pytest.mark.parametrize(
    ("axis", "last", "joined"), [(1, "Conv", [True, True]), (2, "Conv", [False]), (1, "Softmax", [False])]
)
def test_concatenations_that_have_second_tensors(axis: int, last: str, joined: list[bool], tmp_path: Path):
    module = run_frontend(joining_network(tmp_path / "model.onnx", axis, last)).module
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    assert [layer.joined is not None for layer in wide_layers(function.body.block)] == joined


@pytest.mark.parametrize(
    ("target", "wide", "message"),
    [
        ("nv_small", "auto", "wide budget 0.5: the time relative to that without wide layers, from 1"),
        ("nv_small", 2, "wide layers: 2; this model has 1"),
        ("nv_small", -1, "wide layers: -1; this model has 1"),
        ("nv_large", 1, "the SDP of nv_large looks up sums"),
    ],
)
def test_layers_that_cannot_be_wide(target: str, wide: int | Auto, message: str, tmp_path: Path):
    def calibrate(module: ModuleOp) -> Ranges:
        return calibrate_module(module, SAMPLES[:1], target=target, wide=wide, wide_budget=0.5)

    with pytest.raises(XonncError, match=message):
        run_frontend(network(tmp_path / "model.onnx", "SiLU", 1), calibrate=calibrate)


@pytest.mark.parametrize(("budget", "count"), [(4.0, 1), (1.0, 0)])
def test_layers_that_samples_choose(budget: float, count: int, tmp_path: Path):
    found: list[Ranges] = []

    def calibrate(module: ModuleOp) -> Ranges:
        name_values(module)
        found.append(
            calibrate_module(module, SAMPLES[:2], target="nv_small", wide="auto", wide_budget=budget)
        )
        return found[0]

    run_frontend(network(tmp_path / "model.onnx", "hard swish", 1), calibrate=calibrate)
    assert sum(each.is_wide for each in found[0].values()) == 2 * count


def test_models_that_are_quantized_already_have_no_wide_layers(tmp_path: Path):
    path = network(tmp_path / "model.onnx", "SiLU", 1)
    quantized = export_proto(run_frontend(path, calibrate=ranges, nvdla=load_target("nv_small")).module)
    module = run_frontend(quantized).module
    with pytest.raises(XonncError, match="the model has QuantizeLinear, and its pairs say how values are"):
        calibrate_module(module, SAMPLES[:1], wide=1)


@pytest.mark.parametrize("what", OTHERS)
def test_convolutions_that_cannot_be_wide(what: str):
    groups = 3 if "groups" in what else 1
    values = {"x": (1, 3, 4, 4), "w": (3, 3, 1, 1), "x1": (3, 3, 4, 4)}
    last = helper.make_node("Conv", ["y", "v0"], ["z"], "last", group=groups)
    nodes = [helper.make_node("Conv", ["x", "w"], ["p"], "first")]
    nodes += [helper.make_node(op, read, [made], made) for op, read, made in OTHERS[what]]
    made = [name for node in [*nodes, last] for name in node.output if name in ("n", "z")]
    graph = helper.make_graph(
        [*nodes, last],
        "network",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, values[name]) for name in ("x", "x1")],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in made],
        [
            numpy_helper.from_array(np.ones(size, np.float32), name)
            for name, size in (("w", values["w"]), ("v0", (3, 3 // groups, 1, 1)))
            if name not in [node.output[0] for node in nodes]
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    module = run_frontend(model).module
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    assert list(wide_layers(function.body.block)) == []


def test_tables_say_what_is_wide(tmp_path: Path):
    table = tmp_path / "table.json"
    write_calibration(table, {"x": Range(-1.0, 1.0, is_wide=True), "y": Range(0.0, 1.0)})
    assert [found.is_wide for found in read_calibration(table).values()] == [True, False]
    table.write_text('{"x": {"scale": 1, "wide": "yes"}}')
    with pytest.raises(XonncError, match="'x': wide is 'yes'; it is true or false"):
        read_calibration(table)


def cube(scale: float, zero: int = 0, rows: int = 3) -> QuantizedCube:
    """Stored integers."""
    value = create_ssa_value(tensor_type((1, 8, rows, 2), i8))
    return QuantizedCube(value, QuantizationParameters(scale, zero))


@pytest.mark.parametrize(
    ("added", "is_added"),
    [
        (cube(2.0**-6), True),
        (cube(2.0**10), True),
        (cube(2.0**11), False),
        (cube(2.0**-7), False),
        (cube(0.75), False),
        (cube(1.0, zero=1), False),
        (cube(1.0, rows=4), False),
    ],
)
def test_what_the_pass_of_a_product_adds(added: QuantizedCube, is_added: bool):
    product = ElementwiseProduct(cube(2.0**-2), cube(2.0**-4), (1, 8, 3, 2))
    found = product.plus(added)
    assert (found is not None) == is_added
    assert found is None or found.plus(added) is None
