// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Properties that onnx-mlir does not know yet are printed only where they differ from the default.

// CHECK:      module {
// CHECK-NEXT:   func.func @newer(%arg0: tensor<2xf32>, %arg1: tensor<i64>) {
// CHECK-NEXT:     %0 = "onnx.Cast"(%arg0) <{saturate = 1 : si64, to = f8E8M0FNU}> : (tensor<2xf32>) -> tensor<2xf8E8M0FNU>
// CHECK-NEXT:     %1 = "onnx.Cast"(%arg0) <{round_mode = "down", saturate = 1 : si64, to = f8E8M0FNU}> : (tensor<2xf32>) -> tensor<2xf8E8M0FNU>
// CHECK-NEXT:     %2 = "onnx.Cast"(%arg0) <{saturate = 0 : si64, to = f16}> : (tensor<2xf32>) -> tensor<2xf16>
// CHECK-NEXT:     %3 = "onnx.Range"(%arg1, %arg1, %arg1) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @newer(%x: tensor<2xf32>, %i: tensor<i64>) {
  %0 = "onnx.Cast"(%x) <{to = f8E8M0FNU}> : (tensor<2xf32>) -> tensor<2xf8E8M0FNU>
  %1 = "onnx.Cast"(%x) <{to = f8E8M0FNU, round_mode = "down"}> : (tensor<2xf32>) -> tensor<2xf8E8M0FNU>
  %2 = "onnx.Cast"(%x) <{to = f16, round_mode = "up", saturate = 0 : si64}> : (tensor<2xf32>) -> tensor<2xf16>
  %3 = "onnx.Range"(%i, %i, %i) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  onnx.Return
}
