// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Declared attributes are properties, in `<{…}>`; others are discardable, in `{…}`. Both may be given in `{…}`.
// Omitted properties get their defaults.

// CHECK:      module {
// CHECK-NEXT:   func.func @properties(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: none) {
// CHECK-NEXT:     %0 = "onnx.Conv"(%arg0, %arg1, %arg2) <{auto_pad = "NOTSET", group = 1 : si64, kernel_shape = [2, 2], strides = [1, 1]}> {onnx_node_name = "c", test.another} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
// CHECK-NEXT:     %1 = "onnx.Conv"(%arg0, %arg1, %arg2) <{auto_pad = "VALID", group = 1 : si64}> {onnx_node_name = "d"} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
// CHECK-NEXT:     %2 = "onnx.Relu"(%arg0) {test.a = 1 : i64, test.b, test.floats = [1.000000e+00, 2.000000e+00], test.list = [1, 2], test.nested = {x = "s", y = f32}, "test.odd name" = 2 : si64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT:     %3 = "onnx.LeakyRelu"(%arg0) <{alpha = 0.00999999977 : f32}> : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @properties(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x2x2xf32>, %none: none) {
  %0 = "onnx.Conv"(%x, %w, %none) {strides = [1, 1], onnx_node_name = "c", kernel_shape = [2, 2], test.another = unit} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
  %1 = "onnx.Conv"(%x, %w, %none) <{group = 1 : si64, auto_pad = "VALID"}> {onnx_node_name = "d"} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
  %2 = "onnx.Relu"(%x) {test.b, test.a = 1 : i64, "test.odd name" = 2 : si64, test.list = [1, 2], test.floats = [1.0, 2.0], test.nested = {y = f32, x = "s"}} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = "onnx.LeakyRelu"(%x) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  onnx.Return
}
