"""Comparison of two forms of a model: engines, inputs, tolerances, layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.onnx.save_model import ExternalData
from xonnc.runtime.verification.comparison import Tolerance, compare_values
from xonnc.runtime.verification.trial_inputs import PROFILES
from xonnc.verification_models import open_model
from xonnc.verifier import InputChoice, first_wrong, verify_layers, verify_matrix

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
NETWORK = "w = Constant <value_floats = [1.0, -2.0, 0.5]> () a = Mul (x, w) b = Relu (a) y = Exp (b)"


def saved(path: Path, body: str, signature: str = "(float[2, 3] x) => (float[2, 3] y)") -> Path:
    model = parser.parse_model(f"{HEAD} main {signature} {{ {body} }}")
    path.write_bytes(model.SerializeToString())
    return path


def test_a_model_alone_is_compared_with_native_code(tmp_path: Path):
    found = xonnc.verify(saved(tmp_path / "a.onnx", NETWORK))
    assert found.passed
    assert found.second == "a.onnx native -O2"
    assert [one.inputs for one in found.outputs] == ["normal 0", "negative 0", "zeros 0", "wide 0"]


def test_another_function_is_found(tmp_path: Path):
    first = saved(tmp_path / "a.onnx", "y = Abs (x)")
    second = saved(tmp_path / "b.onnx", "y = Relu (x)")
    found = xonnc.verify(first, second, profiles=["zeros", "negative"])
    assert [one.passed for one in found.outputs] == [True, False]
    assert list(found.failing) == ["negative 0"]
    assert found.worst()["y"].inputs == "negative 0"


verify_any: Callable[..., Any] = xonnc.verify
"""With options that the types of `verify` rule out."""


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_runs(tmp_path: Path, profile: str):
    path = saved(tmp_path / "a.onnx", "a = Neg (x) y = Add (a, x)", "(float[n, m] x) => (float[n, m] y)")
    assert verify_any(path, profiles=[profile], count=2).passed


def test_only_nan_tells(tmp_path: Path):
    first = saved(tmp_path / "a.onnx", "y = Max (x, x)")
    second = saved(
        tmp_path / "b.onnx", "n = IsNaN (x) z = Constant <value_float = 0.0> () y = Where (n, z, x)"
    )
    assert xonnc.verify(first, second).passed
    found = xonnc.verify(first, second, profiles=["nan-inf"])
    assert "infinite or NaN in one only" in found.outputs[0].comparison.mismatch


@pytest.mark.parametrize("suffix", ["so", "c", "mlir"])
def test_compiled_forms(tmp_path: Path, suffix: str):
    model = saved(tmp_path / "a.onnx", NETWORK)
    other = tmp_path / f"a.{suffix}"
    if suffix == "mlir":
        module = xonnc.simplify(model).module
        other.write_text(str(module))
    else:
        xonnc.compile_artifact(model, other)
    assert xonnc.verify(model, other).passed


def test_a_loadable_is_judged_by_cosine(tmp_path: Path):
    body = "w = Constant <value_float = 2.0> () a = Mul (x, w) y = Relu (a)"
    model = saved(tmp_path / "a.onnx", body, "(float[1, 8, 4, 4] x) => (float[1, 8, 4, 4] y)")
    loadable = tmp_path / "a.nvdla"
    xonnc.compile_model(model, "nv_full").write(loadable)
    found = xonnc.verify(model, loadable, profiles=["normal"], target="nv_full")
    assert found.passed
    assert found.outputs[0].min_cosine == 0.999


def test_data_sets_in_files(tmp_path: Path):
    model = saved(tmp_path / "a.onnx", "y = Neg (x)")
    for index in (2, 10):
        folder = tmp_path / "sets" / f"test_data_set_{index}"
        folder.mkdir(parents=True)
        x = np.full((2, 3), index, np.float32)
        (folder / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
    found = xonnc.verify(model, inputs=tmp_path / "sets")
    assert found.passed
    assert [one.inputs for one in found.outputs] == ["sets 0", "sets 1"]


def test_a_tolerance_is_kept(tmp_path: Path):
    first = saved(tmp_path / "a.onnx", "y = Identity (x)")
    second = saved(tmp_path / "b.onnx", "c = Constant <value_float = 1.001> () y = Mul (x, c)")
    assert not xonnc.verify(first, second).passed
    assert xonnc.verify(first, second, tolerance=Tolerance(relative=0.01)).passed
    assert xonnc.verify(first, second, min_cosine=0.999).passed


@pytest.mark.parametrize(
    ("body", "is_narrow"),
    [
        ("h = Cast <to = 10> (x) y = Cast <to = 1> (h)", True),
        ("h = Cast <to = 16> (x) y = Cast <to = 1> (h)", True),
        ("h = Cast <to = 11> (x) y = Cast <to = 1> (h)", False),
        ("c = Constant <value = float16 {1}> () d = Shape (c) y = Identity (x)", True),
    ],
)
def test_rounding_to_types_inside_of_a_model_counts_for_wider_outputs(
    tmp_path: Path, body: str, is_narrow: bool
):
    first = saved(tmp_path / "a.onnx", body)
    second = saved(tmp_path / "b.onnx", "c = Constant <value_float = 1.001> () y = Mul (x, c)")
    assert xonnc.verify(first, second).passed == is_narrow
    wrong = saved(tmp_path / "c.onnx", "c = Constant <value_float = 1.1> () y = Mul (x, c)")
    assert not xonnc.verify(first, wrong).passed


def test_the_first_wrong_layer_is_named(tmp_path: Path):
    first = saved(tmp_path / "a.onnx", "a = Neg (x) b = Abs (a) y = Exp (b)")
    second = saved(tmp_path / "b.onnx", "a = Neg (x) b = Relu (a) y = Exp (b)")
    found = verify_layers(first, second, InputChoice())
    assert {one.output for one in found.outputs} == {"a", "b", "y"}
    wrong = first_wrong(found)
    assert wrong is not None
    assert wrong.output == "b"
    with pytest.raises(XonncError, match="no intermediate values"):
        verify_layers(first, tmp_path / "a.so", InputChoice())


def test_layers_of_a_model_whose_declared_types_are_of_before_its_conversion(tmp_path: Path):
    """As onnxruntime's float16 converter leaves them."""
    path = saved(tmp_path / "a.onnx", "h = Cast <to = 10> (x) a = Neg (h) b = Abs (a) y = Cast <to = 1> (b)")
    model = onnx.ModelProto.FromString(path.read_bytes())
    model.graph.value_info.extend(
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (2, 3)) for name in ("a", "b")
    )
    path.write_bytes(model.SerializeToString())
    found = verify_layers(path, None, InputChoice())
    assert found.passed
    assert {one.output for one in found.outputs} == {"h", "a", "b", "y"}


