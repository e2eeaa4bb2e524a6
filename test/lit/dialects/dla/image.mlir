// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Pixel-format input: 3 columns of 4 channels become 12 channels of a kernel of height 3 and width 1.
// CHECK-LABEL: @pixels
// CHECK-SAME:    (%arg0: !dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>
// CHECK:         "dla.conv"(%arg0, %arg1) <{
// CHECK-SAME:      in_cvt = #dla.converter<scale = 3, truncate = 2>, means = array<i64: 123, 117, 104, 90>
// CHECK-SAME:      -> !dla.flow<tensor<1x16x8x8xi32>>
func.func @pixels(%x: !dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>, %w: tensor<16x12x3x1xi8>) -> tensor<1x16x8x8xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, in_cvt = #dla.converter<scale = 3, truncate = 2>,
                            means = array<i64: 123, 117, 104, 90>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (!dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>, tensor<16x12x3x1xi8>) -> !dla.flow<tensor<1x16x8x8xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x8x8xi32>>) -> tensor<1x16x8x8xi8>
  func.return %y : tensor<1x16x8x8xi8>
}

// CHECK-LABEL: @rows
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 0, 3, 0>}> : (!dla.image<R8, tensor<1x1x8x8xi8>>) -> !dla.image<R8, tensor<1x1x5x8xi8>>
func.func @rows(%x: !dla.image<R8, tensor<1x1x8x8xi8>>) {
  %r = "dla.slice"(%x) <{offsets = array<i64: 0, 3, 0>}> : (!dla.image<R8, tensor<1x1x8x8xi8>>) -> !dla.image<R8, tensor<1x1x5x8xi8>>
  func.return
}

// CHECK-LABEL: @placed
// CHECK-SAME:    !dla.surface<!dla.image<R16_F, tensor<1x1x8x8xf16>>, "input_0" at 0, line 32, surface 256>
func.func @placed(%x: !dla.surface<!dla.image<R16_F, tensor<1x1x8x8xf16>>, "input_0" at 0, line 32, surface 256>) {
  func.return
}
