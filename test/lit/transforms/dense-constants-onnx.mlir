// RUN: onnx-opt %s --dense-constants-onnx --split-input-file | filecheck %s

// CHECK-LABEL: @sparse
// CHECK:         onnx.Constant dense<{{\[\[}}0.000000e+00, 2.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, -1.000000e+00]]> : tensor<2x3xf32>
func.func @sparse() -> tensor<2x3xf32> {
  %0 = onnx.Constant sparse<[[0, 1], [1, 2]], [2.0, -1.0]> : tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

// Without values: zeros.
// CHECK-LABEL: @nothing
// CHECK:         onnx.Constant dense<0> : tensor<2x2xi64>
func.func @nothing() -> tensor<2x2xi64> {
  %0 = onnx.Constant sparse<> : tensor<2x2xi64>
  onnx.Return %0 : tensor<2x2xi64>
}

// -----

// Booleans, and constants that are dense already.
// CHECK-LABEL: @booleans
// CHECK:         onnx.Constant dense<[false, true, false]> : tensor<3xi1>
// CHECK:         onnx.Constant dense<7> : tensor<i8>
func.func @booleans() -> (tensor<3xi1>, tensor<i8>) {
  %0 = onnx.Constant sparse<[[1]], [true]> : tensor<3xi1>
  %1 = onnx.Constant dense<7> : tensor<i8>
  onnx.Return %0, %1 : tensor<3xi1>, tensor<i8>
}
