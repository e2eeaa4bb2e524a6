"""Keys of recomposed attentions: at most one Transpose, none if the product reads the keys transposed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import permutations

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

READ = (2, 3, 8, 5)
"""Batch, heads, elements and keys, as the product reads them."""


@pytest.mark.parametrize("perm", list(permutations(range(4))))
def test_keys_are_turned_at_most_once(
    perm: tuple[int, ...],
    simplified_operators: Callable[[onnx.ModelProto, Mapping[str, npt.NDArray[np.float32]]], list[str]],
):
    shape = tuple(READ[perm.index(axis)] for axis in range(4))
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 23]>
    g (float[2, 3, 4, 8] q, float[{", ".join(map(str, shape))}] k, float[2, 3, 5, 6] v)
        => (float[2, 3, 4, 6] y) {{
        t = Transpose <perm = {list(perm)}> (k)
        p = MatMul (q, t)
        w = Softmax <axis = -1> (p)
        y = MatMul (w, v)
    }}""")
    generator = np.random.default_rng(1)
    feeds = {
        name: generator.normal(size=size).astype(np.float32)
        for name, size in (("q", (2, 3, 4, 8)), ("k", shape), ("v", (2, 3, 5, 6)))
    }
    found = Counter(simplified_operators(model, feeds))
    assert found == {"Attention": 1} | ({} if perm == (0, 1, 3, 2) else {"Transpose": 1})
