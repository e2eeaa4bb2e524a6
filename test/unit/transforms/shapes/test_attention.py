"""Shapes of Attention, of which some operands may have an unknown rank."""

from __future__ import annotations

from itertools import product

import pytest

from xonnc.tools.opt import run_opt

KNOWN = {"q": "tensor<2x4x5x8xf32>", "k": "tensor<2x4x7x8xf32>", "v": "tensor<2x4x7x6xf32>"}


@pytest.mark.parametrize("are_known", list(product((False, True), repeat=3)))
def test_operands_of_unknown_rank(are_known: tuple[bool, bool, bool]):
    types = [
        kind if known else "tensor<*xf32>" for kind, known in zip(KNOWN.values(), are_known, strict=True)
    ]
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in zip(KNOWN, types, strict=True))
    text = f"""func.func @main_graph({arguments}) -> tensor<*xf32> {{
      %none = "onnx.NoValue"() <{{value}}> : () -> none
      %0, %1, %2, %3 = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %none)
        : ({", ".join(types)}, none, none, none, none) -> (tensor<*xf32>, none, none, none)
      onnx.Return %0 : tensor<*xf32>
    }}"""
    code, out, err = run_opt(["--shape-inference-onnx"], text)
    assert code == 0, err
    assert ("-> tensor<2x4x5x6xf32>" in out) == all(are_known)
