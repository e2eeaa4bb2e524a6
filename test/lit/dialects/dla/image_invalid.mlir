// RUN: onnx-opt %s --split-input-file --verify-diagnostics

func.func @columns(%x: !dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>, %w: tensor<16x4x3x3xi8>) {
  // expected-error @+1 {{weights over pixels are KxCSxRx1 with CS a multiple of 4, columns undilated; found 16x4x3x3 and dilations (1, 1)}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (!dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>, tensor<16x4x3x3xi8>) -> !dla.flow<tensor<1x16x8x8xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x8x8xi32>>) -> tensor<1x16x8x8xi8>
  func.return
}

// -----

func.func @means(%x: !dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>, %w: tensor<16x12x3x1xi8>) {
  // expected-error @+1 {{means has 4 entries (R, G, B, A), found 3}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, means = array<i64: 1, 2, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (!dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>, tensor<16x12x3x1xi8>) -> !dla.flow<tensor<1x16x8x8xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x8x8xi32>>) -> tensor<1x16x8x8xi8>
  func.return
}

// -----

func.func @means_of_features(%x: tensor<1x4x8x8xi8>, %w: tensor<16x4x3x3xi8>) {
  // expected-error @+1 {{means are for images, found a feature cube}}
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, means = array<i64: 1, 2, 3, 4>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x4x8x8xi8>, tensor<16x4x3x3xi8>) -> !dla.flow<tensor<1x16x8x8xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x8x8xi32>>) -> tensor<1x16x8x8xi8>
  func.return
}

// -----

func.func @formats(%x: !dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>) {
  // expected-error @+1 {{part of an image keeps its format and channels; found A8B8G8R8 of 4 and R8 of 1}}
  %r = "dla.slice"(%x) <{offsets = array<i64: 0, 0, 0>}> : (!dla.image<A8B8G8R8, tensor<1x4x8x8xi8>>) -> !dla.image<R8, tensor<1x1x8x8xi8>>
  func.return
}