def test_all_levels_agree(tmp_path: Path):
    found = verify_matrix(saved(tmp_path / "a.onnx", NETWORK), InputChoice(("normal",)))
    assert {"O0", "O1", "O2", "O3", "simplified", "reference"} <= found.keys()
    assert all(not isinstance(one, str) and one.passed for one in found.values())


def test_strings_and_integers_are_exact():
    words = np.array(["a", "b"], object)
    assert compare_values(words, words.copy()).passed
    assert "1 of 2 elements differ" in compare_values(words, np.array(["a", "c"], object)).mismatch
    assert not compare_values(np.array([1 << 60]), np.array([(1 << 60) + 1])).passed
    assert not compare_values([words], [words, words]).passed


def test_metrics():
    a = np.array([3.0, 4.0], np.float32)
    made = compare_values(a, np.array([3.0, 4.5], np.float32))
    assert made.largest_error == 0.5
    assert made.relative_error == 0.125
    assert made.snr == pytest.approx(20.0)
    assert made.cosine == pytest.approx((9 + 18) / (5 * np.hypot(3, 4.5)))
    huge = np.array([1e300, 1e300])
    assert compare_values(huge, huge).cosine == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"profiles": ["normall"]}, "no profile 'normall'; did you mean"),
        ({"count": 0}, "count 0: at least one input"),
        ({"engine": "tensorrt"}, "no engine 'tensorrt'"),
        ({"inputs": "missing"}, "missing: no folder of inputs"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, object], said: str):
    model = saved(tmp_path / "a.onnx", "y = Neg (x)")
    with pytest.raises(XonncError, match=said):
        verify_any(model, **options)


