// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Memory layouts as encodings of types; their names are not case-sensitive.

// CHECK:      module {
// CHECK-NEXT:   func.func @layouts(%arg0: tensor<1x8x4x4xf32>, %arg1: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
// CHECK-NEXT:     %0 = "onnx.LayoutTransform"(%arg0) <{target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>}> : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
// CHECK-NEXT:     %1 = "onnx.LayoutTransform"(%arg1) <{target_layout = #onnx.layout<{dataLayout = "KCMN4C4K"}>}> : (tensor<8x8x1x1xf32>) -> tensor<8x8x1x1xf32, #onnx.layout<{dataLayout = "KCMN4C4K"}>>
// CHECK-NEXT:     %2 = "onnx.LayoutTransform"(%0) <{target_layout = "STANDARD"}> : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:     %3 = "onnx.LayoutTransform"(%0) : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:     onnx.Return %2 : tensor<1x8x4x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
!blocked = tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
func.func @layouts(%x: tensor<1x8x4x4xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x4x4xf32> {
  %0 = "onnx.LayoutTransform"(%x) {target_layout = #onnx.layout<{dataLayout = "nchw4c"}>} : (tensor<1x8x4x4xf32>) -> !blocked
  %1 = "onnx.LayoutTransform"(%w) {target_layout = #onnx.layout<{dataLayout = "KCMN4C4K"}>} : (tensor<8x8x1x1xf32>) -> tensor<8x8x1x1xf32, #onnx.layout<{dataLayout = "KCMN4C4K"}>>
  %2 = "onnx.LayoutTransform"(%0) {target_layout = "STANDARD"} : (!blocked) -> tensor<1x8x4x4xf32>
  %3 = "onnx.LayoutTransform"(%0) : (!blocked) -> tensor<1x8x4x4xf32>
  onnx.Return %2 : tensor<1x8x4x4xf32>
}
