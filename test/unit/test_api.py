"""One `compile` for every target and every kind of source."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc.errors import UnknownNameError, XonncError
from xonnc.formats.nvdla.reader import read_loadable

Array = npt.NDArray[Any]

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { y = Relu (x) }"""
)
X = np.random.default_rng(3).normal(size=(1, 4, 8, 8)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(MODEL.SerializeToString())
    return path


@pytest.mark.parametrize("target", ["cpu", "nv_full"])
@pytest.mark.parametrize("kind", ["path", "text", "bytes", "file", "memory", "proto"])
def test_sources_and_targets(target: str, kind: str, path: Path):
    content = path.read_bytes()
    sources: dict[str, Any] = {
        "path": path,
        "text": str(path),
        "bytes": content,
        "memory": io.BytesIO(content),
        "proto": MODEL,
    }
    if kind == "file":
        with path.open("rb") as file:
            model = xonnc.compile(file, target)
    else:
        model = xonnc.compile(sources[kind], target)
    (y,) = model.run(None, {"x": X})
    np.testing.assert_allclose(np.asarray(y, np.float32), np.maximum(X, 0), rtol=1e-3)
    assert [spec.name for spec in model.inputs] == ["x"]
    assert [spec.shape for spec in model.outputs] == [(1, 4, 8, 8)]
    assert model.get_inputs()[0].type == "tensor(float)"


def test_models_for_the_dla_are_saved_and_run(tmp_path: Path):
    model = xonnc.compile(MODEL, "nv_full")
    assert model.save(tmp_path / "m.xpkg") == [tmp_path / "m.xpkg"]
    loaded = xonnc.load_package(tmp_path / "m.xpkg")
    outputs = loaded.run({"x": X})
    y = np.empty_like(X)
    (same,) = model.run(["y"], {"x": X}, out={"y": y})
    assert same is y
    np.testing.assert_array_equal(y, outputs["y"])
    model.save(tmp_path / "m.nvdla")
    assert read_loadable(tmp_path / "m.nvdla")


def test_all_that_runs_takes_inputs_alone_or_after_names_of_outputs(tmp_path: Path):
    session, model = xonnc.compile(MODEL), xonnc.compile(MODEL, "nv_full")
    model.save(tmp_path / "m.xpkg")
    session.save(tmp_path / "m.so")
    runs: list[Any] = [
        session,
        model,
        xonnc.load_package(tmp_path / "m.xpkg"),
        xonnc.Library(tmp_path / "m.so"),
    ]
    for each in runs:
        outputs = each.run({"x": X})
        assert list(outputs) == ["y"]
        np.testing.assert_allclose(np.asarray(outputs["y"], np.float32), np.maximum(X, 0), rtol=1e-3)
        for listed in (each.run(None, {"x": X}), each.run(output_names=["y"], input_feed={"x": X})):
            np.testing.assert_array_equal(listed[0], outputs["y"])
        with pytest.raises(XonncError, match="no output 'w'"):
            each.run(["w"], {"x": X})
        with pytest.raises(XonncError, match="inputs are a dictionary of arrays by name, found NoneType"):
            each.run(None)
        with pytest.raises(XonncError, match="names of outputs and inputs; found inputs and dict"):
            each.run({"x": X}, {"x": X})
    assert session.run({"x": X}, debug=True).keys() == session.run(None, {"x": X}, debug=True).keys()
    with pytest.raises(XonncError, match="TOSA is run by the compiler that reads it"):
        xonnc.compile(MODEL, "tosa").run({"x": X})


def test_models_of_which_the_cpu_runs_a_part(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 4, 8, 8] x) => (float[1, 4] z) { y = Relu (x)  z = Det (y) }"""
    model = xonnc.compile(onnx.parser.parse_model(text), "nv_full")
    (z,) = model.run(None, {"x": X})
    np.testing.assert_allclose(
        np.asarray(z, np.float32), np.linalg.det(np.maximum(X, 0)), rtol=1e-1, atol=1e-1
    )
    with pytest.raises(XonncError, match=r"the CPU runs a part, .*Det.*; save a package \(.xpkg\)"):
        model.save(tmp_path / "m.nvdla")
    with pytest.raises(XonncError, match=r"m\.bin: a model for the DLA is saved as \.xpkg or \.nvdla$"):
        model.save(tmp_path / "m.bin")
    assert not list(tmp_path.iterdir())


def test_samples_calibrate(tmp_path: Path):
    samples = [{"x": X * scale} for scale in (0.5, 1.0)]
    np.savez(tmp_path / "samples.npz", x=np.concatenate([sample["x"] for sample in samples]))
    found = [
        np.asarray(xonnc.compile(MODEL, "nv_small", calibrate=given).run(None, {"x": X})[0])
        for given in (samples, tmp_path / "samples.npz")
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], np.maximum(X, 0), atol=0.05)


def test_unknown_targets():
    with pytest.raises(UnknownNameError, match="no target 'nv_smal'; did you mean 'nv_small'"):
        xonnc.compile(MODEL, "nv_smal")


@pytest.mark.parametrize(
    ("target", "option", "problem"),
    [
        ("cpu", "threds", "no option 'threds' for target cpu; did you mean 'threads'"),
        (
            "nv_small",
            "threads",
            "no option 'threads' for target nv_small; there are calibrate, method, keep_float, accuracy",
        ),
    ],
)
def test_unknown_options(target: str, option: str, problem: str):
    with pytest.raises(XonncError, match=problem):
        xonnc.compile(MODEL, target, **{option: 2})


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (b"no model", "the model: 8 bytes that are no ONNX model"),
        (7, "the model: not a int; give a path, bytes, a binary file or a ModelProto"),
        (io.StringIO("text"), "the model: not a StringIO"),
        ("nowhere.onnx", "nowhere.onnx: cannot be read: No such file"),
    ],
)
def test_what_is_no_model(model: Any, problem: str):
    with pytest.raises(XonncError, match=problem):
        xonnc.compile(model)


def test_outputs_that_are_not_there():
    with pytest.raises(XonncError, match="no output 'z'; there are y"):
        xonnc.compile(MODEL, "nv_full").run(["z"], {"x": X})


def test_the_version_is_known():
    assert xonnc.__version__


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("m.so", "; xonnc.Library opens a library"),
        ("m.xpkg", "; xonnc.load_package opens a package"),
        ("m.nvdla", "; xonnc.Simulator runs a loadable"),
        ("m.onnx", "; xonnc.compile compiles a model"),
        ("m.txt", ""),
    ],
)
def test_files_that_are_no_saved_session(name: str, hint: str, tmp_path: Path):
    file = tmp_path / name
    file.touch()
    with pytest.raises(XonncError) as error:
        xonnc.load(file)
    assert str(error.value) == f"{file}: a file; load takes the folder that Session.save wrote{hint}"


def test_results_are_shown_without_their_data(path: Path, tmp_path: Path):
    results = [
        xonnc.simplify(path),
        xonnc.compile_model(path, target="nv_full"),
        xonnc.compile_package(path, target="nv_full"),
        xonnc.compile_artifact(path, tmp_path / "m.so"),
        xonnc.compile_tosa(path),
        xonnc.compile(path),
        xonnc.compile(path, "nv_full"),
    ]
    assert max(len(repr(each)) for each in results) < 400 + 2 * len(str(tmp_path))


def test_tosa_is_a_target_like_others(tmp_path: Path):
    dynamic = onnx.ModelProto()
    dynamic.CopyFrom(MODEL)
    dynamic.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    with pytest.raises(XonncError, match="TOSA has static shapes"):
        xonnc.compile(dynamic, "tosa")
    shape = tuple(each.dim_value for each in MODEL.graph.input[0].type.tensor_type.shape.dim)
    name = MODEL.graph.input[0].name
    compiled = xonnc.compile(dynamic, "tosa", input_shapes={name: shape})
    assert [(spec.name, spec.shape) for spec in compiled.inputs] == [(name, shape)]
    assert [each.name for each in compiled.get_outputs()] == [each.name for each in MODEL.graph.output]
    assert compiled.report() is compiled
    assert compiled.save(tmp_path / "m.mlir") == [tmp_path / "m.mlir"]
    assert '"tosa.' in (tmp_path / "m.mlir").read_text()
    with pytest.raises(XonncError, match=r"m.so: TOSA is written to .mlir"):
        compiled.save(tmp_path / "m.so")
    with pytest.raises(XonncError, match="TOSA is run by the compiler that reads it"):
        compiled.run(None, {name: X})
    with pytest.raises(
        XonncError, match="no option 'threads' for target tosa; there are strict, input_shapes"
    ):
        xonnc.compile(MODEL, "tosa", threads=2)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_models_in_buffers(kind: type):
    session = xonnc.compile(kind(MODEL.SerializeToString()))
    assert [spec.name for spec in session.inputs] == [MODEL.graph.input[0].name]


def test_sessions_are_saved_as_files_too(tmp_path: Path):
    session = xonnc.compile(MODEL)
    for suffix in (".so", ".o", ".ll", ".c"):
        assert tmp_path / f"m{suffix}" in session.save(tmp_path / f"m{suffix}")
    (expected,) = session.run(None, {"x": X})
    (found,) = xonnc.Library(tmp_path / "m.so").run(None, {"x": X})
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    session.save(tmp_path / "folder")
    with pytest.raises(XonncError, match=r"n.so: a session without its model is saved to a folder"):
        xonnc.load(tmp_path / "folder").save(tmp_path / "n.so")


def test_metadata_as_onnxruntime_has_it(tmp_path: Path):
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    model.producer_name, model.model_version = "trainer", 3
    model.metadata_props.add(key="names", value="cat, dog")
    session = xonnc.compile(model)
    found = session.get_modelmeta()
    assert (found.producer_name, found.version, found.graph_name) == ("trainer", 3, MODEL.graph.name)
    assert found.custom_metadata_map == {"names": "cat, dog"}
    session.save(tmp_path)
    assert xonnc.load(tmp_path).get_modelmeta().custom_metadata_map == {}
