// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// Of two layout transforms, the last one applies.
// CHECK-LABEL: @layouts
// CHECK-SAME:    (%[[X:.*]]: tensor<1x8x4x4xf32>)
// CHECK-NEXT:    onnx.Return %[[X]]
func.func @layouts(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  %0 = "onnx.LayoutTransform"(%x) <{target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>}> : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
  %1 = "onnx.LayoutTransform"(%0) : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
  onnx.Return %1 : tensor<1x8x4x4xf32>
}

// -----

// CHECK-LABEL: @last_layout
// CHECK-SAME:    (%[[X:.*]]: tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>)
// CHECK-NEXT:    "onnx.LayoutTransform"(%[[X]]) : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT:    onnx.Return
func.func @last_layout(%x: tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32> {
  %0 = "onnx.LayoutTransform"(%x) : (tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>) -> tensor<1x8x4x4xf32>
  %1 = "onnx.LayoutTransform"(%0) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  onnx.Return %1 : tensor<1x8x4x4xf32>
}

// -----

// Two affine maps are composed.
// CHECK:       #[[MAP:.*]] = affine_map<{{.*}}>
// CHECK-LABEL: @maps
// CHECK-SAME:    (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT:    "onnx.ShapeTransform"(%[[X]]) <{index_map = #[[MAP]]}> : (tensor<4x6xf32>) -> tensor<24xf32>
// CHECK-NEXT:    onnx.Return
func.func @maps(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %0 = "onnx.ShapeTransform"(%x) <{index_map = affine_map<(i, j) -> (j, i)>}> : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = "onnx.ShapeTransform"(%0) <{index_map = affine_map<(i, j) -> (i * 4 + j)>}> : (tensor<6x4xf32>) -> tensor<24xf32>
  onnx.Return %1 : tensor<24xf32>
}

// -----

// Two transposes of the same two axes cancel.
// CHECK-LABEL: @no_map
// CHECK-SAME:    (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT:    onnx.Return %[[X]]
func.func @no_map(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = "onnx.ShapeTransform"(%x) <{index_map = affine_map<(i, j) -> (j, i)>}> : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = "onnx.ShapeTransform"(%0) <{index_map = affine_map<(i, j) -> (j, i)>}> : (tensor<6x4xf32>) -> tensor<4x6xf32>
  onnx.Return %1 : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @no_upsampling
// CHECK-SAME:    (%[[X:.*]]: tensor<1x2x3x3xf32>)
// CHECK-NEXT:    onnx.Return %[[X]]
func.func @no_upsampling(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %0 = "onnx.UpsampleAndPad"(%x) <{strides = [1, 1], pads = [0, 0, 0, 0]}> : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  onnx.Return %0 : tensor<1x2x3x3xf32>
}

// -----

// CHECK-LABEL: @only_pads
// CHECK:         %[[P:.*]] = onnx.Constant dense<[0, 0, 1, 0, 0, 0, 2, 3]> : tensor<8xi64>
// CHECK:         "onnx.Pad"(%{{.*}}, %[[P]], %{{.*}}, %{{.*}}) <{mode = "constant"}> : (tensor<1x2x3x3xf32>, tensor<8xi64>, none, none) -> tensor<1x2x6x6xf32>
func.func @only_pads(%x: tensor<1x2x3x3xf32>) -> tensor<1x2x6x6xf32> {
  %0 = "onnx.UpsampleAndPad"(%x) <{strides = [1, 1], pads = [1, 0, 2, 3]}> : (tensor<1x2x3x3xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %0 : tensor<1x2x6x6xf32>
}
