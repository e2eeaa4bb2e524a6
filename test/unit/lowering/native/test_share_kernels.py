"""Kernels of layers that differ by numbers, in one program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from xonnc.artifacts import compile_artifact
from xonnc.native import compile_native

LAYERS = """<float[40] w = {%s}>
{ a = LayerNormalization<epsilon=0.25>(x, w) b = Softmax<axis=0>(a)
  y = LayerNormalization<epsilon=4.0>(b, w) }
"""


@pytest.mark.parametrize("size", ["8", "n"])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_those_of_kernels_of_their_own(size: str, threads: int, tmp_path: Path):
    types = f"(float[{size}, 40] x) => (float[{size}, 40] y)"
    layers = LAYERS % ", ".join(map(str, range(40)))
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> g {types} {layers}')
    own = ["share-kernels"]
    shared = compile_native(model, threads=threads, cache=False)
    single = compile_native(model, threads=threads, cache=False, disable_pass=own)
    x = np.linspace(-3, 3, 320).astype(np.float32).reshape(8, 40)
    np.testing.assert_array_equal(shared.run(None, {"x": x})[0], single.run(None, {"x": x})[0])
    counts: list[int] = []
    for disabled in ((), own):
        compile_artifact(model, tmp_path / "m.ll", disable_pass=disabled)
        counts.append((tmp_path / "m.ll").read_text().count('define internal void @"layernorm'))
    assert counts[0] == counts[1] - 1
