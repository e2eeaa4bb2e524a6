"""The reference evaluator computes old operator versions that the onnx package lacks or has wrong."""

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import reference_of

HEAD = '<ir_version: 8, opset_import: ["" : {}]> graph '


@pytest.mark.parametrize(
    ("opset", "attributes", "scales", "zero_points", "expected"),
    [
        (10, "", np.float32(2), np.uint8(1), [[0, 2], [4, 6]]),
        (13, "<axis=0>", np.array([2, 0.5], np.float32), np.array([1, 3], np.uint8), [[0, 2], [0, 0.5]]),
        (18, "<axis=1>", np.array([2, 0.5], np.float32), np.array([1, 3], np.uint8), [[0, -0.5], [4, 0.5]]),
    ],
)
def test_dequantize_linear(
    opset: int, attributes: str, scales: object, zero_points: object, expected: object
) -> None:
    shape = "[2]" if attributes else ""
    text = (
        f"(uint8[2, 2] x, float{shape} scale, uint8{shape} zero) => (float[2, 2] y) "
        f"{{ y = DequantizeLinear {attributes} (x, scale, zero) }}"
    )
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    feeds = {"x": np.array([[1, 2], [3, 4]], np.uint8), "scale": scales, "zero": zero_points}
    np.testing.assert_array_equal(reference_of(model)(feeds)[0], np.array(expected, np.float32))


@pytest.mark.parametrize("opset", [9, 10])
def test_scatter(opset: int) -> None:
    text = "(float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = Scatter (x, i, u) }"
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    feeds = {"x": np.zeros(3, np.float32), "i": np.array([2, 0]), "u": np.array([5, 6], np.float32)}
    np.testing.assert_array_equal(reference_of(model)(feeds)[0], np.array([6, 0, 5], np.float32))


@pytest.mark.parametrize(
    ("operator", "shape", "axes", "expected"),
    [
        ("Squeeze", (1, 1), [-2, 1], ()),
        ("Squeeze", (1, 5, 1, 1, 1), [-3, 3, 4], (1, 5)),
        ("Squeeze", (1, 5, 1), [2, 0], (5,)),
        ("Squeeze", (1, 5, 1), None, (5,)),
        ("Unsqueeze", (3,), [-2, -1], (3, 1, 1)),
        ("Unsqueeze", (3,), [2, 0], (1, 3, 1)),
        ("Unsqueeze", (), [0], (1,)),
    ],
)
@pytest.mark.parametrize("opset", [11, 12])
def test_axes_in_any_order(
    opset: int, operator: str, shape: tuple[int, ...], axes: list[int] | None, expected: tuple[int, ...]
) -> None:
    attributes = f"<axes = {axes}>" if axes else ""
    text = f"(float{list(shape) or ''} x) => (float y) {{ y = {operator} {attributes} (x) }}"
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(reference_of(model)({"x": x})[0], x.reshape(expected), strict=True)


@pytest.mark.parametrize("dtype", ["double", "float", "float16"])
def test_the_error_function_has_the_precision_of_its_type(dtype: str) -> None:
    model = onnx.parser.parse_model(
        HEAD.format(17) + f"({dtype}[2, 2] x) => ({dtype}[2, 2] y) {{ y = Erf (x) }}"
    )
    x = np.array([[0.5, -3], [np.nan, np.inf]], {"double": "f8", "float": "f4", "float16": "f2"}[dtype])
    expected = np.array([[0.5204998778130465, -0.9999779095030014], [np.nan, 1]]).astype(x.dtype)
    np.testing.assert_array_equal(reference_of(model)({"x": x})[0], expected, strict=True)


def test_unknown_rank_in_native_code() -> None:
    """A tensor that comes out of a sequence has a rank only at run time: it is dequantized on the host."""
    text = """(float[1, 2] x, int64 at) => (float[?, ?] y)
        <float[2, 2] other = {0, 0, 0, 0}, float[2] scale = {0.5, 0.03125}>
        {
           both = SequenceConstruct (x, other)
           one = SequenceAt (both, at)
           q = QuantizeLinear (one, scale)
           y = DequantizeLinear (q, scale)
        }"""
    model = onnx.parser.parse_model(HEAD.format(18) + text)
    feeds = {"x": np.array([[3.2, -1]], np.float32), "at": np.array(0)}
    np.testing.assert_array_equal(
        xonnc.compile(model, cache=False).run(None, feeds)[0], np.array([[3, 0]], np.float32)
    )


