// RUN: onnx-opt %s --dla-skip-rows=target=nv_small --split-input-file | filecheck %s

// Every other row of 1x1 windows is read: two rows as one of twice the width, of which the first half is kept.
// CHECK-LABEL: @every_other
// CHECK:         %[[JOINED:.*]] = "dla.reshape"(%arg0) : (tensor<1x16x8x6xi8>) -> tensor<1x16x4x12xi8>
// CHECK-NEXT:    %[[KEPT:.*]] = "dla.slice"(%[[JOINED]]) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x4x12xi8>) -> tensor<1x16x4x6xi8>
// CHECK-NEXT:    "dla.conv"(%[[KEPT]], %arg1) <{{{.*}}strides = array<i64: 1, 2>
func.func @every_other(%x: tensor<1x16x8x6xi8>, %w: tensor<8x16x1x1xi8>) -> tensor<1x8x4x3xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x6xi8>, tensor<8x16x1x1xi8>) -> !dla.flow<tensor<1x8x4x3xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x4x3xi32>>) -> tensor<1x8x4x3xi8>
  func.return %y : tensor<1x8x4x3xi8>
}

// -----

// Windows of three rows read all.
// CHECK-LABEL: @all_rows
// CHECK-NOT:     dla.reshape
func.func @all_rows(%x: tensor<1x16x8x6xi8>, %w: tensor<8x16x3x1xi8>) -> tensor<1x8x4x3xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x6xi8>, tensor<8x16x3x1xi8>) -> !dla.flow<tensor<1x8x4x3xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x4x3xi32>>) -> tensor<1x8x4x3xi8>
  func.return %y : tensor<1x8x4x3xi8>
}

// -----

// The last of an odd number of rows is read as well, and has no other to be joined with.
// CHECK-LABEL: @odd
// CHECK-NOT:     dla.reshape
func.func @odd(%x: tensor<1x16x7x6xi8>, %w: tensor<8x16x1x1xi8>) -> tensor<1x8x4x3xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x7x6xi8>, tensor<8x16x1x1xi8>) -> !dla.flow<tensor<1x8x4x3xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x4x3xi32>>) -> tensor<1x8x4x3xi8>
  func.return %y : tensor<1x8x4x3xi8>
}

// -----

// Rows with gaps, here between the columns of a slice, cannot be joined.
// CHECK-LABEL: @gaps
// CHECK-NOT:     dla.reshape
func.func @gaps(%x: tensor<1x16x8x9xi8>, %w: tensor<8x16x1x1xi8>) -> tensor<1x8x4x3xi8> {
  %s = "dla.slice"(%x) <{offsets = array<i64: 0, 0, 1>}> : (tensor<1x16x8x9xi8>) -> tensor<1x16x8x6xi8>
  %a = "dla.conv"(%s, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x6xi8>, tensor<8x16x1x1xi8>) -> !dla.flow<tensor<1x8x4x3xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x4x3xi32>>) -> tensor<1x8x4x3xi8>
  func.return %y : tensor<1x8x4x3xi8>
}

// -----

// Single rows that are concatenated: the second, which is not read, is not computed.
// CHECK-LABEL: @rows
// CHECK-NOT:     "dla.sdp"(%arg1)
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0)
// CHECK-NEXT:    %[[B:.*]] = "dla.sdp"(%arg2)
// CHECK-NEXT:    %[[C:.*]] = "dla.concat"(%[[A]], %[[B]]) <{axis = 2 : i64}> : (tensor<1x16x1x6xi8>, tensor<1x16x1x6xi8>) -> tensor<1x16x2x6xi8>
// CHECK-NEXT:    "dla.conv"(%[[C]], %arg3) <{{{.*}}strides = array<i64: 1, 2>
func.func @rows(%x: tensor<1x16x1x6xi8>, %y: tensor<1x16x1x6xi8>, %z: tensor<1x16x1x6xi8>, %w: tensor<8x16x1x1xi8>) -> tensor<1x8x2x3xi8> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x1x6xi8>) -> tensor<1x16x1x6xi8>
  %b = "dla.sdp"(%y) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x1x6xi8>) -> tensor<1x16x1x6xi8>
  %c = "dla.sdp"(%z) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x1x6xi8>) -> tensor<1x16x1x6xi8>
  %d = "dla.concat"(%a, %b, %c) <{axis = 2 : i64}> : (tensor<1x16x1x6xi8>, tensor<1x16x1x6xi8>, tensor<1x16x1x6xi8>) -> tensor<1x16x3x6xi8>
  %e = "dla.conv"(%d, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x3x6xi8>, tensor<8x16x1x1xi8>) -> !dla.flow<tensor<1x8x2x3xi32>>
  %f = "dla.sdp"(%e) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x2x3xi32>>) -> tensor<1x8x2x3xi8>
  func.return %f : tensor<1x8x2x3xi8>
}
