"""Support vector machines, as onnxruntime has them: the reference is wrong about probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Batch, Node, batches, check_batch, opened

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.reference import open_session

RANDOM = np.random.default_rng(71)
KERNELS = ("LINEAR", "RBF", "POLY", "SIGMOID")
X = RANDOM.normal(size=(9, 5)).astype(np.float32)


def listed(count: int) -> list[float]:
    return [float(each) for each in RANDOM.normal(size=count).astype(np.float32)]


def machine(counts: list[int], **said: object) -> dict[str, object]:
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    return {
        "classlabels_ints": [7, -1, 4, 9][:classes],
        "coefficients": listed((classes - 1) * vectors),
        "support_vectors": listed(5 * vectors),
        "vectors_per_class": counts,
        "rho": listed(pairs),
        "kernel_params": [0.3, 0.1, 3.0],
        **said,
    }


def sigmoids(classes: int) -> dict[str, object]:
    pairs = classes * (classes - 1) // 2
    return {"prob_a": [-abs(each) - 0.5 for each in listed(pairs)], "prob_b": listed(pairs)}


def regressors() -> Iterator[Node]:
    for kind in KERNELS:
        for one_class in (0, 1):
            yield regressor(
                n_supports=4,
                support_vectors=listed(20),
                coefficients=listed(4),
                rho=[0.3],
                kernel_type=kind,
                kernel_params=[0.3, 0.1, 3.0],
                one_class=one_class,
            )
    yield regressor(n_supports=0, coefficients=listed(5), rho=[-0.2], kernel_params=[0.3, 0.1, 3.0])


def regressor(**said: object) -> Node:
    return by_runtime("SVMRegressor", X, said, outputs=1)


def classifiers() -> Iterator[Node]:
    for counts in ([2, 3], [3, 1, 2], [1, 2, 2, 3]):
        for kind in KERNELS:
            yield classifier(X, **machine(counts, kernel_type=kind))
            yield classifier(X, **machine(counts, kernel_type=kind), **sigmoids(len(counts)))
    yield classifier(X[:1], **machine([3, 1, 2], kernel_type="RBF"), **sigmoids(3))
    for after in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        yield classifier(X, **machine([2, 1, 2], post_transform=after))
        yield classifier(X, **machine([2, 1, 2], post_transform=after), **sigmoids(3))
    yield classifier(X, **machine([2, 0, 2]))
    for classes in (3, 4):
        labels = [5, 2, 8, 1][:classes]
        said = {"classlabels_ints": labels, "coefficients": listed(5 * classes), "rho": listed(classes)}
        yield classifier(X, **said, kernel_params=[0.0, 0.0, 0.0])


def classifier(x: npt.NDArray[np.float32], **said: object) -> Node:
    return by_runtime("SVMClassifier", x, said, outputs=2)


def by_runtime(operator: str, x: npt.NDArray[np.float32], said: Mapping[str, object], outputs: int) -> Node:
    """The node with what onnxruntime gives."""
    empty: list[npt.NDArray[np.generic]] = [np.zeros((0, 0), np.float32)]
    if outputs == 2:
        empty.insert(0, np.zeros(0, np.int64))
    node = node_of(operator, x, said, empty)
    session, _ = open_session(opened(node.model()).SerializeToString(), str(node))
    return node_of(operator, x, said, session.run(None, node.feeds))


def node_of(
    operator: str,
    x: npt.NDArray[np.float32],
    said: Mapping[str, object],
    expected: Sequence[npt.NDArray[np.generic]],
) -> Node:
    return Node(
        operator,
        [x],
        said,
        domain="ai.onnx.ml",
        domain_opset=1,
        outputs=len(expected),
        expected=expected,
        rtol=2e-4,
    )


@pytest.mark.parametrize("batch", batches([*regressors(), *classifiers()]), ids=str)
def test_machines_give_what_onnxruntime_gives(batch: Batch):
    check_batch(batch)


@pytest.mark.parametrize("features", [8, 16, 21, 40])
@pytest.mark.parametrize("kind", KERNELS)
def test_features_are_added_by_eight(kind: str, features: int):
    """Also with more support vectors than a vector register holds."""
    x = RANDOM.normal(size=(3, features)).astype(np.float32)
    said: dict[str, object] = {"kernel_type": kind, "kernel_params": [0.05, 0.1, 3.0]}
    said |= {"support_vectors": listed(37 * features), "coefficients": listed(37), "rho": [0.3]}
    check_batch(Batch([by_runtime("SVMRegressor", x, {"n_supports": 37, **said}, outputs=1)]))


def test_probabilities_are_those_of_libsvm():
    """The answers of scikit-learn's SVC(probability=True), which a reference of onnx 1.23 puts at 0.9786."""
    node = classifier(X, **machine([3, 1, 2], kernel_type="RBF"), **sigmoids(3))
    scores = np.asarray(compile_native(node.model()).run(None, node.feeds)[1], np.float64)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-6)
    assert (scores > 0).all()


def test_classes_of_strings_are_looked_up():
    said = machine([2, 2]) | {"classlabels_strings": ["no", "yes"]}
    labels = said.pop("classlabels_ints")
    node = node_of("SVMClassifier", X, said, [np.zeros(9, np.object_), np.zeros((9, 2), np.float32)])
    plain = {name: each for name, each in said.items() if name != "classlabels_strings"}
    plain["classlabels_ints"] = labels
    numbered = node_of("SVMClassifier", X, plain, [np.zeros(9, np.int64), np.zeros((9, 2), np.float32)])
    session = compile_native(node.model())
    label, scores = session.run(None, node.feeds)
    number, expected = compile_native(numbered.model()).run(None, numbered.feeds)
    assert session.host_calls() == []
    np.testing.assert_array_equal(np.asarray(scores), np.asarray(expected))
    assert isinstance(label, np.ndarray)
    assert label.tolist() == [{7: "no", -1: "yes"}[each] for each in np.asarray(number).tolist()]


def test_machines_that_do_not_fit_are_not_computed_by_the_reference():
    said = machine([2, 3]) | {"rho": listed(2)}
    node = node_of("SVMClassifier", X, said, [np.zeros(9, np.int64), np.zeros((9, 2), np.float32)])
    session = compile_native(node.model())
    (line,) = session.report()
    assert line.reason == "a number of values of rho that is not that of pairs of classes"
    with pytest.raises(
        XonncError,
        match=r"it: there is no native code for it \(a number of values .* the reference evaluator is wrong",
    ):
        session.run(None, node.feeds)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"coefficients": listed(4)}, "a number of coefficients that is not"),
        ({"support_vectors": listed(11)}, "support vectors that do not match features"),
        ({"prob_a": listed(1), "prob_b": listed(3)}, "values of prob_a or prob_b"),
        ({"classlabels_ints": [1]}, "or a single class"),
    ],
)
def test_each_reason_is_told(said: Mapping[str, object], reason: str):
    node = node_of(
        "SVMClassifier", X, {**machine([2, 3]), **said}, [np.zeros(9, np.int64), np.zeros((9, 2), np.float32)]
    )
    (line,) = compile_native(node.model()).report()
    assert reason in line.reason


def test_a_regressor_that_does_not_fit_stays_with_the_reference():
    said = {"n_supports": 2, "support_vectors": listed(10), "coefficients": listed(3), "rho": [0.0]}
    node = node_of("SVMRegressor", X, said, [np.zeros((9, 1), np.float32)])
    (line,) = compile_native(node.model()).report()
    assert "a number of coefficients that is not" in line.reason
