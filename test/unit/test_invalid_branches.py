"""Branches without valid shapes for fixed sizes of inputs: an error of the run that takes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from xonnc.artifacts import compile_artifact
from xonnc.errors import InvalidModelError, XonncError
from xonnc.native import compile_native
from xonnc.runtime.native.library import Library

INPUT = "(float[1,512] x, int64 rate) => (float[1,64] y)"

CONSTANT = "(float[1,512] x) => (float[1,64] y) <int64 rate = {16000}>"


def model(head: str, operator: str = "Neg") -> onnx.ModelProto:
    """Sums of 8 or, at another sample rate, of 4 parts, as voice detectors have them."""
    return parser.parse_model(
        f"""<ir_version: 10, opset_import: ["": 17]> g {head} {{
            k = Constant <value_int = 16000> ()
            c = Equal (rate, k)
            z = Constant <value_ints = [1]> ()
            y = If (c) <
                then_branch = a () => (float[1,64] p) {{
                    s = Constant <value_ints = [1,8,64]> ()
                    r = Reshape (x, s)
                    p = ReduceSum <keepdims = 0> (r, z) }},
                else_branch = b () => (float[1,64] q) {{
                    s = Constant <value_ints = [1,4,64]> ()
                    [half] r = Reshape (x, s)
                    n = {operator} (r)
                    q = ReduceSum <keepdims = 0> (n, z) }}> }}"""
    )


X = np.linspace(-4, 4, 512, dtype=np.float32).reshape(1, 512)

SUMS = X.reshape(1, 8, 64).sum(1)

WRONG = r"half: Reshape: data 'x' \[1, 512\] does not reshape to \[1, 4, 64\]"


@pytest.mark.parametrize("kind", ["session", "library"])
def test_the_other_branch_runs(kind: str, tmp_path: Path):
    if kind == "session":
        compiled = compile_native(model(INPUT), cache=False)
    else:
        compile_artifact(model(INPUT), tmp_path / "m.so")
        compiled = Library(tmp_path / "m.so")
    for rate in (16000, 8000, 16000):
        feeds = {"x": X, "rate": np.array(rate)}
        if rate == 16000:
            np.testing.assert_allclose(np.asarray(compiled.run(None, feeds)[0], np.float32), SUMS, rtol=1e-5)
            continue
        with pytest.raises(XonncError, match=WRONG):
            compiled.run(None, feeds)


def test_a_branch_that_no_run_takes_is_left_out(tmp_path: Path):
    compile_artifact(model(CONSTANT), tmp_path / "m.c")
    assert "does not reshape" not in (tmp_path / "m.c").read_text()


def test_a_branch_that_breaks_another_rule_is_refused():
    with pytest.raises(InvalidModelError, match="unknown attribute 'slope'"):
        compile_native(model(INPUT, "Neg <slope = 1>"), cache=False)
