// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// All three stages, with per-layer, per-kernel and per-point operands.
// CHECK-LABEL: @stages
// CHECK:         "dla.sdp"(%arg0, %arg1, %arg2) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>,
// CHECK-SAME:      out_cvt = #dla.converter<scale = 3, truncate = 7>,
// CHECK-SAME:      x1_stage = #dla.stage<type = both, mode = per_kernel, act = relu, shift_value = 2>,
// CHECK-SAME:      x2_stage = #dla.stage<type = mul, act = prelu, mul_operand = 0.125>,
// CHECK-SAME:      y_stage = #dla.stage<type = alu, alu = max, mode = per_point>}>
func.func @stages(%x: tensor<1x8x4x4xf16>, %b: tensor<8x2xf16>, %p: tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16> {
  %y = "dla.sdp"(%x, %b, %p) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>, out_cvt = #dla.converter<scale = 3, truncate = 7>,
         x1_stage = #dla.stage<type = both, mode = per_kernel, act = relu, shift_value = 2>,
         x2_stage = #dla.stage<type = mul, act = prelu, mul_operand = 0.125>,
         y_stage = #dla.stage<type = alu, alu = max, mode = per_point>}>
     : (tensor<1x8x4x4xf16>, tensor<8x2xf16>, tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  func.return %y : tensor<1x8x4x4xf16>
}

// A copy; and a 1x1 cube as a PER_KERNEL operand, broadcast over all positions.
// CHECK-LABEL: @copy_and_spread
// CHECK:         "dla.sdp"(%arg0) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
// CHECK:         x1_stage = #dla.stage<type = mul, mode = per_kernel>
func.func @copy_and_spread(%x: tensor<1x8x4x4xf16>, %s: tensor<1x8x1x1xf16>) -> tensor<1x8x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  %b = "dla.sdp"(%a, %s) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = mul, mode = per_kernel>}>
     : (tensor<1x8x4x4xf16>, tensor<1x8x1x1xf16>) -> tensor<1x8x4x4xf16>
  func.return %b : tensor<1x8x4x4xf16>
}

// The lookup table of Y.
// CHECK-LABEL: @lookup
// CHECK:         lut = #dla.lut<linear_exp_table = [7, 0, {{.*}}], linear_only_table = [7, 0, {{.*}}], linear_exp_offset = 0, linear_only_offset = 0, is_integer = true>, operandSegmentSizes = array<i32: 1, 0, 0, 0>, y_stage = #dla.stage<act = lut>}>
func.func @lookup(%x: tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8> {
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, y_stage = #dla.stage<act = lut>, lut = #dla.lut<linear_exp_table = [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], linear_only_table = [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], linear_exp_offset = 0, linear_only_offset = 0, is_integer = true>}>
     : (tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8>
  func.return %y : tensor<1x8x4x4xi8>
}
