// RUN: not onnx-opt %s --convert-onnx-to-dla 2>&1 | filecheck %s

// What depends on a refused input, be it an output itself, is not refused once more; an empty output is.
// CHECK:      input 0: tensor<?x3x4x4xf32> (the DLA takes static shapes without empty dimensions)
// CHECK-NEXT: input 1: tensor<1x0x4x4xf32> (the DLA takes static shapes without empty dimensions)
// CHECK-NEXT: a constant of shape [1, 0, 4, 4] has no elements
// CHECK-NOT:  error
func.func @main_graph(%x: tensor<?x3x4x4xf32>, %v: tensor<1x0x4x4xf32>, %z: tensor<1x3x4x4xf32>)
    -> (tensor<?x3x4x4xf32>, tensor<?x3x4x4xf32>, tensor<1x3x4x4xf32>, tensor<1x0x4x4xf32>, tensor<1x0x4x4xf32>) {
  %c = onnx.Constant dense<> : tensor<1x0x4x4xf32>
  %y = "onnx.Relu"(%x) : (tensor<?x3x4x4xf32>) -> tensor<?x3x4x4xf32>
  %w = "onnx.Relu"(%z) : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  onnx.Return %x, %y, %w, %v, %c : tensor<?x3x4x4xf32>, tensor<?x3x4x4xf32>, tensor<1x3x4x4xf32>, tensor<1x0x4x4xf32>, tensor<1x0x4x4xf32>
}
