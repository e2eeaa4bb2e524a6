// RUN: onnx-opt %s --legalize-versions-onnx --split-input-file | filecheck %s

// Stepwise to the newest opset version that targets support.
// CHECK-LABEL: @upsample
// CHECK:         onnx.ResizeV13
// CHECK-SAME:    coordinate_transformation_mode = "asymmetric"
// CHECK-SAME:    mode = "nearest"
// CHECK-SAME:    nearest_mode = "floor"
func.func @upsample(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32> {
  %y = "onnx.UpsampleV7"(%x) <{mode = "nearest", scales = [1.0 : f32, 1.0 : f32, 2.0 : f32, 2.0 : f32]}> : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32>
  func.return %y : tensor<1x3x16x16xf32>
}

// -----

// Softmax-11 flattens to a matrix; it equals Softmax-13 if all but one of the flattened axes have size 1.
// CHECK-LABEL: @softmax
// CHECK:         onnx.Softmax"(%arg0) <{axis = 1 : si64}>
func.func @softmax(%x: tensor<2x3x1xf32>) -> tensor<2x3x1xf32> {
  %y = "onnx.SoftmaxV11"(%x) <{axis = 1 : si64}> : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  func.return %y : tensor<2x3x1xf32>
}

// -----

// One that cannot be converted keeps the model at opset 12: the operators beside it are not upgraded either.
// CHECK-LABEL: @stays
// CHECK:         onnx.ResizeV11
// CHECK:         onnx.ClipV12
// CHECK:         onnx.HardmaxV11
func.func @stays(%x: tensor<1x3x8x8xf32>, %r: tensor<0xf32>, %s: tensor<4xf32>, %l: tensor<f32>, %h: tensor<f32>) -> tensor<1x3x16x16xf32> {
  %t = "onnx.ResizeV10"(%x, %s) <{mode = "nearest"}> : (tensor<1x3x8x8xf32>, tensor<4xf32>) -> tensor<1x3x16x16xf32>
  %c = "onnx.ClipV11"(%t, %l, %h) : (tensor<1x3x16x16xf32>, tensor<f32>, tensor<f32>) -> tensor<1x3x16x16xf32>
  %y = "onnx.HardmaxV11"(%c) <{axis = 1 : si64}> : (tensor<1x3x16x16xf32>) -> tensor<1x3x16x16xf32>
  func.return %y : tensor<1x3x16x16xf32>
}
