// RUN: onnx-opt %s --dla-schedule --split-input-file | filecheck %s

// Two branches with large intermediate cubes: one is finished before the other begins. Constants come first.
// CHECK-LABEL: @branches
// CHECK-NEXT:    "dla.constant"
// CHECK-NEXT:    %[[WIDE1:.*]] = "dla.sdp"(%arg0) {{.*}}mul_operand = 2.0
// CHECK-NEXT:    %[[END1:.*]] = "dla.pdp"(%[[WIDE1]])
// CHECK-NEXT:    %[[WIDE2:.*]] = "dla.sdp"(%arg0) {{.*}}mul_operand = 3.0
// CHECK-NEXT:    %[[END2:.*]] = "dla.pdp"(%[[WIDE2]])
// CHECK-NEXT:    "dla.sdp"(%[[END1]], %[[END2]], {{%.+}})
func.func @branches(%x: tensor<1x16x8x8xf16>) -> tensor<1x16x1x1xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 2.0>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
  %b = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 3.0>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
  %p = "dla.pdp"(%a) <{kernel = array<i64: 8, 8>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x1x1xf16>
  %q = "dla.pdp"(%b) <{kernel = array<i64: 8, 8>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x1x1xf16>
  %k = "dla.constant"() <{layout = "per_kernel", value = dense<1.0> : tensor<16xf32>}> : () -> tensor<16xf16>
  %s = "dla.sdp"(%p, %q, %k) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>, x2_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x16x1x1xf16>, tensor<1x16x1x1xf16>, tensor<16xf16>) -> tensor<1x16x1x1xf16>
  func.return %s : tensor<1x16x1x1xf16>
}

// -----

// Network inputs and outputs have their own memory and do not count: among inner cubes, the small one goes first.
// CHECK-LABEL: @outputs
// CHECK:         %[[SMALL:.*]] = "dla.pdp"(%arg0) {{.*}} -> tensor<1x16x4x4xf16>
// CHECK-NEXT:    "dla.pdp"(%[[SMALL]])
// CHECK-NEXT:    %[[WIDE:.*]] = "dla.sdp"(%arg0) {{.*}}mul_operand = 2.0
// CHECK-NEXT:    "dla.sdp"(%[[WIDE]])
func.func @outputs(%x: tensor<1x16x8x8xf16>) -> (tensor<1x16x8x8xf16>, tensor<1x16x2x2xf16>) {
  %a = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 2.0>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
  %c = "dla.sdp"(%b) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 3.0>}> : (tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
  %d = "dla.pdp"(%a) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x2x2xf16>
  func.return %c, %d : tensor<1x16x8x8xf16>, tensor<1x16x2x2xf16>
}
