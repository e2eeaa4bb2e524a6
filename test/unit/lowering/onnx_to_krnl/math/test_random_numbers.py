"""Random numbers: those of the reference where a seed says which, else of the right distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Batch, Node, batches, check, check_batch
from onnx import TensorProto

from xonnc.native import compile_native

RANDOM = np.random.default_rng(59)
MANY = 20_000


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def seeded() -> Iterator[Node]:
    for seed in (0.0, 7.0, 16777215.0):
        yield Node("RandomUniform", [], {"shape": [5, 63], "seed": seed, "low": -2.0, "high": 3.0})
    for count in (1, 311, 312, 313, 1000):
        yield Node("RandomUniform", [], {"shape": [count], "seed": 3.0, "dtype": TensorProto.DOUBLE})
    yield Node("RandomUniform", [], {"shape": [40], "seed": 1.0, "dtype": TensorProto.FLOAT16}, rtol=2e-3)
    yield Node("RandomUniformLike", [floats(4, 5)], {"seed": 2.0, "dtype": TensorProto.FLOAT})
    yield Node("RandomUniformLike", [floats(4, 5).astype(np.float64)], {"seed": 2.0})
    yes = np.array(True)
    for ratio in (0.0, 0.25, 0.9):
        inputs = [floats(30, 21), np.array(ratio, np.float32), yes]
        yield Node("Dropout", inputs, {"seed": 5}, outputs=2, constant=[1, 2])
        yield Node("Dropout", inputs, {"seed": 5})
    x = floats(3, 3)
    half = Node("Dropout", [x, np.array(0.5, np.float32), yes], {"seed": 11}, outputs=2)
    yield Node("Dropout", [x, None, yes], {"seed": 11}, outputs=2, expected=half.wanted())
    yield Node("Dropout", [floats(3, 3), np.array(0.9, np.float32), ~yes], {"seed": 11}, outputs=2)
    yield Node("Dropout", [floats(9, 3).astype(np.float64), np.array(0.4), yes], {"seed": 4}, outputs=2)


@pytest.mark.parametrize("batch", batches(seeded()), ids=str)
def test_a_seed_gives_the_numbers_of_the_reference(batch: Batch):
    check_batch(batch)


def drawn(operator: str, attributes: Mapping[str, object], *inputs: Array, like: Array, runs: int = 1):
    session = compile_native(Node(operator, inputs, attributes, expected=[like]).model())
    feeds = {f"x{index}": each for index, each in enumerate(inputs)}
    found = [np.asarray(session.run(None, feeds)[0]) for _ in range(runs)]
    assert session.host_calls() == []
    assert {(each.dtype, each.shape) for each in found} == {(like.dtype, like.shape)}
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_normal_numbers(dtype: type[np.floating]):
    like = np.zeros((100, MANY // 100), dtype)
    code = {np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE, np.float16: TensorProto.FLOAT16}[
        dtype
    ]
    said = {"mean": 2.0, "scale": 3.0, "seed": 1.0, "shape": list(like.shape), "dtype": code}
    first, second = drawn("RandomNormal", said, like=like, runs=2)
    np.testing.assert_array_equal(first, second)
    u, v = np.random.RandomState(1).random_sample((MANY, 2)).T
    expected = 2 + 3 * np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)
    rtol = 2e-3 if dtype is np.float16 else 1e-5
    np.testing.assert_allclose(first.astype(np.float64).reshape(-1), expected, rtol=rtol, atol=rtol)
    x = np.sort((first.astype(np.float64).reshape(-1) - 2) / 3)
    assert abs(x.mean()) < 0.03
    assert abs(x.std() - 1) < 0.02
    # The places of some numbers of the normal distribution among them.
    for number, share in ((-1.96, 0.025), (-1, 0.15866), (0, 0.5), (0.6745, 0.75), (2.326, 0.99)):
        assert abs(np.searchsorted(x, number) / MANY - share) < 0.015
    assert abs(np.corrcoef(x[:-1], RANDOM.permutation(x)[1:])[0, 1]) < 0.05


@pytest.mark.parametrize("operator", ["RandomNormalLike", "RandomUniformLike"])
def test_without_a_seed_each_run_draws_others(operator: str):
    like = np.zeros((4, 50), np.float32)
    first, second, third = drawn(operator, {}, like, like=like, runs=3)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)
    assert abs(np.stack([first, second, third]).mean() - (operator == "RandomUniformLike") / 2) < 0.2


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_classes_are_as_likely_as_they_say(dtype: type[np.integer]):
    shares = np.array([[0.1, 0.6, 0.3, 0.0], [0.25, 0.25, 0.0, 0.5]])
    logits = np.log(np.maximum(shares, 1e-30)).astype(np.float32) + np.array([[90], [-90]], np.float32)
    like = np.zeros((2, MANY), dtype)
    code = TensorProto.INT32 if dtype is np.int32 else TensorProto.INT64
    (found,) = drawn("Multinomial", {"sample_size": MANY, "seed": 9.0, "dtype": code}, logits, like=like)
    for row, expected in zip(found, shares, strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / MANY, expected, atol=0.015)


def test_zeros_and_ones():
    shares = np.repeat(np.array([0.0, 0.2, 0.7, 1.0], np.float32), MANY)
    (found,) = drawn("Bernoulli", {"seed": 3.0}, shares, like=shares)
    np.testing.assert_allclose(found.reshape(4, -1).mean(1), [0.0, 0.2, 0.7, 1.0], atol=0.015)
    assert set(found.tolist()) == {0.0, 1.0}
    some = shares.reshape(4, -1)[1:].reshape(-1)
    check(Node("Bernoulli", [some], {"seed": 3.0, "dtype": TensorProto.INT8}))
    check(Node("Bernoulli", [some.astype(np.float64)], {"seed": 3.0, "dtype": TensorProto.BOOL}))


@pytest.mark.parametrize("opset", [1, 6])
def test_older_dropouts_in_training(opset: int):
    x = np.ones((100, 100), np.float32)
    (found,) = drawn_by(Node("Dropout", [x], {"ratio": 0.25}, opset=opset, expected=[x]))
    assert set(np.unique(found).tolist()) == {0.0, np.float32(4 / 3)}
    assert abs((found == 0).mean() - 0.25) < 0.03


@pytest.mark.parametrize("opset", [1, 6, 7, 10])
def test_older_dropouts_at_inference(opset: int):
    x = floats(3, 4)
    said = {"is_test": 1} if opset < 7 else {}
    ones = np.ones_like(x, np.bool_ if opset == 10 else np.float32)
    found = drawn_by(Node("Dropout", [x], {"ratio": 0.5, **said}, opset=opset, outputs=2, expected=[x, ones]))
    np.testing.assert_array_equal(found[0], x)
    np.testing.assert_array_equal(found[1], ones)


def drawn_by(node: Node) -> list[Array]:
    session = compile_native(node.model())
    found = session.run(None, node.feeds)
    assert session.host_calls() == []
    return [np.asarray(each) for each in found]
