"""What the reference evaluator computes wrongly equals onnxruntime."""

import numpy as np
import onnx.parser
import pytest
from onnx import helper

import xonnc
from xonnc.formats.onnx.reference_evaluator import reference_of
from xonnc.runtime.verification.reference_engines import Engine

FLOATS = ("float", "double")
NUMBERS = (*FLOATS, "int32", "int64")
DTYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}

CASES = [
    (17, "float", "1,3,4,2", "LRN<size = 3, alpha = 0.5>(v)"),
    *[(17, "float", shape, "GlobalMaxPool(v)") for shape in ("2,3,4", "1,2,3,4", "1,2,3,2,2")],
    *[(17, "float", shape, "GlobalLpPool<p = 1>(v)") for shape in ("2,3,4", "1,2,3,4", "1,2,3,2,2")],
    *[
        (12, "float", "2,3,4", f"{operator}{axis}(v)")
        for operator in ("Softmax", "LogSoftmax", "Hardmax")
        for axis in ("", "<axis = 0>", "<axis = -1>", "<axis = 1>")
    ],
    *[(13, kind, "2,3,4", f"LogSoftmax<axis = {axis}>(v)") for kind in FLOATS for axis in (0, -1)],
    *[
        (opset, kind, "2,3,4", f"Reduce{operator}{rest}")
        for operator in ("SumSquare", "LogSum", "LogSumExp")
        for kind in (NUMBERS if operator == "SumSquare" else FLOATS)
        for opset, rest in (
            (12, "<axes = [1]>(v)"),
            (12, "<keepdims = 0>(v)"),
            (18, "<keepdims = 0>(v, axes)"),
            (18, "(v)"),
            (18, "<noop_with_empty_axes = 1>(v)"),
        )
    ],
    *[
        (opset, "float", "1,1,4,4", "RoiAlign<output_height = 2, output_width = 2>(v, rois, batch)")
        for opset in (10, 15, 16)
    ],
]


@pytest.mark.parametrize(("opset", "kind", "shape", "call"), CASES)
def test_shapes_known_at_run_time_only(opset: int, kind: str, shape: str, call: str) -> None:
    """Tensors out of sequences have a shape only at run time: the evaluator computes with them."""
    text = f"""<ir_version: 8, opset_import: ["" : {max(opset, 11)}]>
        m ({kind}[{shape}] x, {kind}[n] other, int64 at) => ({kind} y)
        <int64[2] axes = {{0, -1}}, float[1,4] rois = {{0, 0, 3, 3}}, int64[1] batch = {{0}}>
        {{ s = SequenceConstruct(x, other)  v = SequenceAt(s, at)  y = {call} }}"""
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    sizes = [int(size) for size in shape.split(",")]
    x = np.random.default_rng(0).integers(1, 40, sizes) - (0 if "LogSum" in call else 20)
    feeds = {
        "x": (x if kind.startswith("int") else x / 4).astype(DTYPES[kind]),
        "other": np.zeros(1, DTYPES[kind]),
        "at": np.array(0),
    }
    expected = Engine(model).run(feeds)["y"]
    found = np.asarray(xonnc.compile(model, cache=False).run(None, feeds)[0])
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert found.shape == expected.shape


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("operator", ["LogSum", "LogSumExp"])
def test_logarithms_of_integers(operator: str, kind: str) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        m ({kind}[2,3] x, int64[1] axes) => ({kind}[2,1] y) {{ y = Reduce{operator}(x, axes) }}"""
    )
    x = np.array([[1, 2, 3], [40, 50, 60]], DTYPES[kind])
    (found,) = reference_of(model)({"x": x, "axes": np.array([1])})
    expected = [[1], [5]] if operator == "LogSum" else [[3], [60]]
    np.testing.assert_array_equal(np.asarray(found), np.array(expected, DTYPES[kind]), strict=True)


@pytest.mark.parametrize(
    "values", [[np.inf, 0], [-np.inf, -np.inf], [-np.inf, 1], [np.nan, 1], [-1e30, 1e30]]
)
def test_logarithms_of_sums_of_infinities(values: list[float]) -> None:
    node = helper.make_node("ReduceLogSumExp", ["x"], ["y"], keepdims=0)
    ports = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [2]), ("y", []))]
    graph = helper.make_graph([node], "m", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (found,) = reference_of(model)({"x": np.array(values, np.float32)})
    with np.errstate(all="ignore"):
        expected = np.logaddexp(*np.array(values))
    np.testing.assert_allclose(np.asarray(found), np.float32(expected))


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("exponents", ["int32", "int64"])
def test_negative_powers_of_integers(kind: str, exponents: str) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        m ({kind}[9] x, {exponents}[9] e) => ({kind}[9] y) {{ y = Pow(x, e) }}"""
    )
    x = np.array([0, 1, -1, -1, 2, -3, -3, 7, 2], DTYPES[kind])
    feeds = {"x": x, "e": np.array([-1, -5, -2, -3, -1, -2, 3, 0, 30], DTYPES[exponents])}
    (found,) = reference_of(model)(feeds)
    expected = np.array([0, 1, 1, -1, 0, 0, -27, 1, 2**30], DTYPES[kind])
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
    native = np.asarray(xonnc.compile(model, cache=False).run(None, feeds)[0])
    np.testing.assert_array_equal(native, expected, strict=True)


@pytest.mark.parametrize(("base", "exponent"), [("float", "int32"), ("float", "double"), ("int32", "float")])
def test_powers_of_mixed_types(base: str, exponent: str) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        m ({base}[4] x, {exponent}[4] e) => ({base}[4] y) {{ y = Pow(x, e) }}"""
    )
    feeds = {
        "x": np.array([2, 3, 4, 1], DTYPES[base]),
        "e": np.array([3, 0, 2, -1], DTYPES[exponent]),
    }
    found = np.asarray(reference_of(model)(feeds)[0])
    np.testing.assert_array_equal(found, Engine(model).run(feeds)["y"], strict=True)


@pytest.mark.parametrize(
    ("shape", "picked", "axis"),
    [
        ((1, 9), (1, 5), 1),
        ((70, 3), (4, 3), 0),
        ((3, 70), (3, 80), -1),
        ((2, 3, 4), (2, 3, 1), 2),
        ((2, 3, 4), (1, 5, 2), 1),
        ((2, 3), (0, 3), 0),
    ],
)
def test_elements_gathered_along_an_axis(shape: tuple[int, ...], picked: tuple[int, ...], axis: int) -> None:
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=axis)
    ports = [
        helper.make_tensor_value_info(name, kind, each)
        for name, kind, each in (("x", 1, shape), ("i", 7, picked), ("y", 1, picked))
    ]
    graph = helper.make_graph([node], "m", ports[:2], ports[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    generator = np.random.default_rng(0)
    indices = generator.integers(-shape[axis], shape[axis], picked)
    feeds = {"x": generator.standard_normal(shape).astype(np.float32), "i": indices}
    found = np.asarray(reference_of(model)(feeds)[0])
    np.testing.assert_array_equal(found, Engine(model).run(feeds)["y"], strict=True)
