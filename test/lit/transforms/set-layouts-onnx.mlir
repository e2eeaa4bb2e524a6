// RUN: onnx-opt %s --set-layouts-onnx='layouts=x:NHWC,y:NHWC' --split-input-file | filecheck %s
// RUN: onnx-opt %s --set-layouts-onnx='layouts=x:NHWC,y:NHWC' --move-transposes-onnx --split-input-file | filecheck %s --check-prefix=MOVED
// RUN: not onnx-opt %s --set-layouts-onnx='layouts=x:NHQC' 2>&1 | filecheck %s --check-prefix=LETTERS
// RUN: not onnx-opt %s --set-layouts-onnx='layouts=xx:NHWC' 2>&1 | filecheck %s --check-prefix=NAME

// One transpose on each side; none stays between elementwise operators.

// CHECK-LABEL: func.func @elementwise(%arg0: tensor<1x8x8x3xf32> {onnx.name = "x"}) -> (tensor<1x8x8x3xf32> {onnx.name = "y"})
// CHECK-NEXT:    %[[X:.*]] = "onnx.Transpose"(%arg0) <{perm = [0, 3, 1, 2]}> : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
// CHECK:         %[[Y:.*]] = "onnx.Mul"
// CHECK-NEXT:    "onnx.Transpose"(%[[Y]]) <{perm = [0, 2, 3, 1]}> : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>

// MOVED-LABEL: func.func @elementwise(%arg0: tensor<1x8x8x3xf32>
// MOVED:         onnx.Constant dense<2.000000e+00> : tensor<1x1x1x3xf32>
// MOVED-NOT:     "onnx.Transpose"
// MOVED:         onnx.Return

// LETTERS: layout x:NHQC: NHQC does not have the axes of NCHW, each once
// NAME:    layout xx:NHWC: no input or output 'xx'; there are x, y
func.func @elementwise(%x: tensor<1x3x8x8xf32> {onnx.name = "x"}) -> (tensor<1x3x8x8xf32> {onnx.name = "y"}) {
  %c = onnx.Constant dense<2.000000e+00> : tensor<3x1x1xf32>
  %0 = "onnx.Sigmoid"(%x) : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %1 = "onnx.Mul"(%0, %c) : (tensor<1x3x8x8xf32>, tensor<3x1x1xf32>) -> tensor<1x3x8x8xf32>
  onnx.Return %1 : tensor<1x3x8x8xf32>
}

// -----

// The model has that layout already: it begins and ends with transposes.

// CHECK-LABEL: func.func @channels_last(%arg0: tensor<1x8x8x3xf32>
// CHECK-NEXT:    "onnx.Transpose"(%arg0) <{perm = [0, 3, 1, 2]}>
// CHECK-NEXT:    "onnx.Relu"
// CHECK-NEXT:    "onnx.Transpose"
// CHECK-NEXT:    onnx.Return
func.func @channels_last(%x: tensor<1x8x8x3xf32> {onnx.name = "x"}) -> (tensor<1x8x8x3xf32> {onnx.name = "y"}) {
  %0 = "onnx.Transpose"(%x) <{perm = [0, 3, 1, 2]}> : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %2 = "onnx.Transpose"(%1) <{perm = [0, 2, 3, 1]}> : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  onnx.Return %2 : tensor<1x8x8x3xf32>
}
