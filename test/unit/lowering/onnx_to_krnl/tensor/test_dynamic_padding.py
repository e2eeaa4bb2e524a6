"""Pad of dynamic dimensions: one program for all sizes, which gives what NumPy gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

RANDOM = np.random.default_rng(7)

Mode = Literal["constant", "edge", "reflect", "wrap"]

MODES: Sequence[Mode] = ("constant", "edge", "reflect", "wrap")


def padding(mode: Mode, pads: Sequence[int], dtype: type[np.generic] = np.float32) -> Session:
    """Return a session of Pad with four dynamic dimensions."""
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ports = [
        helper.make_tensor_value_info(name, element, list(dims))
        for name, dims in (("x", "nchw"), ("y", "pqrt"))
    ]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], [helper.make_tensor("p", 7, [8], pads)])
    return compile_native(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9))


def padded(x: npt.NDArray[Any], mode: Mode, pads: Sequence[int]) -> npt.NDArray[Any]:
    """Pad by NumPy, or crop where pads are negative."""
    sides = list(zip(pads[:4], pads[4:], strict=True))
    cropped = x[
        tuple(
            slice(max(-begin, 0), size + min(end, 0))
            for size, (begin, end) in zip(x.shape, sides, strict=True)
        )
    ]
    return np.pad(cropped, [(max(begin, 0), max(end, 0)) for begin, end in sides], mode)


@pytest.mark.parametrize("pads", [[0, 0, 1, 2, 0, 0, 2, 1], [0, 1, 0, 0, 1, 0, 5, 0]])
@pytest.mark.parametrize("mode", MODES)
def test_extended(mode: Mode, pads: Sequence[int]):
    session = padding(mode, pads)
    for shape in ((1, 3, 5, 7), (2, 3, 4, 4), (3, 2, 9, 6), (1, 1, 1, 1), (2, 1, 3, 0)):
        if 0 in shape and mode != "constant":
            continue
        x = RANDOM.normal(size=shape).astype(np.float32)
        x.reshape(-1)[:1] = np.nan
        np.testing.assert_array_equal(np.asarray(session.run(None, {"x": x})[0]), padded(x, mode, pads))
    assert session.compiled == 1
    assert not session.host_calls()


@pytest.mark.parametrize("mode", ["constant", "edge"])
@pytest.mark.parametrize("pads", [[0, 0, -1, -2, 0, 0, -1, 0], [0, 0, -1, 2, 0, 0, 2, -2]])
def test_cropped(mode: Mode, pads: Sequence[int]):
    session = padding(mode, pads)
    for shape in ((1, 3, 5, 7), (2, 3, 4, 4), (0, 2, 5, 5)):
        x = RANDOM.normal(size=shape).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(session.run(None, {"x": x})[0]), padded(x, mode, pads))
    assert session.compiled == 1
    with pytest.raises(XonncError):
        padding(mode, [0, 0, -3, 0, 0, 0, -3, 0]).run(None, {"x": np.zeros((1, 1, 5, 2), np.float32)})


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.bool_, np.uint64])
def test_elements_of_any_type(dtype: type[np.generic]):
    pads = [0, 0, 1, 1, 0, 0, 2, 0]
    session = padding("reflect", pads, dtype)
    for shape in ((1, 2, 3, 4), (2, 1, 6, 3)):
        x = RANDOM.integers(0, 100, shape).astype(dtype)
        np.testing.assert_array_equal(np.asarray(session.run(None, {"x": x})[0]), padded(x, "reflect", pads))
    assert session.compiled == 1


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_an_axis_without_elements_cannot_be_padded(mode: Mode):
    with pytest.raises(XonncError):
        padding(mode, [0, 0, 1, 0, 0, 0, 1, 0]).run(None, {"x": np.zeros((1, 1, 0, 3), np.float32)})
