// RUN: onnx-opt %s --convert-onnx-to-dla --split-input-file | filecheck %s

// Legalisation of operators in int8. Inputs have scale 0.05 and zero point 3, results scale 0.1.

// Sub: the factor that rescales the subtrahend to the unit of the sum is negative.
// CHECK-LABEL: @difference
// CHECK:         "dla.sdp"(%arg1, %arg0) {{.*}}out_cvt = #dla.converter<scale = 16384, truncate = 22>, x1_stage = #dla.stage<type = both, mul_operand = -16384, truncate = 7>, x2_stage = #dla.stage<type = alu, mode = per_point, shift_value = 7>
func.func @difference(%a: tensor<1x16x4x4xf32>, %b: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %qb = "onnx.QuantizeLinear"(%b, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %br = "onnx.DequantizeLinear"(%qb, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %c = "onnx.Sub"(%ar, %br) : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  onnx.Return %y : tensor<1x16x4x4xi8>
}

// -----

// Max commutes with monotonic requantization: each operand is requantized first.
// CHECK-LABEL: @extremes
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}}x1_stage = #dla.stage<type = both, alu_operand = -3, mul_operand = 16384, truncate = 15>
// CHECK:         %[[B:.*]] = "dla.sdp"(%arg1)
// CHECK:         "dla.sdp"(%[[A]], %[[B]]) {{.*}}x1_stage = #dla.stage<type = alu, alu = max, mode = per_point>
func.func @extremes(%a: tensor<1x16x4x4xf32>, %b: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %qb = "onnx.QuantizeLinear"(%b, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %br = "onnx.DequantizeLinear"(%qb, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %c = "onnx.Max"(%ar, %br) : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  onnx.Return %y : tensor<1x16x4x4xi8>
}

// -----

// PRelu in fixed point with 8 fractional bits; negative values are multiplied by 2^16 times the slope.
// CHECK-LABEL: @slopes
// CHECK:         %[[S:.*]] = "dla.constant"() <{layout = "per_kernel", value = dense<[6554, 13107, 19661, 26214]> : tensor<4xi16>}>
// CHECK:         "dla.sdp"(%arg0, %[[S]]) {{.*}}x1_stage = #dla.stage<type = both, alu_operand = -3, mul_operand = 256>, x2_stage = #dla.stage<type = mul, mode = per_kernel, act = prelu, truncate = 16>
func.func @slopes(%a: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x4x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x4x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x4xf32>
  %k = onnx.Constant dense<[[[0.1]], [[0.2]], [[0.3]], [[0.4]]]> : tensor<4x1x1xf32>
  %c = "onnx.PRelu"(%ar, %k) : (tensor<1x4x4x4xf32>, tensor<4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x4x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x4xi8>
  onnx.Return %y : tensor<1x4x4x4xi8>
}

// -----

// ReduceMean: the sum of 16 channels minus 16 zero points of 3, times 1/32: the mean, at twice the input scale.
// CHECK-LABEL: @mean_of_channels
// CHECK:         %[[W:.*]] = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<1x16x1x1xi8>}>
// CHECK:         %[[A:.*]] = "dla.conv"(%arg0, %[[W]])
// CHECK:         "dla.sdp"(%[[A]]) {{.*}}x1_stage = #dla.stage<type = both, alu_operand = -48, mul_operand = 16384, truncate = 19>
func.func @mean_of_channels(%a: tensor<1x16x4x4xf32>) -> tensor<1x1x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %k = onnx.Constant dense<1> : tensor<1xi64>
  %c = "onnx.ReduceMean"(%ar, %k) : (tensor<1x16x4x4xf32>, tensor<1xi64>) -> tensor<1x1x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x1x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x4x4xi8>
  onnx.Return %y : tensor<1x1x4x4xi8>
}

// -----

// Mul: stage X1 subtracts the zero point of one factor, stage Y that of the other.
// CHECK-LABEL: @product
// CHECK:         "dla.sdp"(%arg1, %arg0) {{.*}}x1_stage = #dla.stage<type = alu, alu_operand = -3>, y_stage = #dla.stage<type = mul, mode = per_point, mul_offset = 3>
func.func @product(%a: tensor<1x16x4x4xf32>, %b: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %qb = "onnx.QuantizeLinear"(%b, %s, %z) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  %br = "onnx.DequantizeLinear"(%qb, %s, %z) : (tensor<1x16x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xf32>
  %c = "onnx.Mul"(%ar, %br) : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x16x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x16x4x4xi8>
  onnx.Return %y : tensor<1x16x4x4xi8>
}

// -----

// A factor of 0: there, a bias before the multiplication would have no unit, so it is added afterwards.
// CHECK-LABEL: @factor_of_zero
// CHECK:         %[[M:.*]] = "dla.constant"() <{layout = "per_kernel", value = dense<[8192, 0, 4096, 16384]> : tensor<4xi16>}>
// CHECK:         %[[B:.*]] = "dla.constant"() <{layout = "per_kernel", value = dense<[-384, 0, -192, -768]> : tensor<4xi16>}>
// CHECK:         "dla.sdp"(%arg0, %[[M]], %[[B]]) {{.*}}x1_stage = #dla.stage<type = mul, mode = per_kernel, truncate = 6>, x2_stage = #dla.stage<type = alu, mode = per_kernel>
func.func @factor_of_zero(%a: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x4x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x4x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x4xf32>
  %k = onnx.Constant dense<[[[1.0]], [[0.0]], [[0.5]], [[2.0]]]> : tensor<4x1x1xf32>
  %c = "onnx.Mul"(%ar, %k) : (tensor<1x4x4x4xf32>, tensor<4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x4x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x4xi8>
  onnx.Return %y : tensor<1x4x4x4xi8>
}

// -----

// 255 - 55 = 200 exceeds int8: the input is concatenated with itself at an atom boundary, and 200 = 127 + 73.
// CHECK-LABEL: @wide_weights
// CHECK:         %[[X:.*]] = "dla.concat"(%arg0, %arg0) <{alignment = 32 : i64, axis = 1 : i64}> {{.*}} -> tensor<1x35x4x4xi8>
// CHECK:         %[[W:.*]] = "dla.constant"() <{layout = "kernels", value = dense<{{\[+}}-55]], {{\[\[}}127]], {{\[\[}}45]], {{\[\[}}0]], {{.*}}{{\[\[}}73]], {{\[\[}}0]]]]>
// CHECK:         "dla.conv"(%[[X]], %[[W]]) {{.*}}pad_value = 3
func.func @wide_weights(%a: tensor<1x3x4x4xf32>) -> tensor<1x1x4x4xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x3x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x3x4x4xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x3x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x3x4x4xf32>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %wi = onnx.Constant dense<[[[[0]], [[255]], [[100]]]]> : tensor<1x3x1x1xui8>
  %ws = onnx.Constant dense<0.01> : tensor<f32>
  %wz = onnx.Constant dense<55> : tensor<ui8>
  %w = "onnx.DequantizeLinear"(%wi, %ws, %wz) : (tensor<1x3x1x1xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x3x1x1xf32>
  %c = "onnx.Conv"(%ar, %w, %none) : (tensor<1x3x4x4xf32>, tensor<1x3x1x1xf32>, none) -> tensor<1x1x4x4xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x1x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x4x4xi8>
  onnx.Return %y : tensor<1x1x4x4xi8>
}

// -----

// A kernel longer than the core's 32: two parts of 20 taps side by side along the channels, with padding in memory.
// CHECK-LABEL: @long_kernel
// CHECK:         %[[L:.*]] = "dla.concat"(%{{.*}}, %{{.*}}) <{axis = 3 : i64}> : (tensor<1x4x1x19xi8>, tensor<1x4x1x40xi8>) -> tensor<1x4x1x59xi8>
// CHECK:         %[[R:.*]] = "dla.concat"(%{{.*}}, %{{.*}}) <{axis = 3 : i64}> : (tensor<1x4x1x40xi8>, tensor<1x4x1x19xi8>) -> tensor<1x4x1x59xi8>
// CHECK:         %[[B:.*]] = "dla.concat"(%[[L]], %[[R]]) <{alignment = 32 : i64, axis = 1 : i64}>
// CHECK:         "dla.conv"(%[[B]], %{{.*}}) {{.*}}pads = array<i64: 0, 0, 0, 0>{{.*}}tensor<1x36x1x20xi8>
func.func @long_kernel(%a: tensor<1x4x1x40xf32>) -> tensor<1x1x1x40xi8> {
  %s = onnx.Constant dense<0.05> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %t = onnx.Constant dense<0.1> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %b = "onnx.NoValue"() {value} : () -> none
  %qa = "onnx.QuantizeLinear"(%a, %s, %z) : (tensor<1x4x1x40xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x1x40xi8>
  %ar = "onnx.DequantizeLinear"(%qa, %s, %z) : (tensor<1x4x1x40xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x1x40xf32>
  %w = onnx.Constant dense<0.5> : tensor<1x4x1x39xf32>
  %c = "onnx.Conv"(%ar, %w, %b) {pads = [0, 19, 0, 19]} : (tensor<1x4x1x40xf32>, tensor<1x4x1x39xf32>, none) -> tensor<1x1x1x40xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x1x1x40xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x1x40xi8>
  onnx.Return %y : tensor<1x1x1x40xi8>
}
