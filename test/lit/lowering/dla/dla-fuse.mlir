// RUN: onnx-opt %s --dla-fuse --split-input-file | filecheck %s

// Bias, residual and ReLU become one SDP pass after the convolution that is computed last.
// CHECK-LABEL: @residual
// CHECK:         %[[A:.*]] = "dla.conv"
// CHECK-NEXT:    %[[Y:.*]] = "dla.sdp"(%[[A]], %arg2, %arg0) {{.*}}x1_stage = #dla.stage<type = alu, mode = per_kernel>, x2_stage = #dla.stage<type = alu, mode = per_point, act = relu>
// CHECK-NEXT:    return %[[Y]]
func.func @residual(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>, %b: tensor<16xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x4x4xf32>>
  %c = "dla.sdp"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (!dla.flow<tensor<1x16x4x4xf32>>, tensor<16xf16>) -> tensor<1x16x4x4xf16>
  %s = "dla.sdp"(%x, %c) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}>
     : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %r = "dla.sdp"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %r : tensor<1x16x4x4xf16>
}

// -----

// The first pass's result has another use: not fused.
// CHECK-LABEL: @two_readers
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0)
// CHECK:         %[[B:.*]] = "dla.sdp"(%[[A]])
// CHECK:         return %[[A]], %[[B]]
func.func @two_readers(%x: tensor<1x16x4x4xf16>) -> (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 2.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %a, %b : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>
}

// -----

// A scalar addition and a scalar multiplication share a stage; the fourth stage needs a pass of its own.
// CHECK-LABEL: @four_stages
// CHECK:         "dla.sdp"(%arg0) {{.*}}x1_stage = #dla.stage<type = both, alu_operand = 1.0, mul_operand = 2.0>, x2_stage = #dla.stage<type = alu, alu_operand = 3.0>, y_stage = #dla.stage<type = alu, alu = min, alu_operand = 6.0>
// CHECK:         "dla.sdp"({{%.+}}) {{.*}}x1_stage = #dla.stage<type = alu, alu = max, alu_operand = 4.0>}>
func.func @four_stages(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = alu, alu_operand = 1.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 2.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.sdp"(%b) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = alu, alu_operand = 3.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %d = "dla.sdp"(%c) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = alu, alu = min, alu_operand = 6.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %e = "dla.sdp"(%d) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = alu, alu = max, alu_operand = 4.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %e : tensor<1x16x4x4xf16>
}

// -----

// A PDP that is the only user of an SDP result reads it on the fly.
// CHECK-LABEL: @pool
// CHECK:         %[[F:.*]] = "dla.sdp"(%arg0) {{.*}} -> !dla.flow<tensor<1x16x4x4xf16>>
// CHECK-NEXT:    "dla.pdp"(%[[F]])
func.func @pool(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x2x2xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %y = "dla.pdp"(%a) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x2x2xf16>
  func.return %y : tensor<1x16x2x2xf16>
}

// -----

// A PDP pass split by columns must read memory.
// CHECK-LABEL: @pool_in_pieces
// CHECK:         "dla.sdp"(%arg0) {{.*}} -> tensor<1x16x4x4xf16>
func.func @pool_in_pieces(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x2x2xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %y = "dla.pdp"(%a) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, split_num = 2 : i64, strides = array<i64: 2, 2>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x2x2xf16>
  func.return %y : tensor<1x16x2x2xf16>
}

// -----

// So does one after the output converter of an INT8 pass. Stages after the converter stay a pass of their own.
// CHECK-LABEL: @pool_of_converted
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}} -> tensor<1x32x4x4xi8>
// CHECK-NEXT:    %[[F:.*]] = "dla.sdp"(%[[A]]) {{.*}}out_cvt = #dla.converter<scale = 5, truncate = 3>{{.*}} -> !dla.flow<tensor<1x32x4x4xi8>>
// CHECK-NEXT:    "dla.pdp"(%[[F]])
func.func @pool_of_converted(%x: tensor<1x32x4x4xi8>) -> tensor<1x32x2x2xi8> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>, out_cvt = #dla.converter<scale = 3, truncate = 7>}> : (tensor<1x32x4x4xi8>) -> tensor<1x32x4x4xi8>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>, out_cvt = #dla.converter<scale = 5, truncate = 3>}> : (tensor<1x32x4x4xi8>) -> tensor<1x32x4x4xi8>
  %y = "dla.pdp"(%b) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}> : (tensor<1x32x4x4xi8>) -> tensor<1x32x2x2xi8>
  func.return %y : tensor<1x32x2x2xi8>
}

