"""Constant weights that 16 bits hold are stored in them; results are those of float32, bit for bit."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from native_nodes import is_here
from onnx import numpy_helper
from onnx import parser as onnx_parser

import xonnc
from xonnc.lowering.onnx_to_krnl.math import matmul
from xonnc.lowering.onnx_to_krnl.math.narrow_weights import narrowed
from xonnc.native import compile_native

Array = npt.NDArray[np.float32]

RANDOM = np.random.default_rng(11)
KINDS = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
TARGETS = [name for name in ("avx2", "avx512") if is_here(name)]
DEPTH, COLUMNS = 1050, 530
"""Two pieces of a panel, and a last panel that is not full; beyond half of L2."""


def exact(kind: str, *shape: int) -> Array:
    """Float32 numbers that 16 bits hold, some of them special."""
    numbers = RANDOM.normal(size=shape).astype(KINDS[kind]).astype(np.float32)
    if kind == "float16":
        numbers.reshape(-1)[:3] = np.float32(6e-8).astype(np.float16), -0.0, 65504
    else:
        numbers.reshape(-1)[:3] = np.array([1e-40, -0.0, 3e38], ml_dtypes.bfloat16)
    return numbers


def model_of(nodes: str, rows: int | str = "m", **arrays: Array) -> onnx.ModelProto:
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[{rows}, {DEPTH}] x) => (float[{rows}, {COLUMNS}] y) {{ {nodes} }}"""
    model = onnx_parser.parse_model(text)
    model.graph.initializer.extend([numpy_helper.from_array(each, name) for name, each in arrays.items()])
    return model


def keep_float32(*_: object) -> None:
    """Narrow no weights."""


def assert_same_without(
    model: onnx.ModelProto, rows: tuple[int, ...], target: str, patch: pytest.MonkeyPatch, threads: int = 1
) -> None:
    """Results are those of the kernels for weights of 32 bits, also where A is not finite."""
    narrow = compile_native(model, target, threads=threads)
    with patch.context() as without:
        without.setattr(matmul, "narrowed", keep_float32)
        wide = compile_native(model, target, threads=threads)
    for count in rows:
        x = RANDOM.normal(size=(count, DEPTH)).astype(np.float32)
        x[count // 2 : count // 2 + 1, 5] = np.inf
        found, expected = (np.asarray(each.run(None, {"x": x})[0]) for each in (narrow, wide))
        np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_rows(kind: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows widen weights in registers, more share pieces of panels."""
    model = model_of(
        "a = MatMul(x, w) b = Add(a, c) y = Relu(b)", w=exact(kind, DEPTH, COLUMNS), c=exact(kind, COLUMNS)
    )
    assert_same_without(model, (0, 1, 3, 23, 24, 37), target, monkeypatch)


def test_threads_divide_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a stack of its own."""
    model = model_of("y = Gemm<transB = 1>(x, w)", w=exact("bfloat16", COLUMNS, DEPTH))
    assert_same_without(model, (2, 40), "cpu", monkeypatch, threads=2)


@pytest.mark.parametrize("rows", [1, 8])
def test_few_rows_of_a_known_number(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("y = MatMul(x, w)", rows, w=exact("bfloat16", DEPTH, COLUMNS))
    assert_same_without(model, (rows,), "cpu", monkeypatch)


def test_files_have_half_the_size(tmp_path: Path) -> None:
    """Those of weights that 16 bits hold; not of others, of many known rows, or of a factor."""
    weights = exact("bfloat16", DEPTH, COLUMNS)
    x = RANDOM.normal(size=(3, DEPTH)).astype(np.float32)
    sizes: dict[str, int] = {}
    for name, nodes, rows, each in (
        ("exact", "y = MatMul(x, w)", "m", weights),
        ("inexact", "y = MatMul(x, w)", "m", weights + np.float32(1e-5)),
        ("many", "y = MatMul(x, w)", 9, weights),
        ("factor", "y = Gemm<alpha = 0.3>(x, w)", "m", weights),
    ):
        session = xonnc.compile(model_of(nodes, rows, w=each))
        session.save(tmp_path / f"{name}.so")
        sizes[name] = (tmp_path / f"{name}.so").stat().st_size
        if rows == "m":
            (found,) = xonnc.Library(tmp_path / f"{name}.so").run(None, {"x": x})
            np.testing.assert_array_equal(found, session.run(None, {"x": x})[0])
    assert sizes["exact"] < 2.3 * weights.size
    assert min(sizes[name] for name in ("inexact", "many", "factor")) > 4 * weights.size


def test_what_16_bits_hold() -> None:
    """Bfloat16 before float16; NaN with bits that are cut off, and numbers beyond the range, are not held."""
    both = np.array([[1.0, -2.5], [0.0, np.inf]], np.float32)
    found = narrowed(both, KINDS)
    assert found is not None
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found.view(ml_dtypes.bfloat16).astype(np.float32), both)
    half = narrowed(both, ["float16"])
    assert half is not None
    assert half.dtype == np.float16
    np.testing.assert_array_equal(half, both.astype(np.float16))
    assert narrowed(both, []) is None
    for number in (1 + 2.0**-12, 70000.5, 1e-9, np.array([0x7F800001], np.uint32).view(np.float32)[0]):
        for index in ((0, 0), (1, 1)):
            some = both.copy()
            some[index] = number
            assert narrowed(some, KINDS) is None
    # A transposed view, as Gemm has.
    transposed = narrowed(both.T, KINDS)
    assert transposed is not None
    np.testing.assert_array_equal(transposed, found.T)
