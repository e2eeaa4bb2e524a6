"""Models that the DLA takes in part: compiled to packages, run, and compared with onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from package_models import CASES, SHAPE, Array, agreement, image, kinds, saved
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.onnx.locations import node_location
from xonnc.errors import RefusalError, XonncError
from xonnc.explanation import explain_package
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.placement import place_nodes
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel


@pytest.mark.parametrize("name", CASES)
def test_parts_together_are_the_model(name: str, tmp_path: Path):
    nodes, expected, crossings = CASES[name]
    model = saved(tmp_path, nodes)
    package = compile_package(model)
    assert kinds(package) == expected
    assert package.crossings == crossings
    assert package.whole is None
    assert agreement(model, package, {"x": image()}) < 0.01


def test_a_model_of_the_dla_alone_is_a_loadable_with_its_inputs_and_outputs_in_order(tmp_path: Path):
    inputs = {"b": SHAPE, "a": SHAPE}
    model = saved(tmp_path, "p = Conv(a, w)\n q = Conv(b, w)", ("q", "p"), inputs)
    package = compile_package(model)
    assert package.whole is not None
    assert (package.crossings, package.cpu_nodes, package.refusals) == (4, (), ())
    (step,) = package.manifest.steps
    assert (step.inputs, step.outputs) == (("b", "a"), ("q", "p"))
    assert agreement(model, package, {"a": image(seed=2), "b": image(seed=3)}) < 0.01


def test_a_cheap_node_alone_stays_a_loadable(tmp_path: Path):
    package = compile_package(saved(tmp_path, "y = Relu(x)"))
    assert package.whole is not None


def test_several_inputs_and_outputs_of_several_types(tmp_path: Path):
    model = saved(
        tmp_path,
        """
        c = Conv(x, w)
        i = ArgMax<axis=1>(c)
        f = Cast<to=1>(n)
        s = Mul(c, f)
        y = Conv(s, v)
        """,
        ("y", "i", "c"),
        {"x": SHAPE, "n": ()},
        types={"n": TensorProto.INT64, "i": TensorProto.INT64},
    )
    package = compile_package(model)
    assert "dla" in kinds(package)
    assert agreement(model, package, {"x": image(), "n": np.array(3, np.int64)}) < 0.01


def test_outputs_that_are_inputs_or_constants_or_named_twice(tmp_path: Path):
    model = saved(
        tmp_path,
        "c = Conv(x, w)\n y = Identity(x)\n z = Identity(c)\n u = Identity(c)",
        ("y", "z", "u", "k"),
        constants={"k": np.arange(6, dtype=np.float32).reshape(2, 3)},
    )
    package = compile_package(model)
    assert package.whole is None
    assert agreement(model, package, {"x": image()}) < 0.01


def test_dynamic_shapes_stay_on_the_cpu(tmp_path: Path):
    model = saved(tmp_path, "c = Conv(x, w)\n y = Relu(c)", inputs={"x": ("N", 3, 8, 8)})
    package = compile_package(model)
    assert kinds(package) == ["cpu"]
    assert "a dynamic shape; fix the sizes of the inputs with --input-shape" in package.cpu_nodes[0].reason
    assert agreement(model, package, {"x": image(4, 3, 8, 8)}) == 0


def test_a_long_dynamic_model_is_placed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nodes = "\n".join(f"v{number + 1} = Relu(v{number})" for number in range(40))
    model = saved(tmp_path, f"v0 = Abs(x)\n{nodes}", ("v40",), {"x": ("N", 3)})
    tried: list[object] = []
    monkeypatch.setattr("xonnc.lowering.placement.place_nodes.convert", tried.append)
    assert kinds(compile_package(model)) == ["cpu"]
    assert not tried


def test_control_flow_and_what_it_captures_stay_on_the_cpu(tmp_path: Path):
    branches = [
        helper.make_graph(
            [helper.make_node(operator, ["c"], [f"{operator}_out"])],
            operator,
            [],
            [helper.make_tensor_value_info(f"{operator}_out", TensorProto.FLOAT, None)],
        )
        for operator in ("Sinh", "Neg")
    ]
    nodes = "c = Conv(x, w)\n m = ReduceMax<keepdims=0>(x)\n p = Greater(m, zero)\n y = Relu(c)"
    base = saved(tmp_path, nodes, constants={"zero": np.zeros((), np.float32)})
    model = onnx.ModelProto.FromString(base.read_bytes())
    del model.graph.node[-1]
    model.graph.node.append(
        helper.make_node("If", ["p"], ["y"], "choose", then_branch=branches[0], else_branch=branches[1])
    )
    base.write_bytes(model.SerializeToString())
    package = compile_package(base)
    assert kinds(package) == ["dla", "cpu"]
    assert {"If"} <= {node.operator for node in package.cpu_nodes}
    assert agreement(base, package, {"x": image()}) < 0.01


def test_text_stays_on_the_cpu(tmp_path: Path):
    model = saved(
        tmp_path,
        "t = Unique(s)\n y = Conv(x, w)",
        ("t", "y"),
        {"s": (3,), "x": SHAPE},
        types={"s": TensorProto.STRING, "t": TensorProto.STRING},
    )
    package = compile_package(model)
    assert sorted(kinds(package)) == ["cpu", "dla"]
    package.write(tmp_path / "m.xpkg")
    words = np.array(["b", "a", "b"], np.object_)
    found = load_package(tmp_path / "m.xpkg").run({"s": words, "x": image()})
    assert list(found["t"]) == ["a", "b"]


def test_what_does_not_fit_the_buffer_goes_to_the_cpu(tmp_path: Path):
    weights = {"big": np.full((1, 2048, 3, 3), 0.001, np.float32)}
    model = saved(
        tmp_path,
        "g = Tile(x, times)\n y = Conv<pads=[1,1,1,1]>(g, big)",
        inputs={"x": (1, 1, 3, 8000)},
        constants={**weights, "times": np.array([1, 2048, 1, 1])},
    )
    package = compile_package(model)
    assert kinds(package) == ["cpu"]
    assert any("convolution buffer" in node.reason for node in package.cpu_nodes)


def test_errors_of_later_stages_send_their_nodes_to_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from xonnc.lowering.dla import planned_layers

    window_of = planned_layers.window_of

    def does_not_fit(op: ConvOp) -> Window2D:
        if "conv2" in str(op.location):
            raise XonncError("conv2: no space; use a smaller kernel")
        return window_of(op)

    monkeypatch.setattr(planned_layers, "window_of", does_not_fit)
    model = saved(tmp_path, "c = Conv(x, w)\n s = Relu(c)\n d = Conv(s, v)\n y = Relu(d)")
    package = compile_package(model)
    assert kinds(package) == ["dla", "cpu"]
    first = package.cpu_nodes[0]
    assert (first.operator, first.reason) == ("Conv", "conv2: no space; use a smaller kernel")
    assert agreement(model, package, {"x": image()}) < 0.01


def quantized(folder: Path) -> Path:
    """Two rounded convolutions with an operator between them that the DLA has not in integers."""
    generator = np.random.default_rng(2)
    constants: dict[str, Array] = {
        "zero": np.zeros((), np.int8),
        "sa": np.array(0.02, np.float32),
        "sb": np.array(0.03, np.float32),
        "sc": np.array(0.01, np.float32),
        "k": generator.integers(-90, 90, (8, 3, 3, 3), np.int8),
        "l": generator.integers(-90, 90, (8, 8, 3, 3), np.int8),
    }
    nodes = """
        xq = QuantizeLinear(x, sa, zero)
        xd = DequantizeLinear(xq, sa, zero)
        kd = DequantizeLinear(k, sc, zero)
        c = Conv(xd, kd)
        cq = QuantizeLinear(c, sb, zero)
        cd = DequantizeLinear(cq, sb, zero)
        h = Hardmax(cd)
        hq = QuantizeLinear(h, sb, zero)
        hd = DequantizeLinear(hq, sb, zero)
        ld = DequantizeLinear(l, sc, zero)
        d = Conv(hd, ld)
        r = Relu(d)
        rq = QuantizeLinear(r, sb, zero)
        y = DequantizeLinear(rq, sb, zero)
        """
    return saved(folder, nodes, constants=constants)


@pytest.mark.parametrize("target", ["nv_small", "nv_large"])
def test_a_concatenation_on_the_cpu_leaves_its_operands_on_the_dla(target: str, tmp_path: Path):
    """What feeds it is rounded as its result is, and integers are what the CPU gives back to the DLA."""
    generator = np.random.default_rng(3)
    shapes = {"k": (16, 3, 3, 3), "l": (32, 16, 3, 3), "m": (8, 35, 3, 3)}
    weights = {name: generator.standard_normal(shape) / 9 for name, shape in shapes.items()}
    model = saved(
        tmp_path,
        """
        a = Conv<pads=[1,1,1,1]>(x, k)
        r = Relu(a)
        b = Conv<pads=[1,1,1,1]>(r, l)
        s = CumSum(x, axis)
        c = Concat<axis=1>(s, b)
        y = Conv<pads=[1,1,1,1]>(c, m)
        """,
        constants={name: array.astype(np.float32) for name, array in weights.items()}
        | {"axis": np.array(2, np.int64)},
    )
    samples = [{"x": image() * factor} for factor in (0.5, 1.0)]
    package = compile_package(
        model, target, calibrate=lambda module: calibrate_module(module, samples, target=target)
    )
    assert {"CumSum", "Concat"} <= {node.operator for node in package.cpu_nodes}
    assert "Conv" not in {node.operator for node in package.cpu_nodes}
    assert agreement(model, package, {"x": image()}) < 0.05


@pytest.mark.parametrize("target", ["nv_small", "nv_large"])
def test_a_clamp_of_what_the_cpu_moves_stays_on_the_dla(target: str, tmp_path: Path):
    """The elements are integers still, although no pair is between them and the clamp."""
    generator = np.random.default_rng(3)
    shapes = {"k": (16, 3, 3, 3), "l": (8, 16, 3, 3)}
    model = saved(
        tmp_path,
        "a = Conv(x, k)\n t = Transpose<perm=[0,1,3,2]>(a)\n r = Relu(t)\n y = Conv(r, l)",
        constants={
            name: (generator.standard_normal(shape) / 9).astype(np.float32) for name, shape in shapes.items()
        },
    )
    samples = [{"x": image() * factor} for factor in (0.5, 1.0)]
    package = compile_package(
        model, target, calibrate=lambda module: calibrate_module(module, samples, target=target)
    )
    assert kinds(package) == ["dla", "cpu", "dla"]
    assert [node.operator for node in package.cpu_nodes] == ["Transpose"]
    assert agreement(model, package, {"x": image()}) < 0.05


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
def test_integers_cross_as_the_numbers_they_stand_for(target: str, tmp_path: Path):
    model = quantized(tmp_path)
    package = compile_package(model, target)
    assert kinds(package) == ["dla", "cpu", "dla"]
    assert [node.operator for node in package.cpu_nodes] == ["Hardmax"]
    assert package.crossings == 4
    parameters = [dict(step.quantization) for step in package.manifest.steps]
    assert {round(one.scale, 6) for one in parameters[0].values()} == {0.02, 0.03}
    # One step of the last scale at most: rounding may fall on the other side of a half.
    assert agreement(model, package, {"x": image()}) <= 0.03 / 0.5


def test_a_value_that_skips_a_part_on_the_cpu_stays_on_the_dla(tmp_path: Path):
    # Squeeze and excitation with a node that the DLA refuses: the gate meets integers of the first part.
    nodes = """
        c = Conv(x, w)
        p = GlobalAveragePool(c)
        h = Hardmax<axis = 1>(p)
        s = Sigmoid(h)
        m = Mul(c, s)
        y = Conv(m, v)
        """
    model = saved(tmp_path, nodes)
    package = compile_package(
        model, "nv_small", calibrate=lambda each: calibrate_module(each, [{"x": image()}])
    )
    assert kinds(package) == ["dla", "cpu", "dla"]
    assert [node.operator for node in package.cpu_nodes] == ["Hardmax"]
    assert {"int8", "uint8"} & {value.type for value in package.manifest.values.values()}
    assert agreement(model, package, {"x": image()}) < 0.05


def test_a_part_that_moves_to_the_cpu_takes_no_node_of_another_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # The second part reads the integers of the first by a DequantizeLinear of its own.
    nodes = """
        a = Conv(x, w)
        b = Conv<pads = [1, 1, 1, 1]>(a, v)
        c = Conv<pads = [1, 1, 1, 1]>(b, v)
        p = GlobalAveragePool(c)
        h = Hardmax<axis = 1>(p)
        s = Sigmoid(h)
        m = Mul(c, s)
        y = Conv(m, v)
        """
    monkeypatch.setattr(place_nodes, "CLEAR_GAIN", -np.inf)
    package = compile_package(
        saved(tmp_path, nodes), "nv_small", calibrate=lambda each: calibrate_module(each, [{"x": image()}])
    )
    assert kinds(package) == ["dla", "cpu"]
    assert not {"GlobalAveragePool"} & {node.operator for node in package.cpu_nodes}


def test_a_part_that_is_much_slower_on_the_dla_runs_on_the_cpu(tmp_path: Path):
    # Rows of 100 channels are no views of cubes with atoms of 8: 20 groups are one matrix, nearly all zeros.
    nodes = """
        c = Conv(x, w)
        r = Reshape(c, k)
        e = CumSum(r, axis)
        p = MatMul(e, m)
        q = Relu(p)
        s = CumSum(q, axis)
        b = Reshape(s, back)
        y = Conv(b, v)
        """
    constants: dict[str, Array] = {
        "axis": np.array(2, np.int64),
        "k": np.array([1, 20, 100], np.int64),
        "back": np.array([1, 8, 20, 25], np.int64),
        "m": image(100, 200, seed=3) / 10,
    }
    feeds = {"x": image(1, 3, 12, 27)}
    model = saved(tmp_path, nodes, inputs={"x": feeds["x"].shape}, constants=constants)
    package = compile_package(model, "nv_small", calibrate=lambda each: calibrate_module(each, [feeds]))
    assert kinds(package) == ["dla", "cpu", "dla"]
    reasons = {node.operator: node.reason for node in package.cpu_nodes}
    assert "ms with transfers, the CPU" in reasons["MatMul"]
    assert agreement(model, package, feeds) < 0.1


def test_a_calibrated_model_has_no_quantization_on_the_cpu_only(tmp_path: Path):
    model = saved(tmp_path, "c = Conv(x, w)\n s = Hardmax(c)\n t = LogSoftmax(s)\n y = Hardmax(t)")
    ranges: Ranges = dict.fromkeys(("x", "c", "s", "t", "y"), Range(-4.0, 4.0))
    package = compile_package(model, "nv_small", calibrate=lambda module: ranges)
    assert kinds(package) == ["dla", "cpu"]
    assert [node.operator for node in package.cpu_nodes] == ["Hardmax", "LogSoftmax", "Hardmax"]


@pytest.mark.parametrize(
    "nodes",
    [
        "s = CumSum(x, axis)\n r = Reshape(s, k)\n y = Conv(r, one)",
        "s = CumSum(x, axis)\n r = Reshape(s, k)\n h = Relu(r)\n y = MaxPool<kernel_shape=[2, 2]>(h)",
        "a = AveragePool<kernel_shape=[3], pads=[1, 1]>(x)\n r = Reshape(a, k)\n y = Conv(r, one)",
        *(
            f"s = CumSum(x, axis)\n r = Reshape(s, k)\n c = Conv(t, one)\n a = {op}(r, c)\n y = Conv(a, one)"
            for op in ("Add", "Mul", "Sub")
        ),
    ],
)
def test_a_reshape_that_moves_data_runs_on_the_cpu_for_the_operator_behind_it(nodes: str, tmp_path: Path):
    shape = (1, 1, 512)
    other = {"t": (1, 8, 8, 8)} if "(t, " in nodes else {}
    model = saved(
        tmp_path,
        nodes,
        inputs={"x": shape, **other},
        constants={"k": np.array([1, 8, 8, 8], np.int64), "axis": np.array(1, np.int64)},
    )
    generator = np.random.default_rng(2)
    feeds = {
        name: generator.uniform(-1, 1, size).astype(np.float32)
        for name, size in {"x": shape, **other}.items()
    }
    package = compile_package(model, "nv_small", calibrate=lambda each: calibrate_module(each, [feeds]))
    assert {node.operator for node in package.cpu_nodes} <= {"CumSum", "Relu", "Reshape"}
    assert agreement(model, package, feeds) < 0.03


@pytest.mark.parametrize("opset", [13, 17])
def test_an_operator_that_later_opsets_lack_may_stand_beside_a_composed_gelu(opset: int, tmp_path: Path):
    """Gelu of opset 20 is in no model with Resize of opset 13."""
    path = saved(
        tmp_path,
        """c = Conv(x, w)
        d = Div(c, r)
        e = Erf(d)
        f = Add(e, i)
        g = Mul(c, f)
        h = Mul(g, j)
        y = Resize<coordinate_transformation_mode="asymmetric", nearest_mode="floor">(h, , s)""",
        constants={
            "r": np.array(2**0.5, np.float32),
            "i": np.array(1, np.float32),
            "j": np.array(0.5, np.float32),
            "s": np.array([1, 1, 2, 2], np.float32),
        },
    )
    model = onnx.ModelProto.FromString(path.read_bytes())
    model.opset_import[0].version = opset
    path.write_bytes(model.SerializeToString())
    feeds = np.random.default_rng(2).standard_normal((2, *SHAPE)).astype(np.float32)
    package = compile_package(
        path, "nv_small", calibrate=lambda each: calibrate_module(each, [{"x": feed} for feed in feeds])
    )
    assert kinds(package) == ["dla"]
    assert agreement(path, package, {"x": feeds[0]}) < 0.03


def test_linear_layers_of_images_with_channels_last_are_convolutions(tmp_path: Path):
    """As in ConvNeXt; the transposes between them cancel."""
    size = 24
    generator = np.random.default_rng(4)
    model = saved(
        tmp_path,
        """t = Transpose<perm=[0, 2, 3, 1]>(x)
        a = MatMul(t, up)
        b = Add(a, bias)
        c = Relu(b)
        d = MatMul(c, down)
        e = Mul(d, scale)
        f = Transpose<perm=[0, 3, 1, 2]>(e)
        y = Add(f, x)""",
        inputs={"x": (1, 48, size, size)},
        constants={
            "up": (generator.standard_normal((48, 192)) / 7).astype(np.float32),
            "bias": generator.standard_normal(192).astype(np.float32),
            "down": (generator.standard_normal((192, 48)) / 14).astype(np.float32),
            "scale": generator.uniform(0.5, 1, 48).astype(np.float32),
        },
    )
    feeds = generator.standard_normal((2, 1, 48, size, size)).astype(np.float32)
    package = compile_package(
        model, "nv_small", calibrate=lambda each: calibrate_module(each, [{"x": feed} for feed in feeds])
    )
    assert kinds(package) == ["dla"]
    assert agreement(model, package, {"x": feeds[0]}) < 0.05


def test_a_function_between_parts_on_the_cpu_is_no_part_of_its_own(tmp_path: Path):
    nodes = """
        a = CumSum(x, one_axis)
        s = Sigmoid(a)
        m = Mul(a, s)
        y = CumSum(m, one_axis)
        """
    model = saved(tmp_path, nodes, constants={"one_axis": np.array(1, np.int64)})

    def ranges(module: ModuleOp) -> Ranges:
        return calibrate_module(module, [{"x": image()}])

    package = compile_package(model, "nv_small", calibrate=ranges)
    assert kinds(package) == ["cpu"]


def test_a_model_whose_nodes_share_a_name_is_calibrated_by_the_names_of_its_outputs(tmp_path: Path):
    # As where a rewrite made one node several: no values have names, and onnxruntime takes no two such nodes.
    model = saved(tmp_path, "c = Conv(x, w)\n s = Hardmax(c)\n y = Conv(s, v)")

    def ranges(module: ModuleOp) -> Ranges:
        for op in module.walk():
            op.location = node_location("one")
        return calibrate_module(module, [{"x": image()}])

    package = compile_package(model, "nv_small", calibrate=ranges)
    assert kinds(package) == ["dla", "cpu", "dla"]
    assert agreement(model, package, {"x": image()}) < 0.05


def test_a_model_of_floats_stays_on_the_cpu_of_a_target_of_integers(tmp_path: Path):
    package = compile_package(saved(tmp_path, "c = Conv(x, w)\n y = Relu(c)"), "nv_small")
    assert kinds(package) == ["cpu"]
    assert "the model needs fp16" in package.cpu_nodes[0].reason


def test_the_same_model_gives_the_same_bytes(tmp_path: Path):
    model = saved(tmp_path, CASES["branches"][0])
    for name in ("a", "b"):
        compile_package(model).write(tmp_path / f"{name}.xpkg")
    assert (tmp_path / "a.xpkg").read_bytes() == (tmp_path / "b.xpkg").read_bytes()


def test_scores_beside_boxes_keep_a_scale_of_their_own(tmp_path: Path):
    """Boxes of hundreds of pixels and probabilities, in one output; a loadable has one scale for it."""
    nodes = """
        c = Conv(x, w)
        b = Relu(c)
        d = Mul(b, k)
        s = Sigmoid(c)
        y = Concat<axis = 1>(d, s)
        """
    model = saved(tmp_path, nodes, constants={"k": np.array(200, np.float32)})
    samples = [{"x": image(seed=seed)} for seed in range(4)]
    package = compile_package(model, "nv_small", calibrate=lambda each: calibrate_module(each, samples))
    assert ("Concat", "it is kept in float") in [(node.operator, node.reason) for node in package.cpu_nodes]
    package.write(tmp_path / "model.xpkg")
    (found,) = load_package(tmp_path / "model.xpkg").run(samples[0]).values()
    (expected,) = ReferenceModel(model).run(samples[0])
    boxes, scores = np.split(np.abs(found - expected), 2, axis=1)
    assert expected.max() > 200
    assert boxes.max() < 0.05 * expected.max()
    assert scores.max() < 0.03
    explained = explain_package(model, "nv_small", lambda each: calibrate_module(each, samples))
    assert [part.kind for part in explained.parts] == ["dla", "cpu"]


def test_all_refusals_are_found_without_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Hidden behind one another: the second Softmax reads what a refused node gives.
    nodes = (
        "a = Conv(x, w)\n b = Softmax<axis=1>(a)\n c = Conv(b, v)\n d = Softmax<axis=1>(c)\n y = Conv(d, v)"
    )
    model = saved(tmp_path, nodes)
    compiled = counted(monkeypatch, "compile_converted")
    with pytest.raises(RefusalError) as refused:
        compile_model(model)
    assert [reason.partition(" ")[0] for reason in refused.value.reasons] == ["softmax1", "softmax3"]
    assert len(refused.value.subjects) == 2
    assert not compiled


def test_a_constant_that_cannot_be_an_output_is_refused(tmp_path: Path):
    empty = np.zeros((0, 2), np.float32)
    model = saved(tmp_path, "y = Relu(x)\n z = Identity(e)", ("y", "z"), constants={"e": empty})
    with pytest.raises(RefusalError, match=r"e \(Constant\): a constant of shape \[0, 2\] has no elements"):
        compile_model(model)


def test_a_part_is_converted_and_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nodes = (
        "a = Conv(x, w)\n b = Softmax<axis=1>(a)\n c = Conv(b, v)\n d = Softmax<axis=1>(c)\n y = Conv(d, v)"
    )
    model = saved(tmp_path, nodes)
    converted, compiled = counted(monkeypatch, "convert"), counted(monkeypatch, "compile_converted")
    assert kinds(compile_package(model)) == ["dla", "cpu", "dla", "cpu", "dla"]
    assert len(compiled) == 3
    # One of all nodes, one of those after the first refused node, and the parts.
    assert len(converted) <= 5


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """The calls of a function of the placement."""
    calls: list[object] = []
    function = getattr(place_nodes, name)

    def call(*args: object) -> object:
        calls.append(args)
        return function(*args)

    monkeypatch.setattr(place_nodes, name, call)
    return calls
