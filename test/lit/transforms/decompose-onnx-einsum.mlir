// RUN: onnx-opt %s --decompose-onnx --split-input-file | filecheck %s

// One contracted axis: MatMul, then Transpose to the order of the result.
// CHECK-LABEL: @batched_product
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.MatMul"(%arg0, %arg1) : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Transpose"(%[[V0]]) <{perm = [0, 2, 1]}> : (tensor<5x2x4xf32>) -> tensor<5x4x2xf32>
// CHECK-NEXT:    onnx.Return %[[V1]] : tensor<5x4x2xf32>
func.func @batched_product(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>) -> tensor<5x4x2xf32> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "bij,bjk->bki"}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x4x2xf32>
  onnx.Return %0 : tensor<5x4x2xf32>
}

// -----

// Two contracted axes are flattened to one.
// CHECK-LABEL: @reshaped_product
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Transpose"(%arg0) <{perm = [0, 3, 1, 2]}> : (tensor<2x3x4x5xf32>) -> tensor<2x5x3x4xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Transpose"(%arg1) <{perm = [1, 0, 2]}> : (tensor<4x3x6xf32>) -> tensor<3x4x6xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<[10, 12]> : tensor<2xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Reshape"(%[[V0]], %[[V2]]) <{allowzero = 0 : si64}> : (tensor<2x5x3x4xf32>, tensor<2xi64>) -> tensor<10x12xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<[12, 6]> : tensor<2xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Reshape"(%[[V1]], %[[V4]]) <{allowzero = 0 : si64}> : (tensor<3x4x6xf32>, tensor<2xi64>) -> tensor<12x6xf32>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.MatMul"(%[[V3]], %[[V5]]) : (tensor<10x12xf32>, tensor<12x6xf32>) -> tensor<10x6xf32>
// CHECK-NEXT:    %[[V7:[0-9]+]] = onnx.Constant dense<[2, 5, 6]> : tensor<3xi64>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Reshape"(%[[V6]], %[[V7]]) <{allowzero = 0 : si64}> : (tensor<10x6xf32>, tensor<3xi64>) -> tensor<2x5x6xf32>
// CHECK-NEXT:    onnx.Return %[[V8]] : tensor<2x5x6xf32>
func.func @reshaped_product(%a: tensor<2x3x4x5xf32>, %b: tensor<4x3x6xf32>) -> tensor<2x5x6xf32> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "ijkl,kjm->ilm"}> : (tensor<2x3x4x5xf32>, tensor<4x3x6xf32>) -> tensor<2x5x6xf32>
  onnx.Return %0 : tensor<2x5x6xf32>
}

// -----

// No contracted axis: an elementwise product.
// CHECK-LABEL: @outer_product
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Unsqueeze"(%arg0, %[[V0]]) : (tensor<2xf32>, tensor<1xi64>) -> tensor<2x1xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Mul"(%[[V1]], %arg1) : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    onnx.Return %[[V2]] : tensor<2x3xf32>
func.func @outer_product(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "i,j"}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

// A repeated letter (diagonal): off-diagonal elements are masked before the sum.
// CHECK-LABEL: @trace
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<{{\[\[}}true, false], [false, true]]> : tensor<2x2xi1>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Where"(%[[V0]], %arg0, %[[V1]]) : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.ReduceSum"(%[[V2]], %[[V3]]) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<2xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.ReduceSum"(%[[V4]], %[[V5]]) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2xf32>, tensor<1xi64>) -> tensor<f32>
// CHECK-NEXT:    onnx.Return %[[V6]] : tensor<f32>
func.func @trace(%a: tensor<2x2xf32>) -> tensor<f32> {
  %0 = "onnx.Einsum"(%a) <{equation = "ii"}> : (tensor<2x2xf32>) -> tensor<f32>
  onnx.Return %0 : tensor<f32>
}

// -----

// A contracted axis of one operand only is reduced first; of size 1 it is squeezed.
// CHECK-LABEL: @single_row
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Squeeze"(%arg0, %[[V0]]) : (tensor<2x1xf32>, tensor<1xi64>) -> tensor<2xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.ReduceSum"(%arg1, %[[V2]]) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<3xf32>, tensor<1xi64>) -> tensor<f32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Mul"(%[[V1]], %[[V3]]) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT:    onnx.Return %[[V4]] : tensor<2xf32>
func.func @single_row(%a: tensor<2x1xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "ij,k->i"}> : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}

// -----

// A transpose.
// CHECK-LABEL: @ellipsis
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Transpose"(%arg0) <{perm = [1, 2, 0]}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<3x4x2xf32>
func.func @ellipsis(%a: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = "onnx.Einsum"(%a) <{equation = "i...->...i"}> : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  onnx.Return %0 : tensor<3x4x2xf32>
}

// -----

// Sums over empty axes.
// CHECK-LABEL: @nothing
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<2x4xf32>
func.func @nothing(%a: tensor<2x0xf32>, %b: tensor<0x4xf32>) -> tensor<2x4xf32> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "ij,jk->ik"}> : (tensor<2x0xf32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  onnx.Return %0 : tensor<2x4xf32>
}

// -----

// Dynamic shapes: not decomposed.
// CHECK-LABEL: @dynamic_einsum
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Einsum"(%arg0, %arg1) <{equation = "ij,jk->ik"}> : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<?x4xf32>
func.func @dynamic_einsum(%a: tensor<?x3xf32>, %b: tensor<3x4xf32>) -> tensor<?x4xf32> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "ij,jk->ik"}> : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  onnx.Return %0 : tensor<?x4xf32>
}

// -----

// MatMul does not take this element type: not decomposed.
// CHECK-LABEL: @small_integers
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Einsum"(%arg0, %arg1) <{equation = "ij,jk->ik"}> : (tensor<2x3xi16>, tensor<3x4xi16>) -> tensor<2x4xi16>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<2x4xi16>
func.func @small_integers(%a: tensor<2x3xi16>, %b: tensor<3x4xi16>) -> tensor<2x4xi16> {
  %0 = "onnx.Einsum"(%a, %b) <{equation = "ij,jk->ik"}> : (tensor<2x3xi16>, tensor<3x4xi16>) -> tensor<2x4xi16>
  onnx.Return %0 : tensor<2x4xi16>
}
