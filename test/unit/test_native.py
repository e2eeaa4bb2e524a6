"""Models compiled to native code give what the ONNX reference gives; wrong feeds are refused in one line."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import erf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc import backend
from xonnc.dialects.krnl.memory import GlobalOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.errors import RefusalError, XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class Reference(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


RANDOM = np.random.default_rng(5)


def floats(*shape: int) -> Floats:
    return RANDOM.normal(size=shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int | str] | None,
    constants: dict[str, npt.NDArray[np.generic]] | None = None,
) -> onnx.ModelProto:
    """A model from `x`, f32 of `shape`, to `y`."""
    made = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "model", [x], [y], made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def reference(model: onnx.ModelProto, x: Floats) -> Floats:
    evaluator: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    return np.asarray(evaluator.run(None, {"x": x})[0], np.float32)


def first(session: Session, x: Floats) -> Floats:
    return np.asarray(session.run(None, {"x": x})[0], np.float32)


def node_of(
    operator: str, inputs: Sequence[str], output: str, attributes: Mapping[str, object]
) -> onnx.NodeProto:
    node = helper.make_node(operator, inputs, [output])
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    return node


def compare(model: onnx.ModelProto, x: Floats) -> None:
    session = compile_native(model)
    np.testing.assert_allclose(first(session, x), reference(model, x), rtol=2e-5, atol=2e-6)
    assert session.host_calls() == []


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (4, 16), (9, 49), (17, 100)])
def test_layers_of_a_perceptron(target: str, rows: int, columns: int):
    model = model_of(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["a"], alpha=0.5, beta=2.0),
            helper.make_node("Relu", ["a"], ["r"]),
            helper.make_node("MatMul", ["r", "v"], ["y"]),
        ],
        [rows, 20],
        {"w": floats(20, columns), "b": floats(columns), "v": floats(columns, 5)},
    )
    x = floats(rows, 20)
    session = compile_native(model, target)
    np.testing.assert_allclose(first(session, x), reference(model, x), rtol=1e-4, atol=1e-4)
    assert [line.where for line in session.report()] == ["native"]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (4,), (1, 4), (4, 1), (4, 4)])
def test_what_a_product_of_as_many_rows_as_columns_adds(shape: Sequence[int]):
    node = helper.make_node("Gemm", ["x", "w", "c"], ["y"])
    compare(model_of([node], [4, 3], {"w": floats(3, 4), "c": floats(*shape)}), floats(4, 3))


@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_a_constant_row_is_added_by_the_product(rows: int):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("Add", ["b", "p"], ["s"]),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["q"]),
        helper.make_node("Add", ["q", "c"], ["y"]),
    ]
    constants = {"w": floats(20, 250), "b": floats(1, 250), "v": floats(250, 5), "c": floats(rows, 5)}
    model = model_of(nodes, [1, rows, 20], dict(constants))
    x = floats(1, rows, 20)
    session = compile_native(model)
    np.testing.assert_allclose(first(session, x), reference(model, x), rtol=1e-4, atol=1e-4)
    # Rows that differ are added by a kernel of their own.
    names = [name.rpartition("_")[0] for name in session.report()[0].what.split()]
    assert [name for name in names if name != "pack"] == ["gemm", "gemm", *(["add"] if rows > 1 else [])]


@pytest.mark.parametrize("size", [1, 4])
def test_a_constant_row_is_added_where_a_product_has_no_kernel_yet(size: int):
    """The width of the matrix on the left is undeclared."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])]
    model = model_of(nodes, [1, 1, "size"], {"w": floats(size, 3), "b": floats(3)})
    x = floats(1, 1, size)
    np.testing.assert_allclose(first(compile_native(model), x), reference(model, x), rtol=1e-5)


def test_functions_of_numbers_become_one_kernel():
    names = ["Sigmoid", "Tanh", "Erf", "Exp", "Neg", "Abs", "Sqrt"]
    values = ["x", *(f"v{number}" for number in range(len(names) - 1)), "y"]
    nodes = [helper.make_node(name, [values[i]], [values[i + 1]]) for i, name in enumerate(names)]
    model = model_of(nodes, [3, 37])
    compare(model, floats(3, 37))
    assert len(compile_native(model).report()[0].what.split()) == 1


