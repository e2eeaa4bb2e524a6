"""Operators that keep some elements: as many as the model says, or as there are."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
from native_nodes import Node, check, opened

from xonnc.errors import XonncError
from xonnc.native import compile_native

RANDOM = np.random.default_rng(37)
X = RANDOM.normal(size=(3, 4, 2)).astype(np.float32)
SOME = np.array([True, False, True, True])


def nodes() -> Iterator[Node]:
    yield Node("Compress", [X, SOME], {"axis": 1})
    yield Node("Compress", [X.astype(ml_dtypes.bfloat16), SOME[:3]], {"axis": 0})
    yield Node("Compress", [X, RANDOM.random(24) < 0.4])
    yield Node("Compress", [X, SOME])
    for dtype in (np.float32, np.int64, np.bool_, np.float16):
        few = RANDOM.integers(0, 2, (3, 5, 2)).astype(dtype)
        yield Node("NonZero", [few])
    yield Node("NonZero", [np.array([0.0, -0.0, np.nan, 1e-45], np.float32)])


@pytest.mark.parametrize("node", list(nodes()), ids=str)
def test_native_nodes_give_what_the_reference_gives(node: Node):
    check(node)
    check(node, opened(node))


@pytest.mark.parametrize("kept", [0, 1, 4])
def test_another_number_of_elements_ends_the_run(kept: int):
    session = compile_native(Node("Compress", [X, SOME], {"axis": 1}).model())
    condition = np.arange(4) < kept
    with pytest.raises(XonncError) as caught:
        session.run(None, {"x0": X, "x1": condition})
    assert str(caught.value) == f"it: keeps {kept} elements, the model says 3"
