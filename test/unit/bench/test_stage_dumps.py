"""The grid of stage dumps: the stages of a model that become the same code, and those that do not."""

from __future__ import annotations

import shutil
from pathlib import Path

import onnx.parser
import pytest

from bench.stage_dumps import UPSTREAM, VARIANTS, Outcome, measured

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
g (float[2,3] x) => (float[2,4] y) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
  m = MatMul (x, w)
  y = Relu (m)
}"""


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_stages_become_the_same_code(variant: str, tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    found = measured("small", path, variant)
    assert found.wrong == {}
    # Thirteen stages, the imported model, the object file; LLVM's tools where they are installed.
    assert found.stages == 16 + all(map(shutil.which, UPSTREAM))
    assert found.row() == f"| small | {variant} | {found.stages} of {found.stages} |  |"


def test_a_model_that_does_not_compile_is_a_failure(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL.replace("[3,4]", "[4,3]")).SerializeToString())
    found = measured("wrong", path, "f32")
    assert list(found.wrong) == ["compile"]


def test_the_row_names_other_code():
    found = Outcome("m", "int8", stages=10, wrong={"06-fused": "other code"}, notes=["fixed to 2"])
    assert found.row() == "| m | int8 | 9 of 10 | fixed to 2; 06-fused: other code |"
