"""Resize and Upsample of dynamic dimensions: one program for all sizes, with what the reference gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from native_nodes import Node
from onnx import TensorProto, helper

from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

RANDOM = np.random.default_rng(5)

SHAPES = ((1, 3, 5, 7), (2, 2, 4, 4), (1, 2, 9, 6), (3, 1, 1, 1), (1, 1, 17, 3))

COORDINATES = ("align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel")


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def scaled(
    attributes: Mapping[str, object], factors: Sequence[float], element: int = TensorProto.FLOAT
) -> Session:
    """Return a session of Resize by scales with four dynamic dimensions."""
    node = helper.make_node("Resize", ["x", "", "s"], ["y"])
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], factors)
    ports = [
        helper.make_tensor_value_info(name, element, list(dims))
        for name, dims in (("x", "nchw"), ("y", "pqrt"))
    ]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], [scales])
    return compile_native(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))


def assert_close(given: RuntimeValue, wanted: npt.NDArray[np.generic]):
    assert isinstance(given, np.ndarray)
    assert given.shape == wanted.shape
    numbers = np.asarray(given, np.float64), np.asarray(wanted, np.float64)
    np.testing.assert_allclose(*numbers, rtol=2e-5, atol=2e-5)


def compare(
    session: Session, attributes: Mapping[str, object], factors: Sequence[float], x: npt.NDArray[np.generic]
):
    (given,) = session.run(None, {"x": x})
    (wanted,) = Node("Resize", [x, None, np.array(factors, np.float32)], attributes).wanted()
    assert_close(given, wanted)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales(mode: str, coordinates: str):
    nearest = ("floor", "round_prefer_ceil") if mode == "nearest" else ("floor",)
    for nearest_mode in nearest:
        attributes = {
            "mode": mode,
            "coordinate_transformation_mode": coordinates,
            "nearest_mode": nearest_mode,
        }
        for factors in ((1, 1, 2, 2), (1, 1, 0.5, 1.25)):
            session = scaled(attributes, factors)
            for shape in SHAPES:
                compare(session, attributes, factors, floats(*shape))
            (given,) = session.run(None, {"x": floats(0, 2, 4, 4)})
            assert isinstance(given, np.ndarray)
            assert given.shape == (0, 2, 4 * factors[2], 4 * factors[3])
            assert session.compiled == 1
            assert not session.host_calls()


def test_integers_by_the_nearest():
    attributes = {"mode": "nearest", "nearest_mode": "ceil"}
    session = scaled(attributes, (1, 1, 0.5, 3), TensorProto.INT8)
    for shape in SHAPES:
        x = RANDOM.integers(-128, 128, shape).astype(np.int8)
        compare(session, attributes, (1, 1, 0.5, 3), x)
    assert session.compiled == 1


def test_nan():
    attributes = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    session = scaled(attributes, (1, 1, 1, 2))
    for size in (3, 8):
        x = floats(1, 1, 2, size)
        x[..., 0, 1] = np.nan
        compare(session, attributes, (1, 1, 1, 2), x)
    assert session.compiled == 1


def test_scales_that_round_sizes_have_a_program_for_each_shape():
    """What float32 rounds is no expression of the sizes."""
    attributes: Mapping[str, object] = {"mode": "linear"}
    session = scaled(attributes, (1, 1, 0.7, 1.3))
    for shape in ((1, 1, 10, 4), (1, 1, 7, 5)):
        compare(session, attributes, (1, 1, 0.7, 1.3), floats(*shape))
    assert session.compiled == 3
    assert not session.host_calls()


def like_another(mode: str) -> onnx.ModelProto:
    """Return a model that resizes images to the size of others, as U-Nets do."""
    return onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["": 19]>
        g (float[n, c, h, w] x, float[n, d, k, m] like) => (float[n, c, k, m] y)
        <int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] four = {{4}}> {{
            own = Shape(x)
            first = Slice(own, zero, two)
            other = Shape(like)
            last = Slice(other, two, four)
            sizes = Concat<axis = 0>(first, last)
            y = Resize<mode = "{mode}", coordinate_transformation_mode = "half_pixel">(x, , , sizes)
        }}"""
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_sizes_of_another_tensor(mode: str):
    session = compile_native(like_another(mode))
    for (height, width), (rows, columns) in (
        ((5, 7), (9, 4)),
        ((4, 4), (8, 8)),
        ((1, 1), (3, 2)),
        ((6, 5), (6, 5)),
    ):
        x, like = floats(2, 3, height, width), floats(2, 1, rows, columns)
        (given,) = session.run(None, {"x": x, "like": like})
        attributes = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
        (wanted,) = Node("Resize", [x, None, None, np.array([2, 3, rows, columns])], attributes).wanted()
        assert_close(given, wanted)
    assert session.compiled == 1
    assert not session.host_calls()
    with pytest.raises(XonncError):
        session.run(None, {"x": floats(2, 3, 0, 4), "like": floats(2, 1, 2, 2)})


@pytest.mark.parametrize("opset", [9, 10])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_old_versions(mode: str, opset: int):
    kind = "Upsample" if opset == 9 else "Resize"
    session = compile_native(
        onnx.parser.parse_model(
            f"""<ir_version: 5, opset_import: ["": {opset}]>
            g (float[n, c, h, w] x) => (float[n, c, k, m] y) <float[4] s = {{1, 1, 2, 1.5}}> {{
                y = {kind}<mode = "{mode}">(x, s)
            }}"""
        )
    )
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": mode}
    for shape in SHAPES:
        x = floats(*shape)
        (given,) = session.run(None, {"x": x})
        (wanted,) = Node("Resize", [x, None, np.array([1, 1, 2, 1.5], np.float32)], attributes).wanted()
        assert_close(given, wanted)
    assert session.compiled == 1
    assert not session.host_calls()


def test_a_crop_is_not_compiled_for_its_values():
    attributes = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "mode": "linear",
        "extrapolation_value": 7.5,
    }
    sizes = np.array([1, 1, 4, 7])
    first = np.array([0, 0, -0.3, 0.2, 1, 1, 0.8, 1.4], np.float32)
    node = Node("Resize", [floats(1, 1, 6, 5), first, None, sizes], attributes, constant=[3])
    session = compile_native(node.model())
    for shift in (0, 0.1):
        given = Node(
            "Resize", [node.inputs[0], first + np.float32(shift), None, sizes], attributes, constant=[3]
        )
        assert_close(session.run(None, given.feeds)[0], given.wanted()[0])
    assert session.compiled == 1
