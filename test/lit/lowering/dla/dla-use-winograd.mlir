// RUN: onnx-opt %s --dla-use-winograd --split-input-file | filecheck %s
// RUN: onnx-opt %s --dla-use-winograd='target=nv_large' --split-input-file | filecheck %s --check-prefix=DIRECT

// 128 channels on 28x28 are bound by multiplications, of which Winograd's algorithm makes 2.25 times fewer.
// CHECK-LABEL: @whole_tiles
// CHECK:         "dla.constant"() <{layout = "winograd_kernels", value =
// CHECK:         "dla.conv"
// CHECK-SAME:      is_winograd
// CHECK-SAME:      pads = array<i64: 1, 1, 1, 1>
// CHECK-NOT:     dla.slice
// DIRECT-LABEL: @whole_tiles
// DIRECT:         "dla.constant"() <{layout = "kernels", value =
// DIRECT-NOT:     is_winograd
func.func @whole_tiles(%x: tensor<1x128x28x28xf16>) -> tensor<1x128x28x28xf16> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<0.5> : tensor<128x128x3x3xf16>}> : () -> tensor<128x128x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x28x28xf16>, tensor<128x128x3x3xf16>) -> !dla.flow<tensor<1x128x28x28xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x28x28xf32>>) -> tensor<1x128x28x28xf16>
  func.return %y : tensor<1x128x28x28xf16>
}

// -----

// Rows and columns are given in multiples of 4: 30x31 grow by padding, and the pooling reads a slice.
// CHECK-LABEL: @rows_over
// CHECK:         %[[A:.*]] = "dla.conv"
// CHECK-SAME:      is_winograd
// CHECK-SAME:      pads = array<i64: 1, 1, 3, 2>
// CHECK-SAME:      -> !dla.flow<tensor<1x128x32x32xf32>>
// CHECK:         %[[S:.*]] = "dla.sdp"(%[[A]]) {{.*}} -> tensor<1x128x32x32xf16>
// CHECK:         %[[Y:.*]] = "dla.slice"(%[[S]]) <{offsets = array<i64: 0, 0, 0>}> {{.*}} -> tensor<1x128x30x31xf16>
// CHECK:         "dla.pdp"(%[[Y]])
func.func @rows_over(%x: tensor<1x128x30x31xf16>) -> tensor<1x128x30x31xf16> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<0.5> : tensor<128x128x3x3xf16>}> : () -> tensor<128x128x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x30x31xf16>, tensor<128x128x3x3xf16>) -> !dla.flow<tensor<1x128x30x31xf32>>
  %s = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x30x31xf32>>) -> tensor<1x128x30x31xf16>
  %y = "dla.pdp"(%s) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x30x31xf16>) -> tensor<1x128x30x31xf16>
  func.return %y : tensor<1x128x30x31xf16>
}

// -----

// A result of the network has no gaps between its rows.
// CHECK-LABEL: @returned
// CHECK-NOT:     is_winograd
func.func @returned(%x: tensor<1x128x30x31xf16>) -> tensor<1x128x30x31xf16> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<0.5> : tensor<128x128x3x3xf16>}> : () -> tensor<128x128x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x30x31xf16>, tensor<128x128x3x3xf16>) -> !dla.flow<tensor<1x128x30x31xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x30x31xf32>>) -> tensor<1x128x30x31xf16>
  func.return %y : tensor<1x128x30x31xf16>
}

// -----

// Kernels of 512 channels take longer to load than to multiply, and transformed ones are larger.
// CHECK-LABEL: @bound_by_weights
// CHECK-NOT:     is_winograd
func.func @bound_by_weights(%x: tensor<1x512x8x8xf16>) -> tensor<1x512x8x8xf16> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<0.5> : tensor<512x512x3x3xf16>}> : () -> tensor<512x512x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x512x8x8xf16>, tensor<512x512x3x3xf16>) -> !dla.flow<tensor<1x512x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x512x8x8xf32>>) -> tensor<1x512x8x8xf16>
  func.return %y : tensor<1x512x8x8xf16>
}

// -----

// Transformed INT8 would have to fit 8 bits again.
// CHECK-LABEL: @integers
// CHECK-NOT:     is_winograd
func.func @integers(%x: tensor<1x128x28x28xi8>) -> tensor<1x128x28x28xi8> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<128x128x3x3xi8>}> : () -> tensor<128x128x3x3xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x28x28xi8>, tensor<128x128x3x3xi8>) -> !dla.flow<tensor<1x128x28x28xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x28x28xi32>>) -> tensor<1x128x28x28xi8>
  func.return %y : tensor<1x128x28x28xi8>
}

// -----

// A conversion to integers was never seen beside Winograd's tiles.
// CHECK-LABEL: @integer_results
// CHECK-NOT:     is_winograd
// CHECK:         return
func.func @integer_results(%x: tensor<1x128x28x28xf16>) -> tensor<1x128x28x28xi16> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<0.5> : tensor<128x128x3x3xf16>}> : () -> tensor<128x128x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x28x28xf16>, tensor<128x128x3x3xf16>) -> !dla.flow<tensor<1x128x28x28xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x128x28x28xf32>>) -> tensor<1x128x28x28xi16>
  func.return %y : tensor<1x128x28x28xi16>
}
