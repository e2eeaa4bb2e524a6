// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --canonicalize --split-input-file | filecheck %s

// A batch normalization folds into the convolution before it.
// CHECK-LABEL: @batch_norm_into_conv
// CHECK-NOT:     BatchNormalization
// CHECK:         "onnx.Conv"
// CHECK-NEXT:    onnx.Return
func.func @batch_norm_into_conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<1x4x6x6xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %s, %b, %m, %v) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %1 : tensor<1x4x6x6xf32>
}

// -----

// The convolution has another use: it stays, the normalization becomes elementwise arithmetic.
// CHECK-LABEL: @two_readers
// CHECK:         %[[CONV:.*]] = "onnx.Conv"
// CHECK-NOT:     BatchNormalization
// CHECK:         onnx.Return %[[CONV]], %{{.*}}
func.func @two_readers(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %s, %b, %m, %v) : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %0, %1 : tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>
}

// -----

// a b + c becomes Gemm.
// CHECK-LABEL: @gemm
// CHECK:         "onnx.Gemm"(%{{.*}}, %{{.*}}, %{{.*}}) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 0 : si64}>
func.func @gemm(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = "onnx.MatMul"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = "onnx.Add"(%0, %c) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.Return %1 : tensor<2x4xf32>
}

// -----

// The sum is broadcast to more elements than the product, which Gemm cannot express: no match.
// CHECK-LABEL: @no_gemm
// CHECK:         "onnx.MatMul"
// CHECK-NEXT:    "onnx.Add"
func.func @no_gemm(%a: tensor<1x3xf32>, %b: tensor<3x4xf32>, %c: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %0 = "onnx.MatMul"(%a, %b) : (tensor<1x3xf32>, tensor<3x4xf32>) -> tensor<1x4xf32>
  %1 = "onnx.Add"(%0, %c) : (tensor<1x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  onnx.Return %1 : tensor<5x4xf32>
}

// -----

// The operands tell the columns of the product, although its type and the number of rows are not known.
// CHECK-LABEL: @gemm_of_dynamic_rows
// CHECK-SAME:    (%[[A:.*]]: tensor<?x3xf32>, %[[B:.*]]: tensor<4x3xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK-NEXT:    "onnx.Gemm"(%[[A]], %[[B]], %[[C]]) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 1 : si64}>
func.func @gemm_of_dynamic_rows(%a: tensor<?x3xf32>, %b: tensor<4x3xf32>, %c: tensor<4xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Gemm"(%a, %b, %none) {transB = 1 : si64} : (tensor<?x3xf32>, tensor<4x3xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Add"(%0, %c) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// The added matrix may have more rows than the product: no match.
// CHECK-LABEL: @no_gemm_of_dynamic_rows
// CHECK:         "onnx.Gemm"
// CHECK-NEXT:    "onnx.Add"
func.func @no_gemm_of_dynamic_rows(%a: tensor<?x3xf32>, %b: tensor<4x3xf32>, %c: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Gemm"(%a, %b, %none) {transB = 1 : si64} : (tensor<?x3xf32>, tensor<4x3xf32>, none) -> tensor<?x4xf32>
  %1 = "onnx.Add"(%0, %c) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}

// -----

// No-op operators are erased.
// CHECK-LABEL: @nothing
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT:    onnx.Return %[[X]] : tensor<2x3xf32>
func.func @nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Identity"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1:2 = "onnx.Dropout"(%0, %none, %none) : (tensor<2x3xf32>, none, none) -> (tensor<2x3xf32>, none)
  %2 = "onnx.Cast"(%1#0) <{saturate = 1 : si64, to = f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = "onnx.Transpose"(%2) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = "onnx.Transpose"(%3) <{perm = [1, 0]}> : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %shape = onnx.Constant dense<[2, -1]> : tensor<2xi64>
  %5 = "onnx.Reshape"(%4, %shape) <{allowzero = 0 : si64}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  onnx.Return %5 : tensor<2x3xf32>
}

// -----

// The mask of a Dropout is used: replaced by a mask of ones.
// CHECK-LABEL: @dropout_mask
// CHECK-SAME:    (%[[X:.*]]: tensor<2xf32>)
// CHECK-NEXT:    %[[MASK:.*]] = onnx.Constant dense<true> : tensor<2xi1>
// CHECK-NEXT:    onnx.Return %[[X]], %[[MASK]]
func.func @dropout_mask(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.Dropout"(%x, %none, %none) : (tensor<2xf32>, none, none) -> (tensor<2xf32>, tensor<2xi1>)
  onnx.Return %0#0, %0#1 : tensor<2xf32>, tensor<2xi1>
}

// -----

// A pad with another value than zero is not folded into the convolution.
// CHECK-LABEL: @pad_with_ones
// CHECK:         "onnx.Pad"
// CHECK:         "onnx.Conv"
func.func @pad_with_ones(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = onnx.Constant dense<[0, 0, 1, 1, 0, 0, 1, 1]> : tensor<8xi64>
  %1 = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %2 = "onnx.Pad"(%x, %0, %1, %none) <{mode = "constant"}> : (tensor<1x3x8x8xf32>, tensor<8xi64>, tensor<f32>, none) -> tensor<1x3x10x10xf32>
  %3 = "onnx.Conv"(%2, %w, %none) : (tensor<1x3x10x10xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x8x8xf32>
  onnx.Return %3 : tensor<1x4x8x8xf32>
}

// -----

// Clips with disjoint intervals are not merged.
// CHECK-LABEL: @disjoint_clips
// CHECK:         "onnx.Clip"
// CHECK:         "onnx.Clip"
func.func @disjoint_clips(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = onnx.Constant dense<0.000000e+00> : tensor<f32>
  %1 = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %2 = onnx.Constant dense<2.000000e+00> : tensor<f32>
  %3 = onnx.Constant dense<3.000000e+00> : tensor<f32>
  %4 = "onnx.Clip"(%x, %0, %1) : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  %5 = "onnx.Clip"(%4, %2, %3) : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  onnx.Return %5 : tensor<2xf32>
}

// -----

// Data and statistics of different element types are not turned into arithmetic.
// CHECK-LABEL: @norm_of_mixed_types
// CHECK:         BatchNormalization
func.func @norm_of_mixed_types(%x: tensor<1x4x6xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<1x4x6xf64> {
  %0 = "onnx.BatchNormalizationInferenceMode"(%x, %s, %b, %m, %v) : (tensor<1x4x6xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x6xf64>
  onnx.Return %0 : tensor<1x4x6xf64>
}

// -----

// An absent result stays absent, whether a function, branch or loop returns it.
// CHECK-LABEL: @absent_mask
// CHECK-SAME:    -> (tensor<2xf32>, none)
// CHECK-NEXT:    %[[NONE:.*]] = "onnx.NoValue"()
// CHECK-NEXT:    return %arg0, %[[NONE]] : tensor<2xf32>, none
func.func @absent_mask(%x: tensor<2xf32>) -> (tensor<2xf32>, none) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0:2 = "onnx.Dropout"(%x, %none, %none) : (tensor<2xf32>, none, none) -> (tensor<2xf32>, none)
  return %0#0, %0#1 : tensor<2xf32>, none
}

// -----

// CHECK-LABEL: @absent_mask_of_onnx_function
// CHECK:         onnx.Return %arg0, %{{.*}} : tensor<2xf32>, none
func.func @absent_mask_of_onnx_function(%x: tensor<2xf32>) -> (tensor<2xf32>, none) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0:2 = "onnx.Dropout"(%x, %none, %none) : (tensor<2xf32>, none, none) -> (tensor<2xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<2xf32>, none
}

// -----

// The result types of a function follow func.return, whether more or less static than declared.
// CHECK-LABEL: @more_exact
// CHECK-SAME:    -> tensor<2x3xf32>
// CHECK-NEXT:    return %arg0 : tensor<2x3xf32>
func.func @more_exact(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = "onnx.Identity"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// CHECK-LABEL: @less_exact
// CHECK-SAME:    -> tensor<*xf32>
// CHECK-NEXT:    return %arg0 : tensor<*xf32>
func.func @less_exact(%x: tensor<*xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Identity"(%x) : (tensor<*xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
