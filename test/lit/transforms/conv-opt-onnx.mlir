// RUN: onnx-opt %s --conv-opt-onnx='simd-data-layout' --split-input-file | filecheck %s
// RUN: onnx-opt %s --conv-opt-onnx='simd-data-layout=true' --conv-opt-onnx='simd-data-layout=true' --split-input-file | filecheck %s
// RUN: onnx-opt %s --conv-opt-onnx --split-input-file | filecheck %s --check-prefix=OFF

// OFF-NOT: onnx.LayoutTransform

// CHECK-LABEL: @main
// CHECK-NEXT:    %0 = "onnx.NoValue"
// CHECK-NEXT:    %1 = "onnx.LayoutTransform"(%arg0) <{target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>}> : (tensor<5x3x32x32xf32>) -> tensor<5x3x32x32xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
// CHECK-NEXT:    %2 = "onnx.LayoutTransform"(%arg1) <{target_layout = #onnx.layout<{dataLayout = "KCMN4C4K"}>}> : (tensor<2x3x3x3xf32>) -> tensor<2x3x3x3xf32, #onnx.layout<{dataLayout = "KCMN4C4K"}>>
// CHECK-NEXT:    %3 = "onnx.Conv"(%1, %2, %0) <{auto_pad = "NOTSET", group = 1 : si64, strides = [1, 1]}> : (tensor<5x3x32x32xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>, tensor<2x3x3x3xf32, #onnx.layout<{dataLayout = "KCMN4C4K"}>>, none) -> tensor<5x2x30x30xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
// CHECK-NEXT:    %4 = "onnx.LayoutTransform"(%3) <{target_layout = "STANDARD"}> : (tensor<5x2x30x30xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<5x2x30x30xf32>
// CHECK-NEXT:    onnx.Return %4
func.func @main(%x: tensor<5x3x32x32xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<5x2x30x30xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {auto_pad = "NOTSET", group = 1 : si64, strides = [1, 1]} : (tensor<5x3x32x32xf32>, tensor<2x3x3x3xf32>, none) -> tensor<5x2x30x30xf32>
  onnx.Return %0 : tensor<5x2x30x30xf32>
}

// -----

// No match: one spatial axis, float64, a result of unknown shape.

// CHECK-LABEL: @others
// CHECK-NOT:     onnx.LayoutTransform
func.func @others(%x: tensor<1x1x8xf32>, %w: tensor<1x1x3xf32>, %y: tensor<1x1x8x8xf64>, %v: tensor<1x1x3x3xf64>, %z: tensor<*xf32>, %u: tensor<1x1x3x3xf32>)
    -> (tensor<1x1x6xf32>, tensor<1x1x6x6xf64>, tensor<*xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x8xf32>, tensor<1x1x3xf32>, none) -> tensor<1x1x6xf32>
  %1 = "onnx.Conv"(%y, %v, %none) : (tensor<1x1x8x8xf64>, tensor<1x1x3x3xf64>, none) -> tensor<1x1x6x6xf64>
  %2 = "onnx.Conv"(%z, %u, %none) : (tensor<*xf32>, tensor<1x1x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<1x1x6xf32>, tensor<1x1x6x6xf64>, tensor<*xf32>
}
