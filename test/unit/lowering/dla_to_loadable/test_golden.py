"""Loadables printed back; `pytest test/unit/lowering --update` writes the texts anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from xonnc.formats.nvdla.text import dump_text
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable

GOLDEN = Path(__file__).parent / "golden"

NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    # A LeNet: convolution, ReLU and pooling in one chain, twice; fully connected; softmax as a task of its
    # own.
    "lenet": (
        """c1 = Conv(x, w1, b1)
           r1 = Relu(c1)
           p1 = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r1)
           c2 = Conv(p1, w2, b2)
           p2 = MaxPool<kernel_shape=[2,2], strides=[2,2]>(c2)
           f = Flatten(p2)
           g = Gemm<transB=1>(f, w3, b3)
           y = Softmax(g)""",
        {
            "x": (1, 1, 28, 28),
            "weights": {
                "w1": np.ones((20, 1, 5, 5), np.float32),
                "b1": np.ones(20, np.float32),
                "w2": np.ones((50, 20, 5, 5), np.float32),
                "b2": np.ones(50, np.float32),
                "w3": np.ones((10, 800), np.float32),
                "b3": np.ones(10, np.float32),
            },
        },
    ),
    # Two branches: one adds the input in its last pass, both write into the concatenation.
    "branches": (
        """a = Conv<pads=[1,1,1,1]>(x, w, b)
           s = Add(a, x)
           r = Relu(s)
           p = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)
           y = Concat<axis=1>(r, p)""",
        {
            "x": (1, 16, 6, 6),
            "weights": {"w": np.ones((16, 16, 3, 3), np.float32), "b": np.ones(16, np.float32)},
        },
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_text(
    name: str,
    build: Callable[..., onnx.ModelProto],
    compiled: Callable[[onnx.ModelProto], CompiledLoadable],
    request: pytest.FixtureRequest,
):
    nodes, options = NETWORKS[name]
    text = dump_text(compiled(build(nodes, **options)).loadable)
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update", default=False):
        path.write_text(text)
    assert text == path.read_text()
