// RUN: onnx-opt %s --dla-batch-images=target=nv_small --split-input-file | filecheck %s

// The weights do not fit the buffer: the images are rows of one convolution, which reads them once. 250 channels
// end within an atom; the next image starts at the next one.
// CHECK-LABEL: @connected
// CHECK-SAME:    (%arg0: tensor<1x506x1x1xi8> {dla.images = {channels = 250 : i64, count = 2 : i64}})
// CHECK-SAME:    -> (tensor<1x2048x1x1xi8> {dla.images = {channels = 1024 : i64, count = 2 : i64}})
// CHECK-NOT:     dla.batch
// CHECK:         %[[A:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}>
// CHECK:         %[[B:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 256, 0, 0>}>
// CHECK:         %[[ROWS:.*]] = "dla.concat"(%[[A]], %[[B]]) <{axis = 2 : i64}> : {{.*}} -> tensor<1x250x2x1xi8>
// CHECK:         %[[SUMS:.*]] = "dla.conv"(%[[ROWS]], {{.*}} -> !dla.flow<tensor<1x1024x2x1xi32>>
// CHECK:         %[[Y:.*]] = "dla.sdp"(%[[SUMS]]) {{.*}} -> tensor<1x1024x2x1xi8>
// CHECK:         "dla.slice"(%[[Y]]) <{offsets = array<i64: 0, 1, 0>}> : (tensor<1x1024x2x1xi8>) -> tensor<1x1024x1x1xi8>
// CHECK:         "dla.concat"({{.*}}) <{alignment = 1024 : i64, axis = 1 : i64}>
func.func @connected(%x: tensor<1x250x1x1xi8>) -> tensor<1x1024x1x1xi8> attributes {dla.batch = 2 : i64} {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<1024x250x1x1xi8>}> : () -> tensor<1024x250x1x1xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x250x1x1xi8>, tensor<1024x250x1x1xi8>) -> !dla.flow<tensor<1x1024x1x1xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x1024x1x1xi32>>) -> tensor<1x1024x1x1xi8>
  func.return %y : tensor<1x1024x1x1xi8>
}

// -----

// A kernel that covers all rows of an image steps from image to image.
// CHECK-LABEL: @whole_height
// CHECK:         "dla.concat"({{.*}}) <{axis = 2 : i64}> : {{.*}} -> tensor<1x64x9x3xi8>
// CHECK:         "dla.conv"({{.*}}strides = array<i64: 3, 1>{{.*}} -> !dla.flow<tensor<1x512x3x1xi32>>
func.func @whole_height(%x: tensor<1x64x3x3xi8>) -> tensor<1x512x1x1xi8> attributes {dla.batch = 3 : i64} {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<512x64x3x3xi8>}> : () -> tensor<512x64x3x3xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x64x3x3xi8>, tensor<512x64x3x3xi8>) -> !dla.flow<tensor<1x512x1x1xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x512x1x1xi32>>) -> tensor<1x512x1x1xi8>
  func.return %y : tensor<1x512x1x1xi8>
}

// -----

// Windows of three rows would cover rows of two images: these follow each other.
// CHECK-LABEL: @padded
// CHECK-NOT:     axis = 2
// CHECK-COUNT-2: -> !dla.flow<tensor<1x8x4x4xi32>>
// CHECK-NOT:     dla.flow<tensor<1x8x8x4xi32>>
func.func @padded(%x: tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8> attributes {dla.batch = 2 : i64} {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<8x8x3x3xi8>}> : () -> tensor<8x8x3x3xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x8x4x4xi8>, tensor<8x8x3x3xi8>) -> !dla.flow<tensor<1x8x4x4xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x4x4xi32>>) -> tensor<1x8x4x4xi8>
  func.return %y : tensor<1x8x4x4xi8>
}

// -----

// Images of pixels are rows of one image.
// CHECK-LABEL: @pixels
// CHECK-SAME:    !dla.image<R8, tensor<1x1x8x4xi8>> {dla.images = {channels = 1 : i64, count = 2 : i64}}
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 0, 4, 0>}> : {{.*}} -> !dla.image<R8, tensor<1x1x4x4xi8>>
func.func @pixels(%x: !dla.image<R8, tensor<1x1x4x4xi8>>) -> tensor<1x8x4x4xi8> attributes {dla.batch = 2 : i64} {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<8x1x1x1xi8>}> : () -> tensor<8x1x1x1xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (!dla.image<R8, tensor<1x1x4x4xi8>>, tensor<8x1x1x1xi8>) -> !dla.flow<tensor<1x8x4x4xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x4x4xi32>>) -> tensor<1x8x4x4xi8>
  func.return %y : tensor<1x8x4x4xi8>
}

// -----

// CHECK-LABEL: @one_image
// CHECK-NOT:     dla.images
// CHECK-NOT:     dla.slice
func.func @one_image(%x: tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8> {
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8>
  func.return %y : tensor<1x8x4x4xi8>
}
