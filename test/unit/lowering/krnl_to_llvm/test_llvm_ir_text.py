"""Vectors that LLVM spills must not cross cache lines: kernels of wide vectors align the stack."""

from __future__ import annotations

import re
from pathlib import Path

import onnx.parser
import pytest

from xonnc.artifacts import compile_artifact

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
