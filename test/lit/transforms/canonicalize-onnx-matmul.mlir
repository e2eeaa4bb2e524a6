// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// The Reshape moves after the MatMul.
// CHECK-LABEL: @swap_reshape_matmul
// CHECK-SAME:    (%[[A:.*]]: tensor<2x3x4xf32>, %[[B:.*]]: tensor<4x5xf32>
// CHECK:         %[[P:.*]] = "onnx.MatMul"(%[[A]], %[[B]]) : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
// CHECK:         "onnx.Reshape"(%[[P]], %{{.*}}) <{allowzero = 0 : si64}> : (tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<6x5xf32>
func.func @swap_reshape_matmul(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>, %s: tensor<2xi64>) -> tensor<6x5xf32> {
  %0 = "onnx.Reshape"(%a, %s) <{allowzero = 0 : si64}> : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  %1 = "onnx.MatMul"(%0, %b) : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  onnx.Return %1 : tensor<6x5xf32>
}

// -----

// The scale of an attention folds into the weights and the bias of a projection.
// CHECK-LABEL: @attention_scale_into_gemm
// CHECK:         %[[W:.*]] = "onnx.Div"(%{{.*}}, %{{.*}}) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
// CHECK:         %[[B:.*]] = "onnx.Div"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK:         %[[Q:.*]] = "onnx.Gemm"(%{{.*}}, %[[W]], %[[B]])
// CHECK:         %[[T:.*]] = "onnx.Transpose"(%[[Q]])
// CHECK-NEXT:    %[[P:.*]] = "onnx.MatMul"(%[[T]], %{{.*}})
// CHECK-NEXT:    onnx.Return %[[P]]
func.func @attention_scale_into_gemm(%x: tensor<2x3xf32>, %y: tensor<2x5xf32>) -> tensor<4x5xf32> {
  %w = onnx.Constant dense<1.000000e+00> : tensor<3x4xf32>
  %b = onnx.Constant dense<2.000000e+00> : tensor<4xf32>
  %c = onnx.Constant dense<8.000000e+00> : tensor<f32>
  %0 = "onnx.Gemm"(%x, %w, %b) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = "onnx.MatMul"(%1, %y) : (tensor<4x2xf32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  %3 = "onnx.Div"(%2, %c) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  onnx.Return %3 : tensor<4x5xf32>
}

// -----

// CHECK-LABEL: @attention_scale_into_matmul
// CHECK:         %[[W:.*]] = "onnx.Mul"(%{{.*}}, %{{.*}}) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
// CHECK:         %[[P:.*]] = "onnx.MatMul"(%{{.*}}, %[[W]])
// CHECK:         %[[B:.*]] = "onnx.Mul"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK:         "onnx.Add"(%[[P]], %[[B]])
// CHECK:         %[[R:.*]] = "onnx.MatMul"
// CHECK-NEXT:    onnx.Return %[[R]]
func.func @attention_scale_into_matmul(%x: tensor<7x2x3xf32>, %y: tensor<4x5xf32>) -> tensor<7x2x5xf32> {
  %w = onnx.Constant dense<1.000000e+00> : tensor<3x4xf32>
  %b = onnx.Constant dense<2.000000e+00> : tensor<4xf32>
  %c = onnx.Constant dense<8.000000e+00> : tensor<f32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<7x2x3xf32>, tensor<3x4xf32>) -> tensor<7x2x4xf32>
  %1 = "onnx.Add"(%0, %b) : (tensor<7x2x4xf32>, tensor<4xf32>) -> tensor<7x2x4xf32>
  %2 = "onnx.MatMul"(%1, %y) : (tensor<7x2x4xf32>, tensor<4x5xf32>) -> tensor<7x2x5xf32>
  %3 = "onnx.Mul"(%2, %c) : (tensor<7x2x5xf32>, tensor<f32>) -> tensor<7x2x5xf32>
  onnx.Return %3 : tensor<7x2x5xf32>
}

// -----

// All results of a Split have a Relu: it moves before the Split.
// CHECK-LABEL: @relu_before_split
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4xf32>, %[[N:.*]]: tensor<2xi64>)
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"(%[[X]]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    %[[P:.*]]:2 = "onnx.Split"(%[[R]], %[[N]]) <{axis = 1 : si64}>
// CHECK-NEXT:    onnx.Return %[[P]]#0, %[[P]]#1
func.func @relu_before_split(%x: tensor<2x4xf32>, %n: tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0:2 = "onnx.Split"(%x, %n) <{axis = 1 : si64}> : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %1 = "onnx.Relu"(%0#0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = "onnx.Relu"(%0#1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Only with the same slope.
// CHECK-LABEL: @leaky_relu_before_split
// CHECK:         "onnx.LeakyRelu"(%{{.*}}) <{alpha = 5.000000e-01 : f32}> : (tensor<2x4xf32>)
// CHECK-NEXT:    "onnx.Split"
// CHECK-NEXT:    onnx.Return
// CHECK-LABEL: @two_slopes
// CHECK:         "onnx.Split"
// CHECK-NEXT:    "onnx.LeakyRelu"
// CHECK-NEXT:    "onnx.LeakyRelu"
func.func @leaky_relu_before_split(%x: tensor<2x4xf32>, %n: tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0:2 = "onnx.Split"(%x, %n) <{axis = 1 : si64}> : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %1 = "onnx.LeakyRelu"(%0#0) <{alpha = 0.5 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = "onnx.LeakyRelu"(%0#1) <{alpha = 0.5 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}
func.func @two_slopes(%x: tensor<2x4xf32>, %n: tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0:2 = "onnx.Split"(%x, %n) <{axis = 1 : si64}> : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %1 = "onnx.LeakyRelu"(%0#0) <{alpha = 0.5 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = "onnx.LeakyRelu"(%0#1) <{alpha = 0.25 : f32}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// An empty tensor as an optional operand of Resize counts as absent.
// CHECK-LABEL: @empty_resize_operands
// CHECK-SAME:    (%[[X:.*]]: tensor<1x1x2x2xf32>, %{{.*}}: tensor<0xf32>, %[[S:.*]]: tensor<4xf32>)
// CHECK-DAG:     %[[NONE:.*]] = "onnx.NoValue"
// CHECK:         "onnx.Resize"(%[[X]], %{{.*}}, %[[S]], %{{.*}}) {{.*}} : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none)
func.func @empty_resize_operands(%x: tensor<1x1x2x2xf32>, %e: tensor<0xf32>, %s: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Resize"(%x, %e, %s, %none) <{mode = "nearest"}> : (tensor<1x1x2x2xf32>, tensor<0xf32>, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// -----

// An infinite product divided by infinity is NaN, not a product with zeros.
// CHECK-LABEL: @matmul_divided_by_infinity
// CHECK:         %[[P:.*]] = "onnx.MatMul"(%arg0, %{{.*}})
// CHECK-NEXT:    "onnx.Div"(%[[P]], %{{.*}})
func.func @matmul_divided_by_infinity(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = onnx.Constant dense<1.000000e+00> : tensor<3x4xf32>
  %c = onnx.Constant dense<0x7F800000> : tensor<f32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = "onnx.Div"(%0, %c) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  onnx.Return %1 : tensor<2x4xf32>
}
