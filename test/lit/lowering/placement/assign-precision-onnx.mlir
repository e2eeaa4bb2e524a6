// RUN: onnx-opt %s --assign-precision-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --assign-precision-onnx=target=nv_small --split-input-file | filecheck %s --check-prefix=SMALL
// RUN: onnx-opt %s --assign-precision-onnx --convert-onnx-to-dla --split-input-file | filecheck %s --check-prefix=DLA

// nv_small has INT8 alone.
// SMALL-NOT: dla.precision

// A node that stays in float is computed in FP16. The SDP converts its operand, whose largest number of 12.8 takes 13
// bits as a multiple of 2^-9, and its result, by way of int16.
// CHECK-LABEL: @kept
// CHECK:         "onnx.Relu"(%{{.*}}) {dla.keep_float, dla.precision = "fp16"}
// DLA-LABEL:   @kept
// DLA-SAME:      tensor<1x32x2x2xi8>
// DLA-SAME:      dla.node_precisions = {fp16 = 1 : i64}
// DLA-NEXT:      %[[H:.*]] = "dla.sdp"(%{{.*}}) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, out_cvt = #dla.converter<scale = 26214, truncate = 9>}> : (tensor<1x32x2x2xi8>) -> tensor<1x32x2x2xf16>
// DLA-NEXT:      %[[S:.*]] = "dla.sdp"(%[[H]]) <{{{.*}}x1_stage = #dla.stage<type = mul, mul_operand = 0.001953125>}> : (tensor<1x32x2x2xf16>) -> tensor<1x32x2x2xf16>
// DLA-NEXT:      %[[R:.*]] = "dla.sdp"(%[[S]]) <{{{.*}}x1_stage = #dla.stage<act = relu>}>
// DLA-NEXT:      %[[W:.*]] = "dla.sdp"(%[[R]]) <{{{.*}}x1_stage = #dla.stage<type = mul, mul_operand = 2048.0>}> : (tensor<1x32x2x2xf16>) -> tensor<1x32x2x2xi16>
// DLA-NEXT:      "dla.sdp"(%[[W]]) <{{{.*}}out_cvt = #dla.converter<{{.*}}>}> : (tensor<1x32x2x2xi16>) -> tensor<1x32x2x2xi8>
func.func @kept(%q: tensor<1x32x2x2xi8>) -> tensor<1x32x2x2xi8> {
  %scale = onnx.Constant dense<0.1> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %x = "onnx.DequantizeLinear"(%q, %scale, %zero) : (tensor<1x32x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xf32>
  %r = "onnx.Relu"(%x) {dla.keep_float} : (tensor<1x32x2x2xf32>) -> tensor<1x32x2x2xf32>
  %y = "onnx.QuantizeLinear"(%r, %scale, %zero) : (tensor<1x32x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xi8>
  onnx.Return %y : tensor<1x32x2x2xi8>
}

// -----

// INT8 has no InstanceNormalization. 16 channels are one surface in FP16, of which the SDP writes two: INT16 is between.
// CHECK-LABEL: @refused_in_int8
// CHECK:         "onnx.InstanceNormalization"({{.*}} {dla.precision = "fp16"}
// DLA-LABEL:   @refused_in_int8
// DLA:           (tensor<1x16x2x2xi8>) -> tensor<1x16x2x2xi16>
// DLA-NEXT:      (tensor<1x16x2x2xi16>) -> tensor<1x16x2x2xf16>
func.func @refused_in_int8(%q: tensor<1x16x2x2xi8>) -> tensor<1x16x2x2xi8> {
  %scale = onnx.Constant dense<0.1> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %ones = onnx.Constant dense<1.0> : tensor<16xf32>
  %x = "onnx.DequantizeLinear"(%q, %scale, %zero) : (tensor<1x16x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x2x2xf32>
  %n = "onnx.InstanceNormalization"(%x, %ones, %ones) : (tensor<1x16x2x2xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<1x16x2x2xf32>
  %y = "onnx.QuantizeLinear"(%n, %scale, %zero) : (tensor<1x16x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x2x2xi8>
  onnx.Return %y : tensor<1x16x2x2xi8>
}

// -----

// What no pair separates from such a node goes with it; the pair that the compiler inserted after it separates nothing any
// more.
// CHECK-LABEL: @unit
// CHECK:         "onnx.InstanceNormalization"({{.*}} {dla.precision = "fp16"}
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"({{.*}}) {dla.precision = "fp16"}
// CHECK-NEXT:    onnx.Return %[[R]]
// DLA-LABEL:   @unit
// DLA-SAME:      -> tensor<1x32x2x2xf16>
func.func @unit(%q: tensor<1x32x2x2xi8>) -> tensor<1x32x2x2xf32> {
  %scale = onnx.Constant dense<0.1> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %ones = onnx.Constant dense<1.0> : tensor<32xf32>
  %x = "onnx.DequantizeLinear"(%q, %scale, %zero) : (tensor<1x32x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xf32>
  %n = "onnx.InstanceNormalization"(%x, %ones, %ones) : (tensor<1x32x2x2xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<1x32x2x2xf32>
  %r = "onnx.Relu"(%n) : (tensor<1x32x2x2xf32>) -> tensor<1x32x2x2xf32>
  %i = "onnx.QuantizeLinear"(%r, %scale, %zero) {dla.inserted} : (tensor<1x32x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xi8>
  %y = "onnx.DequantizeLinear"(%i, %scale, %zero) {dla.inserted} : (tensor<1x32x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xf32>
  onnx.Return %y : tensor<1x32x2x2xf32>
}

// -----

// A network that is not quantized stays as it is.
// CHECK-LABEL: @float
// CHECK-NOT:     dla.precision
func.func @float(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %r = "onnx.Relu"(%x) : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  onnx.Return %r : tensor<1x4x2x2xf32>
}

// -----

// A convolution multiplies its sums by 2^-9, not all of its input.
// CHECK-LABEL: @convolution
// CHECK:         "onnx.Conv"({{.*}} {dla.keep_float, dla.precision = "fp16"}
// DLA-LABEL:   @convolution
// DLA-NEXT:      %[[H:.*]] = "dla.sdp"(%{{.*}}) {{.*}} -> tensor<1x32x4x4xf16>
// DLA-NEXT:      "dla.constant"
// DLA-NEXT:      %[[A:.*]] = "dla.conv"(%[[H]], %{{.*}})
// DLA-NEXT:      "dla.sdp"(%[[A]]) <{{{.*}}x1_stage = #dla.stage<type = mul, mul_operand = 0.001953125>}>
func.func @convolution(%q: tensor<1x32x4x4xi8>) -> tensor<1x32x4x4xf32> {
  %scale = onnx.Constant dense<0.1> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %w = onnx.Constant dense<0.5> : tensor<32x32x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %x = "onnx.DequantizeLinear"(%q, %scale, %zero) : (tensor<1x32x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x32x4x4xf32>
  %y = "onnx.Conv"(%x, %w, %none) {pads = [1, 1, 1, 1], dla.keep_float} : (tensor<1x32x4x4xf32>, tensor<32x32x3x3xf32>, none) -> tensor<1x32x4x4xf32>
  onnx.Return %y : tensor<1x32x4x4xf32>
}