def test_operands_are_broadcast():
    model = model_of(
        [helper.make_node("Mul", ["x", "c"], ["a"]), helper.make_node("Add", ["a", "d"], ["y"])],
        [2, 3, 5, 7],
        {"c": floats(3, 1, 1), "d": floats(7)},
    )
    compare(model, floats(2, 3, 5, 7))


def test_exp_holds_at_its_ends():
    ends = [-np.inf, -200.0, -100.0, -87.5, 0.0, 88.0, 88.8, 200.0, np.inf, np.nan]
    model = model_of([helper.make_node("Exp", ["x"], ["y"])], [len(ends)])
    x = np.array(ends, np.float32)
    given = first(compile_native(model), x)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(given, np.exp(x), rtol=3e-7, atol=1e-44)


def softmax(rows: Doubles) -> Doubles:
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


EXPONENTIALS: Mapping[str, Callable[[Doubles], Doubles]] = {
    "Exp": np.exp,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Erf": np.vectorize(erf),
    "Softmax": softmax,
}


@pytest.mark.parametrize("target", ["cpu", "avx2", "portable"])
@pytest.mark.parametrize("operator", EXPONENTIALS)
def test_functions_of_exponentials(operator: str, target: str):
    ends = [-np.inf, -1e30, -104.1, -103.9, -88.8, -87.4, -87.2, -0.0, 88.7, 88.8, 1e30, np.inf, np.nan]
    x = np.concatenate([np.linspace(-110, 95, 4103), floats(1000), ends]).astype(np.float32)[:, None]
    if operator == "Softmax":
        x = np.concatenate([x, np.zeros_like(x)], axis=1)
    model = model_of([helper.make_node(operator, ["x"], ["y"])], x.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = EXPONENTIALS[operator](x.astype(np.float64)).astype(np.float32)
    given = first(compile_native(model, target=target), x)
    np.testing.assert_allclose(given, expected, rtol=5e-7, atol=4e-7 if operator == "Erf" else 2e-38)


def test_batches_of_products():
    model = model_of(
        [
            helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
            helper.make_node("MatMul", ["x", "t"], ["y"]),
        ],
        [3, 6, 5],
    )
    compare(model, floats(3, 6, 5))


def test_dynamic_sizes_are_compiled_for_what_is_fed():
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], ["n", 3])
    session = compile_native(model)
    for rows in (1, 4, 1):
        x = floats(rows, 3)
        np.testing.assert_array_equal(first(session, x), np.maximum(x, 0))
        assert session.host_calls() == []


MAPPED = """
<ir_version: 10, opset_import: ["" : 21]>
m (float[3,2] x) => (seq(float[1,2]) y) {
  parts = SplitToSequence<axis = 0>(x)
  y = SequenceMap<body = more (float[1,2] s) => (float[1,2] t) {
    c = Constant<value = float {0.5}>()
    t = Mul(s, c)
  }>(parts)
}
"""


def test_a_body_on_the_host_has_its_constants():
    x = floats(3, 2)
    session = compile_native(onnx.parser.parse_model(MAPPED))
    (given,) = session.run(None, {"x": x})
    assert isinstance(given, tuple)
    np.testing.assert_array_equal(np.concatenate([np.asarray(each) for each in given]), x * 0.5)
    assert session.host_calls() == ["SequenceMap"]


def test_what_has_no_kernel_is_reported():
    body = onnx.parser.parse_model(MAPPED)
    session = compile_native(body)
    session.run(None, {"x": floats(3, 2)})
    line = next(line for line in session.report() if line.where == "host")
    assert line.what == "SequenceMap"
    assert line.reason == "no kernel for this operator yet"


