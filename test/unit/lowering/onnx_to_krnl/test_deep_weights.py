"""Convolutions of many channels and products of many terms multiply weights in pieces that fit the cache."""

from __future__ import annotations

from importlib import import_module
from unittest.mock import Mock

import numpy as np
import onnx
import onnx.parser
import pytest
from native_nodes import Reference
from onnx import numpy_helper

from xonnc.lowering.onnx_to_krnl.planning import tile_selection
from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor

RANDOM = np.random.default_rng(11)

LANES = resolve_processor("cpu").vector_bytes // 4


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pieces that are chosen, of 18 blocks of channels times positions of the window at most."""
    monkeypatch.setattr(tile_selection, "PIECES_IN_L2", 1 << 20)
    chosen: list[int] = []
    choose = tile_selection.Tiles.depth_piece

    def recorded(self: tile_selection.Tiles, steps: int, depth: int, width: int) -> int:
        monkeypatch.setattr(tile_selection, "MIN_PIECE_BYTES", 18 * LANES * width * 4 * LANES)
        chosen.append(choose(self, steps, depth, width))
        return chosen[-1]

    monkeypatch.setattr(tile_selection.Tiles, "depth_piece", recorded)
    # Small products would have all panels in L2.
    monkeypatch.setattr(tile_selection.Tiles, "rows_first", Mock(return_value=False))
    return chosen


def floats(*shape: int):
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("sizes", "depth", "window", "attributes", "groups"),
    [
        # Three pieces, the last one not of whole blocks; two; four.
        ("1,7,9", 5 * LANES + 3, 3, "pads=[1,1,1,1]", 1),
        ("2,6,5", 3 * LANES, 3, "pads=[1,1,1,1],strides=[2,2]", 1),
        ("n,h,w", 7 * LANES, 3, "pads=[2,2,2,2],dilations=[2,2]", 1),
        ("1,5,1", 4 * LANES, 3, "pads=[1,1,1,1]", 1),
        ("1,4,6", 40 * LANES, 1, "", 1),
        ("1,6,6", 8 * LANES, 3, "pads=[1,1,1,1]", 2),
    ],
)
def test_pieces_of_channels_are_added_up(
    sizes: str, depth: int, window: int, attributes: str, groups: int, threads: int, pieces: list[int]
):
    """With a bias, a residual that is not read again, and an epilogue; one window meets infinity and NaN."""
    images, height, width = (int(size) if size.isdigit() else 5 for size in sizes.split(","))
    filters = 3 * LANES * groups
    n, h, w = sizes.split(",")
    attributes += f"{',' if attributes else ''}group={groups}"
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[{n},4,{h},{w}] x) => (float[a,b,c,d] y) '
        f"{{ e = Conv<kernel_shape=[1,1]>(x, v) r = Conv<{attributes}>(e, u) t = Conv<{attributes}>(e, k, b) "
        f"s = Add(t, r) l = Sigmoid(s) y = Mul(s, l) }}"
    )
    shape = filters, depth // groups, window, window
    weights = {
        "v": floats(depth, 4, 1, 1),
        "u": floats(*shape),
        "k": floats(*shape) * 0.1,
        "b": floats(filters),
    }
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    x = floats(images, 4, height, width)
    x[0, 0, 0, 0], x[-1, 1, -1, -1] = np.inf, np.nan

    session = compile_native(model, cache=False, threads=threads)
    reference: Reference = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    expected = np.asarray(reference.run(None, {"x": x})[0], np.float32)
    found = np.asarray(session.run(None, {"x": x})[0])
    np.testing.assert_allclose(
        found, expected, rtol=2e-4, atol=2e-4 * np.abs(expected[np.isfinite(expected)]).max()
    )
    assert 0 < max(pieces) < depth // groups


def test_weights_that_are_read_once_stay_whole(pieces: list[int]):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1,640,1,1] x) => (float[1,16,1,1] y) '
        "{ e = Relu(x) y = Conv<kernel_shape=[1,1]>(e, k) }"
    )
    model.graph.initializer.append(numpy_helper.from_array(floats(16, 640, 1, 1), "k"))
    compile_native(model, cache=False)
    assert not pieces


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("rows", "terms", "columns", "kind"),
    [
        # Rows and columns that are no multiples of tiles; one column; few columns, of many rows; float64.
        ("19", 75 * LANES + 5, 7 * LANES + 3, "float"),
        ("m", 75 * LANES, 7 * LANES + 3, "float"),
        ("m", 54 * LANES + 1, 1, "float"),
        ("83", 90 * LANES, LANES, "float"),
        ("9", 90 * LANES, 2 * LANES + 1, "double"),
    ],
)
def test_pieces_of_products_are_added_up(
    rows: str, terms: int, columns: int, kind: str, threads: int, pieces: list[int]
):
    """With a bias and an activation of the whole sums, of few rows and of many, with infinity and NaN."""
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({kind}[{rows},{terms}] x) => ({kind}[a,b] y) '
        "{ s = MatMul(x, w) t = Add(s, b) y = Relu(t) }"
    )
    weights = {"w": floats(terms, columns), "b": floats(columns)}
    dtype = np.float32 if kind == "float" else np.float64
    model.graph.initializer.extend(
        numpy_helper.from_array(array.astype(dtype), name) for name, array in weights.items()
    )
    session = compile_native(model, cache=False, threads=threads)
    assert 0 < max(pieces) < terms
    for count in (2, 3, 45) if rows == "m" else (int(rows),):
        x = floats(count, terms).astype(dtype)
        x[0, 0], x[-1, -1] = np.inf, np.nan
        expected = np.maximum(x.astype(np.float64) @ weights["w"] + weights["b"], 0)
        found = np.asarray(session.run(None, {"x": x})[0])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
