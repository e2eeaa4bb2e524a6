"""Normalization of groups and instances as poolings and convolutions: numbers, whole networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.group_norm_to_conv_onnx import NORMALIZATIONS, group_norm_to_conv
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel

Array = npt.NDArray[Any]

DATA = Path(__file__).parents[3] / "data" / "exports"
DIGITS = Path(__file__).parents[4] / "tools" / "demo_data" / "digits.npz"

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
    rewritten = tmp_path / "rewritten.onnx"
    rewritten.write_bytes(export_proto(module).SerializeToString())
    generator = np.random.default_rng(1)
    for center, spread in ((0.0, 1.0), (-3.0, 0.01), (100.0, 20.0), (0.0, 0.0)):
        feeds = {"x": (center + spread * generator.standard_normal(shape)).astype(np.float32)}
        (expected,), (found,) = (ReferenceModel(each).run(feeds) for each in (path, rewritten))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)
    feeds["x"].reshape(-1)[0] = np.inf
    (expected,), (found,) = (ReferenceModel(each).run(feeds) for each in (path, rewritten))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.parametrize(("target", "lowest"), [("nv_small", 0.97), ("nv_large", 0.97), ("nv_full", 0.9999)])
def test_a_trained_network_is_one_loadable(target: str, lowest: float, tmp_path: Path):
    # An InstanceNormalization, and three of groups between reshapes, as torch writes them.
    path = DATA / "torch_group_norm_digits.onnx"
    reference = ReferenceModel(path)
    (port,) = reference.inputs()
    with np.load(DIGITS) as held:
        images, samples = (
            [
                {port.name: (each[np.newaxis].repeat(2, 2).repeat(2, 3) / 16).astype(np.float32)}
                for each in kind
            ]
            for kind in (held["images"][:40], held["calibration"][:32])
        )

    def calibrate(module: ModuleOp) -> Ranges:
        return calibrate_module(module, samples, target=target)

    package = compile_package(path, target, calibrate=None if target == "nv_full" else calibrate)
    assert [step.kind for step in package.manifest.steps] == ["dla"]
    assert not package.cpu_nodes
    package.write(tmp_path / "model.xpkg")
    loaded = load_package(tmp_path / "model.xpkg")
    for feeds in images:
        (expected,), (found,) = reference.run(feeds), loaded.run(feeds).values()
        a, b = np.asarray(expected).reshape(-1), found.reshape(-1)
        assert a.argmax() == b.argmax()
        assert a @ b > lowest * np.linalg.norm(a) * np.linalg.norm(b)
