"""The page of refusals has what the lowering says."""

from __future__ import annotations

import ast

import pytest

from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import WAY_OUT
from xonnc.tools.refusals import FOLDER, RefusalEntry, refusals


@pytest.mark.parametrize(
    "refusal",
    [
        RefusalEntry("convolution", "batch size … (up to …, as groups)", "use a smaller batch"),
        RefusalEntry("pooling", "dilations … (the PDP takes 1)", WAY_OUT.removeprefix("; ")),
        RefusalEntry(
            "any operator",
            "the result has no static shape",
            "run shape-inference-onnx or fix the input shapes",
        ),
    ],
)
def test_a_refusal_with_its_way_out(refusal: RefusalEntry):
    assert refusal in refusals()


def test_no_call_is_left_out():
    """Every call with a text of its own is there; the one that hands on a constraint's words is not."""
    calls = 0
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                calls += node.func.attr == "refuse" and not isinstance(node.args[0], ast.Name)
    assert calls >= len(refusals()) > calls // 2
    assert len({refusal.theme for refusal in refusals()}) >= 5
