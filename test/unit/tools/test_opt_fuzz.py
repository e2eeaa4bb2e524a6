"""Damaged text ends in a message, never in a traceback."""

from __future__ import annotations

import random

import pytest

from xonnc.tools.opt import run_opt

TEXTS = (
    r"""
#map1 = affine_map<(d0, d1)[s0] -> (d0 + d1 * 2 - s0, d0 floordiv 4)>
!t = tensor<2x3xf32>
func.func @main_graph(%x: !t {onnx.name = "x"}, %n: tensor<?x3xf32>) -> (!t {onnx.name = "y"}) {
  %0 = onnx.Constant dense<[[1.0, 0x7FC00000, -2.5e-3], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %1 = onnx.Constant {value_ints = [1, 2]} : tensor<2xi64>
  %2 = "onnx.Add"(%x, %0) : (!t, !t) -> !t loc(#loc3)
  %3 = "onnx.NoValue"() <{value}> : () -> none
  %4 = onnx.ConstantOfShape(%1) {value = dense<1.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  %5:2 = "onnx.Split"(%2, %3) <{axis = 0 : si64}> : (!t, none) -> (tensor<1x3xf32>, tensor<1x3xf32>)
  %6 = "onnx.Transpose"(%n) <{perm = [1, 0]}>
     {note = "a\22b", big = dense<"0x01020304"> : tensor<4xi8>}
     : (tensor<?x3xf32>) -> tensor<*xf32>
  onnx.Return %2 : !t
}
"onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
#loc1 = loc("conv1")
#loc3 = loc(fused<["y"]>[#loc1, "f":1:2 to 3:4, callsite("a" at "b"("c":1:2))])
""",
    r"""
module attributes {m = affine_map<(d0) -> (d0 mod 3)>, s = affine_set<(d0) : (d0 - 1 >= 0, d0 == 0)>} {
  func.func @f(%a: i32, %b: memref<4x?xf32, strided<[4, 1], offset: ?>>) -> tensor<3x!onnx.String> {
    %c = arith.constant 1 : i32
    %d = arith.addi %a, %c : i32
    %s = onnx.Constant dense<["a", "b", "\C3\A9"]> : tensor<3x!onnx.String>
    %i = onnx.Constant sparse<[[0, 1], [2, 0]], [4, 5]> : tensor<3x4xi64>
    %r = onnx.Constant dense_resource<blob> : tensor<2xf32>
    %q = onnx.Constant dense<[true, false, true]> : tensor<3xi1>
    %k = onnx.Constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
    cf.cond_br %e, ^one(%d : i32), ^two
  ^one(%u: i32):
    cf.br ^two
  ^two:
    %e = arith.cmpi slt, %a, %c : i32
    %g = onnx.Constant dense<true> : tensor<i1>
    %h = onnx.Constant dense<7> : tensor<i64>
    %w = "onnx.Loop"(%h, %g, %h) ({
    ^bb0(%y: tensor<i64>, %z: tensor<i1>, %o: tensor<i64>):
      onnx.Yield %z, %o : tensor<i1>, tensor<i64>
    }) {x = array<i32: 1, 2>, z = #onnx.layout<{dataLayout = "NCHW4C"}>, t = !onnx.Seq<tensor<*xi64>>}
       : (tensor<i64>, tensor<i1>, tensor<i64>) -> tensor<i64>
    return %s : tensor<3x!onnx.String>
  }
}
{-#
  dialect_resources: { builtin: { blob: "0x040000000000803F00000040" } }
#-}
""",
)

PIECES = [
    *"(){}[]<>\"'%#!@^:,=-+*?/|.0x \n\\\0é",
    *"dense< tensor< sparse< array< memref< vector<4xf32> loc( -> {-# #-} %0 #loc1 i1 i999999999 f32".split(),
    *"index true unit none onnx.Constant -1 1.0e999 99999999999999999999 0x7FFFFFFFFFFFFFFFFFFFFFF".split(),
    "tensor<99999999999x99999999999xf32>",
    ": i64",
]


def damaged(text: str, seed: int) -> str:
    """One to three cuts, repeats, swaps and insertions."""
    generator = random.Random(seed)
    for _ in range(generator.randint(1, 3)):
        at, to = sorted(generator.randrange(len(text) + 1) for _ in range(2))
        to = min(to, at + generator.choice([1, 1, 2, 5, 20]))
        match generator.randrange(5):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:to] + text[at:to] + text[to:]
            case 2:
                text = text[:at] + generator.choice(PIECES) + text[at:]
            case 3:
                text = text[:at] + generator.choice(PIECES) + text[to:]
            case _:
                other = generator.randrange(len(text) + 1)
                text = text[:at] + text[other : other + to - at] + text[to:]
    return text


@pytest.mark.parametrize("block", range(10))
def test_damaged_text_ends_in_a_message(block: int):
    refused = 0
    for seed in range(block * 80, block * 80 + 80):
        text = damaged(TEXTS[seed % len(TEXTS)], seed)
        code, out, err = run_opt(["--mlir-print-debuginfo", "--cse"], text)
        assert code in (0, 1), f"seed {seed}: {err}"
        assert bool(out) == (code == 0)
        if code == 1:
            refused += 1
            assert err.startswith("<stdin>:")
            assert "Traceback" not in err
    assert refused > 40
