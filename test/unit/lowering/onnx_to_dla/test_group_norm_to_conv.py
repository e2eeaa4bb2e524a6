"""Normalization of groups and instances as poolings and convolutions: the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser
from rewritten_numbers import assert_same_numbers

from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.lowering.onnx_to_dla.group_norm_to_conv_onnx import NORMALIZATIONS, group_norm_to_conv

GROUPS = "GroupNormalization<epsilon = 0.001, num_groups = 2>"


def normalized(folder: Path, shape: tuple[int, ...], node: str, opset: int, numbers: int) -> Path:
    """A model with one operator, which has a scale and a shift of as many numbers."""
    sizes = ", ".join(map(str, shape))
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {opset}]>
        g (float[{sizes}] x) => (float[{sizes}] y) {{ y = {node} (x, scale, shift) }}"""
    )
    generator = np.random.default_rng(numbers)
    for name in ("scale", "shift"):
        array = generator.standard_normal(numbers).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("in_fp16", [False, True])
@pytest.mark.parametrize(
    ("shape", "node", "opset", "numbers"),
    [
        ((1, 7, 3, 5), "InstanceNormalization<epsilon = 0.001>", 17, 7),
        ((1, 1, 40, 36), "InstanceNormalization<epsilon = 0.001>", 17, 1),
        ((1, 6, 33), "InstanceNormalization<epsilon = 0.001>", 17, 6),
        ((1, 6, 3, 5), GROUPS, 21, 6),
        ((1, 6, 33), GROUPS, 21, 6),
        ((1, 6, 3, 5), GROUPS, 18, 2),
    ],
)
def test_the_numbers_are_those_of_the_operator(
    shape: tuple[int, ...], node: str, opset: int, numbers: int, in_fp16: bool, tmp_path: Path
):
    path = normalized(tmp_path, shape, node, opset, numbers)
    front = run_frontend(path)
    module = front.module
    # In FP16 single channels have a lowering of their own.
    is_rewritten = not in_fp16 or node == GROUPS
    assert group_norm_to_conv(module, DisposablePool.of(front.context), in_fp16) == is_rewritten
    assert any(isinstance(op, NORMALIZATIONS) for op in module.walk()) != is_rewritten
    assert_same_numbers(path, module, shape, 1e-3, 2e-3)
