// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// An operation on a scalar and an expanded scalar is an expanded scalar.
// CHECK-LABEL: @scalar_constant_expand
// CHECK:         %[[SUM:.*]] = "onnx.Add"(%[[A:.*]], %[[B:.*]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    "onnx.Expand"(%[[SUM]], %{{.*}}) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
func.func @scalar_constant_expand(%shape: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %1 = onnx.Constant dense<2.000000e+00> : tensor<f32>
  %2 = "onnx.Expand"(%0, %shape) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = "onnx.Add"(%2, %1) : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  onnx.Return %3 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: @scalar_constant_expand_behind
// CHECK-DAG:     %[[ONE:.*]] = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[TWO:.*]] = onnx.Constant dense<2.000000e+00> : tensor<f32>
// CHECK:         %[[RATIO:.*]] = "onnx.Div"(%[[TWO]], %[[ONE]])
// CHECK-NEXT:    "onnx.Expand"(%[[RATIO]], %{{.*}})
func.func @scalar_constant_expand_behind(%shape: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %1 = onnx.Constant dense<2.000000e+00> : tensor<f32>
  %2 = "onnx.Expand"(%0, %shape) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = "onnx.Div"(%1, %2) : (tensor<f32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  onnx.Return %3 : tensor<?x?xf32>
}

// -----

// Two expanded scalars of different shapes.
// CHECK-LABEL: @two_expands
// CHECK:         "onnx.Expand"
// CHECK:         "onnx.Expand"
// CHECK:         "onnx.Sub"
func.func @two_expands(%s: tensor<2xi64>, %t: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %1 = "onnx.Expand"(%0, %s) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = "onnx.Expand"(%0, %t) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = "onnx.Sub"(%1, %2) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  onnx.Return %3 : tensor<?x?xf32>
}

// -----

// An operation with a scalar moves before the reshape.
// CHECK-LABEL: @reshape_behind_scalar
// CHECK-SAME:    (%[[X:.*]]: tensor<2x6xf32>, %[[Y:.*]]: tensor<f32>, %[[S:.*]]: tensor<2xi64>)
// CHECK-NEXT:    %[[SUM:.*]] = "onnx.Mul"(%[[X]], %[[Y]]) : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
// CHECK-NEXT:    "onnx.Reshape"(%[[SUM]], %[[S]]) <{allowzero = 0 : si64}>
func.func @reshape_behind_scalar(%x: tensor<2x6xf32>, %y: tensor<f32>, %s: tensor<2xi64>) -> tensor<3x4xf32> {
  %0 = "onnx.Reshape"(%x, %s) <{allowzero = 0 : si64}> : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  %1 = "onnx.Mul"(%0, %y) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  onnx.Return %1 : tensor<3x4xf32>
}

// -----

// Not moved: with a scalar of shape [1], the result [1] has fewer axes than the reshaped tensor [1, 1].
// CHECK-LABEL: @scalar_with_an_axis
// CHECK:         "onnx.Reshape"
// CHECK-NEXT:    "onnx.Add"
func.func @scalar_with_an_axis(%x: tensor<1x1xf32>, %y: tensor<1xf32>, %s: tensor<0xi64>) -> tensor<1xf32> {
  %0 = "onnx.Reshape"(%x, %s) <{allowzero = 0 : si64}> : (tensor<1x1xf32>, tensor<0xi64>) -> tensor<f32>
  %1 = "onnx.Add"(%0, %y) : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  onnx.Return %1 : tensor<1xf32>
}

// -----

// The `axis` of old broadcasts becomes an Unsqueeze.
// CHECK-LABEL: @broadcast_axis
// CHECK-SAME:    (%[[A:.*]]: tensor<2x3x4x5xf32>, %[[B:.*]]: tensor<3x4xf32>)
// CHECK-NEXT:    %[[AXES:.*]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[U:.*]] = "onnx.Unsqueeze"(%[[B]], %[[AXES]]) : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<3x4x1xf32>
// CHECK-NEXT:    "onnx.Add"(%[[A]], %[[U]]) : (tensor<2x3x4x5xf32>, tensor<3x4x1xf32>) -> tensor<2x3x4x5xf32>
func.func @broadcast_axis(%a: tensor<2x3x4x5xf32>, %b: tensor<3x4xf32>) -> tensor<2x3x4x5xf32> {
  %0 = "onnx.Add"(%a, %b) {axis = 1 : si64, broadcast = 1 : si64} : (tensor<2x3x4x5xf32>, tensor<3x4xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %0 : tensor<2x3x4x5xf32>
}

// -----

// A lossless cast preserves order: its operands are compared instead.
// CHECK-LABEL: @less_of_casts
// CHECK-SAME:    (%[[A:.*]]: tensor<2xf16>, %[[B:.*]]: tensor<2xf16>)
// CHECK-NEXT:    "onnx.Less"(%[[A]], %[[B]]) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xi1>
func.func @less_of_casts(%a: tensor<2xf16>, %b: tensor<2xf16>) -> tensor<2xi1> {
  %0 = "onnx.Cast"(%a) <{saturate = 1 : si64, to = f32}> : (tensor<2xf16>) -> tensor<2xf32>
  %1 = "onnx.Cast"(%b) <{saturate = 1 : si64, to = f32}> : (tensor<2xf16>) -> tensor<2xf32>
  %2 = "onnx.Less"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  onnx.Return %2 : tensor<2xi1>
}