// -----

// The results need more time than the multiplications: not to write and read them is faster.
// CHECK-LABEL: @pool_of_many_kernels
// CHECK:         "dla.sdp"({{%.+}}) {{.*}} -> !dla.flow<tensor<1x64x56x56xi8>>
func.func @pool_of_many_kernels(%x: tensor<1x8x56x56xi8>, %w: tensor<64x8x3x3xi8>) -> tensor<1x64x28x28xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}> : (tensor<1x8x56x56xi8>, tensor<64x8x3x3xi8>) -> !dla.flow<tensor<1x64x56x56xi32>>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, out_cvt = #dla.converter<scale = 3, truncate = 7>}> : (!dla.flow<tensor<1x64x56x56xi32>>) -> tensor<1x64x56x56xi8>
  %y = "dla.pdp"(%b) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}> : (tensor<1x64x56x56xi8>) -> tensor<1x64x28x28xi8>
  func.return %y : tensor<1x64x28x28xi8>
}

// -----

// On the fly the convolution has one tile. In several, of which one loads while another computes, it is faster
// although the pooling reads memory.
// CHECK-LABEL: @pool_of_tiles
// CHECK:         "dla.sdp"({{%.+}}) {{.*}} -> tensor<1x128x56x56xi8>
func.func @pool_of_tiles(%x: tensor<1x128x56x56xi8>, %w: tensor<128x128x3x3xi8>) -> tensor<1x128x28x28xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}> : (tensor<1x128x56x56xi8>, tensor<128x128x3x3xi8>) -> !dla.flow<tensor<1x128x56x56xi32>>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, out_cvt = #dla.converter<scale = 3, truncate = 7>}> : (!dla.flow<tensor<1x128x56x56xi32>>) -> tensor<1x128x56x56xi8>
  %y = "dla.pdp"(%b) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}> : (tensor<1x128x56x56xi8>) -> tensor<1x128x28x28xi8>
  func.return %y : tensor<1x128x28x28xi8>
}

// -----

// Stage Y has no ReLU: after an addition there, it is a pass of its own.
// CHECK-LABEL: @relu_behind_a_sum_in_y
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0, %arg1, %arg2) {{.*}}x1_stage = #dla.stage<act = relu>, x2_stage = #dla.stage<type = mul, mode = per_kernel>, y_stage = #dla.stage<type = alu, mode = per_kernel>
// CHECK-NEXT:    "dla.sdp"(%[[A]]) {{.*}}x1_stage = #dla.stage<act = relu>
func.func @relu_behind_a_sum_in_y(%x: tensor<1x16x4x4xf16>, %m: tensor<16xf16>, %b: tensor<16xf16>) -> tensor<1x16x4x4xf16> {
  %r = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %n = "dla.sdp"(%r, %m, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, x1_stage = #dla.stage<type = mul, mode = per_kernel>, x2_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x16x4x4xf16>, tensor<16xf16>, tensor<16xf16>) -> tensor<1x16x4x4xf16>
  %y = "dla.sdp"(%n) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %y : tensor<1x16x4x4xf16>
}

// -----

// A ReLU alone, or after a scalar multiplication, is a maximum with 0.
// CHECK-LABEL: @relu_as_maximum_in_y
// CHECK:         "dla.sdp"(%arg0, %arg1, %arg2) {{.*}}y_stage = #dla.stage<type = both, alu = max, mul_operand = 3.0>
// CHECK-NEXT:    return
func.func @relu_as_maximum_in_y(%x: tensor<1x16x4x4xf16>, %m: tensor<16xf16>, %b: tensor<16xf16>) -> tensor<1x16x4x4xf16> {
  %n = "dla.sdp"(%x, %m, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, x1_stage = #dla.stage<type = mul, mode = per_kernel>, x2_stage = #dla.stage<type = alu, mode = per_kernel, act = relu>}>
     : (tensor<1x16x4x4xf16>, tensor<16xf16>, tensor<16xf16>) -> tensor<1x16x4x4xf16>
  %t = "dla.sdp"(%n) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 3.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %y = "dla.sdp"(%t) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %y : tensor<1x16x4x4xf16>
}

// -----

// Stage Y multiplies before it adds, the X stages after: its operation cannot move to X.
// CHECK-LABEL: @y_is_not_moved
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}}y_stage = #dla.stage<type = both, alu_operand = 1.0, mul_operand = 2.0>
// CHECK-NEXT:    "dla.sdp"(%[[A]])
func.func @y_is_not_moved(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, y_stage = #dla.stage<type = both, alu_operand = 1.0, mul_operand = 2.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %y : tensor<1x16x4x4xf16>
}

