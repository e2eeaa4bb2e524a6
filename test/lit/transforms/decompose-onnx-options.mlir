// RUN: onnx-opt %s --decompose-onnx='target=stablehlo decompose-op-in-onnx=HardSwish' --split-input-file | filecheck %s

// The StableHLO target decomposes Softmax.
// CHECK-LABEL: @softmax
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.ReduceMaxV13"(%arg0) <{axes = [1], keepdims = 1 : si64}> : (tensor<2x3xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Sub"(%arg0, %[[V0]]) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Exp"(%[[V1]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.ReduceSum"(%[[V2]], %[[V3]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Div"(%[[V2]], %[[V4]]) : (tensor<*xf32>, tensor<*xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    onnx.Return %[[V5]] : tensor<2x3xf32>
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Softmax"(%x) <{axis = 1 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

// Decompositions enabled by name.
// CHECK-LABEL: @hard_swish
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<0.166666672> : tensor<1xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<5.000000e-01> : tensor<1xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<1.000000e+00> : tensor<1xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<1xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Mul"(%arg0, %[[V0]]) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Add"(%[[V4]], %[[V1]]) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Min"(%[[V5]], %[[V2]]) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Max"(%[[V6]], %[[V3]]) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Mul"(%arg0, %[[V7]]) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    onnx.Return %[[V8]] : tensor<2x3xf32>
func.func @hard_swish(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.HardSwish"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}
