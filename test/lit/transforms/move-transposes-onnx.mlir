// RUN: onnx-opt %s --move-transposes-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --move-transposes-onnx='disable-pattern=MoveTransposeAfterRelu' --split-input-file | filecheck %s --check-prefix=WITHOUT

// A constant is transposed back, a scalar is not; the transposes cancel.

// CHECK-LABEL: @elementwise
// CHECK-DAG:     onnx.Constant dense<{{.*}}> : tensor<1x1x3xf32>
// CHECK:         "onnx.Relu"(%arg0) : (tensor<4x5x3xf32>)
// CHECK:         "onnx.Add"
// CHECK-NOT:     "onnx.Transpose"
// CHECK:         onnx.Return
// WITHOUT-LABEL: @elementwise
// WITHOUT:       "onnx.Transpose"(%arg0)
func.func @elementwise(%x: tensor<4x5x3xf32>) -> tensor<4x5x3xf32> {
  %c = onnx.Constant dense<[[[1.0]], [[2.0]], [[3.0]]]> : tensor<3x1x1xf32>
  %0 = "onnx.Transpose"(%x) <{perm = [2, 0, 1]}> : (tensor<4x5x3xf32>) -> tensor<3x4x5xf32>
  %1 = "onnx.Relu"(%0) : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
  %2 = "onnx.Add"(%1, %c) : (tensor<3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<3x4x5xf32>
  %3 = "onnx.Transpose"(%2) <{perm = [1, 2, 0]}> : (tensor<3x4x5xf32>) -> tensor<4x5x3xf32>
  onnx.Return %3 : tensor<4x5x3xf32>
}

// -----

// Uses that converge on one value: x sigmoid(x).

// CHECK-LABEL: @swish
// CHECK-NEXT:    %[[S:.*]] = "onnx.Sigmoid"(%arg0)
// CHECK-NEXT:    %[[M:.*]] = "onnx.Mul"(%arg0, %[[S]])
// CHECK-NEXT:    "onnx.Transpose"(%[[M]])
// CHECK-NEXT:    onnx.Return
func.func @swish(%x: tensor<4x5xf32>) -> tensor<5x4xf32> {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %1 = "onnx.Sigmoid"(%0) : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %2 = "onnx.Mul"(%0, %1) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  onnx.Return %2 : tensor<5x4xf32>
}

// -----

// Uses that do not converge: not moved, as there would be two transposes.

// CHECK-LABEL: @two_results
// CHECK-NEXT:    "onnx.Transpose"(%arg0)
// CHECK-NEXT:    "onnx.Relu"
// CHECK-NEXT:    "onnx.Neg"
// CHECK-NEXT:    onnx.Return
func.func @two_results(%x: tensor<4x5xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %1 = "onnx.Relu"(%0) : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %2 = "onnx.Neg"(%0) : (tensor<5x4xf32>) -> tensor<5x4xf32>
  onnx.Return %1, %2 : tensor<5x4xf32>, tensor<5x4xf32>
}

// -----

// The other operand is not transposed: not moved, as it would need a transpose of its own.

// CHECK-LABEL: @other_operand
// CHECK-NEXT:    "onnx.Transpose"(%arg0)
// CHECK-NEXT:    "onnx.Add"
func.func @other_operand(%x: tensor<4x5xf32>, %z: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %1 = "onnx.Add"(%0, %z) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  onnx.Return %1 : tensor<5x4xf32>
}

// -----

// A scale per channel is reshaped, as its axis moves.

// CHECK-LABEL: @by_channel
// CHECK:         "onnx.Transpose"(%arg0)
// CHECK-NEXT:    "onnx.DequantizeLinear"
func.func @by_channel(%x: tensor<4x5xi8>) -> tensor<5x4xf32> {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %s = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x5xi8>) -> tensor<5x4xi8>
  %1 = "onnx.DequantizeLinear"(%0, %s, %n) <{axis = 0 : si64}> : (tensor<5x4xi8>, tensor<5xf32>, none) -> tensor<5x4xf32>
  onnx.Return %1 : tensor<5x4xf32>
}

// -----

// Axes are mapped to the untransposed operand; a transpose of axes of size 1 is absorbed by the Reshape.

