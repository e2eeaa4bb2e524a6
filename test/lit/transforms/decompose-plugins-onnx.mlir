// RUN: onnx-opt %s --decompose-plugins-onnx --split-input-file | filecheck %s

// CHECK-LABEL: @bias_gelu
func.func @bias_gelu(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT:  %[[SUM:.*]] = "onnx.Add"
  // CHECK-NEXT:  "onnx.Gelu"(%[[SUM]])
  // CHECK-NOT:   microsoft
  %y = "microsoft.BiasGelu"(%x, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// What a decomposition builds is decomposed in turn by other passes: here only operators of plug-ins are.
// CHECK-LABEL: @dynamically_quantized
// CHECK:         "onnx.DynamicQuantizeLinear"
// CHECK:         "onnx.MatMulInteger"
func.func @dynamically_quantized(%x: tensor<2x4xf32>, %w: tensor<4x5xui8>, %s: tensor<f32>) -> tensor<2x5xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "microsoft.DynamicQuantizeMatMul"(%x, %w, %s, %none, %none)
    : (tensor<2x4xf32>, tensor<4x5xui8>, tensor<f32>, none, none) -> tensor<2x5xf32>
  func.return %y : tensor<2x5xf32>
}

// -----

// Operators of ONNX are kept.
// CHECK-LABEL: @relu
// CHECK-NEXT:    "onnx.Relu"
func.func @relu(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
