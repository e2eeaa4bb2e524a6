"""Operators in forms of old opsets have kernels, and give what their newest forms do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from native_nodes import Node, check

from xonnc.dialects.onnx.registry import op_classes
from xonnc.native import compile_native
from xonnc.transforms.rules.legalize_early_opsets import RULES

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(29)

X = RANDOM.uniform(0.5, 2.0, (2, 3, 4, 5)).astype(np.float32)
CHANNELS, ROWS = np.array([0.5, 1, 2], np.float32), np.arange(1, 21, dtype=np.float32).reshape(4, 5)


def old(
    name: str,
    opset: int,
    inputs: Sequence[Array],
    attributes: Mapping[str, object],
    now: Sequence[Array],
    said: Mapping[str, object],
    outputs: int = 1,
) -> tuple[str, Node]:
    """The name of a rule, and a node of an old opset that gives what one of opset 18 does."""
    operator = name.partition("V")[0] if "V" in name else name
    requested = Node(operator, now, said, opset=18, outputs=outputs).wanted()
    return name, Node(operator, inputs, attributes, opset=opset, outputs=outputs, expected=requested)


def pairs() -> Iterator[tuple[str, Node]]:
    truths = X[0, 0] > 1, X[0, 1] > 1
    for version, opset in (("V1", 5), ("V6", 6)):
        for operator in ("Add", "Sub", "Mul", "Div"):
            for other, axis in ((CHANNELS, 1), (ROWS, 2), (X, None)):
                said = {} if axis is None else {"broadcast": 1, "axis": axis}
                part = other if other.shape != CHANNELS.shape else other.reshape(3, 1, 1)
                yield old(f"{operator}{version}", opset, [X, other], said, [X, part], {})
    for operator in ("Equal", "Greater", "Less"):
        whole = [
            np.floor(each).astype(np.int32 if operator == "Equal" else np.float32) for each in (X, 2 * X)
        ]
        yield old(f"{operator}V1", 6, whole, {}, whole, {})
    for operator in ("And", "Or", "Xor"):
        yield old(f"{operator}V1", 6, truths, {}, truths, {})
    yield old("PowV1", 6, [X, CHANNELS], {"broadcast": 1, "axis": 1}, [X, CHANNELS.reshape(3, 1, 1)], {})


def functions() -> Iterator[tuple[str, Node]]:
    named = {
        "Elu": {"alpha": 0.5},
        "HardSigmoid": {"alpha": 0.25, "beta": 0.5},
        "LeakyRelu": {"alpha": 0.125},
        "Selu": {"alpha": 1.5, "gamma": 1.25},
    }
    plain = ("Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Tanh")
    for operator in (*plain, *named):
        x = X if operator in ("Log", "Sqrt") else X - 1
        yield old(f"{operator}V1", 5, [x], named.get(operator, {}), [x], named.get(operator, {}))
    for operator in ("Max", "Mean", "Min", "Sum"):
        yield old(f"{operator}V1", 5, [X, 2 - X, X[::-1]], {}, [X, 2 - X, X[::-1]], {})


def others() -> Iterator[tuple[str, Node]]:
    bounds = [np.array(bound, np.float32) for bound in (0.75, 1.5)]
    yield old("ClipV6", 9, [X], {"min": 0.75, "max": 1.5}, [X, *bounds], {})
    ends = [np.array(each, np.int64) for each in ([1, 0], [-1, 99], [2, 1])]
    yield old("SliceV1", 9, [X], {"starts": [1, 0], "ends": [-1, 99], "axes": [2, 1]}, [X, *ends], {})
    yield old("SliceV1", 9, [X], {"starts": [1], "ends": [2]}, [X, ends[0][:1], ends[0][:1] + 1], {})
    count = np.array([2], np.int64)
    yield old("TopKV1", 9, [X], {"k": 2, "axis": 2}, [X, count], {"axis": 2}, outputs=2)
    weights = RANDOM.normal(size=(3, 6, 2, 2)).astype(np.float32)
    strides = {"strides": [2, 2]}
    yield old("ConvTransposeV1", 9, [X, weights], strides, [X, weights], strides)
    yield old("ConcatV1", 3, [X, X], {"axis": 1}, [X, X], {"axis": 1})
    shape = np.array([6, 20], np.int64)
    yield old("ReshapeV1", 4, [X], {"shape": [6, 20]}, [X, shape], {})
    for version, opset in (("V1", 5), ("V6", 6)):
        slopes = [X - 1, CHANNELS]
        yield old(f"PRelu{version}", opset, slopes, {}, [X - 1, CHANNELS.reshape(3, 1, 1)], {})
        yield old(f"PRelu{version}", opset, [X - 1, CHANNELS[:1]], {}, [X - 1, CHANNELS[:1]], {})
    product = [X[0, 0], X[1, 0].T.copy(), np.arange(4, dtype=np.float32)]
    factors = {"alpha": 0.5, "beta": 2.0}
    yield old("GemmV6", 6, product, {**factors, "broadcast": 1}, product, factors)
    rows = [CHANNELS, CHANNELS + 1, CHANNELS - 1, CHANNELS]
    yield old("BatchNormalizationV6", 6, [X, *rows], {"is_test": 1}, [X, *rows], {})
    numbers = np.array([-1, 3], np.float32)
    indices = [np.array([0, 2]), np.array(4), numbers]
    yield old("OneHotV9", 9, indices, {}, indices, {})
    requested = X.repeat(2, 2).repeat(3, 3)
    said = {"scales": [1.0, 1.0, 2.0, 3.0]}
    yield "UpsampleV7", Node("Upsample", [X], said, opset=7, expected=[requested])


CASES = [*pairs(), *functions(), *others()]


@pytest.mark.parametrize("node", [node for _, node in CASES], ids=[f"{name}-{node}" for name, node in CASES])
def test_old_forms_have_kernels(node: Node) -> None:
    check(node)


def test_every_rule_is_of_an_old_form_and_has_a_case() -> None:
    assert {name for name, _ in CASES} == set(RULES)
    assert set(RULES) <= {op.name.removeprefix("onnx.") for op in op_classes()}


def test_the_second_result_of_top_k_may_be_left_out() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> m (float[4] x) => ({} y) {{ {} = TopK(x, k) }}'
    for kind, results, expected in (("float[2]", "y", [4, 3]), ("int64[2]", '"", y', [1, 3])):
        model = onnx.parser.parse_model(text.format(kind, results))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2], np.int64), "k"))
        session = compile_native(model)
        (given,) = session.run(None, {"x": np.array([1, 4, 2, 3], np.float32)})
        np.testing.assert_array_equal(np.asarray(given, np.float32), expected)
        assert session.host_calls() == []
