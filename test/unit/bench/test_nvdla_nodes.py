"""Node tests on the NVDLA; `python bench/nvdla_nodes.py` runs them all."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.backend import load_cases
from bench.nvdla_nodes import NodeResult, NodeTest, difference, node_test_of, page, run_case, run_test
from bench.nvdla_zoo import CONFIGURATIONS, Configuration

EVERY = 75
FULL, SMALL = Configuration("nv_full", "FP16"), Configuration("nv_small", "INT8")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_some_of_all_node_tests():
    chosen = list(load_cases("node"))[::EVERY]
    results = [one for case in chosen for one in run_case(case)]
    assert [one for one in results if one.is_fault] == []
    assert {one.kind for one in results} >= {"DLA", "refused"}


def model_of(op: str, *names: str) -> onnx.ModelProto:
    shapes = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 2, 3, 3)) for name in names]
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 2, 3, 3))
    graph = helper.make_graph([helper.make_node(op, names, ["y"])], "net", shapes, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node_test(op: str, expected: float = 2.0) -> NodeTest:
    ones = np.ones((1, 2, 3, 3), np.float32)
    return node_test_of(model_of(op, "a", "b"), [ones, ones], [ones * expected])


def test_operands_past_the_first_are_weights():
    made = node_test("PRelu")
    assert [port.name for port in made.model.graph.input] == list(made.feeds) == ["a"]
    assert [one.name for one in made.model.graph.initializer] == ["b"]


def test_operands_of_equals_are_computed():
    assert list(node_test("Add").feeds) == ["a", "b"]


def test_what_runs_is_compared():
    assert run_test(node_test("Add"), FULL) == ("DLA", "within the tolerance")
    assert run_test(node_test("Add", 2.1), FULL) == ("wrong", "error 4.76e-02 of the largest")
    assert run_test(node_test("Add", 2.1), SMALL) == ("DLA", "bit for bit")


def test_a_step_on_the_way_explains_an_error():
    expected = np.array([1.0, 0.2], np.float32)
    assert (
        difference([expected + np.float32(0.05)], [expected], SMALL, is_quantized=True)
        == "error 5.00e-02 of the largest"
    )
    assert difference([expected + np.float32(0.05)], [expected], SMALL, 0.06, is_quantized=True) == ""
    assert (
        difference([expected + np.float32(0.2)], [expected], SMALL, 0.3, is_quantized=True)
        == "error 2.00e-01 of the largest"
    )


def test_ties_may_round_either_way():
    expected = np.array([7, 8], np.uint8)
    assert difference([expected + np.uint8(1)], [expected], FULL, is_quantized=True) == ""
    assert (
        difference([expected + np.uint8(1)], [expected], FULL, is_quantized=False) == "uint8 [2] that differ"
    )
    assert (
        difference([expected + np.uint8(2)], [expected], FULL, is_quantized=True) == "uint8 [2] that differ"
    )
    wide = expected.astype(np.int64)
    assert difference([wide + 1], [wide], FULL, is_quantized=True) == "int64 [2] that differ"


def test_what_is_refused_has_a_reason():
    assert run_test(node_test("Pow"), SMALL)[0] == "refused"


def test_the_page_counts_cases_by_operator():
    results = [
        NodeResult(f"case{number}", "Add", str(configuration), kind, "why")
        for number, kind in enumerate(("DLA", "refused", "wrong"))
        for configuration in CONFIGURATIONS
    ]
    text = page(results, list(map(str, CONFIGURATIONS)))
    assert "| nv_full FP16 | 3 | 1 | 0 | 1 | 1 | 0 |" in text
    assert "| Add | 3 | 1 / 0 / 1, 1 faults |" in text
    assert "| 4 | Add | why |" in text
