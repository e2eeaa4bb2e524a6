"""Simplified models, compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import pytest

from xonnc import simplify

Array = npt.NDArray[np.float32]
SimplifiedOperators = Callable[[onnx.ModelProto, Mapping[str, Array]], list[str]]


class Session(Protocol):
    def run(self, output_names: None, input_feed: Mapping[str, Array]) -> Sequence[Array]: ...


def run(content: bytes, feeds: Mapping[str, Array]) -> Sequence[Array]:
    session: Session = import_module("onnxruntime").InferenceSession(content)
    return session.run(None, feeds)


@pytest.fixture
def simplified_operators(tmp_path: Path) -> SimplifiedOperators:
    """The operators of a simplified model, which gives the same results as before."""

    def simplified(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[str]:
        path = tmp_path / "simple.onnx"
        simplify(model).write(path)
        content = path.read_bytes()
        for before, after in zip(run(model.SerializeToString(), feeds), run(content, feeds), strict=True):
            np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)
        return [node.op_type for node in onnx.ModelProto.FromString(content).graph.node]

    return simplified
