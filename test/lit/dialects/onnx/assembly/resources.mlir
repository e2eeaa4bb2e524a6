// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Resource blobs at the end of the file; an elided one stays elided.

// CHECK:      module {
// CHECK-NEXT:   func.func @resources() {
// CHECK-NEXT:     %0 = onnx.Constant dense_resource<weights> : tensor<2xf32>
// CHECK-NEXT:     %1 = onnx.Constant dense_resource<__elided__> : tensor<1000xf32>
// CHECK-NEXT:     %2 = onnx.Constant dense_resource<__elided__> : tensor<2x3xi64>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK:      {-#
// CHECK-NEXT:   dialect_resources: {
// CHECK-NEXT:     builtin: {
// CHECK-NEXT:       weights: "0x040000000000803F00000040"
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: #-}
func.func @resources() {
  %0 = onnx.Constant dense_resource<weights> : tensor<2xf32>
  %1 = onnx.Constant dense_resource<__elided__> : tensor<1000xf32>
  %2 = onnx.Constant dense<__elided__> : tensor<2x3xi64>
  onnx.Return
}
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