def test_an_input_of_any_rank_is_compiled_for_each_shape():
    """The reference has no DequantizeLinear of opset 13; where sizes are known there is a kernel."""
    cast = helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32)
    node = helper.make_node("DequantizeLinear", ["i", "scale"], ["y"], name="real")
    x = np.array([4, -3], np.float32)
    for shape in (["n"], None):
        model = model_of([cast, node], shape, {"scale": np.array(0.5, np.float32)})
        model.opset_import[0].version = 13
        session = compile_native(model)
        np.testing.assert_array_equal(first(session, x), [2.0, -1.5])
        assert session.host_calls() == []
        if shape is None:
            np.testing.assert_array_equal(first(session, x.reshape(1, 2)), [[2.0, -1.5]])


def test_what_the_reference_cannot_compute_is_named():
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 20]> '
        "g (uint8[3] x) => (uint8[H, W, C] y) { [image] y = ImageDecoder (x) }"
    )
    with pytest.raises(XonncError, match="image: the reference evaluator fails: "):
        compile_native(model).run(None, {"x": np.zeros(3, np.uint8)})


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "input 'x' is not given; the model takes x"),
        ({"x": floats(2, 3), "z": floats(1)}, "no input 'z'; there are x"),
        ({7: floats(2, 3)}, "no input '7'; there are x"),
        ({"x": floats(2, 4)}, "input 'x': the shape [2, 4] was fed, the model takes [2, 3]"),
        ({"x": floats(6)}, "input 'x': the shape [6] was fed, the model takes [2, 3]"),
        ({"x": np.zeros((2, 3))}, "input 'x': float64 was fed, the model takes float32"),
        ({"x": None}, "input 'x': a NoneType is not an array"),
        ({"x": [[1.0, 2.0, 3.0], [4.0]]}, "input 'x': a list is not an array"),
    ],
)
def test_wrong_feeds_are_refused(feeds: Mapping[Any, object], message: str):
    session = compile_native(model_of([helper.make_node("Relu", ["x"], ["y"])], [2, 3]))
    with pytest.raises(XonncError) as caught:
        session.run(None, feeds)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("names", "feeds"), [(None, None), (None, [floats(2, 3)]), (3, {}), ("y", {}), ([3], {})]
)
def test_wrong_calls_are_refused(names: Any, feeds: Any):
    session = compile_native(model_of([helper.make_node("Relu", ["x"], ["y"])], [2, 3]))
    with pytest.raises(XonncError, match=r"inputs are a dictionary|outputs are a list|no output '3'"):
        session.run(names, feeds if feeds != {} else {"x": floats(2, 3)})


OVERRIDABLE = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[2] x, float[2] w, float[2] v) => (float[2] y) <float[2] w = {1, 2}, float[2] v = {3, 3}>
    { a = Mul(x, w) y = Add(a, v) }
