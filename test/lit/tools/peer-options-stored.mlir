// RUN: onnx-opt %s --decompose-onnx --decompose-op-in-onnx=HardSwish --save-config-file=%t.json -o %t.mlir
// RUN: filecheck %s --input-file=%t.json --check-prefix=SAVED
// RUN: onnx-opt %s --decompose-onnx --config-file=%t.json | filecheck %s
// RUN: env ONNX_MLIR_FLAGS='--EmitLib --decompose-op-in-onnx=HardSwish' onnx-opt %s --decompose-onnx | filecheck %s
// RUN: env MINE=--decompose-op-in-onnx=HardSwish onnx-opt %s --decompose-onnx --customEnvFlags=MINE | filecheck %s
// RUN: env ONNX_MLIR_FLAGS=--no-such-flag not onnx-opt %s 2>&1 | filecheck %s --check-prefix=WRONG

// Options from a file and from the environment; each tool takes those that apply to it.

// SAVED: "compile-options": [
// SAVED:   "--decompose-op-in-onnx=HardSwish"
// WRONG: onnx-opt: no option '--no-such-flag' of onnx-mlir

// CHECK-LABEL: @hard_swish
// CHECK-NOT:     "onnx.HardSwish"
func.func @hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.HardSwish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}
