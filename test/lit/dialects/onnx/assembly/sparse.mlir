// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Sparse constants: indices and values.

// CHECK:      module {
// CHECK-NEXT:   func.func @sparse() {
// CHECK-NEXT:     %0 = onnx.Constant sparse<{{\[\[}}0, 1], [1, 0]], [1.000000e+00, 2.000000e+00]> : tensor<2x2xf32>
// CHECK-NEXT:     %1 = onnx.Constant sparse<0, 1.000000e+00> : tensor<3xf32>
// CHECK-NEXT:     %2 = onnx.Constant sparse<0, 1> : tensor<2xi64>
// CHECK-NEXT:     %3 = onnx.Constant sparse<{{\[\[}}0], [2]], ["a", "b"]> : tensor<3x!onnx.String>
// CHECK-NEXT:     %4 = onnx.Constant sparse<> : tensor<3xf32>
// CHECK-NEXT:     %5 = onnx.Constant {sparse_value = sparse<{{\[\[}}0], [1]], [1.000000e+00, 2.000000e+00]> : tensor<3xf32>} : tensor<*xf32>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @sparse() {
  %0 = onnx.Constant sparse<[[0, 1], [1, 0]], [1.0, 2.0]> : tensor<2x2xf32>
  %1 = onnx.Constant sparse<[[0]], 1.0> : tensor<3xf32>
  %2 = onnx.Constant sparse<0, 1> : tensor<2xi64>
  %3 = onnx.Constant sparse<[[0], [2]], ["a", "b"]> : tensor<3x!onnx.String>
  %4 = onnx.Constant sparse<> : tensor<3xf32>
  %5 = onnx.Constant {sparse_value = sparse<[[0], [1]], [1.0, 2.0]> : tensor<3xf32>} : tensor<*xf32>
  onnx.Return
}
