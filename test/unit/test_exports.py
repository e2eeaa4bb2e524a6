"""Models as exporters write them (`test/data/exports`), against onnxruntime."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import xonnc
from bench.conformance.measure import differences, onnxruntime
from bench.conformance.model_specs import Array
from xonnc.model_check import check_model
from xonnc.native_explanation import explain_native
from xonnc.simplifier import simplify

EXPORTS = Path(__file__).parents[1] / "data" / "exports"

NAMES = (
    *("tf_combined_nms", "tf_while", "keras_norms", "keras_causal", "keras_bidirectional"),
    *("paddle_image", "paddle_sequence", "jax_functions", "jax_einsum", "jax_scatter"),
    *("tf_crops", "torch_index"),
)

SIZES = (3, 1, 2)
"""Of symbolic dimensions."""

ELEMENTS = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}


def inputs_of(session: Any, size: int) -> dict[str, Array]:
    """Inputs of a session of onnxruntime; integers are indices into two elements."""
    generator = np.random.default_rng(size)
    feeds: dict[str, Array] = {}
    for port in session.get_inputs():
        dtype = ELEMENTS[port.type]
        shape = [each if isinstance(each, int) else size for each in port.shape]
        made = generator.standard_normal(shape) if dtype is np.float32 else generator.integers(0, 2, shape)
        feeds[port.name] = np.asarray(made, dtype)
    return feeds


@pytest.mark.parametrize("name", NAMES)
def test_an_export_is_valid_and_computes_what_onnxruntime_does(name: str, tmp_path: Path):
    path, simple = EXPORTS / f"{name}.onnx", tmp_path / "simple.onnx"
    assert check_model(path) == []
    simplify(path).write(simple)
    reference, simplified = onnxruntime(path), onnxruntime(simple)
    native = xonnc.compile(path, target="cpu", cache=False)
    for size in SIZES:
        feeds = inputs_of(reference, size)
        expected = reference.run(None, feeds)
        assert differences(simplified.run(None, feeds), expected) == ""
        assert differences(native.run(None, feeds), expected) == ""
    assert native.host_calls() == []
    # One program serves all sizes.
    assert native.compiled == 1
    assert not any(node.engine == "refused" for node in explain_native(path).nodes)
