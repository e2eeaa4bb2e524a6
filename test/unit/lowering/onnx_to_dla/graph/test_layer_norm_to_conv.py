"""Layer normalization of channels as convolutions: the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser
from rewritten_numbers import assert_same_numbers

from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.nn import LayerNormalizationOp
from xonnc.lowering.onnx_to_dla.graph.layer_norm_to_conv_onnx import LayerNormToConv
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel


def normalized(folder: Path, shape: tuple[int, ...], is_shifted: bool, epsilon: float = 0.001) -> Path:
    """A model that normalizes the channels of images with these sizes, channels first."""
    depth, rank = shape[1], len(shape)
    last = [0, *range(2, rank), 1]
    sizes, shift = ", ".join(map(str, shape)), ", shift" if is_shifted else ""
    before = f"t = Transpose<perm = {last}>(x)" if rank > 2 else "t = Identity(x)"
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[{sizes}] x) => (float[{", ".join(map(str, (shape[0], *shape[2:], depth)))}] y) {{
            {before}
            y = LayerNormalization<epsilon = {epsilon:f}>(t, scale{shift})
        }}"""
    )
    generator = np.random.default_rng(depth)
    for name in ("scale", *(["shift"] if is_shifted else [])):
        array = generator.standard_normal(depth).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("is_shifted", [False, True])
@pytest.mark.parametrize("shape", [(1, 7, 3, 5), (1, 1, 2, 2), (1, 40, 20), (1, 96, 1, 1), (1, 33)])
def test_the_numbers_are_those_of_the_operator(shape: tuple[int, ...], is_shifted: bool, tmp_path: Path):
    path = normalized(tmp_path, shape, is_shifted)
    front = run_frontend(path)
    module = front.module
    assert LayerNormToConv(fp16=True).rewrite(module, DisposablePool.of(front.context))
    assert not any(isinstance(op, LayerNormalizationOp) for op in module.walk())
    assert_same_numbers(path, module, shape, 1e-3, 2e-3)


@pytest.mark.parametrize(
    ("spread", "outlier", "error"),
    [(0.001, 1, 0.06), (0.01, 1, 0.003), (1, 1, 0.002), (100, 1, 0.002), (1, 300, 0.002)],
)
def test_fp16_holds_squares_of_small_and_of_large_numbers(
    spread: float, outlier: float, error: float, tmp_path: Path
):
    path = normalized(tmp_path, (1, 64, 6, 6), is_shifted=False, epsilon=1e-6)
    images = spread * np.random.default_rng(2).standard_normal((1, 64, 6, 6))
    images[:, 3] *= outlier
    feeds = {"x": images.astype(np.float32)}
    package = compile_package(path, "nv_full")
    assert {node.operator for node in package.cpu_nodes} == {"Transpose"}
    package.write(tmp_path / "model.xpkg")
    (found,) = load_package(tmp_path / "model.xpkg").run(feeds).values()
    (expected,) = ReferenceModel(path).run(feeds)
    assert np.linalg.norm(found - expected) < error * np.linalg.norm(expected)
