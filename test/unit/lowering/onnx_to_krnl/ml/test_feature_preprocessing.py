"""Operators of ai.onnx.ml on features: each type of element, a number of each column or one for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from native_nodes import Array, Batch, Node, batches, check, check_batch
from onnx import numpy_helper

from xonnc.errors import XonncError
from xonnc.native import compile_native

RANDOM = np.random.default_rng(61)
TYPES = (np.float32, np.float64, np.int32, np.int64)


def numbers(dtype: type[np.generic], *shape: int) -> Array:
    return (RANDOM.normal(size=shape) * 4).astype(dtype)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def ml(operator: str, inputs: list[Array], said: Mapping[str, object], expected: Array | None = None) -> Node:
    requested = None if expected is None else [expected]
    return Node(operator, inputs, said, domain="ai.onnx.ml", expected=requested)


def nodes() -> Iterator[Node]:
    for dtype in TYPES:
        x = numbers(dtype, 5, 4)
        yield ml("ArrayFeatureExtractor", [x, np.array([2, 0, -1])], {})
        yield ml("Binarizer", [x], {"threshold": 0.5})
        for offset, scale in (([1.0], [0.5]), ([1.0, 2.0, -3.0, 0.25], [2.0, 1.0, 4.0, -1.0])):
            apart = np.asarray(x, np.float64) - np.array(offset)
            expected = (apart * np.array(scale)).astype(np.float32)
            yield ml("Scaler", [x], {"offset": offset, "scale": scale}, expected)
        for norm in ("L1", "L2"):
            exact = ml("Normalizer", [x.astype(np.float64)], {"norm": norm}).wanted()[0]
            yield ml("Normalizer", [x], {"norm": norm}, np.asarray(exact, np.float32))
        # By the largest element, not the largest size, as the reference has it.
        largest = x.astype(np.float64).max(axis=1, keepdims=True)
        expected = x / np.where(largest == 0, 1, largest)
        yield ml("Normalizer", [x], {"norm": "MAX"}, expected.astype(np.float32))
    yield ml("ArrayFeatureExtractor", [floats(6), np.array([[1, 5]])], {})
    for norm in ("MAX", "L1", "L2"):
        yield ml("Normalizer", [np.zeros((2, 3), np.float32)], {"norm": norm}, np.zeros((2, 3), np.float32))
    gap = np.array([[np.nan, 1, -2]], np.float32)
    yield ml("Normalizer", [gap], {"norm": "MAX"}, gap)
    some = np.array([[1, np.nan, 3], [np.nan, np.nan, 0], [2, 2, 2]])
    for dtype in (np.float32, np.float64):
        x = some.astype(dtype)
        yield ml("Imputer", [x], {"imputed_value_floats": [9.0], "replaced_value_float": np.nan})
        yield ml("Imputer", [x], {"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": 2.0})
    few = RANDOM.integers(0, 3, (4, 2))
    yield ml("Imputer", [few], {"imputed_value_int64s": [40, 50], "replaced_value_int64": 1})
    yield ml("Imputer", [few], {"imputed_value_int64s": [40], "replaced_value_int64": 2})
    a, b, c = floats(3, 2), floats(3, 4), floats(3)
    yield ml("FeatureVectorizer", [a, b], {"inputdimensions": [2, 4]})
    yield ml("FeatureVectorizer", [a, b, c], {"inputdimensions": [3, 1, 1]})
    for dtype in TYPES:
        yield ml("OneHotEncoder", [few.astype(dtype)], {"cats_int64s": [2, 0, 5]})
    yield ml(
        "OneHotEncoder", [few[0]], {"cats_int64s": [1, 0, 1, 2], "zeros": 0}, one_hot(few[0], [9, 0, 1, 2])
    )


def one_hot(x: Array, categories: list[int]) -> Array:
    return (x[..., None] == np.array(categories)).astype(np.float32)


@pytest.mark.parametrize("batch", batches(nodes()), ids=str)
def test_features_are_what_the_reference_makes_of_them(batch: Batch):
    check_batch(batch)
    check_batch(batch, with_open_shapes=True)


def labels() -> Iterator[Node]:
    x = np.array([[3.0, -1.0, 0.5], [np.inf, 7.0, -0.0]], np.float32)
    keys = [0.5, 7.0, -1.0, 0.0]
    yield ml("LabelEncoder", [x], {"keys_floats": keys, "values_int64s": [4, -2, 9, 1], "default_int64": 77})
    yield ml("LabelEncoder", [x], {"keys_floats": keys, "values_floats": keys[::-1], "default_float": 0.25})
    whole = RANDOM.integers(-4, 9, (3, 7))
    some = {"keys_int64s": [5, -3, 8], "values_floats": [1.5, 2.5, 3.5]}
    yield ml("LabelEncoder", [whole], some)
    for key, value in (
        (np.int16, np.int32),
        (np.int32, np.float64),
        (np.float64, np.int64),
        (np.int64, np.int16),
    ):
        tensors = {
            "keys_tensor": numpy_helper.from_array(np.arange(-2, 5).astype(key)),
            "values_tensor": numpy_helper.from_array(RANDOM.integers(0, 99, 7).astype(value)),
            "default_tensor": numpy_helper.from_array(np.array([42], value)),
        }
        yield ml("LabelEncoder", [whole.astype(key)], tensors)


@pytest.mark.parametrize("batch", batches(labels()), ids=str)
def test_labels_are_found(batch: Batch):
    check_batch(batch)


def test_nan_has_a_label_and_of_equal_keys_the_last_counts():
    x = np.array([np.nan, 1, 2], np.float32)
    said = {"keys_floats": [1.0, np.nan, 1.0], "values_int64s": [5, 6, 7], "default_int64": -9}
    check(ml("LabelEncoder", [x], said, np.array([6, 7, -9])))


LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9, 100])
@pytest.mark.parametrize("scale", [1, 5, 10**12])
def test_integers_are_looked_up_or_searched(size: int, scale: int):
    """Keys side by side, with gaps, and so far apart that a table of all numbers between would be large."""
    keys = [scale * (each - size // 2) for each in np.random.default_rng(size).permutation(size).tolist()]
    x = np.array(
        [*keys, *(each + 1 for each in keys), *(each - 1 for each in keys), 0, LEAST, MOST], np.int64
    )
    values = [float(each) for each in range(1, size + 1)]
    known = dict(zip(keys, values, strict=True))
    expected = np.array([known.get(each, -0.5) for each in x.tolist()], np.float32)
    said = {"keys_int64s": keys, "values_floats": values, "default_float": -0.5}
    check(ml("LabelEncoder", [x], said, expected))


@pytest.mark.parametrize("keys", [[LEAST, MOST], [MOST], [LEAST], [MOST, MOST - 1], [LEAST + 3, LEAST]])
def test_extreme_integers_are_keys(keys: list[int]):
    x = np.array([LEAST, LEAST + 1, LEAST + 3, -1, 0, MOST - 1, MOST], np.int64)
    values = list(range(1, len(keys) + 1))
    known = dict(zip(keys, values, strict=True))
    expected = np.array([known.get(each, 9) for each in x.tolist()], np.int64)
    said = {"keys_int64s": keys, "values_int64s": values, "default_int64": 9}
    check(ml("LabelEncoder", [x], said, expected))


def test_infinities_are_keys():
    x = np.array([np.inf, -np.inf, 3.5, 0, np.nan, 1e38], np.float32)
    said = {"keys_floats": [np.inf, 3.5, -np.inf], "values_int64s": [5, 6, 7], "default_int64": -9}
    check(ml("LabelEncoder", [x], said, np.array([5, 7, 6, -9, -9, -9])))


def test_an_element_of_no_category_ends_the_run():
    node = ml("OneHotEncoder", [np.array([1, 2])], {"cats_int64s": [1, 2], "zeros": 0})
    session = compile_native(node.model())
    with pytest.raises(XonncError) as caught:
        session.run(None, {"x0": np.array([3, 2])})
    assert str(caught.value) == "it: 1 elements are of no category, and zeros is 0"


def test_a_feature_that_is_not_there_ends_the_run():
    node = ml("ArrayFeatureExtractor", [floats(2, 3), np.array([0])], {})
    session = compile_native(node.model())
    with pytest.raises(XonncError, match="it: index 3 is out of range: axis 1 has 3 elements"):
        session.run(None, {**node.feeds, "x1": np.array([3])})


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_features_of_different_numbers_of_rows_are_refused(is_dynamic: bool):
    """The shorter ones would be read beyond their end."""
    sizes = ("a,2", "b,3") if is_dynamic else ("4,2", "3,3")
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>'
        f" g (float[{sizes[0]}] x, float[{sizes[1]}] z)"
        " => (float[n,5] y) { y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [2, 3]> (x, z) }"
    )
    feeds = {"x": floats(4, 2), "z": floats(3, 3)}
    with pytest.raises(XonncError, match="X have 3, 4 rows; they must be the same"):
        compile_native(model).run(None, feeds)
