// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Ops that are not ONNX operators, with their defaults.

// CHECK: #map = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-LABEL: @special_cases
// CHECK:         "onnx.BatchNormalizationInferenceMode"({{.*}}) <{epsilon = 9.99999974E-6 : f32, momentum = 0.899999976 : f32}> : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT:    "onnx.MaxPoolSingleOut"({{.*}}) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [2], storage_order = 0 : si64}> : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT:    "onnx.MaxPoolSingleOut"({{.*}}) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [], storage_order = 0 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
// CHECK:         "onnx.RMSLayerNormalization"({{.*}}) <{axis = -1 : si64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : si64}> : (tensor<1x2x4xf32>, tensor<4xf32>, none) -> (tensor<1x2x4xf32>, none)
// CHECK-NEXT:    "onnx.ConcatShapeTranspose"({{.*}}) <{axis = 1 : si64, end = 2 : si64, perm = [1, 0], start = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2xi64>, tensor<6x2xf32>)
func.func @special_cases(%x: tensor<1x2x4xf32>, %c: tensor<2xf32>, %u: tensor<*xf32>, %s: tensor<4xf32>, %m: tensor<2x3xf32>) {
  %0 = "onnx.BatchNormalizationInferenceMode"(%x, %c, %c, %c, %c) : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  %1 = "onnx.MaxPoolSingleOut"(%x) <{kernel_shape = [2]}> : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  %2 = "onnx.MaxPoolSingleOut"(%u) : (tensor<*xf32>) -> tensor<*xf32>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %3:2 = "onnx.RMSLayerNormalization"(%x, %s, %none) : (tensor<1x2x4xf32>, tensor<4xf32>, none) -> (tensor<1x2x4xf32>, none)
  %4:2 = "onnx.ConcatShapeTranspose"(%m, %m) <{axis = 1 : si64, end = 2 : si64, perm = [1, 0]}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2xi64>, tensor<6x2xf32>)
  onnx.Return
}

// CHECK-LABEL: @movements
// CHECK:         "onnx.ShapeTransform"({{.*}}) <{index_map = #map}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT:    "onnx.LayoutTransform"({{.*}}) <{target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>}> : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
// CHECK-NEXT:    "onnx.LayoutTransform"({{.*}}) : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:    "onnx.UpsampleAndPad"({{.*}}) <{pads = [1, 1], strides = [2]}> : (tensor<2x3xf32>) -> tensor<2x7xf32>
// CHECK-NEXT:    "onnx.Im2Col"({{.*}}) <{auto_pad = "NOTSET", kernel_shape = [2, 2]}> : (tensor<1x8x4x4xf32>) -> tensor<1x32x9xf32>
func.func @movements(%m: tensor<2x3xf32>, %x: tensor<1x8x4x4xf32>) {
  %0 = "onnx.ShapeTransform"(%m) <{index_map = affine_map<(d0, d1) -> (d1, d0)>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "onnx.LayoutTransform"(%x) <{target_layout = #onnx.layout<{dataLayout = "nchw4c"}>}> : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
  %2 = "onnx.LayoutTransform"(%1) : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
  %3 = "onnx.UpsampleAndPad"(%m) <{strides = [2], pads = [1, 1]}> : (tensor<2x3xf32>) -> tensor<2x7xf32>
  %4 = "onnx.Im2Col"(%x) <{kernel_shape = [2, 2]}> : (tensor<1x8x4x4xf32>) -> tensor<1x32x9xf32>
  onnx.Return
}

// CHECK-LABEL: @fused
// CHECK:         "onnx.Fused"(%{{.+}}) <{kind = "elementwise"}> ({
// CHECK-NEXT:    ^bb0(%{{.+}}: tensor<2xf32>):
// CHECK-NEXT:      %{{.+}} = "onnx.Relu"(%{{.+}}) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:      onnx.Yield %{{.+}} : tensor<2xf32>
// CHECK-NEXT:    }) : (tensor<2xf32>) -> tensor<2xf32>
func.func @fused(%x: tensor<2xf32>) {
  %0 = "onnx.Fused"(%x) <{kind = "elementwise"}> ({
  ^bb0(%y: tensor<2xf32>):
    %1 = "onnx.Relu"(%y) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %1 : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}
