// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Declared attributes are properties, in `<{…}>` and by name; others follow in `{…}`. Both may be given in `{…}`.
// Defaults are filled in.

// CHECK:      module {
// CHECK-NEXT:   func.func @properties(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: none) {
// CHECK-NEXT:     %0 = "onnx.Conv"(%arg0, %arg1, %arg2) <{auto_pad = "NOTSET", group = 1 : si64, kernel_shape = [2, 2], strides = [1, 1]}> {another, onnx_node_name = "c"} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
// CHECK-NEXT:     %1 = "onnx.Conv"(%arg0, %arg1, %arg2) <{auto_pad = "VALID", group = 1 : si64}> {onnx_node_name = "d"} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
// CHECK-NEXT:     %2 = "onnx.Relu"(%arg0) {a = 1 : i64, b, floats = [1.000000e+00, 2.000000e+00], list = [1, 2], nested = {x = "s", y = f32}, "odd name" = 2 : si64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT:     %3 = "onnx.LeakyRelu"(%arg0) <{alpha = 0.00999999977 : f32}> : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @properties(%x: tensor<1x1x4x4xf32>, %w: tensor<1x1x2x2xf32>, %none: none) {
  %0 = "onnx.Conv"(%x, %w, %none) {strides = [1, 1], onnx_node_name = "c", kernel_shape = [2, 2], another = unit} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
  %1 = "onnx.Conv"(%x, %w, %none) <{group = 1 : si64, auto_pad = "VALID"}> {onnx_node_name = "d"} : (tensor<1x1x4x4xf32>, tensor<1x1x2x2xf32>, none) -> tensor<1x1x3x3xf32>
  %2 = "onnx.Relu"(%x) {b, a = 1 : i64, "odd name" = 2 : si64, list = [1, 2], floats = [1.0, 2.0], nested = {y = f32, x = "s"}} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = "onnx.LeakyRelu"(%x) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  onnx.Return
}