def test_weights_are_of_grams_not_of_outputs() -> None:
    model = onnx.parser.parse_model(
        HEAD.format(17) + "(int64[4] x) => (float[3] y) { y = TfIdfVectorizer<max_gram_length = 1,"
        ' max_skip_count = 0, min_gram_length = 1, mode = "TFIDF", ngram_counts = [0],'
        " ngram_indexes = [2, 0, 1], pool_int64s = [5, 6, 7], weights = [1.0, 2.0, 10.0]>(x) }"
    )
    (found,) = reference_of(model)({"x": np.array([5, 6, 6, 9])})
    assert np.asarray(found).tolist() == [4.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("opset", "attributes"), [(7, ""), (8, "<spatial = 0>"), (9, ""), (13, "<epsilon = 0.5>")]
)
def test_batch_normalization_of_one_output_is_inference(opset: int, attributes: str) -> None:
    text = f"""(float[2, 3, 2] x, float s, float b, float m, float v) => (float[2, 3, 2] y)
        {{ y = BatchNormalization {attributes} (x, s, b, m, v) }}"""
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    rng = np.random.default_rng(1)
    x, shape = rng.normal(size=(2, 3, 2)), (3, 2) if attributes.startswith("<spatial") else (3,)
    rows = [rng.uniform(0.5, 2, shape) for _ in range(4)]
    scale, bias, mean, variance = (row.reshape(3, -1) for row in rows)
    expected = (x - mean) * scale / np.sqrt(variance + (0.5 if "epsilon" in attributes else 1e-5)) + bias
    feeds = {name: each.astype(np.float32) for name, each in zip("xsbmv", (x, *rows), strict=True)}
    np.testing.assert_allclose(
        np.asarray(reference_of(model)(feeds)[0]), expected.astype(np.float32), rtol=1e-5
    )


def test_training_before_opset_14_is_not_evaluated() -> None:
    text = """(float[2, 3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y)
        { y, mean, var, saved_mean, saved_var = BatchNormalization (x, s, b, m, v) }"""
    model = onnx.parser.parse_model(HEAD.format(13) + text)
    with pytest.raises(XonncError, match="training mode, before opset 14"):
        reference_of(model)({name: np.ones((2, 3) if name == "x" else 3, np.float32) for name in "xsbmv"})


@pytest.mark.parametrize("dtype", ["float16", "float", "double"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("p", [1, 2])
def test_norms_of_numbers_of_either_sign(dtype: str, axis: int, p: int) -> None:
    """Squares of 600 are no float16."""
    model = onnx.parser.parse_model(
        HEAD.format(18)
        + f"({dtype}[3, 2] x) => ({dtype}[3, 2] y) {{ y = LpNormalization <axis={axis}, p={p}> (x) }}"
    )
    x = np.array([[-1, 2], [-3, 600], [0, 0]], {"double": "f8", "float": "f4", "float16": "f2"}[dtype])
    norm = np.linalg.norm(x.astype(np.float64), ord=p, axis=axis, keepdims=True)
    expected = (x / np.where(norm, norm, 1)).astype(x.dtype)
    np.testing.assert_allclose(np.asarray(reference_of(model)({"x": x})[0]), expected, rtol=2e-3, strict=True)


@pytest.mark.parametrize("rank", [3, 4])
def test_queries_that_share_a_row_of_a_mask_have_causal_masks_of_their_own(rank: int) -> None:
    shape = (1, 3, 2) if rank == 3 else (1, 1, 3, 2)
    heads = ", q_num_heads = 1, kv_num_heads = 1" if rank == 3 else ""
    text = (
        f"(float{list(shape)} x, float[1, 1, M, 3] m) => (float y) "
        f"{{ y = Attention <is_causal = 1{heads}> (x, x, x, m) }}"
    )
    model = onnx.parser.parse_model('<ir_version: 11, opset_import: ["" : 23]> graph ' + text)
    x = np.random.default_rng(0).normal(size=shape)
    row = np.array([[[[0, -1, 0.5]]]], np.float32)
    shared, each = (
        reference_of(model)({"x": x.astype(np.float32), "m": mask})[0]
        for mask in (row, np.repeat(row, 3, axis=2))
    )
    np.testing.assert_array_equal(np.asarray(shared), np.asarray(each))
