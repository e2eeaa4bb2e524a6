"""Tiles that prefetch the next panel of weights, possibly past their end, compute the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.ir import SSAValue

from xonnc import native
from xonnc.lowering.krnl_to_llvm import conv, gemm_tile
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.next_panel import share_of_next_panel
from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor
from xonnc.targets.cpu import CpuTarget

Array = npt.NDArray[Any]


class Reference(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[Array]: ...


RANDOM = np.random.default_rng(11)


@pytest.fixture(name="shares")
def shares_of_tiles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """
    The share of each tile that was emitted, in bytes; 0 if it is dynamic.

    The second-level cache is the smallest, so that all weights come from beyond it.
    """
    found: list[int] = []

    def share_of(
        builder: LLVMBuilder, panel: SSAValue, panel_bytes: int, tile: SSAValue, share: int | SSAValue
    ) -> SSAValue:
        found.append(share if isinstance(share, int) else 0)
        return share_of_next_panel(builder, panel, panel_bytes, tile, share)

    def resolve(target: str, needs_host: bool = True) -> CpuTarget:
        found = resolve_processor(target, needs_host)
        core = replace(found.core, l1_bytes=1 << 12, l2_bytes=1 << 12, next_panel_bytes=1 << 30)
        return replace(found, core=core)

    monkeypatch.setattr(native, "resolve_processor", resolve)
    for module in (gemm_tile, conv):
        monkeypatch.setattr(module, "share_of_next_panel", share_of)
    return found


def model_of(shape: Sequence[int | str], node: str, weights: Array) -> onnx.ModelProto:
    given, result = ", ".join(map(str, shape)), ", ".join(f"d{axis}" for axis in range(len(shape)))
    ends = f"(float[{given}] x) => (float[{result}] y)"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> m {ends} {{ y = {node} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, x: Array, threads: int) -> None:
    session = compile_native(model, cache=False, threads=threads)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    (expected,) = reference.run(None, {"x": x})
    result = np.asarray(session.run(None, {"x": x})[0], np.float32)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "sizes",
    # Tiles that divide the rows and not; a narrower last panel; many rows, of which each tile
    # prefetches less than a line; an odd depth.
    [(16, 64, 96), (17, 65, 101), (300, 33, 130)],
)
def test_matrix_products(sizes: tuple[int, int, int], threads: int, shares: list[int]):
    m, k, n = sizes
    check(model_of((m, k), "MatMul(x, w)", floats(k, n)), floats(m, k), threads)
    assert shares


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 64, 101])
def test_a_dynamic_number_of_rows(m: int, threads: int, shares: list[int]):
    check(model_of(("m", 65), "MatMul(x, w)", floats(65, 130)), floats(m, 65), threads)
    assert shares


@pytest.mark.covering(2)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "filters", "attributes"),
    [
        ((1, 32, 7, 7), 64, "<pads=[1,1,1,1]>"),
        # A last block of 8 channels, a remainder of pixels, two images.
        ((2, 24, 5, 19), 40, "<pads=[1,1,1,1]>"),
        ((1, 32, 9, 9), 96, "<pads=[2,2,2,2], dilations=[2,2]>"),
        ((1, 16, 12, 12), 48, "<strides=[2,2]>"),
        # Images in rows, and one row.
        ((1, 3, 16, 16), 80, "<pads=[1,1,1,1]>"),
        ((1, 32, 1, 30), 70, "<pads=[1,1,1,1]>"),
    ],
)
def test_convolutions(shape: tuple[int, ...], filters: int, attributes: str, threads: int, shares: list[int]):
    weights = floats(filters, shape[1], 3, 3)
    check(model_of(shape, f"Conv{attributes}(x, w)", weights), floats(*shape), threads)
    assert shares


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_stay_in_their_rows(number: float, shares: list[int]):
    x, weights = floats(16, 32), floats(32, 96)
    x[3, 5] = number
    session = compile_native(model_of(x.shape, "MatMul(x, w)", weights), cache=False)
    result = np.asarray(session.run(None, {"x": x})[0], np.float32)
    assert not np.isfinite(result[3]).any()
    assert np.isfinite(np.delete(result, 3, axis=0)).all()
    assert shares