// CHECK-LABEL: @reduced
// CHECK:         onnx.Constant dense<[1, 2]> : tensor<2xi64>
// CHECK:         "onnx.ReduceMean"(%arg0
// CHECK-NOT:     "onnx.Transpose"
// CHECK:         onnx.Return
func.func @reduced(%x: tensor<2x4x5x3xf32>) -> tensor<2x3xf32> {
  %axes = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %shape = onnx.Constant dense<[2, 3]> : tensor<2xi64>
  %0 = "onnx.Transpose"(%x) <{perm = [0, 3, 1, 2]}> : (tensor<2x4x5x3xf32>) -> tensor<2x3x4x5xf32>
  %1 = "onnx.ReduceMean"(%0, %axes) <{keepdims = 1 : si64}> : (tensor<2x3x4x5xf32>, tensor<2xi64>) -> tensor<2x3x1x1xf32>
  %2 = "onnx.Reshape"(%1, %shape) : (tensor<2x3x1x1xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  onnx.Return %2 : tensor<2x3xf32>
}

// -----

// A norm of each row divides the row: the reduction and the copies of its result are between the uses.

// CHECK-LABEL: @normalized
// CHECK:         "onnx.ReduceL2"(%arg0, {{.*}} -> tensor<1x1x3xf32>
// CHECK:         "onnx.Expand"({{.*}} -> tensor<1x4x3xf32>
// CHECK-NEXT:    %[[D:.*]] = "onnx.Div"(%arg0
// CHECK-NEXT:    "onnx.Transpose"(%[[D]])
// CHECK-NEXT:    onnx.Return
func.func @normalized(%x: tensor<1x4x3xf32>) -> tensor<1x3x4xf32> {
  %axes = onnx.Constant dense<[-1]> : tensor<1xi64>
  %shape = onnx.Constant dense<[1, 3, 4]> : tensor<3xi64>
  %0 = "onnx.Transpose"(%x) <{perm = [0, 2, 1]}> : (tensor<1x4x3xf32>) -> tensor<1x3x4xf32>
  %1 = "onnx.ReduceL2"(%0, %axes) <{keepdims = 1 : si64}> : (tensor<1x3x4xf32>, tensor<1xi64>) -> tensor<1x3x1xf32>
  %2 = "onnx.Expand"(%1, %shape) : (tensor<1x3x1xf32>, tensor<3xi64>) -> tensor<1x3x4xf32>
  %3 = "onnx.Div"(%0, %2) : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  onnx.Return %3 : tensor<1x3x4xf32>
}

// -----

// The reduction drops its axis, its axis is not known, or others read its result too: not moved.

// CHECK-LABEL: @other_reductions
// CHECK-COUNT-3: "onnx.Transpose"(%arg0)
// CHECK-NOT:     "onnx.Transpose"
func.func @other_reductions(%x: tensor<4x4xf32>, %axes: tensor<1xi64>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>) {
  %last = onnx.Constant dense<[-1]> : tensor<1xi64>
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "onnx.ReduceL2"(%0, %last) <{keepdims = 0 : si64}> : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4xf32>
  %2 = "onnx.Div"(%0, %1) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %3 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "onnx.ReduceL2"(%3, %axes) <{keepdims = 1 : si64}> : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %5 = "onnx.Div"(%3, %4) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %6 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = "onnx.ReduceL2"(%6, %last) <{keepdims = 1 : si64}> : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %8 = "onnx.Div"(%6, %7) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  onnx.Return %2, %5, %8, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>
}

// -----

// The parts of a Split rejoin in a product; a transpose of one of them cancels.

// CHECK-LABEL: @gated
// CHECK:         %[[P:.*]]:3 = "onnx.Split"(%arg0, {{.*}}) <{axis = 1 : si64}> : (tensor<1x6x4xf32>, tensor<3xi64>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"(%[[P]]#0)
// CHECK-NEXT:    %[[M:.*]] = "onnx.Mul"(%[[R]], %[[P]]#1)
// CHECK-NEXT:    %[[T:.*]] = "onnx.Transpose"(%[[M]])
// CHECK-NEXT:    onnx.Return %[[T]], %[[P]]#2
func.func @gated(%x: tensor<1x6x4xf32>) -> (tensor<1x4x2xf32>, tensor<1x2x4xf32>) {
  %sizes = onnx.Constant dense<[2, 2, 2]> : tensor<3xi64>
  %0 = "onnx.Transpose"(%x) <{perm = [0, 2, 1]}> : (tensor<1x6x4xf32>) -> tensor<1x4x6xf32>
  %1:3 = "onnx.Split"(%0, %sizes) <{axis = -1 : si64}> : (tensor<1x4x6xf32>, tensor<3xi64>) -> (tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>)
  %2 = "onnx.Relu"(%1#0) : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %3 = "onnx.Mul"(%2, %1#1) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %4 = "onnx.Transpose"(%1#2) <{perm = [0, 2, 1]}> : (tensor<1x4x2xf32>) -> tensor<1x2x4xf32>
  onnx.Return %3, %4 : tensor<1x4x2xf32>, tensor<1x2x4xf32>
}

// -----

// Channels are split to heads before the transpose, which moves them from the end back to the front.

// CHECK-LABEL: @heads
// CHECK:         [[SHAPE:%.+]] = onnx.Constant dense<[3, 1, 4, 12, 256]> : tensor<5xi64>
// CHECK-NOT:     "onnx.Transpose"
// CHECK:         "onnx.Reshape"(%arg0, [[SHAPE]])
// CHECK-NEXT:    onnx.Return
func.func @heads(%x: tensor<1x144x256xf32>) -> tensor<3x1x4x12x256xf32> {
  %shape = onnx.Constant dense<[1, 256, 3, 4, 12]> : tensor<5xi64>
  %0 = "onnx.Transpose"(%x) <{perm = [0, 2, 1]}> : (tensor<1x144x256xf32>) -> tensor<1x256x144xf32>
  %1 = "onnx.Reshape"(%0, %shape) : (tensor<1x256x144xf32>, tensor<5xi64>) -> tensor<1x256x3x4x12xf32>
  %2 = "onnx.Transpose"(%1) <{perm = [2, 0, 3, 4, 1]}> : (tensor<1x256x3x4x12xf32>) -> tensor<3x1x4x12x256xf32>
  onnx.Return %2 : tensor<3x1x4x12x256xf32>
}
