"""What fails is made small: outputs, nodes, graphs within, shapes, attributes and constants go."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.errors import XonncError
from xonnc.fuzzing import levels
from xonnc.fuzzing.case_reduction import reduced, reduced_failure
from xonnc.fuzzing.differential import REFUSES, LevelFailure
from xonnc.fuzzing.edits import ReductionCase
from xonnc.fuzzing.validity import invalidity

FLOAT = TensorProto.FLOAT


def value(name: str, *shape: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, FLOAT, shape)


def model(
    nodes: list[onnx.NodeProto],
    outputs: list[onnx.ValueInfoProto],
    **constants: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [value("x", 4, 6), value("unused", 2)], outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def has(op_type: str):
    def still_fails(case: ReductionCase) -> bool:
        return not invalidity(case.model) and op_type in ops(case.model.graph)

    return still_fails


def ops(graph: onnx.GraphProto) -> list[str]:
    found: list[str] = []
    for node in graph.node:
        found.append(node.op_type)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += ops(attribute.g)
    return found


def test_a_chain_becomes_the_node_that_matters():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("LeakyRelu", ["b"], ["c"], alpha=0.5),
        helper.make_node("Neg", ["c"], ["d"]),
        helper.make_node("Abs", ["a"], ["e"]),
    ]
    whole = model(nodes, [value("d", 4, 6), value("e", 4, 6)])
    smaller = reduced(ReductionCase(whole), has("LeakyRelu")).model
    assert ops(smaller.graph) == ["LeakyRelu"]
    assert not smaller.graph.node[0].attribute
    assert len(smaller.graph.input) == len(smaller.graph.output) == 1


def test_a_case_with_inputs_keeps_one_set_of_them_that_fits():
    nodes = [
        helper.make_node("Mul", ["x", "c"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"]),
        helper.make_node("Neg", ["b"], ["d"]),
    ]
    whole = model(nodes, [value("d", 4, 6)], c=np.full((4, 6), 3, np.float32))
    feeds = {"x": np.ones((4, 6), np.float32), "unused": np.ones(2, np.float32)}
    smaller = reduced(ReductionCase(whole, (feeds, feeds)), has("Softmax"))
    assert ops(smaller.model.graph) == ["Softmax"]
    (left,) = smaller.feeds
    assert [array.size for array in left.values()] in ([1], [])


def test_a_branch_takes_the_place_of_its_if():
    body = helper.make_graph([helper.make_node("Sinh", ["x"], ["s"])], "b", [], [value("s", 4, 6)])
    other = helper.make_graph([helper.make_node("Cosh", ["x"], ["t"])], "o", [], [value("t", 4, 6)])
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["yes"], ["y"], then_branch=body, else_branch=other),
    ]
    smaller = reduced(ReductionCase(model(nodes, [value("y", 4, 6)])), has("Cosh")).model
    assert ops(smaller.graph) == ["Cosh"]


def test_what_does_not_fail_stays_whole():
    whole = model([helper.make_node("Relu", ["x"], ["y"])], [value("y", 4, 6)])
    assert reduced(ReductionCase(whole), lambda case: False).model == whole


def test_the_search_ends():
    tries = 0

    def count(case: ReductionCase) -> bool:
        nonlocal tries
        tries += 1
        return False

    whole = model([helper.make_node("Relu", ["x"], ["y"])], [value("y", 4, 6)])
    reduced(ReductionCase(whole), count, max_candidates=2)
    assert tries == 2


def test_a_reduced_error_is_the_same_but_for_names_and_sizes(monkeypatch: pytest.MonkeyPatch):
    """Of a smaller model, an error of its own would count as the failure."""

    def level(model: onnx.ModelProto) -> onnx.ModelProto:
        if "Abs" not in ops(model.graph):
            raise XonncError("no Abs")
        raise XonncError(f"{model.graph.output[0].name}: Abs after {len(model.graph.node)} nodes")

    monkeypatch.setattr("xonnc.fuzzing.differential.LEVELS", {levels.WHOLE: level})
    nodes = [helper.make_node(kind, [x], [y]) for kind, x, y in (("Exp", "x", "v1"), ("Abs", "v1", "v2"))]
    case = ReductionCase(model(nodes, [value("v2", 4, 6)]), ({"x": np.ones((4, 6), np.float32)},))
    smaller, failure = reduced_failure(case, LevelFailure(levels.WHOLE, REFUSES, "v2: Abs after 2 nodes"))
    assert ops(smaller.model.graph) == ["Abs"]
    assert failure.detail == "v2: Abs after 1 nodes"