"""


def test_inputs_with_a_default_may_be_given():
    session = compile_native(onnx.parser.parse_model(OVERRIDABLE))
    x, ten = np.array([1, 1], np.float32), np.array([10, 10], np.float32)
    assert [port.name for port in session.inputs] == ["x"]
    for feeds, expected in (
        ({"x": x}, [4, 5]),
        ({"x": x, "w": ten}, [13, 13]),
        ({"x": x, "v": ten}, [11, 12]),
        ({"x": x, "v": ten, "w": ten}, [20, 20]),
        ({"x": x}, [4, 5]),
    ):
        np.testing.assert_array_equal(session.run(["y"], feeds)[0], expected)
    for feeds, message in (
        ({"x": x, "q": ten}, "no input 'q'; there are x, w, v"),
        ({"x": x, "w": floats(3)}, r"input 'w': the shape \[3\] was fed"),
    ):
        with pytest.raises(XonncError, match=message):
            session.run(None, feeds)


def test_before_ir_version_4_no_input_has_a_default():
    model = onnx.parser.parse_model(OVERRIDABLE.replace("ir_version: 8", "ir_version: 3"))
    x = np.ones(2, np.float32)
    with pytest.raises(XonncError, match="no input 'w'"):
        compile_native(model).run(None, {"x": x, "w": x})


@pytest.mark.parametrize("is_node", [False, True])
def test_sparse_constants_are_read(is_node: bool):
    values = numpy_helper.from_array(np.array([1, 2, -3], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 5, 7]), "i")
    sparse = helper.make_sparse_tensor(values, indices, [4, 3])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    if is_node:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    model = model_of(nodes, [2, 4])
    if not is_node:
        model.graph.sparse_initializer.append(sparse)
    x, dense = floats(2, 4), np.zeros((4, 3), np.float32)
    dense[[0, 1, 2], [0, 2, 1]] = 1, 2, -3
    session = compile_native(model)
    np.testing.assert_allclose(first(session, x), x @ dense, rtol=1e-6)
    assert session.host_calls() == []


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([-1, 3], r"big: Expand: a result of shape \[-1, 3\] is requested; sizes must be 0 or more"),
        ([2**40, 2**40], r"big: a result of shape .* is requested, which takes more than 128 TiB"),
        ([2**20, 2**24], r"there is not enough memory: .* 64.0 TiB"),
    ],
)
def test_sizes_that_no_memory_has_are_refused(sizes: Sequence[int], said: str):
    """Fed, or known to the model."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[1] x, int64[2] s) => (float[a,b] y) { [big] y = Expand(x, s) }
    """
    feeds = {"x": np.ones(1, np.float32), "s": np.array(sizes)}
    model = onnx.parser.parse_model(text)
    with pytest.raises(XonncError, match=said):
        compile_native(model).run(None, feeds)
    model.graph.initializer.append(numpy_helper.from_array(feeds["s"], "s"))
    with pytest.raises(XonncError, match=said):
        compile_native(model).run(None, {"x": feeds["x"]})


def test_unknown_outputs_and_targets_are_refused():
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [2])
    with pytest.raises(XonncError, match="no output 'z'; there are y"):
        compile_native(model).run(["z"], {"x": floats(2)})
    with pytest.raises(XonncError, match="no target 'avx'"):
        compile_native(model, "avx")


def test_arrays_that_are_not_in_rows_are_read_right():
    model = model_of([helper.make_node("Neg", ["x"], ["y"])], [3, 4])
    compare(model, floats(4, 3).T)


NODES: dict[str, tuple[Sequence[int], Mapping[str, object], dict[str, npt.NDArray[np.generic]]]] = {
    "Transpose": ((2, 3, 4), {"perm": [1, 2, 0]}, {}),
    "Slice": (
        (5, 7),
        {},
        {
            "starts": np.array([-1, 1]),
            "ends": np.array([-9, 6]),
            "axes": np.array([0, 1]),
            "steps": np.array([-2, 2]),
        },
    ),
    "Tile": ((2, 3), {}, {"repeats": np.array([3, 2])}),
    "Expand": ((3, 1), {}, {"shape": np.array([2, 3, 5])}),
    "Pad": ((3, 4), {}, {"pads": np.array([1, 0, 2, 3]), "value": np.array(1.5, np.float32)}),
    "DepthToSpace": ((1, 8, 2, 3), {"blocksize": 2, "mode": "CRD"}, {}),
    "SpaceToDepth": ((1, 2, 4, 6), {"blocksize": 2}, {}),
    "ReduceMean": ((3, 5, 33), {"axes": [0, 2], "keepdims": 0}, {}),
    "ReduceMax": ((4, 40), {"axes": [1]}, {}),
    "ReduceL2": ((4, 6, 3), {"axes": [1]}, {}),
    "ReduceProd": ((19,), {}, {}),
    "Softmax": ((3, 5, 37), {"axis": 1}, {}),
    "LogSoftmax": ((3, 37), {"axis": -1}, {}),
    "LayerNormalization": ((4, 35), {}, {"scale": floats(35), "bias": floats(35)}),
    "BatchNormalization": (
        (2, 5, 3, 7),
        {"epsilon": 0.125},
        {"scale": floats(5), "bias": floats(5), "mean": floats(5), "variance": floats(5) ** 2},
    ),
    "GlobalAveragePool": ((2, 3, 5, 7), {}, {}),
    "GlobalMaxPool": ((2, 3, 5, 7), {}, {}),
    "MaxPool": ((1, 2, 9, 20), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, {}),
    "AveragePool": (
        (1, 2, 9, 20),
        {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1, "strides": [2, 1]},
        {},
    ),
}
"""An operator with the shape of `x`, its attributes and its other inputs."""


@pytest.mark.parametrize("operator", NODES)
def test_operators_have_kernels(operator: str):
    shape, attributes, constants = NODES[operator]
    node = node_of(operator, ["x", *constants], "y", attributes)
    compare(model_of([node], shape, constants), floats(*shape))


CONVOLUTIONS: dict[str, tuple[Sequence[int], Sequence[int], Mapping[str, object]]] = {
    "plain": ((2, 3, 9, 11), (5, 3, 3, 3), {}),
    "of pixels": ((1, 8, 5, 7), (13, 8, 1, 1), {}),
    "padded": ((1, 4, 7, 7), (20, 4, 3, 3), {"pads": [1, 2, 0, 1], "strides": [2, 1]}),
    "same": ((1, 2, 8, 8), (3, 2, 3, 3), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "dilated": ((1, 2, 12), (3, 2, 3), {"dilations": [3]}),
    "grouped": ((2, 4, 6, 6), (6, 2, 3, 3), {"group": 2}),
    "of each channel": ((2, 5, 8, 21), (5, 1, 3, 3), {"group": 5, "pads": [1, 1, 1, 1]}),
}
"""Shapes of input and weights, and attributes."""


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case: str, has_bias: bool):
    shape, weights, attributes = CONVOLUTIONS[case]
    constants: dict[str, npt.NDArray[np.generic]] = {"w": floats(*weights)}
    if has_bias:
        constants["b"] = floats(weights[0])
    nodes = [
        node_of("Conv", ["x", *constants], "c", attributes),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    compare(model_of(nodes, shape, constants), floats(*shape))


ACTIVATIONS = {
    "Celu": {"alpha": 0.5},
    "HardSwish": {},
    "Selu": {},
    "Shrink": {"bias": 0.25, "lambd": 0.75},
    "Sign": {},
    "Softplus": {},
    "Softsign": {},
    "ThresholdedRelu": {"alpha": 0.5},
}


@pytest.mark.parametrize("operator", ACTIVATIONS)
def test_activations(operator: str):
    node = node_of(operator, ["x"], "y", ACTIVATIONS[operator])
    compare(model_of([node], [3, 17]), floats(3, 17) * 3)


def test_a_channel_is_weighed_against_those_around_it():
    """By the definition: the reference evaluator of onnx 1.23 sums over other channels."""
    attributes = {"size": 4, "alpha": 0.5, "beta": 0.75, "bias": 2.0}
    x = floats(2, 7, 3, 5)
    squares = np.pad(x * x, ((0, 0), (1, 2), (0, 0), (0, 0)))
    total = np.sum([squares[:, step : step + 7] for step in range(4)], axis=0)
    session = compile_native(model_of([node_of("LRN", ["x"], "y", attributes)], x.shape))
    np.testing.assert_allclose(first(session, x), x / (2.0 + 0.125 * total) ** 0.75, rtol=1e-5)
    assert session.host_calls() == []


def test_parts_and_wholes():
    model = model_of(
        [
            helper.make_node("Split", ["x", "sizes"], ["a", "b"], axis=1),
            helper.make_node("Concat", ["b", "x", "a"], ["y"], axis=1),
        ],
        [3, 5],
        {"sizes": np.array([2, 3])},
    )
    compare(model, floats(3, 5))


@pytest.mark.parametrize("rows", [129, "rows"])
def test_large_results_begin_at_a_cache_line(rows: int | str):
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [rows, 67])
    session, x = compile_native(model), floats(129, 67)
    results = [first(session, x) for _ in range(4)]
    assert [result.ctypes.data % 64 for result in results] == [0] * 4
    assert all(np.array_equal(result, np.maximum(x, 0)) for result in results)
    assert not any(np.shares_memory(results[0], result) for result in results[1:])


def test_the_backend_takes_inputs_in_order():
    model = model_of([helper.make_node("Neg", ["x"], ["y"])], [3])
    x = floats(3)
    np.testing.assert_array_equal(np.asarray(backend.run_model(model, [x])[0], np.float32), -x)
    with pytest.raises(XonncError, match="0 inputs were fed, the model takes 1"):
        backend.prepare(model).run([])
    with pytest.raises(XonncError, match="no device 'CUDA'; there is CPU"):
        backend.prepare(model, "CUDA")
    assert backend.is_compatible(model)


def test_the_backend_runs_single_nodes():
    x = floats(3)
    node = helper.make_node("Clip", ["x", "", "limit"], ["y"])
    (y,) = backend.run_node(node, [x, np.float32(0.25)])
    np.testing.assert_array_equal(np.asarray(y, np.float32), np.minimum(x, 0.25))
    node = helper.make_node("TopK", ["x", "k"], ["", "places"])
    (indices,) = backend.run_node(node, {"k": np.array([1]), "x": x})
    assert np.asarray(indices).tolist() == [int(x.argmax())]
    old = helper.make_node("Squeeze", ["x"], ["y"], axes=[0])
    assert np.asarray(backend.run_node(old, [x[None]], opset_version=11)[0]).shape == (3,)
    with pytest.raises(XonncError, match="1 inputs were fed, the node takes 2"):
        backend.run_node(node, [x])
    with pytest.raises(XonncError, match="no input 'k' is given"):
        backend.run_node(node, {"x": x})
    with pytest.raises(XonncError, match="no device 'CUDA'; there is CPU"):
        backend.run_node(node, [x, np.array([1])], "CUDA")


def test_each_kernel_is_timed() -> None:
    nodes = [
        helper.make_node("Softmax", ["x"], ["s"], "first"),
        helper.make_node("MatMul", ["s", "w"], ["m"], "second"),
        helper.make_node("Tanh", ["m"], ["y"], "third"),
    ]
    model = model_of(nodes, [4, 8], {"w": floats(8, 6)})
    session = compile_native(model, profile=True)
    x = floats(4, 8)
    assert np.allclose(first(session, x), reference(model, x), atol=1e-5)
    lines = session.profile()
    assert {line.node for line in lines} >= {"first", "second", "third"}
    assert all(line.microseconds > 0 and line.where == "native" for line in lines)
    assert len(compile_native(model).profile()) == 1


def constants_with_content() -> int:
    """Ops of all modules that Python still knows, dead ones in cycles too, that hold a constant."""
    kinds = (ConstantOp, GlobalOp)
    return sum(isinstance(each, kinds) and bool(each.properties) for each in gc.get_objects())


@pytest.mark.parametrize("shape", [[8, 16], ["n", 16]])
def test_dead_modules_hold_no_constants(shape: Sequence[int | str]) -> None:
    weight = numpy_helper.from_array(floats(16, 16), "w")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Erf", ["p"], ["y"])],
        "model",
        [value("x", TensorProto.FLOAT, shape)],
        [value("y", TensorProto.FLOAT, shape)],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    gc.collect()
    before = constants_with_content()
    gc.disable()
    try:
        session = compile_native(model, cache=False)
        first(session, floats(8, 16))
        # The session keeps the simplified model, for other sizes.
        assert constants_with_content() == before + 1
        del session
        assert constants_with_content() == before
    finally:
        gc.enable()


def test_operators_that_exist_nowhere_are_refused_before_a_run():
    text = """
        <ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
        g (float[2] x) => (float[2] y, float[2] z) { [a] y = Rellu (x)\n [b] z = acme.Fold (x) }"""
    with pytest.raises(RefusalError) as found:
        compile_native(onnx.parser.parse_model(text), cache=False)
    assert [reason.split(";")[0] for reason in found.value.reasons] == [
        "a: no operator 'Rellu' in domain 'ai.onnx'",
        "b: no operator 'Fold' in domain 'acme'",
    ]
