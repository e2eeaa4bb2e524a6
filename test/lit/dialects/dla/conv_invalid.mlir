// RUN: onnx-opt %s --split-input-file --verify-diagnostics

func.func @channels(%x: tensor<1x16x8x8xf16>, %w: tensor<32x8x3x3xf16>) {
  // expected-error @+1 {{weights are Kx16xRxS, found 32x8x3x3}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x8x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x8xf32>>) -> tensor<1x32x8x8xf16>
  func.return
}

// -----

func.func @rows(%x: tensor<1x16x8x8xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{the accumulator is 32x6x6, found 32x8x8}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x8xf32>>) -> tensor<1x32x8x8xf16>
  func.return
}

// -----

func.func @pads(%x: tensor<1x16x8x8xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{pads has 4 entries (top, left, bottom, right), found 2}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x6x6xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x6x6xf32>>) -> tensor<1x32x6x6xf16>
  func.return
}

// -----

func.func @stride(%x: tensor<1x16x8x8xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{strides is at least 1, found 0}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 0, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x6x6xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x6x6xf32>>) -> tensor<1x32x6x6xf16>
  func.return
}

// -----

func.func @unread(%x: tensor<1x16x8x8xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{the accumulator goes to exactly one dla.sdp, as its source}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x6x6xf32>>
  func.return
}

// -----

func.func @batch(%x: tensor<2x16x8x8xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{a cube is 1xCxHxW with sizes from 1, found 2x16x8x8}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<2x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x6x6xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x6x6xf32>>) -> tensor<1x32x6x6xf16>
  func.return
}

// -----

func.func @winograd_strides(%x: tensor<1x16x15x15xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{is_winograd takes 3x3 kernels with strides and dilations of 1, found 3x3, strides (2, 2) and dilations (1, 1)}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, is_winograd, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x15x15xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x8xf32>>) -> tensor<1x32x8x8xf16>
  func.return
}

// -----

func.func @winograd_rows(%x: tensor<1x16x8x7xf16>, %w: tensor<32x16x3x3xf16>) {
  // expected-error @+1 {{is_winograd gives rows and columns in multiples of 4, found 8x7}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, is_winograd, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x7xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x7xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x7xf32>>) -> tensor<1x32x8x7xf16>
  func.return
}

// -----

func.func @winograd_image(%x: !dla.image<R8, tensor<1x1x10x10xi8>>, %w: tensor<8x3x3x1xi8>) {
  // expected-error @+1 {{is_winograd is for feature cubes, found an image}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, is_winograd, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (!dla.image<R8, tensor<1x1x10x10xi8>>, tensor<8x3x3x1xi8>) -> !dla.flow<tensor<1x8x8x8xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x8x8xi32>>) -> tensor<1x8x8x8xi8>
  func.return
}
