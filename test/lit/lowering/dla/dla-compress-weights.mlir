// RUN: onnx-opt %s --dla-compress-weights --split-input-file | filecheck %s
// RUN: onnx-opt %s --dla-compress-weights='target=nv_large' --split-input-file | filecheck %s --check-prefix=PLAIN

// A fully connected layer waits for its weights, 8192 bytes, none of which is nonzero: one entry of elements, 1024
// bytes of mask and a table of two kernel groups. Only the first design reads such weights.
// CHECK-LABEL: @zeros
// CHECK:         "dla.constant"() <{layout = "compressed_kernels", nonzero = 0 : i64, value =
// PLAIN-LABEL: @zeros
// PLAIN:         "dla.constant"() <{layout = "kernels", value =
func.func @zeros(%x: tensor<1x128x1x1xi8>) -> tensor<1x64x1x1xi8> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<0> : tensor<64x128x1x1xi8>}> : () -> tensor<64x128x1x1xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x1x1xi8>, tensor<64x128x1x1xi8>) -> !dla.flow<tensor<1x64x1x1xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x64x1x1xi32>>) -> tensor<1x64x1x1xi8>
  func.return %y : tensor<1x64x1x1xi8>
}

// -----

// A mask would be read in addition.
// CHECK-LABEL: @ones
// CHECK:         "dla.constant"() <{layout = "kernels", value =
func.func @ones(%x: tensor<1x128x1x1xi8>) -> tensor<1x64x1x1xi8> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<64x128x1x1xi8>}> : () -> tensor<64x128x1x1xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x128x1x1xi8>, tensor<64x128x1x1xi8>) -> !dla.flow<tensor<1x64x1x1xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x64x1x1xi32>>) -> tensor<1x64x1x1xi8>
  func.return %y : tensor<1x64x1x1xi8>
}
