// RUN: onnx-opt %s --constprop-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --constprop-onnx='disable-pattern=AddConstProp' --split-input-file | filecheck %s --check-prefix=DISABLED

// The documented example: (1 + 2) + 3 = 6.
// CHECK-LABEL: @sum
// CHECK-NEXT:    %[[SIX:.*]] = onnx.Constant dense<6.000000e+00> : tensor<1xf32>
// CHECK-NEXT:    onnx.Return %[[SIX]] : tensor<1xf32>
// DISABLED-LABEL: @sum
// DISABLED:         "onnx.Add"
// DISABLED:         "onnx.Add"
func.func @sum() -> tensor<1xf32> {
  %0 = onnx.Constant dense<1.000000e+00> : tensor<1xf32>
  %1 = onnx.Constant dense<2.000000e+00> : tensor<1xf32>
  %2 = onnx.Constant dense<3.000000e+00> : tensor<1xf32>
  %3 = "onnx.Add"(%0, %1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %4 = "onnx.Add"(%3, %2) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  onnx.Return %4 : tensor<1xf32>
}

// -----

// (x + 1) + 2 = x + 3, the constant on the right.
// CHECK-LABEL: @constants_meet
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT:    %[[C:.*]] = onnx.Constant dense<3.000000e+00> : tensor<3xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Add"(%[[X]], %[[C]])
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @constants_meet(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = onnx.Constant dense<1.000000e+00> : tensor<3xf32>
  %1 = onnx.Constant dense<2.000000e+00> : tensor<3xf32>
  %2 = "onnx.Add"(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = "onnx.Add"(%1, %2) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %3 : tensor<3xf32>
}

// -----

// x + 1 has another use: it stays.
// CHECK-LABEL: @two_readers
// CHECK:         "onnx.Add"
// CHECK:         "onnx.Add"
func.func @two_readers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = onnx.Constant dense<1.000000e+00> : tensor<3xf32>
  %1 = "onnx.Add"(%x, %0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = "onnx.Add"(%1, %0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

// -----

// 8-bit arithmetic wraps at every fold: 200 + 100 = 44, 44 / 2 = 22.
// CHECK-LABEL: @wraps
// CHECK-NEXT:    onnx.Constant dense<22> : tensor<ui8>
func.func @wraps() -> tensor<ui8> {
  %0 = onnx.Constant dense<200> : tensor<ui8>
  %1 = onnx.Constant dense<100> : tensor<ui8>
  %2 = onnx.Constant dense<2> : tensor<ui8>
  %3 = "onnx.Add"(%0, %1) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %4 = "onnx.Div"(%3, %2) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  onnx.Return %4 : tensor<ui8>
}

// -----

// Integer division by zero is not folded; it fails at run time.
// CHECK-LABEL: @division_by_zero
// CHECK:         "onnx.Div"
func.func @division_by_zero() -> tensor<2xi32> {
  %0 = onnx.Constant dense<[1, 2]> : tensor<2xi32>
  %1 = onnx.Constant dense<[1, 0]> : tensor<2xi32>
  %2 = "onnx.Div"(%0, %1) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  onnx.Return %2 : tensor<2xi32>
}

// -----

// An index out of range is not folded either.
// CHECK-LABEL: @index_out_of_range
// CHECK:         "onnx.Gather"
func.func @index_out_of_range() -> tensor<i32> {
  %0 = onnx.Constant dense<[1, 2]> : tensor<2xi32>
  %1 = onnx.Constant dense<2> : tensor<i64>
  %2 = "onnx.Gather"(%0, %1) <{axis = 0 : si64}> : (tensor<2xi32>, tensor<i64>) -> tensor<i32>
  onnx.Return %2 : tensor<i32>
}

// -----

// The result type of a constant is refined.
// CHECK-LABEL: @types_become_exact
// CHECK-NEXT:    %[[C:.*]] = onnx.Constant dense<[1, 3, 2, 4]> : tensor<4xi64>
// CHECK-NEXT:    onnx.Return %[[C]] : tensor<4xi64>
func.func @types_become_exact() -> tensor<*xi64> {
  %0 = onnx.Constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %1 = onnx.Constant dense<-1> : tensor<1xi64>
  %2 = "onnx.Transpose"(%0) : (tensor<2x2xi64>) -> tensor<*xi64>
  %3 = "onnx.Reshape"(%2, %1) <{allowzero = 0 : si64}> : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  onnx.Return %3 : tensor<*xi64>
}

// -----

// An If with a constant condition is replaced by the branch taken.
// CHECK-LABEL: @known_condition
// CHECK-SAME:    (%[[X:.*]]: tensor<3xf32>)
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Neg"(%[[X]])
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @known_condition(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = onnx.Constant dense<false> : tensor<i1>
  %1 = "onnx.If"(%0) ({
    %2 = "onnx.Abs"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %2 : tensor<3xf32>
  }, {
    %3 = "onnx.Neg"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %3 : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  onnx.Return %1 : tensor<3xf32>
}

// -----

// Each result of a split becomes a constant, with uneven and negative sizes.
// CHECK-LABEL: @split
// CHECK-DAG:     onnx.Constant dense<{{\[\[}}1], [4]]> : tensor<2x1xi64>
// CHECK-DAG:     onnx.Constant dense<{{\[\[}}2, 3], [5, 6]]> : tensor<2x2xi64>
// CHECK-NOT:     onnx.Split
func.func @split() -> (tensor<2x1xi64>, tensor<2x2xi64>) {
  %0 = onnx.Constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %1 = onnx.Constant dense<[1, 2]> : tensor<2xi64>
  %2:2 = "onnx.Split"(%0, %1) <{axis = -1 : si64}> : (tensor<2x3xi64>, tensor<2xi64>) -> (tensor<2x1xi64>, tensor<2x2xi64>)
  onnx.Return %2#0, %2#1 : tensor<2x1xi64>, tensor<2x2xi64>
}

// -----

// Shifts of 64-bit integers keep all 64 bits.
// CHECK-LABEL: @wide_shift
// CHECK-NEXT:    onnx.Constant dense<36028797018963967> : tensor<1xui64>
// DISABLED-LABEL: @wide_shift
func.func @wide_shift() -> tensor<1xui64> {
  %0 = onnx.Constant dense<18446744073709551615> : tensor<1xui64>
  %1 = onnx.Constant dense<9> : tensor<1xui64>
  %2 = "onnx.BitShift"(%0, %1) <{direction = "RIGHT"}> : (tensor<1xui64>, tensor<1xui64>) -> tensor<1xui64>
  onnx.Return %2 : tensor<1xui64>
}

// -----

// An absent result stays absent, whether a function, branch or loop returns it.
// CHECK-LABEL: @absent_indices
// CHECK-SAME:    -> (tensor<1x1x1x1xf32>, none)
// CHECK-DAG:     %[[MAX:.*]] = onnx.Constant dense<4.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-DAG:     %[[NONE:.*]] = "onnx.NoValue"()
// CHECK:         return %[[MAX]], %[[NONE]] : tensor<1x1x1x1xf32>, none
// DISABLED-LABEL: @absent_indices
func.func @absent_indices() -> (tensor<1x1x1x1xf32>, none) {
  %x = onnx.Constant dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>
  %0:2 = "onnx.MaxPool"(%x) {kernel_shape = [2, 2]} : (tensor<1x1x2x2xf32>) -> (tensor<1x1x1x1xf32>, none)
  return %0#0, %0#1 : tensor<1x1x1x1xf32>, none
}

// -----

// CHECK-LABEL: @absent_counts
// CHECK-SAME:    -> (tensor<2xf32>, none, tensor<3xi64>, none)
// CHECK-NOT:     onnx.Unique
// CHECK:         return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<2xf32>, none, tensor<3xi64>, none
// DISABLED-LABEL: @absent_counts
func.func @absent_counts() -> (tensor<2xf32>, none, tensor<3xi64>, none) {
  %x = onnx.Constant dense<[1.0, 2.0, 1.0]> : tensor<3xf32>
  %0:4 = "onnx.Unique"(%x) : (tensor<3xf32>) -> (tensor<2xf32>, none, tensor<3xi64>, none)
  return %0#0, %0#1, %0#2, %0#3 : tensor<2xf32>, none, tensor<3xi64>, none
}

// -----

// The result types of a function follow func.return.
// CHECK-LABEL: @sum_of_no_declared_rank
// CHECK-SAME:    -> tensor<2xf32>
// DISABLED-LABEL: @sum_of_no_declared_rank
func.func @sum_of_no_declared_rank() -> tensor<*xf32> {
  %x = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = "onnx.Sum"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// The mean of bfloat16 accumulates in a wider type: 256 + 1 would be 256 in bfloat16.
// CHECK-LABEL: @mean_of_bfloat16
// CHECK:         onnx.Constant dense<1.000000e+00> : tensor<1xbf16>
func.func @mean_of_bfloat16() -> tensor<1xbf16> {
  %x = onnx.Constant dense<1.0> : tensor<1000xbf16>
  %a = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.ReduceMean"(%x, %a) : (tensor<1000xbf16>, tensor<1xi64>) -> tensor<1xbf16>
  onnx.Return %0 : tensor<1xbf16>
}

// -----

// A model that quantizes its weights itself: half to even, saturated, with a scale and a zero point per row.
// CHECK-LABEL: @float_weights
// CHECK:         %[[W:.*]] = onnx.Constant dense<{{\[\[}}0, 2, -2], {{\[}}127, -128, 4]]> : tensor<2x3xi8>
// CHECK:         "onnx.DequantizeLinear"(%[[W]],
// CHECK-NOT:     "onnx.QuantizeLinear"
func.func @float_weights() -> tensor<2x3xf32> {
  %w = onnx.Constant dense<[[0.25, 0.75, -1.25], [300.0, -300.0, 3.0]]> : tensor<2x3xf32>
  %s = onnx.Constant dense<[0.5, 1.0]> : tensor<2xf32>
  %z = onnx.Constant dense<[0, 1]> : tensor<2xi8>
  %q = "onnx.QuantizeLinear"(%w, %s, %z) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x3xi8>
  %y = "onnx.DequantizeLinear"(%q, %s, %z) <{axis = 0 : si64}> : (tensor<2x3xi8>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x3xf32>
  onnx.Return %y : tensor<2x3xf32>
}

// -----

// Infinities stay, as do types that engines do not read.
// CHECK-LABEL: @stays
// CHECK-COUNT-2: "onnx.QuantizeLinear"
func.func @stays() -> (tensor<2xi8>, tensor<2xf8E4M3FN>) {
  %w = onnx.Constant dense<[0x7F800000, 0.75]> : tensor<2xf32>
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %f = onnx.Constant dense<0.0> : tensor<f8E4M3FN>
  %0 = "onnx.QuantizeLinear"(%w, %s, %z) : (tensor<2xf32>, tensor<f32>, tensor<i8>) -> tensor<2xi8>
  %1 = "onnx.QuantizeLinear"(%w, %s, %f) : (tensor<2xf32>, tensor<f32>, tensor<f8E4M3FN>) -> tensor<2xf8E4M3FN>
  onnx.Return %0, %1 : tensor<2xi8>, tensor<2xf8E4M3FN>
}
