"""Products of float32 with operands in bfloat16, against the same products of rounded operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from native_nodes import Reference, is_here

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session
from xonnc.targets.cores import Core, load_core
from xonnc.tools.driver import main

Array = npt.NDArray[Any]

RANDOM = np.random.default_rng(16)
PASS = "select-bf16-onnx"
needs_bf16 = pytest.mark.skipif(not is_here("avx512bf16"), reason="no products of bfloat16 here")


def model_of(
    node: onnx.NodeProto,
    given: Sequence[int | str],
    constants: Mapping[str, Array],
    result: Sequence[int | str | None],
    last: Sequence[onnx.NodeProto] = (),
) -> onnx.ModelProto:
    """A model of an op that reads `x`, and ops after it that write `y`."""
    kind, info = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node, *last],
        "g",
        [info("x", kind, given)],
        [info("y", kind, result)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def rounded(array: Array) -> Array:
    return array.astype(ml_dtypes.bfloat16).astype(np.float32)


def session_of(model: onnx.ModelProto, threads: int = 1) -> Session:
    # Not "cpu": the processor at hand may be one where float32 is faster.
    return compile_native(model, "avx512bf16", cache=False, threads=threads, enable_pass=[PASS])


def check(model: onnx.ModelProto, x: Array, weights: str = "w", threads: int = 1) -> Array:
    """Compare with the reference evaluator on rounded operands; return the result."""
    found = np.asarray(session_of(model, threads).run(None, {"x": x})[0])
    exact = onnx.ModelProto()
    exact.CopyFrom(model)
    for constant in exact.graph.initializer:
        if constant.name == weights:
            array = rounded(onnx.numpy_helper.to_array(constant))
            constant.CopyFrom(onnx.numpy_helper.from_array(array, weights))
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(exact)
    expected = np.asarray(reference.run(None, {"x": rounded(x)})[0])
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=1.0))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6 * scale)
    # Were operands not rounded, the result would be that of float32.
    plain = np.asarray(compile_native(model, cache=False).run(None, {"x": x})[0])
    assert not np.allclose(found, plain, rtol=1e-5, atol=2e-6 * scale, equal_nan=True)
    return found


def matmul(*shape: int | str, k: int, n: int) -> onnx.ModelProto:
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    return model_of(node, [*shape, k], {"w": floats(k, n)}, [*shape, n])


@needs_bf16
@pytest.mark.parametrize(
    ("shape", "k", "n"),
    [((1,), 64, 48), ((5,), 10, 7), ((7,), 64, 100), ((2, 3), 66, 32), ((130,), 128, 272), ((), 16, 33)],
    ids=str,
)
def test_matrix_products(shape: tuple[int, ...], k: int, n: int):
    check(matmul(*shape, k=k, n=n), floats(*shape, k))


@needs_bf16
@pytest.mark.parametrize("rows", [1, 6, 33])
def test_a_dynamic_number_of_rows(rows: int):
    check(matmul("m", k=32, n=40), floats(rows, 32))


@needs_bf16
def test_no_rows():
    (found,) = session_of(matmul("m", k=32, n=40)).run(None, {"x": floats(0, 32)})
    assert np.asarray(found).shape == (0, 40)


@needs_bf16
def test_not_a_number_and_infinity():
    x = floats(9, 32)
    x[1, 3], x[4, 0], x[5, 31] = np.nan, np.inf, -np.inf
    found = check(matmul(9, k=32, n=18), x)
    assert np.isnan(found[1]).all()
    assert np.isinf(found[4]).all()


@needs_bf16
@pytest.mark.parametrize("threads", [1, 2])
def test_gemm_with_factors_a_bias_and_an_activation(threads: int):
    node = onnx.helper.make_node("Gemm", ["x", "w", "b"], ["z"], transB=1, alpha=0.5, beta=2.0)
    last = [onnx.helper.make_node("Relu", ["z"], ["y"])]
    check(
        model_of(node, [37, 64], {"w": floats(100, 64), "b": floats(100)}, [37, 100], last),
        floats(37, 64),
        threads=threads,
    )


CONVOLUTIONS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], Mapping[str, Any]]] = {
    "1x1": ((1, 64, 9, 11), (32, 64, 1, 1), {}),
    "3x3": ((2, 16, 10, 10), (48, 16, 3, 3), {"pads": [1] * 4}),
    "strides": ((1, 32, 13, 9), (16, 32, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}),
    "dilations": ((1, 32, 13, 13), (16, 32, 3, 3), {"dilations": [2, 2]}),
    "channels beyond whole vectors": ((1, 24, 7, 7), (20, 24, 3, 3), {"pads": [1] * 4}),
    "two channels more": ((1, 18, 5, 5), (17, 18, 2, 2), {}),
    "one column": ((1, 32, 20, 1), (16, 32, 3, 1), {"pads": [1, 0, 1, 0]}),
}


@needs_bf16
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, threads: int):
    shape, weights, attributes = CONVOLUTIONS[name]
    node = onnx.helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    constants = {"w": floats(*weights), "b": floats(weights[0])}
    check(model_of(node, shape, constants, [None] * len(shape)), floats(*shape), threads=threads)


@needs_bf16
@pytest.mark.parametrize("count", [1, 3])
def test_a_dynamic_batch_of_images_with_a_residual(count: int):
    node = onnx.helper.make_node("Conv", ["x", "w"], ["z"], pads=[1] * 4)
    last = [
        onnx.helper.make_node("Add", ["z", "c"], ["s"]),
        onnx.helper.make_node("Relu", ["s"], ["y"]),
    ]
    constants = {"w": floats(16, 16, 3, 3), "c": floats(1, 16, 1, 1)}
    check(model_of(node, ["n", 16, 6, 6], constants, ["n", 16, 6, 6], last), floats(count, 16, 6, 6))


@needs_bf16
def test_products_in_both_branches_share_no_copy():
    """A copy in one branch is not seen in the other."""
    kind, info = onnx.TensorProto.FLOAT, onnx.helper.make_tensor_value_info
    make = onnx.helper.make_node
    branches = [
        onnx.helper.make_graph(
            [make("MatMul", ["x", name], [f"r{name}"])], name, [], [info(f"r{name}", kind, [4, 20])]
        )
        for name in ("w", "v")
    ]
    graph = onnx.helper.make_graph(
        [
            make("If", ["c"], ["i"], then_branch=branches[0], else_branch=branches[1]),
            make("MatMul", ["x", "w"], ["j"]),
            make("Add", ["i", "j"], ["y"]),
        ],
        "g",
        [info("x", kind, [4, 32]), info("c", onnx.TensorProto.BOOL, [])],
        [info("y", kind, [4, 20])],
        [onnx.numpy_helper.from_array(floats(32, 20), name) for name in ("w", "v")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    x = floats(4, 32)
    weights = {each.name: rounded(onnx.numpy_helper.to_array(each)) for each in graph.initializer}
    session = session_of(model)
    for condition, name in ((True, "w"), (False, "v")):
        found = np.asarray(session.run(None, {"x": x, "c": np.array(condition)})[0])
        expected = rounded(x) @ weights[name] + rounded(x) @ weights["w"]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "m.ll", "--target", "avx512bf16"], "products with constant weights"),
        (["-o", "m.ll", "--target", "avx2"], "none: avx2 has no instructions for it; avx512bf16 has"),
        (["-o", "m.c", "--target", "avx512bf16"], "none: C source is for any processor"),
    ],
    ids=["bfloat16", "none", "c"],
)
def test_the_command_says_what_bfloat16_is_used_for(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(matmul(4, k=32, n=16).SerializeToString())
    assert main(["compile", "m.onnx", *options, "--allow-bf16"]) == 0
    assert f"bfloat16 {said}" in " ".join(capsys.readouterr().out.split())
    text = Path(options[1]).read_text()
    assert ("dpbf16ps" in text) == said.startswith("products")


@needs_bf16
def test_the_command_says_where_float32_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def slow_core(_: Core) -> Core:
        return load_core("sapphirerapids")

    monkeypatch.setattr("xonnc.native_compilation.host_core", slow_core)
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(matmul(5, k=32, n=16).SerializeToString())
    assert main(["compile", "m.onnx", "-o", "m.ll", "--allow-bf16"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "bfloat16 products of few rows by large constants; others are faster in float32" in said
    assert "dpbf16ps" not in Path("m.ll").read_text()


def test_bfloat16_is_for_native_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(matmul(4, k=32, n=16).SerializeToString())
    assert main(["compile", "m.onnx", "--target", "nv_full", "--allow-bf16"]) == 1
    assert "--allow-bf16 is for native code" in capsys.readouterr().err
