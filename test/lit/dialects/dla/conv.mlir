// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @same
// CHECK:         "dla.conv"(%arg0, %arg1) <{
// CHECK-SAME:      dilations = array<i64: 1, 1>, pad_value = 0 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, truncate = 0 : i64}>
// CHECK-SAME:      -> !dla.flow<tensor<1x32x8x8xf32>>
func.func @same(%x: tensor<1x16x8x8xf16>, %w: tensor<32x16x3x3xf16>) -> tensor<1x32x8x8xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x8xf32>>) -> tensor<1x32x8x8xf16>
  func.return %y : tensor<1x32x8x8xf16>
}

// Convolution-buffer banks, and addresses and strides of surfaces.
// CHECK-LABEL: @placed
// CHECK:         banks = #dla.banks<data_banks = 13, weight_banks = 3, weight_reuse = true>
// CHECK-SAME:    !dla.packed<tensor<32x16x3x3xf16>, "constants" at 128, size 9216>) -> !dla.flow
func.func @placed(%x: !dla.surface<tensor<1x16x8x8xf16>, "input_0" at 0, line 256, surface 2048>,
                  %w: !dla.packed<tensor<32x16x3x3xf16>, "constants" at 128, size 9216>) {
  %a = "dla.conv"(%x, %w) <{banks = #dla.banks<data_banks = 13, weight_banks = 3, weight_reuse = true>, dilations = array<i64: 2, 1>,
                            pads = array<i64: 2, 0, 2, 0>, strides = array<i64: 1, 2>}>
     : (!dla.surface<tensor<1x16x8x8xf16>, "input_0" at 0, line 256, surface 2048>,
        !dla.packed<tensor<32x16x3x3xf16>, "constants" at 128, size 9216>) -> !dla.flow<tensor<1x32x8x3xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
     : (!dla.flow<tensor<1x32x8x3xf32>>) -> !dla.surface<tensor<1x32x8x3xf16>, "activations" at 0, line 96, surface 768>
  func.return
}

// Winograd's algorithm: transformed kernels, rows and columns in multiples of 4.
// CHECK-LABEL: @winograd
// CHECK:         "dla.constant"() <{layout = "winograd_kernels"
// CHECK:         "dla.conv"
// CHECK-SAME:      is_winograd
func.func @winograd(%x: tensor<1x16x8x8xf16>) -> tensor<1x32x8x8xf16> {
  %w = "dla.constant"() <{layout = "winograd_kernels", value = dense<0.5> : tensor<32x16x3x3xf16>}> : () -> tensor<32x16x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, is_winograd, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x8xf32>>) -> tensor<1x32x8x8xf16>
  func.return %y : tensor<1x32x8x8xf16>
}
