// RUN: onnx-opt %s --convert-onnx-to-dla --split-input-file | filecheck %s

// Legalisation of operators in FP16: views, and the engine and mode of each other operator.

// The images of a batch are consecutive channels: a grouped convolution, as a dense kernel with zeros.
// CHECK-LABEL: @batch(%arg0: tensor<1x6x8x8xf16>) -> tensor<1x8x6x6xf16>
// CHECK:         "dla.conv"(%arg0, {{%.+}}) {{.*}}(tensor<1x6x8x8xf16>, tensor<8x6x3x3xf16>) -> !dla.flow<tensor<1x8x6x6xf32>>
func.func @batch(%x: tensor<2x3x8x8xf32>) -> tensor<2x4x6x6xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x3x3x3xf32>
  %c = "onnx.Conv"(%x, %w, %none) : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<2x4x6x6xf32>
  onnx.Return %c : tensor<2x4x6x6xf32>
}

// -----

// A slice of consecutive rows is a view.
// CHECK-LABEL: @slice
// CHECK-NEXT:    %[[Y:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 2, 0>}>
// CHECK-NEXT:    return %[[Y]]
func.func @slice(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x4x8xf32> {
  %b = onnx.Constant dense<2> : tensor<1xi64>
  %e = onnx.Constant dense<6> : tensor<1xi64>
  %a = onnx.Constant dense<2> : tensor<1xi64>
  %s = onnx.Constant dense<1> : tensor<1xi64>
  %y = "onnx.Slice"(%x, %b, %e, %a, %s) : (tensor<1x16x8x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x16x4x8xf32>
  onnx.Return %y : tensor<1x16x4x8xf32>
}

// -----

// Every other row: a max pool of 1x1 windows with stride 2, of a slice without the last row.
// CHECK-LABEL: @every_other_row
// CHECK:         %[[R:.*]] = "dla.slice"(%arg0) {{.*}} -> tensor<1x16x7x8xf16>
// CHECK-NEXT:    "dla.pdp"(%[[R]]) <{kernel = array<i64: 1, 1>, mode = "max", {{.*}}strides = array<i64: 2, 1>}>
func.func @every_other_row(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x4x8xf32> {
  %b = onnx.Constant dense<0> : tensor<1xi64>
  %e = onnx.Constant dense<8> : tensor<1xi64>
  %a = onnx.Constant dense<2> : tensor<1xi64>
  %s = onnx.Constant dense<2> : tensor<1xi64>
  %y = "onnx.Slice"(%x, %b, %e, %a, %s) : (tensor<1x16x8x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x16x4x8xf32>
  onnx.Return %y : tensor<1x16x4x8xf32>
}

// -----

// A sum over channels is a 1x1 convolution with ones.
// CHECK-LABEL: @sum_over_channels
// CHECK:         %[[W:.*]] = "dla.constant"() <{layout = "kernels", value = dense<1.000000e+00> : tensor<1x16x1x1xf32>}>
// CHECK:         "dla.conv"(%arg0, %[[W]])
func.func @sum_over_channels(%x: tensor<1x16x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %a = onnx.Constant dense<1> : tensor<1xi64>
  %y = "onnx.ReduceSum"(%x, %a) : (tensor<1x16x4x4xf32>, tensor<1xi64>) -> tensor<1x1x4x4xf32>
  onnx.Return %y : tensor<1x1x4x4xf32>
}

// -----

// The maximum over rows is a max pool with a window of all rows.
// CHECK-LABEL: @greatest_of_rows
// CHECK-NEXT:    "dla.pdp"(%arg0) <{kernel = array<i64: 4, 1>, mode = "max"
func.func @greatest_of_rows(%x: tensor<1x16x4x4xf32>) -> tensor<1x16x1x4xf32> {
  %a = onnx.Constant dense<2> : tensor<1xi64>
  %y = "onnx.ReduceMax"(%x, %a) : (tensor<1x16x4x4xf32>, tensor<1xi64>) -> tensor<1x16x1x4xf32>
  onnx.Return %y : tensor<1x16x1x4xf32>
}

// -----

// CHECK-LABEL: @difference
// CHECK-NEXT:    %[[N:.*]] = "dla.sdp"(%arg1) {{.*}}x1_stage = #dla.stage<type = mul, mul_operand = -1.0>
// CHECK-NEXT:    "dla.sdp"(%[[N]], %arg0) {{.*}}x1_stage = #dla.stage<type = alu, mode = per_point>
func.func @difference(%x: tensor<1x16x4x4xf32>, %z: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %y = "onnx.Sub"(%x, %z) : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  onnx.Return %y : tensor<1x16x4x4xf32>
}

// -----

// CHECK-LABEL: @extremes
// CHECK-NEXT:    %[[M:.*]] = "dla.sdp"(%arg0, %arg1) {{.*}}x1_stage = #dla.stage<type = alu, alu = max, mode = per_point>
// CHECK-NEXT:    "dla.sdp"(%[[M]]) {{.*}}x1_stage = #dla.stage<type = alu, alu = min, alu_operand = 2.0>
func.func @extremes(%x: tensor<1x16x4x4xf32>, %z: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %c = onnx.Constant dense<2.0> : tensor<f32>
  %m = "onnx.Max"(%x, %z) : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %y = "onnx.Min"(%m, %c) : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xf32>
  onnx.Return %y : tensor<1x16x4x4xf32>
}

// -----

// CHECK-LABEL: @slopes
// CHECK:         %[[S:.*]] = "dla.constant"() <{layout = "per_kernel"
// CHECK-NEXT:    "dla.sdp"(%arg0, %[[S]]) {{.*}}x1_stage = #dla.stage<type = mul, mode = per_kernel, act = prelu>
func.func @slopes(%x: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %s = onnx.Constant dense<[[[0.1]], [[0.2]], [[0.3]], [[0.4]]]> : tensor<4x1x1xf32>
  %y = "onnx.PRelu"(%x, %s) : (tensor<1x4x4x4xf32>, tensor<4x1x1xf32>) -> tensor<1x4x4x4xf32>
  onnx.Return %y : tensor<1x4x4x4xf32>
}

// -----

// Linear interpolation between columns: edge columns are replicated; even columns of the result lie a quarter pixel
// before their source column, odd ones a quarter after it.
// CHECK-LABEL: @lines
// CHECK:         %[[L:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}> {{.*}} -> tensor<1x16x4x1xf16>
// CHECK:         %[[R:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 3>}> {{.*}} -> tensor<1x16x4x1xf16>
// CHECK:         %[[E:.*]] = "dla.concat"(%[[L]], %arg0, %[[R]]) <{axis = 3 : i64}>
// CHECK:         %[[FROM0:.*]] = "dla.slice"(%[[E]]) <{offsets = array<i64: 0, 0, 0>}>
// CHECK:         "dla.conv"(%[[FROM0]], {{%.+}}) {{.*}}tensor<16x16x1x2xf16>
// CHECK:         %[[FROM1:.*]] = "dla.slice"(%[[E]]) <{offsets = array<i64: 0, 0, 1>}>
// CHECK:         "dla.conv"(%[[FROM1]], {{%.+}}) {{.*}}tensor<16x16x1x2xf16>
// CHECK:         "dla.concat"({{%.+}}, {{%.+}}) <{axis = 2 : i64, is_interleaved}> {{.*}} -> tensor<1x16x32x1xf16>
func.func @lines(%x: tensor<1x16x4x4xf32>) -> tensor<1x16x4x8xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %f = onnx.Constant dense<[1.0, 1.0, 1.0, 2.0]> : tensor<4xf32>
  %y = "onnx.Resize"(%x, %none, %f, %none) <{mode = "linear"}> : (tensor<1x16x4x4xf32>, none, tensor<4xf32>, none) -> tensor<1x16x4x8xf32>
  onnx.Return %y : tensor<1x16x4x8xf32>
}

// -----

// Half as many columns: each result is the mean of two, a convolution with their stride.
// CHECK-LABEL: @half_as_wide
// CHECK:         "dla.conv"
// CHECK-SAME:      strides = array<i64: 1, 2>
func.func @half_as_wide(%x: tensor<1x16x4x8xf32>) -> tensor<1x16x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %f = onnx.Constant dense<[1.0, 1.0, 1.0, 0.5]> : tensor<4xf32>
  %y = "onnx.Resize"(%x, %none, %f, %none) <{mode = "linear"}> : (tensor<1x16x4x8xf32>, none, tensor<4xf32>, none) -> tensor<1x16x4x4xf32>
  onnx.Return %y : tensor<1x16x4x4xf32>
}
