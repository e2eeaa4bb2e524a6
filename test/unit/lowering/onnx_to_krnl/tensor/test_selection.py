"""Operators that keep some elements: as many as the model says, or as there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from native_nodes import Batch, Node, batches, check_batch

import xonnc
from xonnc.errors import DeclaredShapeError
from xonnc.native import compile_native, load_native

RANDOM = np.random.default_rng(37)
X = RANDOM.normal(size=(3, 4, 2)).astype(np.float32)
SOME = np.array([True, False, True, True])


def nodes() -> Iterator[Node]:
    yield Node("Compress", [X, SOME], {"axis": 1})
    yield Node("Compress", [X.astype(ml_dtypes.bfloat16), SOME[:3]], {"axis": 0})
    yield Node("Compress", [X, RANDOM.random(24) < 0.4])
    yield Node("Compress", [X, SOME])
    # Conditions in another form than a list, which ONNX's evaluator refuses.
    yield Node("Compress", [X, X < 0.3], expected=[X[X < 0.3]])
    for dtype in (np.float32, np.int64, np.bool_, np.float16):
        few = RANDOM.integers(0, 2, (3, 5, 2)).astype(dtype)
        yield Node("NonZero", [few])
    yield Node("NonZero", [np.array([0.0, -0.0, np.nan, 1e-45], np.float32)])


@pytest.mark.parametrize("batch", batches(nodes()), ids=str)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)
    check_batch(batch, with_open_shapes=True)


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_another_number_of_elements_is_told_and_taken(kept: int, tmp_path: Path):
    session = compile_native(Node("Compress", [X, SOME], {"axis": 1}).model())
    session.save(tmp_path)
    feeds = {"x0": X, "x1": np.arange(4) < kept}
    message = f"it: keeps {kept} elements, the model says 3"
    with pytest.warns(UserWarning, match=f"^{message}; its inferred result shapes are ignored$"):
        (found,) = session.run(None, feeds)
    np.testing.assert_array_equal(np.asarray(found), X[:, :kept])
    # Told once: from then on nothing is taken from what is declared.
    np.testing.assert_array_equal(np.asarray(session.run(None, feeds)[0]), X[:, :kept])
    # Code by itself is for what is declared alone.
    with pytest.raises(DeclaredShapeError) as caught:
        load_native(tmp_path).run(None, feeds)
    assert str(caught.value) == message


def test_a_declared_size_beyond_memory_is_told_and_ignored():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> '
        f"g (bool[3] x) => (int64[1, {2**43}] y) {{ t = NonZero(x) y = Neg(t) }}"
    )
    session = xonnc.compile(model, target="cpu")
    feeds = {"x": np.array([True, False, True])}
    with pytest.warns(UserWarning, match="Unable to allocate .*; the declared result shapes are ignored$"):
        (found,) = session.run(None, feeds)
    np.testing.assert_array_equal(np.asarray(found), [[0, -2]])
    np.testing.assert_array_equal(np.asarray(session.run(None, feeds)[0]), [[0, -2]])
