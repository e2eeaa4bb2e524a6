// RUN: onnx-opt %s --decompose-onnx --decompose-op-in-onnx=HardSwish | filecheck %s
// RUN: onnx-opt %s --decompose-onnx | filecheck %s --check-prefix=KEPT

// A global option of onnx-mlir reaches the pass that it configures.
// CHECK-LABEL: @hard_swish
// CHECK-NOT:     "onnx.HardSwish"
// KEPT-LABEL:  @hard_swish
// KEPT:          "onnx.HardSwish"
func.func @hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.HardSwish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}
