"""Functions of LLVM IR: those of wide vectors align the stack, and none calls very many kernels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from xonnc.artifacts import compile_artifact
from xonnc.lowering.krnl_to_llvm import kernels as kernel_lowering
from xonnc.native import compile_native

MODEL = """<ir_version: 9, opset_import: ["": 18]> g (float[7, 33] x, float[33, 5] w) => (float[7, 5] y) {
  z = MatMul (x, w)
  y = Softmax (z)
}"""


@pytest.mark.parametrize(("target", "alignment"), [("avx512", 64), ("avx2", 32), ("portable", None)])
def test_kernels_align_the_stack_to_their_vectors(tmp_path: Path, target: str, alignment: int | None) -> None:
    compile_artifact(onnx.parser.parse_model(MODEL), tmp_path / "m.ll", target)
    defined = re.findall(
        r'^define internal void @"([^"]+)"\([^()]*\)(.*)$', (tmp_path / "m.ll").read_text(), re.M
    )
    kernels = {name: attributes for name, attributes in defined if not name.startswith("xonnc_")}
    assert len(kernels) >= 2
    expected = "" if alignment is None else f" alignstack({alignment})"
    assert set(kernels.values()) == {expected}, kernels


BRANCHES = """<ir_version: 9, opset_import: ["": 18]>
g (float[4, 4] x, bool is_long) => (float[4, 4] y) {
  a = MatMul (x, x)
  b = Softmax (a)
  c = MatMul (b, x)
  d = If (is_long) <
    then_branch = then () => (float[4, 4] t) {
      t0 = MatMul (c, x)
      t1 = Softmax (t0)
      t2 = MatMul (t1, c)
      t3 = Softmax (t2)
      t = MatMul (t3, c)
    },
    else_branch = otherwise () => (float[4, 4] e) {
      e = Softmax (c)
    }
  >
  f = MatMul (d, x)
  h = Softmax (f)
  y = MatMul (h, x)
}"""


@pytest.mark.parametrize("is_long", [False, True])
def test_long_sequences_of_calls_are_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    model = onnx.parser.parse_model(BRANCHES)
    x = np.random.default_rng(3).standard_normal((4, 4)).astype(np.float32)
    x[1, 2], x[3, 0] = -np.inf, 0.0
    feeds = {"x": x, "is_long": np.array(is_long)}
    (expected,) = compile_native(model, cache=False).run(None, feeds)
    monkeypatch.setattr(kernel_lowering, "MAX_STEPS", 2)
    (found,) = compile_native(model, cache=False).run(None, feeds)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    compile_artifact(model, tmp_path / "m.ll", "portable")
    bodies = re.findall(
        r"^define [^@]*@\"(xonnc_run[^\"]*)\".*?^}", (tmp_path / "m.ll").read_text(), re.M | re.S
    )
    assert len(bodies) >= 5