def test_wrong_files_are_refused(tmp_path: Path):
    model = saved(tmp_path / "a.onnx", "y = Neg (x)")
    other = saved(tmp_path / "b.onnx", "z = Neg (x)", "(float[2, 3] x) => (float[2, 3] z)")
    with pytest.raises(XonncError, match=r"outputs z, but a.onnx onnxruntime has y"):
        xonnc.verify(model, other)
    (tmp_path / "a.o").write_bytes(b"")
    with pytest.raises(XonncError, match=r"'.o' cannot be run; what can"):
        xonnc.verify(model, tmp_path / "a.o")
    with pytest.raises(XonncError, match=r"a.so: no such file"):
        xonnc.verify(model, tmp_path / "a.so")
    (tmp_path / "a.mlir").write_text("llvm.func @f() {}")
    with pytest.raises(XonncError, match="the llvm dialect cannot be run"):
        xonnc.verify(model, tmp_path / "a.mlir")
    (tmp_path / "b.mlir").write_text("func.func @f(")
    with pytest.raises(XonncError, match="no valid IR"):
        xonnc.verify(model, tmp_path / "b.mlir")
    with pytest.raises(XonncError, match="runs ONNX models only"):
        open_model(tmp_path / "b.mlir", "reference")
    folder = tmp_path / "empty"
    folder.mkdir()
    with pytest.raises(XonncError, match=r"nothing for input 'x'; name it x.npy or input_0.pb"):
        xonnc.verify(model, inputs=folder)
    (folder / "x.pb").write_bytes(b"\xff\xff")
    with pytest.raises(XonncError, match=r"x.pb: no tensor in it"):
        xonnc.verify(model, inputs=folder)


def test_two_compiled_forms_need_inputs(tmp_path: Path):
    model = saved(tmp_path / "a.onnx", "y = Neg (x)")
    for name in ("a.so", "b.so"):
        xonnc.compile_artifact(model, tmp_path / name)
    with pytest.raises(XonncError, match="neither is an ONNX model"):
        xonnc.verify(tmp_path / "a.so", tmp_path / "b.so")


def test_inputs_that_are_no_tensors_are_refused(tmp_path: Path):
    signature = "(seq(float[2]) x) => (float[2] y)"
    path = saved(tmp_path / "a.onnx", "i = Constant <value_int = 0> () y = SequenceAt (x, i)", signature)
    with pytest.raises(XonncError, match="x: a sequence_type; inputs are generated for tensors only"):
        xonnc.verify(path, engine="reference")


def test_skipped_inputs_are_no_agreement(tmp_path: Path):
    body = "s = Constant <value_ints = [7]> () y = Reshape (x, s)"
    path = tmp_path / "a.onnx"
    model = parser.parse_model(f"{HEAD} main (float[2, 3] x) => (float[n] y) {{ {body} }}")
    path.write_bytes(model.SerializeToString())
    found = xonnc.verify(path, profiles=["normal"], other_engine="onnxruntime")
    assert not found.passed
    assert list(found.skipped) == ["normal 0"]


def test_large_and_external_weights_are_read(tmp_path: Path):
    model = parser.parse_model(f"{HEAD} main (float[4096] x) => (float[4096] y) {{ y = Add (x, w) }}")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(4096, dtype=np.float32), "w"))
    plain, external = tmp_path / "a.onnx", tmp_path / "b.onnx"
    plain.write_bytes(model.SerializeToString())
    xonnc.simplify(plain).write(external, ExternalData("b.data"))
    assert xonnc.verify(plain, external).passed
    (tmp_path / "b.data").unlink()
    with pytest.raises(XonncError, match=r"b\.data"):
        xonnc.verify(plain, external)


NARROW_TYPES = {
    "bfloat16": 16,
    "float8e4m3fn": 17,
    "float8e4m3fnuz": 18,
    "float8e5m2": 19,
    "uint4": 21,
    "int4": 22,
    "float4e2m1": 23,
}


@pytest.mark.parametrize("name", NARROW_TYPES)
def test_types_that_onnxruntime_does_not_exchange(name: str, tmp_path: Path):
    path = tmp_path / "a.onnx"
    cast = f"y = Cast<to = {NARROW_TYPES[name]}>(x)"
    text = f'<ir_version: 11, opset_import: ["": 23]> g (float[2, 3] x) => ({name}[2, 3] y) {{ {cast} }}'
    path.write_bytes(parser.parse_model(text).SerializeToString())
    found = xonnc.verify(path)
    assert found.passed
    assert not found.skipped


def test_float8_of_onnxruntime_has_its_type(tmp_path: Path):
    path = tmp_path / "a.onnx"
    text = "g (float[3] x) => (float8e4m3fn[3] y) { y = Cast<to = 17>(x) }"
    path.write_bytes(
        parser.parse_model(f'<ir_version: 11, opset_import: ["": 23]> {text}').SerializeToString()
    )
    x = np.array([1.0, -2.0, np.nan], np.float32)
    (y,) = open_model(path, "onnxruntime").run({"x": x})
    np.testing.assert_array_equal(np.asarray(y).astype(np.float32), x)
