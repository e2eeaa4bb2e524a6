// RUN: onnx-opt %s --fuse-operators-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-operators-onnx='disable-pattern=RemoveDoubleNeg' --split-input-file | filecheck %s --check-prefix=WITHOUT

// CHECK-LABEL: @negated_twice
// CHECK-NEXT:    onnx.Return %arg0
// WITHOUT-LABEL: @negated_twice
// WITHOUT-NEXT:  "onnx.Neg"
// WITHOUT-NEXT:  "onnx.Neg"
func.func @negated_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %1 : tensor<4xf32>
}

// -----

// The transpose of a matrix becomes transA or transB of the Gemm that uses it.

// CHECK-LABEL: @transposed
// CHECK-NOT:     "onnx.Transpose"
// CHECK:         "onnx.Gemm"(%arg0, %arg1, %{{.*}}) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 1 : si64}>
func.func @transposed(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Transpose"(%b) <{perm = [1, 0]}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = "onnx.Gemm"(%a, %0, %none) : (tensor<2x3xf32>, tensor<3x4xf32>, none) -> tensor<2x4xf32>
  onnx.Return %1 : tensor<2x4xf32>
}

// -----

// Canonicalization and constant folding are left to other passes.

// CHECK-LABEL: @left
// CHECK:         "onnx.Add"
// CHECK-NEXT:    "onnx.Identity"
func.func @left() -> tensor<1xf32> {
  %c = onnx.Constant dense<1.000000e+00> : tensor<1xf32>
  %0 = "onnx.Add"(%c, %c) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %1 = "onnx.Identity"(%0) : (tensor<1xf32>) -> tensor<1xf32>
  onnx.Return %1 : tensor<1xf32>
}

// -----

// The channels of a Gemm are its columns: 2 / sqrt(0.25) = 4, weights times 4, bias 4 (0.5 - 1) + 0.5.

// CHECK-LABEL: @normalized_product
// CHECK-DAG:     %[[W:.*]] = onnx.Constant dense<4.000000e+00> : tensor<3x5xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant dense<-1.500000e+00> : tensor<5xf32>
// CHECK:         "onnx.Gemm"(%arg0, %[[W]], %[[B]])
// CHECK-NOT:     BatchNormalization
func.func @normalized_product(%x: tensor<2x3xf32>) -> tensor<2x5xf32> {
  %w = onnx.Constant dense<1.0> : tensor<3x5xf32>
  %c = onnx.Constant dense<0.5> : tensor<5xf32>
  %s = onnx.Constant dense<2.0> : tensor<5xf32>
  %m = onnx.Constant dense<1.0> : tensor<5xf32>
  %v = onnx.Constant dense<0.25> : tensor<5xf32>
  %0 = "onnx.Gemm"(%x, %w, %c) : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %s, %c, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  onnx.Return %1 : tensor<2x5xf32>
}
