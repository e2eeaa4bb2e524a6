"""Operators that select, sort and sample have one kernel for all sizes of a dynamic input."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.native import compile_native

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'

MODELS = {
    "nonzero": """m (float[n,4] x) => (int64[2,k] y, float[j] z) {
        y = NonZero(x)
        places = Transpose<perm=[1,0]>(y)
        z = GatherND(x, places) }""",
    "best": """m (float[n,4] x) => (float[a,b] y, int64[a,b] z) {
        k = Constant<value = int64[1] {3}>()
        y, z = TopK<axis=0>(x, k) }""",
    "many": """m (float[n,4] x) => (float[a,b] y, int64[a,b] z) {
        k = Constant<value = int64[1] {20}>()
        y, z = TopK<axis=0, largest=0>(x, k) }""",
    "all": """m (double[n,4] x) => (double[a,b] y, int64[a,b] z) {
        size = Shape<start=0, end=1>(x)
        y, z = TopK<axis=0>(x, size) }""",
    "all_by_keys": """m (float[n,4] x) => (float[a,b] y, int64[a,b] z) {
        size = Shape<start=0, end=1>(x)
        y, z = TopK<axis=0>(x, size) }""",
    "compress": """m (float[n,4] x) => (float[a,b] y, float[c] z) {
        zero = Constant<value = float {0}>()
        high = Greater(x, zero)
        shape = Constant<value = int64[1] {-1}>()
        flat = Reshape(high, shape)
        z = Compress(x, flat)
        one = Constant<value = int64 {1}>()
        column = Gather<axis=1>(high, one)
        y = Compress<axis=0>(x, column) }""",
    "unique": """m (float[n,4] x) => (float[a] y, int64[a] i, int64[c] z, int64[a] w) {
        near = Round(x)
        y, i, z, w = Unique(near) }""",
    "unique_rows": """m (float[n,4] x) => (y, i, z, w) {
        near = Round(x)
        y, i, z, w = Unique<axis=0, sorted=0>(near) }""",
    "samples": """m (float[n,4] x) => (float[a,b,c,d] y) {
        image = Constant<value = float[1,2,3,2] {1, -2, 0.5, 4, 3, -1, 0, 2, 5, -3, 1, 7}>()
        shape = Constant<value = int64[4] {1,-1,2,2}>()
        most = Constant<value = float {1.5}>()
        inside = Min(x, most)
        grid = Reshape(inside, shape)
        y = GridSample<mode = "linear", padding_mode = "border">(image, grid) }""",
    "boxes": """m (float[n,4] x) => (int64[k,3] y) {
        most = Constant<value = int64[1] {9223372036854775807}>()
        overlap = Constant<value = float[1] {0.3}>()
        shape = Constant<value = int64[3] {1,-1,4}>()
        corners = Reshape(x, shape)
        last = Constant<value = int64[1] {2}>()
        scores = ReduceMax<keepdims=0>(corners, last)
        one = Constant<value = int64[1] {1}>()
        row = Unsqueeze(scores, one)
        y = NonMaxSuppression(corners, row, most, overlap) }""",
}


def elements(rows: int, kind: npt.DTypeLike) -> npt.NDArray[np.floating]:
    """Numbers with ties, zeros of both signs and infinities."""
    x = np.random.default_rng(rows).normal(size=(rows, 4)).astype(kind)
    x[::3, 0] = 0
    x[1::5, 1] = -0.0
    x[2::7, 2] = np.inf
    return x


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_one_program_selects_from_any_number(name: str, threads: int):
    model = onnx.parser.parse_model(HEAD + MODELS[name])
    session = compile_native(model, threads=threads)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    least = {"best": 3, "many": 20}.get(name, 0)
    for rows in (5, 1, 300, 0, 3, 21, 129):
        if rows >= least:
            given = {"x": elements(rows, np.float64 if "double" in MODELS[name] else np.float32)}
            for found, expected in zip(session.run(None, given), peer.run(None, given), strict=True):
                numbers = np.asarray(found, np.float64), np.asarray(expected, np.float64)
                assert numbers[0].shape == numbers[1].shape
                np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-6)
    assert session.host_calls() == []
    if name not in ("nonzero", "unique"):
        assert session.compiled == 1


def test_no_more_than_there_are():
    session = compile_native(onnx.parser.parse_model(HEAD + MODELS["best"]))
    with pytest.raises(XonncError, match="K value is out of bound: 3, but axis 0 has 2 elements"):
        session.run(None, {"x": elements(2, np.float32)})


def test_samples_of_images_of_any_size():
    """As of images of known size, also where an axis has one element, which has no length between corners."""
    kinds = [
        (mode, padding, align)
        for mode, padding in (("linear", "zeros"), ("linear", "reflection"), ("cubic", "border"))
        for align in (0, 1)
    ]
    nodes = " ".join(
        f'y{number} = GridSample<mode="{mode}", padding_mode="{padding}", align_corners={align}>(x, g)'
        for number, (mode, padding, align) in enumerate(kinds)
    )
    outputs = ", ".join(f"float[n,2,3,4] y{number}" for number in range(len(kinds)))

    def model_of(sizes: str) -> onnx.ModelProto:
        return onnx.parser.parse_model(
            f"{HEAD}m (float[n,2,{sizes}] x, float[n,3,4,2] g) => ({outputs}) {{ {nodes} }}"
        )

    session = compile_native(model_of("h,w"))
    grid = np.random.default_rng(3).uniform(-1.7, 1.7, (2, 3, 4, 2)).astype(np.float32)
    for height, width in ((5, 3), (1, 4)):
        x = np.random.default_rng(4).normal(size=(2, 2, height, width)).astype(np.float32)
        expected = compile_native(model_of(f"{height},{width}")).run(None, {"x": x, "g": grid})
        for found, wanted in zip(session.run(None, {"x": x, "g": grid}), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert session.compiled == 1
