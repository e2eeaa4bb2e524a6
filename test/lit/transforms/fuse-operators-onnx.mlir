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

// Of a matrix that is made of the rows of a product: LeViT's linear layers.
// CHECK-LABEL: @norm_of_rows
// CHECK-NOT:     BatchNormalization
// CHECK:         %[[P:.*]] = "onnx.MatMul"(%{{.*}}, %{{.*}}) : (tensor<?x3x2xf32>, tensor<2x2xf32>)
// CHECK:         %[[S:.*]] = "onnx.Add"(%[[P]]
// CHECK:         "onnx.Flatten"(%[[S]])
func.func @norm_of_rows(%x: tensor<?x3x2xf32>) -> tensor<?x2xf32> {
  %w = onnx.Constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = onnx.Constant dense<[1.0, 4.0]> : tensor<2xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x3x2xf32>, tensor<2x2xf32>) -> tensor<?x3x2xf32>
  %1 = "onnx.Flatten"(%0) <{axis = 2 : si64}> : (tensor<?x3x2xf32>) -> tensor<?x2xf32>
  %2 = "onnx.BatchNormalizationInferenceMode"(%1, %c, %c, %c, %c) <{epsilon = 0.0 : f32}> : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  onnx.Return %2 : tensor<?x2xf32>
}

// -----

// Reductions of one kind that follow each other; axes count in the operand of the first.

// CHECK-LABEL: @reductions
// CHECK-DAG:     %[[A:.*]] = onnx.Constant dense<[1, 2]> : tensor<2xi64>
// CHECK:         %[[R:.*]] = "onnx.ReduceSum"(%arg0, %[[A]]) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2xf32>
// CHECK-NEXT:    onnx.Return %[[R]]
func.func @reductions(%x: tensor<2x3x4xf32>) -> tensor<2xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %0 = "onnx.ReduceSum"(%x, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
  %1 = "onnx.ReduceSum"(%0, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2xf32>
  onnx.Return %1 : tensor<2xf32>
}

// -----

// The first keeps its axes, the second drops others; a mean of integers rounds; another reads the first.

// CHECK-LABEL: @reductions_kept
// CHECK-COUNT-2: "onnx.ReduceMax"
// CHECK-COUNT-2: "onnx.ReduceMean"
// CHECK-COUNT-2: "onnx.ReduceMin"
func.func @reductions_kept(%x: tensor<2x3x4xf32>, %i: tensor<2x3x4xi32>) -> (tensor<2x1xf32>, tensor<2xi32>, tensor<2x4xf32>, tensor<2xf32>) {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %0 = "onnx.ReduceMax"(%x, %one) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  %1 = "onnx.ReduceMax"(%0, %two) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x1x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %2 = "onnx.ReduceMean"(%i, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xi32>, tensor<1xi64>) -> tensor<2x4xi32>
  %3 = "onnx.ReduceMean"(%2, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x4xi32>, tensor<1xi64>) -> tensor<2xi32>
  %4 = "onnx.ReduceMin"(%x, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
  %5 = "onnx.ReduceMin"(%4, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2xf32>
  onnx.Return %1, %3, %4, %5 : tensor<2x1xf32>, tensor<2xi32>, tensor<2x4xf32>, tensor<2xf32>
}

// -----

// Squeeze and Unsqueeze go into `keepdims` if the axes are known to be the same.
// CHECK-LABEL: func.func @kept_axes
// CHECK:         "onnx.ReduceSum"(%arg0, %{{.*}}) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
// CHECK-NOT:     "onnx.Squeeze"
// CHECK:         onnx.Return
func.func @kept_axes(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %last = onnx.Constant dense<-2> : tensor<1xi64>
  %0 = "onnx.ReduceSum"(%x, %one) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
  %1 = "onnx.Squeeze"(%0, %last) : (tensor<2x1x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
  onnx.Return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @other_axes
// CHECK:         "onnx.ReduceSum"
// CHECK:         "onnx.Unsqueeze"
func.func @other_axes(%x: tensor<2x3x4xf32>) -> tensor<2x4x1xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %last = onnx.Constant dense<2> : tensor<1xi64>
  %0 = "onnx.ReduceSum"(%x, %one) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
  %1 = "onnx.Unsqueeze"(%0, %last) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x4x1xf32>
  onnx.Return %1 : tensor<2x4x1xf32>
}

// CHECK-LABEL: func.func @axes_that_are_fed
// CHECK:         "onnx.ReduceSum"
// CHECK:         "onnx.Squeeze"
func.func @axes_that_are_fed(%x: tensor<2x3x4xf32>, %axes: tensor<1xi64>) -> tensor<?x?xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %0 = "onnx.ReduceSum"(%x, %axes) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
  %1 = "onnx.Squeeze"(%0, %one) : (tensor<?x?x?xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  onnx.Return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @operand_of_unknown_rank
// CHECK:         "onnx.ReduceSum"
// CHECK:         "onnx.Squeeze"
func.func @operand_of_unknown_rank(%x: tensor<*xf32>) -> tensor<*xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %last = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.ReduceSum"(%x, %one) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  %1 = "onnx.Squeeze"(%0, %last) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}
