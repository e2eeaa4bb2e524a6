"""Simplified models, compared with onnxruntime, and what recompositions alone do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func

from xonnc import simplify
from xonnc.dialects.onnx import get_onnx
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.rewriting.driver import apply_rules
from xonnc.transforms.onnx_package_hooks import use_inference
from xonnc.transforms.recompose_onnx import standard_rules
from xonnc.transforms.shape_inference_onnx import infer_shapes

use_inference(infer_results)

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


@pytest.fixture
def recompositions() -> Callable[[onnx.ModelProto], Mapping[str, int]]:
    """How often each recomposition applies to a model that no other rule has changed."""

    def counted(model: onnx.ModelProto) -> Mapping[str, int]:
        context = Context()
        for dialect in (Builtin, Func, get_onnx()):
            context.load_dialect(dialect)
        module = import_proto(model, context)
        infer_shapes(module)
        return apply_rules(module, context, standard_rules(23), pass_name="recompose-onnx").fired

    return counted
