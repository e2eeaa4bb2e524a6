"""Packages that are loaded: what they are given, other targets, damaged or missing parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from package_models import CASES, Array, image, saved

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.package.archive import read_package
from xonnc.packages import compile_package
from xonnc.runtime.package import LoadedPackage, load_package


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a part on each side."""
    path = tmp_path / "model.xpkg"
    compile_package(saved(tmp_path, CASES["end"][0])).write(path)
    return path


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "input 'x' is not given; the model takes x"),
        ({"x": image(), "z": image()}, "no input 'z'; the model takes x"),
        ({"x": image(1, 3, 8, 9)}, "input 'x': shape [1, 3, 8, 9], the model takes [1, 3, 8, 8]"),
        ({"x": image().astype(np.float64)}, "input 'x': float64 elements, the model takes float32"),
    ],
)
def test_inputs_that_do_not_fit_are_an_error(package: Path, feeds: Mapping[str, Array], message: str):
    with pytest.raises(XonncError) as caught:
        xonnc.load_package(package).run(feeds)
    assert message in str(caught.value)


def test_parts_for_another_target_are_refused(package: Path):
    with pytest.raises(XonncError, match=r"not for nv_small \(.*\); it is sound for nv_full"):
        load_package(package, "nv_small")
    assert [port.name for port in load_package(package, "nv_full").bound] == ["x"]


def no_package(name: str) -> None:
    """There is no package of any name."""


def test_without_onnxruntime_the_reference_evaluator_runs_the_cpu_part(
    package: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = load_package(package).run({"x": image()})["y"]
    monkeypatch.setattr("xonnc.runtime.package.find_spec", no_package)
    engines: list[str] = []
    loaded = load_package(package)
    found = loaded.run({"x": image()}, observe=lambda number, total, what: engines.append(what))["y"]
    assert engines == ["simulator", "onnx.reference"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_part_with_weights_in_other_files_is_refused(package: Path):
    read = read_package(package)
    model = onnx.ModelProto.FromString(read.parts[1])
    tensor = model.graph.initializer.add(name="secret", data_type=TensorProto.UINT8, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    with pytest.raises(XonncError, match=r"parts/1\.onnx: tensor 'secret' has external data"):
        LoadedPackage(replace(read, parts=(read.parts[0], model.SerializeToString())))


def test_so_is_one_deep_inside(package: Path):
    read = read_package(package)
    model = onnx.ModelProto.FromString(read.parts[1])
    tensor = TensorProto(name="deep", data_type=TensorProto.UINT8, dims=[4])
    tensor.external_data.add(key="location", value="../x")
    body = helper.make_graph([helper.make_node("Constant", [], ["v"], value=tensor)], "body", [], [])
    model.graph.node.append(helper.make_node("If", ["c"], ["w"], then_branch=body, else_branch=body))
    with pytest.raises(XonncError, match="tensor 'deep' has external data"):
        LoadedPackage(replace(read, parts=(read.parts[0], model.SerializeToString())))


@pytest.mark.parametrize(
    ("number", "part", "message"),
    [
        (0, b"no loadable at all", "parts/0.nvdla: "),
        (1, b"\xff\xff", "parts/1.onnx: not an ONNX model, or damaged"),
        (1, b"", "parts/1.onnx: not an ONNX model: there is no graph in it"),
    ],
)
def test_a_damaged_part_is_an_error(package: Path, number: int, part: bytes, message: str):
    read = read_package(package)
    parts = [*read.parts]
    parts[number] = part
    with pytest.raises(XonncError) as caught:
        LoadedPackage(replace(read, parts=tuple(parts)))
    assert message in str(caught.value)


def relabelled(package: Path, **steps: Callable[[Any], Any]) -> LoadedPackage:
    read = read_package(package)
    changed = [steps.get(step.kind, lambda step: step)(step) for step in read.manifest.steps]
    values = dict(read.manifest.values) | {"q": read.manifest.values["y"]}
    object.__setattr__(read.manifest, "steps", tuple(changed))
    object.__setattr__(read.manifest, "values", values)
    return LoadedPackage(read)


def test_a_loadable_with_other_inputs_than_said_is_an_error(package: Path):
    with pytest.raises(XonncError, match="its inputs are x, the manifest says q"):
        relabelled(package, dla=lambda step: replace(step, inputs=("q",)))


def test_a_cpu_part_with_other_outputs_than_said_is_an_error(package: Path):
    loaded = relabelled(package, cpu=lambda step: replace(step, outputs=("y", "q")))
    with pytest.raises(XonncError, match="gives 1 values, the manifest says 2"):
        loaded.run({"x": image()})
