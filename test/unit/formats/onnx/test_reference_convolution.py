from collections.abc import Callable

import numpy as np
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import reference_of
from xonnc.runtime.verification.reference_engines import Engine

MODEL = """<ir_version: 9, opset_import: ["": 17]>
    g ({types} x, {weights} w, {bias} b) => ({types} y) {{ y = Conv <{attributes}> (x, w, b) }}"""


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((1, 2, 7, 9), (4, 2, 3, 2), "dilations = [2, 3]"),
        ((2, 4, 9), (6, 2, 3), "dilations = [2], group = 2, strides = [2], pads = [1, 3]"),
        ((1, 3, 8, 8), (3, 1, 2, 3), 'dilations = [3, 2], group = 3, auto_pad = "SAME_UPPER"'),
        ((1, 2, 7, 8), (2, 2, 2, 4), 'dilations = [1, 2], strides = [2, 2], auto_pad = "SAME_LOWER"'),
        ((0, 2, 7), (2, 2, 2), "dilations = [2]"),
        ((1, 2, 7, 8), (2, 2, 2, 3), 'dilations = [2, 2], auto_pad = "VALID"'),
        ((2, 4, 7, 8), (8, 1, 3, 3), "group = 4, pads = [1, 1, 0, 1], strides = [2, 1]"),
        ((1, 3, 4, 5, 6), (2, 3, 2, 3, 1), "strides = [1, 2, 3]"),
    ],
)
def test_convolutions(x: tuple[int, ...], w: tuple[int, ...], attributes: str) -> None:
    rank = ",".join("?" * len(x))
    text = MODEL.format(
        types=f"float[{rank}]", weights=f"float[{rank}]", bias="float[?]", attributes=attributes
    )
    model = onnx.parser.parse_model(text)
    draw = np.random.default_rng(0)
    feeds = {
        "x": draw.normal(size=x).astype(np.float32),
        "w": draw.normal(size=w).astype(np.float32),
        "b": draw.normal(size=w[0]).astype(np.float32),
    }
    # Right for finite values.
    run: Callable[..., list[object]] = vars(ReferenceEvaluator)["run"]
    (expected,) = run(ReferenceEvaluator(model), None, feeds)
    (found,) = reference_of(model)(feeds)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "double"])
def test_elements_between_those_of_a_dilated_kernel_do_not_count(dtype: str) -> None:
    text = MODEL.format(
        types=f"{dtype}[1,1,3]", weights=f"{dtype}[1,1,2]", bias=f"{dtype}[1]", attributes="dilations = [2]"
    )
    kind = np.dtype(dtype)
    feeds = {"x": np.array([[[1, np.inf, 2]]], kind), "w": np.ones((1, 1, 2), kind), "b": np.zeros(1, kind)}
    (found,) = reference_of(onnx.parser.parse_model(text))(feeds)
    assert np.asarray(found).dtype == kind
    assert np.asarray(found).tolist() == [[[3.0]]]


@pytest.mark.parametrize(("x", "w", "groups"), [((1, 1, 5), (1, 2, 2), 1), ((1, 4, 5), (3, 2, 2), 2)])
def test_channels_that_do_not_fit(x: tuple[int, ...], w: tuple[int, ...], groups: int) -> None:
    text = MODEL.format(
        types="float[?,?,?]",
        weights="float[?,?,?]",
        bias="float[?]",
        attributes=f"dilations = [2], group = {groups}",
    )
    feeds = {"x": np.ones(x, np.float32), "w": np.ones(w, np.float32), "b": np.ones(w[0], np.float32)}
    with pytest.raises(XonncError, match=r"Conv: .* weights in \d groups"):
        reference_of(onnx.parser.parse_model(text))(feeds)


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((2, 4, 5), (4, 3, 2), "group = 2, pads = [1, 0]"),
        ((1, 6, 3, 4), (6, 1, 3, 2), "group = 3, strides = [2, 3], output_padding = [1, 2]"),
        ((1, 2, 5, 3), (2, 2, 2, 3), "dilations = [2, 3], pads = [0, 1, 2, 1]"),
        ((1, 2, 5), (2, 1, 3), "output_shape = [9], strides = [2]"),
        ((1, 2, 5), (2, 1, 2), "output_shape = [11], strides = [2]"),
        ((1, 2, 3, 4), (2, 1, 4, 4), 'auto_pad = "SAME_UPPER", strides = [2, 3]'),
        ((1, 2, 3, 4), (2, 1, 4, 4), 'auto_pad = "SAME_LOWER", strides = [2, 1]'),
        ((1, 2, 3), (2, 1, 4), 'auto_pad = "SAME_UPPER", output_shape = [7], strides = [2]'),
        ((1, 2, 3), (2, 1, 2), 'auto_pad = "VALID", strides = [3]'),
        ((0, 2, 3), (2, 1, 2), "strides = [3]"),
        ((1, 2, 2, 1, 3), (2, 2, 2, 2, 1), "group = 2"),
    ],
)
def test_transposed_convolutions(x: tuple[int, ...], w: tuple[int, ...], attributes: str) -> None:
    rank = ",".join("?" * len(x))
    text = MODEL.replace("Conv", "ConvTranspose").format(
        types=f"float[{rank}]", weights=f"float[{rank}]", bias="float[?]", attributes=attributes
    )
    model = onnx.parser.parse_model(text)
    draw = np.random.default_rng(0)
    groups = int(attributes.partition("group = ")[2][:1] or 1)
    shapes = {"x": x, "w": w, "b": (w[1] * groups,)}
    feeds = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    (found,) = reference_of(model)(feeds)
    expected = Engine(model).run(feeds)["y"]
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5, strict=True)


def test_channels_of_other_groups_are_an_error() -> None:
    text = MODEL.replace("Conv", "ConvTranspose").format(
        types="float[1,3,2]", weights="float[4,1,1]", bias="float[1]", attributes="group = 1"
    )
    shapes = {"x": (1, 3, 2), "w": (4, 1, 1), "b": (1,)}
    with pytest.raises(XonncError, match=r"\(4, 1, 1\) weights in 1 groups"):
        reference_of(onnx.parser.parse_model(text))({k: np.ones(v, np.float32) for k, v in shapes.items()})
