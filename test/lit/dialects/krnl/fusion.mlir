// RUN: onnx-opt %s --split-input-file | filecheck %s
// RUN: onnx-opt %s --split-input-file | onnx-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK:         %0 = "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK-NEXT:      %1 = "onnx.Exp"(%arg0)
// CHECK-NEXT:      %2 = "onnx.Neg"(%1)
// CHECK-NEXT:      krnl.yield %2 : tensor<4xf32>
// CHECK-NEXT:    }) : () -> tensor<4xf32>
func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "krnl.fused"() <{kind = "elementwise"}> ({
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    krnl.yield %1 : tensor<4xf32>
  }) : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Several results: an intermediate value has a reader outside of the group as well.

// CHECK-LABEL: func.func @two_results
// CHECK:         %[[Y:.*]]:2 = "krnl.fused"() <{kind = "convolution"}> ({
// CHECK-NEXT:      %[[C:.*]] = "onnx.Conv"
// CHECK-NEXT:      %[[R:.*]] = "onnx.Relu"
// CHECK-NEXT:      krnl.yield %[[R]], %[[C]] : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
// CHECK-NEXT:    }) : () -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>)
func.func @two_results(%x: tensor<1x8x4x4xf32>, %w: tensor<16x8x1x1xf32>) -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %y, %z = "krnl.fused"() <{kind = "convolution"}> ({
    %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x8x4x4xf32>, tensor<16x8x1x1xf32>, none) -> tensor<1x16x4x4xf32>
    %1 = "onnx.Relu"(%0) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
    krnl.yield %1, %0 : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
  }) : () -> (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>)
  return %y, %z : tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}
