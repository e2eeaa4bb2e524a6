"""Linear models: classes with and without scores of their own, transforms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Node, check, opened

from xonnc.native import compile_native

RANDOM = np.random.default_rng(71)
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def listed(count: int) -> list[float]:
    return [float(each) for each in floats(count)]


def ml(operator: str, x: Array, said: Mapping[str, object], expected: Sequence[Array] | None = None) -> Node:
    outputs = 2 if operator == "LinearClassifier" else 1
    node = Node(operator, [x], said, domain="ai.onnx.ml", domain_opset=1, outputs=outputs, expected=expected)
    if expected is not None:
        return node
    requested = [each.astype(np.float32) if each.dtype.kind == "f" else each for each in node.wanted()]
    return ml(operator, x, said, requested)


def nodes() -> Iterator[Node]:
    x = floats(9, 5)
    said = {"coefficients": listed(15), "intercepts": listed(3), "targets": 3}
    yield ml("LinearRegressor", x, said)
    yield ml("LinearRegressor", x.astype(np.float64), said)
    yield ml("LinearRegressor", x, {"coefficients": listed(5), "intercepts": [0.25]})
    three = {"coefficients": listed(15), "intercepts": listed(3), "classlabels_ints": [4, -1, 9]}
    for after in TRANSFORMS:
        yield ml("LinearClassifier", x, {**three, "post_transform": after})
        two = {"coefficients": listed(5), "intercepts": listed(1), "classlabels_ints": [3, 8]}
        yield ml("LinearClassifier", x, {**two, "post_transform": after})
        one = {"coefficients": listed(5), "intercepts": [0.1], "classlabels_ints": [6]}
        if after in ("NONE", "LOGISTIC"):
            yield ml("LinearClassifier", x, {**one, "post_transform": after})
    yield ml("LinearClassifier", np.arange(10).reshape(2, 5), three)


@pytest.mark.parametrize("node", list(nodes()), ids=str)
def test_models_give_what_the_reference_gives(node: Node):
    check(node)
    if node.attributes.get("classlabels_ints") != [6]:
        check(node, opened(node.model()))


@pytest.mark.parametrize(
    ("operator", "said", "reason"),
    [
        ("LinearRegressor", {"coefficients": listed(7)}, "does not match features and targets"),
    ],
)
def test_models_that_do_not_fit_stay_with_the_reference(
    operator: str, said: Mapping[str, object], reason: str
):
    node = ml(operator, floats(3, 5), said, [floats(3, 1)])
    (line,) = compile_native(node.model()).report()
    assert reason in line.reason
