// RUN: onnx-opt %s --dla-order-branches='target=nv_small' --split-input-file | filecheck %s

// Two branches of two convolutions. In the order given, the second convolution of a branch loads only when the first is
// done; in turn with the other branch, it loads while that one computes.
// CHECK-LABEL: @branches
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x128x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x128x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x24x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x16x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x40x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x32x7x7xi32>>
func.func @branches(%j: tensor<1x8x7x7xi8>) -> (tensor<1x32x7x7xi8>, tensor<1x40x7x7xi8>) {
  %o = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<128x8x1x1xi8>}> : () -> tensor<128x8x1x1xi8>
  %p = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<16x128x1x1xi8>}> : () -> tensor<16x128x1x1xi8>
  %q = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<32x16x3x3xi8>}> : () -> tensor<32x16x3x3xi8>
  %r = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<24x128x1x1xi8>}> : () -> tensor<24x128x1x1xi8>
  %s = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<40x24x3x3xi8>}> : () -> tensor<40x24x3x3xi8>
  %n = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<128x128x1x1xi8>}> : () -> tensor<128x128x1x1xi8>
  %v = "dla.conv"(%j, %o) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x8x7x7xi8>, tensor<128x8x1x1xi8>) -> !dla.flow<tensor<1x128x7x7xi32>>
  %i = "dla.sdp"(%v) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x7x7xi32>>) -> tensor<1x128x7x7xi8>
  %w = "dla.conv"(%i, %n) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x7x7xi8>, tensor<128x128x1x1xi8>) -> !dla.flow<tensor<1x128x7x7xi32>>
  %x = "dla.sdp"(%w) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x7x7xi32>>) -> tensor<1x128x7x7xi8>
  %a = "dla.conv"(%x, %p) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x7x7xi8>, tensor<16x128x1x1xi8>) -> !dla.flow<tensor<1x16x7x7xi32>>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x7x7xi32>>) -> tensor<1x16x7x7xi8>
  %c = "dla.conv"(%b, %q) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x7x7xi8>, tensor<32x16x3x3xi8>) -> !dla.flow<tensor<1x32x7x7xi32>>
  %d = "dla.sdp"(%c) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x7x7xi32>>) -> tensor<1x32x7x7xi8>
  %e = "dla.conv"(%x, %r) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x7x7xi8>, tensor<24x128x1x1xi8>) -> !dla.flow<tensor<1x24x7x7xi32>>
  %f = "dla.sdp"(%e) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x24x7x7xi32>>) -> tensor<1x24x7x7xi8>
  %g = "dla.conv"(%f, %s) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x24x7x7xi8>, tensor<40x24x3x3xi8>) -> !dla.flow<tensor<1x40x7x7xi32>>
  %h = "dla.sdp"(%g) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x40x7x7xi32>>) -> tensor<1x40x7x7xi8>
  func.return %d, %h : tensor<1x32x7x7xi8>, tensor<1x40x7x7xi8>
}

// -----

// A chain has one order.
// CHECK-LABEL: @chain
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x128x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x16x7x7xi32>>
// CHECK:         "dla.conv"({{.*}} -> !dla.flow<tensor<1x32x7x7xi32>>
func.func @chain(%i: tensor<1x8x7x7xi8>) -> tensor<1x32x7x7xi8> {
  %o = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<128x8x1x1xi8>}> : () -> tensor<128x8x1x1xi8>
  %p = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<16x128x1x1xi8>}> : () -> tensor<16x128x1x1xi8>
  %q = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<32x16x3x3xi8>}> : () -> tensor<32x16x3x3xi8>
  %w = "dla.conv"(%i, %o) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x8x7x7xi8>, tensor<128x8x1x1xi8>) -> !dla.flow<tensor<1x128x7x7xi32>>
  %x = "dla.sdp"(%w) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x7x7xi32>>) -> tensor<1x128x7x7xi8>
  %a = "dla.conv"(%x, %p) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x7x7xi8>, tensor<16x128x1x1xi8>) -> !dla.flow<tensor<1x16x7x7xi32>>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x7x7xi32>>) -> tensor<1x16x7x7xi8>
  %c = "dla.conv"(%b, %q) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x7x7xi8>, tensor<32x16x3x3xi8>) -> !dla.flow<tensor<1x32x7x7xi32>>
  %d = "dla.sdp"(%c) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x7x7xi32>>) -> tensor<1x32x7x7xi8>
  func.return %d : tensor<1x32x7x7xi8>
}
