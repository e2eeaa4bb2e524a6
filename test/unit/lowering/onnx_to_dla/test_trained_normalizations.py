"""Networks with normalizations, trained on handwritten digits and exported by torch, on NVDLA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.packages import CompiledPackage, compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel

DATA = Path(__file__).parents[3] / "data" / "exports"
DIGITS = Path(__file__).parents[4] / "tools" / "demo_data" / "digits.npz"


def pictures(kind: str, count: int, name: str) -> list[dict[str, npt.NDArray[Any]]]:
    """Handwritten digits of 16x16 pixels."""
    with np.load(DIGITS) as held:
        images = held[kind][:count].astype(np.float32) / 16
    return [{name: each[np.newaxis].repeat(2, 2).repeat(2, 3)} for each in images]


def compiled(path: Path, target: str, count: int) -> CompiledPackage:
    """The package of a network: quantized with ranges of as many pictures, or in FP16 for nv_full."""
    (port,) = ReferenceModel(path).inputs()
    samples = pictures("calibration", count, port.name)

    def calibrate(module: ModuleOp) -> Ranges:
        return calibrate_module(module, samples, target=target)

    return compile_package(path, target, calibrate=None if target == "nv_full" else calibrate)


def lowest_cosine(path: Path, package: CompiledPackage, folder: Path) -> float:
    """The lowest cosine of the scores of 16 digits to onnxruntime's; their classes are the same."""
    package.write(folder / "model.xpkg")
    loaded, reference = load_package(folder / "model.xpkg"), ReferenceModel(path)
    (port,) = reference.inputs()
    cosines: list[float] = []
    for feeds in pictures("images", 16, port.name):
        (expected,), (found,) = reference.run(feeds), loaded.run(feeds).values()
        a, b = np.asarray(expected).reshape(-1), found.reshape(-1)
        assert a.argmax() == b.argmax()
        cosines.append(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
    return min(cosines)


@pytest.mark.parametrize(
    ("name", "lowest"),
    [
        ("torch_convnext_digits", 0.99999),
        # An InstanceNormalization, and three of groups between reshapes, as torch writes them.
        ("torch_group_norm_digits", 0.9999),
        ("torch_convnextv2_digits", 0.9999),
    ],
)
def test_a_network_is_one_loadable_in_fp16(name: str, lowest: float, tmp_path: Path):
    path = DATA / f"{name}.onnx"
    package = compiled(path, "nv_full", 0)
    assert [step.kind for step in package.manifest.steps] == ["dla"]
    assert lowest_cosine(path, package, tmp_path) > lowest


@pytest.mark.parametrize("target", ["nv_small", "nv_large"])
@pytest.mark.parametrize(
    ("name", "lowest"), [("torch_group_norm_digits", 0.97), ("torch_convnextv2_digits", 0.98)]
)
def test_a_network_is_one_loadable_in_int8(name: str, lowest: float, target: str, tmp_path: Path):
    path = DATA / f"{name}.onnx"
    package = compiled(path, target, 32)
    assert [step.kind for step in package.manifest.steps] == ["dla"]
    assert lowest_cosine(path, package, tmp_path) > lowest


@pytest.mark.parametrize("target", ["nv_small", "nv_large"])
def test_the_normalization_of_a_vector_stays_on_the_cpu_in_int8(target: str, tmp_path: Path):
    # ConvNeXt blocks; of the nine transposes, six products and five normalizations, that of a vector is left.
    path = DATA / "torch_convnext_digits.onnx"
    package = compiled(path, target, 16)
    assert [step.kind for step in package.manifest.steps] == ["dla", "cpu", "dla"]
    assert [node.operator for node in package.cpu_nodes] == ["LayerNormalization"]
    assert lowest_cosine(path, package, tmp_path) > 0.99
