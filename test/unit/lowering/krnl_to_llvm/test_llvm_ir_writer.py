"""LLVM IR is what xDSL makes of the same module, character by character."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from xdsl.backend.llvm.convert import convert_module
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from xonnc.dialects.krnl.vector_llvm import VECTOR_LLVM
from xonnc.lowering.krnl_to_llvm import llvm_ir_text
from xonnc.lowering.krnl_to_llvm.llvm_ir_writer import llvm_ir
from xonnc.native import compile_native

MODELS = {
    "dynamic product": "(float[N,37] x, float[37,65] w) => (y) { a = MatMul (x, w) y = Gelu (a) }",
    "convolution": "(float[1,3,9,8] x, float[8,3,3,3] w) => (y) {"
    " c = Conv <pads=[1,1,1,1]> (x, w) y = Relu (c) }",
    "LSTM": "(float[3,2,4] x, float[1,20,4] w, float[1,20,5] r) => (y) {"
    " y, h = LSTM <hidden_size=5> (x, w, r) }",
    "integers": "(uint8[3,37] x, int8[37,5] w) => (y) { y = MatMulInteger (x, w) }",
    "float16": "(float16[5,7] x) => (y) { a = Exp (x) y = ReduceSum <keepdims=0> (a) }",
    "bfloat16": "(bfloat16[33] x) => (y) { y = Mul (x, x) }",
    "booleans": "(double[33] x) => (y) { n = IsNaN (x) y = Not (n) }",
    "several results": "(float[4,9] x, int64[1] k) => (y, i) { y, i = TopK (x, k) }",
    "branches": "(bool c, float[3] x) => (y) { y = If (c)"
    " <then_branch = t () => (float[3] a) { a = Neg (x) },"
    " else_branch = e () => (float[3] b) { b = Abs (x) }> }",
}

IR = {
    "globals": """
        llvm.mlir.global internal constant @g(1 : i32) : i32
        llvm.func @f() { llvm.return }
    """,
    "flags": """
        llvm.func @f(%a: i64) -> i64 { %b = llvm.add %a, %a overflow<nsw> : i64 llvm.return %b : i64 }
    """,
    "attributes of arguments": "llvm.func @f(%a: !llvm.ptr {llvm.noalias}) { llvm.return }",
    "a declaration": """
        llvm.func @f(%a: i64) -> i64 { %b = llvm.call @g(%a) : (i64) -> i64 llvm.return %b : i64 }
        llvm.func @g(i64) -> i64
    """,
}


def same(module: ModuleOp, triple: str = "") -> str:
    text = llvm_ir(module, triple)
    assert text == str(convert_module(module, fallback_target_triple=triple or None))
    return text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_kernels(name: str, threads: int, monkeypatch: pytest.MonkeyPatch):
    written: list[str] = []

    def checked(module: ModuleOp, triple: str = "") -> str:
        written.append(same(module, triple))
        return written[-1]

    monkeypatch.setattr(llvm_ir_text, "llvm_ir", checked)
    head, _, body = MODELS[name].partition(" => ")
    names, _, nodes = body.partition(" {")
    outputs = ", ".join(f"float[unknown] {each}" for each in names.strip("()").split(", "))
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 21]> g {head} => ({outputs}) {{{nodes}'
    )
    for output in model.graph.output:
        output.ClearField("type")
    session = compile_native(model, threads=threads)
    if "N" in head:
        session.run(None, {"x": np.ones((2, 37), np.float32), "w": np.ones((37, 65), np.float32)})
    if name == "several results":
        session.run(None, {"x": np.ones((4, 9), np.float32), "k": np.array([2])})
    assert written


@pytest.mark.parametrize("name", IR)
def test_what_kernels_do_not_have(name: str):
    context = Context()
    for dialect in (Builtin, VECTOR_LLVM):
        context.load_dialect(dialect)
    same(Parser(context, IR[name]).parse_module())


@pytest.mark.parametrize("triple", ["", "aarch64-unknown-linux-gnu"])
def test_the_target(triple: str):
    assert f'target triple = "{triple}' in same(ModuleOp([]), triple)