// -----

// The conversion of FP16 to int16 joins the convolution's pass; that of int16 to int8 starts from memory, as it computes in
// integers.
// CHECK-LABEL: @to_int8
// CHECK:         %[[A:.*]] = "dla.conv"
// CHECK-NEXT:    %[[W:.*]] = "dla.sdp"(%[[A]]) {{.*}}act = relu{{.*}}x2_stage = {{.*}}mul_operand = 16.0{{.*}} -> tensor<1x16x4x4xi16>
// CHECK-NEXT:    "dla.sdp"(%[[W]]) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, out_cvt = #dla.converter<truncate = 4>}>
func.func @to_int8(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x4x4xf32>>
  %r = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (!dla.flow<tensor<1x16x4x4xf32>>) -> tensor<1x16x4x4xf16>
  %m = "dla.sdp"(%r) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 16.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xi16>
  %y = "dla.sdp"(%m) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, out_cvt = #dla.converter<truncate = 4>}> : (tensor<1x16x4x4xi16>) -> tensor<1x16x4x4xi8>
  func.return %y : tensor<1x16x4x4xi8>
}

// -----

// The PDP reads on the fly only what has the precision that the SDP computes in.
// CHECK-LABEL: @pool_of_another_precision
// CHECK:         %[[H:.*]] = "dla.sdp"(%arg0) {{.*}} -> tensor<1x32x4x4xf16>
// CHECK-NEXT:    "dla.pdp"(%[[H]])
func.func @pool_of_another_precision(%x: tensor<1x32x4x4xi8>) -> tensor<1x32x2x2xf16> {
  %h = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x32x4x4xi8>) -> tensor<1x32x4x4xf16>
  %y = "dla.pdp"(%h) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, split_num = 1, strides = array<i64: 2, 2>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x2x2xf16>
  func.return %y : tensor<1x32x2x2xf16>
}

// -----

// The SDP makes FP16 of int8 from memory, not of a convolution's sums.
// CHECK-LABEL: @to_fp16
// CHECK:         %[[A:.*]] = "dla.conv"
// CHECK-NEXT:    %[[Q:.*]] = "dla.sdp"(%[[A]]) {{.*}} -> tensor<1x32x4x4xi8>
// CHECK-NEXT:    "dla.sdp"(%[[Q]]) {{.*}} -> tensor<1x32x4x4xf16>
func.func @to_fp16(%x: tensor<1x32x4x4xi8>, %w: tensor<32x32x1x1xi8>) -> tensor<1x32x4x4xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x32x4x4xi8>, tensor<32x32x1x1xi8>) -> !dla.flow<tensor<1x32x4x4xi32>>
  %q = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x4x4xi32>>) -> tensor<1x32x4x4xi8>
  %y = "dla.sdp"(%q) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, out_cvt = #dla.converter<scale = 3>}> : (tensor<1x32x4x4xi8>) -> tensor<1x32x4x4xf16>
  func.return %y : tensor<1x32x4x4xf16>
}
