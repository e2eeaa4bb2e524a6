// RUN: onnx-opt %s --print-op-stats 2>&1 | filecheck %s
// RUN: onnx-opt %s --print-op-stats=json 2>&1 | filecheck %s --check-prefix=JSON
// RUN: onnx-opt %s --print-op-stats --allow-unregistered-dialect | filecheck %s --check-prefix=MODULE

// CHECK:      Operations encountered:
// CHECK-NEXT: -----------------------
// CHECK-NEXT:   builtin.module , 1
// CHECK-NEXT:      func.func   , 1
// CHECK-NEXT:      onnx.Relu   , 2
// CHECK-NEXT:      onnx.Return , 1

// JSON:      {
// JSON-NEXT:   "builtin.module" : 1,
// JSON-NEXT:   "func.func" : 1,
// JSON-NEXT:   "onnx.Relu" : 2,
// JSON-NEXT:   "onnx.Return" : 1
// JSON-NEXT: }

// MODULE:      module {
// MODULE-NEXT:   func.func @two
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %1 : tensor<4xf32>
}
