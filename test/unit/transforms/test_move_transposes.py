"""Transposes that move: the numbers are the same, and there are never more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.simplifier import simplify
from xonnc.transforms.rules.move_transposes import BROADCASTING, OLDER, REDUCTIONS, RULES, UNARY, VARIADIC

SHAPE = (2, 5, 4, 3)

PERM = [0, 3, 1, 2]

EDGES = [0.0, -0.0, -1.5, 0.25, 1.0, np.inf, -np.inf, np.nan]


class Evaluator(Protocol):
    def run(
        self, names: None, feeds: Mapping[str, npt.NDArray[np.float32]]
    ) -> list[npt.NDArray[np.generic]]: ...


def evaluator(model: onnx.ModelProto) -> Evaluator:
    return import_module("onnx.reference").ReferenceEvaluator(model)


def data(shape: Sequence[int], low: float, edges: bool) -> npt.NDArray[np.float32]:
    found = np.random.default_rng(5).normal(size=shape)
    found = (np.abs(found) + low if low else found).astype(np.float32)
    if edges and not low:
        found.reshape(-1)[: len(EDGES)] = EDGES
    return found


def check(
    nodes: Sequence[onnx.NodeProto],
    opset: int,
    left: int,
    constants: Mapping[str, npt.NDArray[np.generic]] | None = None,
    low: float = 0,
    dtype: int = TensorProto.FLOAT,
) -> list[str]:
    """Compares what the reference gives before and after; the operators left."""
    made = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["t"], perm=PERM), *nodes],
        "g",
        [helper.make_tensor_value_info("x", dtype, SHAPE)],
        [onnx.ValueInfoProto(name="y")],
        made,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    simple = simplify(
        model, level=0, enable_pass=["move-transposes-onnx", "canonicalize-onnx", "constprop-onnx"]
    ).proto()
    operators = [node.op_type for node in simple.graph.node]
    assert operators.count("Transpose") == left, operators
    array = data(SHAPE, low, edges=True)
    with np.errstate(all="ignore"):
        (expected,) = evaluator(model).run(None, {"x": array})
        (found,) = evaluator(simple).run(None, {"x": array})
    one, other = np.asarray(found), np.asarray(expected)
    assert one.dtype == other.dtype
    np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=1e-5, atol=1e-6)
    return operators


def back(name: str) -> onnx.NodeProto:
    return helper.make_node("Transpose", [name], ["y"], perm=[0, 2, 3, 1])


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"Not", "Cast", "Atan"}))
def test_unary(name: str):
    opset = {"Gelu": 20}.get(name, 18)
    above = {"Acosh": 1.0, "Log": 0.1, "Reciprocal": 0.1}
    check([helper.make_node(name, ["t"], ["f"]), back("f")], opset, 0, low=above.get(name, 0))


def test_cast():
    check([helper.make_node("Cast", ["t"], ["f"], to=TensorProto.DOUBLE), back("f")], 18, 0)


@pytest.mark.parametrize("name", [*BROADCASTING, *VARIADIC])
@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 1), (5, 4), (1, 3, 5, 4), (1, 1, 1)])
def test_with_a_constant(name: str, shape: Sequence[int]):
    constant = np.abs(np.random.default_rng(1).normal(size=shape)).astype(np.float32) + np.float32(0.5)
    nodes = [helper.make_node(name, ["t", "c"], ["f"]), back("f")]
    low = 0.5 if name in ("Pow", "Div") else 0
    check(nodes, 18, 0, {"c": constant}, low)
    # The reference adds to its first operand in place.
    if name not in ("Mean", "PRelu"):
        nodes = [helper.make_node(name, ["c", "t"], ["f"]), back("f")]
        check(nodes, 18, 0, {"c": constant}, low=0.5)


@pytest.mark.parametrize("name", ["Add", "Div", "Max", "Mul", "Sub"])
def test_with_another_transpose(name: str):
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Transpose", ["a"], ["u"], perm=PERM),
        helper.make_node("Add", ["u", "c"], ["v"]),
        helper.make_node(name, ["t", "v"], ["f"]),
        back("f"),
    ]
    check(nodes, 18, 0, {"c": np.full((1,), 0.5, np.float32)}, low=0.1)


@pytest.mark.parametrize("axis", [-4, -2, 0, 1, 3])
def test_along_an_axis(axis: int):
    for name in ("Softmax", "LogSoftmax"):
        check([helper.make_node(name, ["t"], ["f"], axis=axis), back("f")], 18, 0, low=0.1)


def test_hardmax():
    check([helper.make_node("Hardmax", ["t"], ["f"], axis=1), back("f")], 18, 0, low=0.1)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int):
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("Transpose", ["n"], ["u"], perm=PERM),
        helper.make_node("Concat", ["t", "u"], ["f"], axis=axis),
        back("f"),
    ]
    check(nodes, 18, 0)


@pytest.mark.parametrize(
    ("axis", "opset", "sizes"), [(1, 13, [1, 1, 1]), (-1, 18, [2, 0, 2]), (2, 18, [1, 3, 1])]
)
def test_split_parts_that_rejoin(axis: int, opset: int, sizes: list[int]):
    # As in MambaOut: one part is computed in the other order and joins another; a third one multiplies both.
    nodes = [
        helper.make_node("Split", ["t", "sizes"], ["a", "b", "c"], axis=axis),
        helper.make_node("Transpose", ["a"], ["d"], perm=[0, 2, 3, 1]),
        helper.make_node("Neg", ["d"], ["e"]),
        helper.make_node("Transpose", ["e"], ["f"], perm=PERM),
        helper.make_node("Concat", ["b", "f"], ["g"], axis=axis),
        helper.make_node("ReduceSum", ["g", "last"], ["s"]),
        helper.make_node("Sigmoid", ["c"], ["h"]),
        helper.make_node("Mul", ["s", "h"], ["i"]),
        back("i"),
    ]
    check(nodes, opset, 0, {"sizes": np.array(sizes), "last": np.array([axis])})


def test_split_parts_that_are_read_elsewhere():
    nodes = [
        helper.make_node("Split", ["t"], ["a", "b"], axis=3, num_outputs=2),
        helper.make_node("Softmax", ["a"], ["s"], axis=1),
        helper.make_node("Flatten", ["b"], ["f"], axis=3),
        helper.make_node("Flatten", ["s"], ["g"], axis=3),
        helper.make_node("Add", ["f", "g"], ["y"]),
    ]
    check(nodes, 18, 1, low=0.1)


def test_concat_of_a_part_that_is_read_elsewhere():
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("Transpose", ["n"], ["u"], perm=PERM),
        helper.make_node("Concat", ["t", "u"], ["c"], axis=0),
        helper.make_node("Flatten", ["t"], ["s"], axis=1),
        helper.make_node("ReduceMax", ["s"], ["m"], keepdims=0),
        helper.make_node("Add", ["c", "m"], ["f"]),
        back("f"),
    ]
    check(nodes, 18, 1, low=0.1)


@pytest.mark.parametrize("axes", [[2, 3], [-1], [1], [0, -3]])
@pytest.mark.parametrize("kept", [0, 1])
def test_reductions(axes: list[int], kept: int):
    for name in REDUCTIONS:
        given = np.array(axes, np.int64)
        order = [source for axis, source in enumerate(PERM) if axis not in np.array(axes) % 4]
        left = 0 if kept else int(order != sorted(order))
        nodes = [helper.make_node(name, ["t", "axes"], ["f" if kept else "y"], keepdims=kept)]
        check([*nodes, *([back("f")] if kept else [])], 18, left, {"axes": given}, low=0.1)
        if name != "ReduceSum":
            nodes = [helper.make_node(name, ["t"], ["f" if kept else "y"], keepdims=kept, axes=axes)]
            check([*nodes, *([back("f")] if kept else [])], 13, left, low=0.1)


@pytest.mark.parametrize("axes", [[1], [-1, 2]])
def test_what_a_norm_of_it_divides(axes: list[int]):
    nodes = [
        helper.make_node("ReduceL2", ["t"], ["n"], keepdims=1, axes=axes),
        helper.make_node("Shape", ["t"], ["to"]),
        helper.make_node("Expand", ["n", "to"], ["e"]),
        helper.make_node("Div", ["t", "e"], ["f"]),
        back("f"),
    ]
    check(nodes, 13, 0)


def test_sum_with_axes_as_a_property():
    check([helper.make_node("ReduceSum", ["t"], ["f"], axes=[2], keepdims=1), back("f")], 11, 0, low=0.1)


def test_moves_and_cuts():
    six = np.array([0, 1, 2, 0, 0, 3, 1, 4], np.int64)
    for opset in (13, 18, 19, 21):
        check([helper.make_node("Pad", ["t", "pads"], ["f"]), back("f")], opset, 0, {"pads": six})
    one = {"s": np.array([1, 0]), "e": np.array([9, 2]), "a": np.array([-1, 1])}
    check([helper.make_node("Slice", ["t", "s", "e", "a"], ["f"]), back("f")], 18, 0, one)
    two = {"s": np.array([1, 0]), "e": np.array([3, 2])}
    check([helper.make_node("Slice", ["t", "s", "e"], ["f"]), back("f")], 18, 0, two)
    nodes = [
        helper.make_node("ReduceMax", ["t", "a"], ["m"]),
        helper.make_node("Squeeze", ["m", "a"], ["y"]),
    ]
    check(nodes, 18, 0, {"a": np.array([2, -1], np.int64)}, low=0.1)


def test_reshapes_of_axes_of_length_1():
    axes = {"a": np.array([2, 3], np.int64)}
    pooled = helper.make_node("ReduceMean", ["t", "a"], ["m"])
    check([pooled, helper.make_node("Flatten", ["m"], ["y"])], 18, 0, axes, low=0.1)
    shape = {"to": np.array([0, -1], np.int64)}
    check([pooled, helper.make_node("Reshape", ["m", "to"], ["y"])], 18, 0, axes | shape, low=0.1)
    # Longer axes change places: what the reshape reads is in another order.
    check([helper.make_node("Flatten", ["t"], ["y"])], 18, 1, low=0.1)


@pytest.mark.parametrize(
    ("sizes", "perm"),
    [
        ((2, 3, 20), [0, 2, 1]),
        ((2, 1, 3, 20), [0, 3, 1, 2]),
        ((1, 2, 3, 5, 2, 2), [0, 1, 3, 4, 5, 2]),
        ((2, 3, 1, 20, 1), [0, 3, 4, 1, 2]),
    ],
)
def test_reshapes_of_neighbours(sizes: Sequence[int], perm: list[int]):
    # The transpose that moves after the reshape cancels.
    nodes = [
        helper.make_node("Reshape", ["t", "to"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=perm),
    ]
    assert set(check(nodes, 18, 0, {"to": np.array(sizes)}, low=0.1)) == {"Reshape"}


def test_reshapes_that_need_the_transpose():
    # Batch and channels are no neighbours before it.
    check([helper.make_node("Reshape", ["t", "to"], ["y"])], 18, 1, {"to": np.array([6, 20])}, low=0.1)


def test_clip_and_quantization():
    scalars = {"low": np.array(-0.5, np.float32), "high": np.array(0.75, np.float32)}
    check([helper.make_node("Clip", ["t", "low", "high"], ["f"]), back("f")], 18, 0, scalars)
    nodes = [
        helper.make_node("QuantizeLinear", ["t", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["f"]),
        back("f"),
    ]
    check(nodes, 21, 0, {"s": np.array(0.1, np.float32), "z": np.array(3, np.int8)}, low=0.1)


def test_every_rule_has_a_case():
    kinds = {*UNARY, *BROADCASTING, *VARIADIC, *REDUCTIONS, *OLDER}
    kinds |= {
        "ReduceMaxV18",
        "ReduceMinV18",
        "Softmax",
        "LogSoftmax",
        "Hardmax",
        "Concat",
        "Expand",
        "Slice",
        "Split",
        "SplitV13",
        "Squeeze",
        "Reshape",
    }
    kinds |= {"Clip", "DequantizeLinear", "QuantizeLinear", "Pad", "PadV19", "PadV18", "PadV13"}
    moving = {f"MoveTransposeAfter{kind}" for kind in kinds}
    dropping = {
        "DropTransposeAfterReshape",
        "DropTransposeBeforeFlatten",
        "DropTransposeBeforeReshape",
    }
    fusing = {"FuseTransposes", "WriteTransposePermutation", "RemoveIdentityTranspose"}
    assert set(RULES) == moving | dropping | fusing
