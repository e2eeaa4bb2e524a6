// RUN: onnx-opt %s --simplify-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --simplify-onnx --split-input-file --mlir-print-debuginfo | filecheck %s --check-prefix=NAMES

// Convolution, batch normalization and scale become one convolution: k = 2 / sqrt(0.25 + 0) = 4 and 4 * 3 = 12;
// the bias is 3 (4 (0 - 1) + 0.5) = -10.5.
// CHECK-LABEL: func.func @one_channel
// CHECK-DAG:     %[[W:.*]] = onnx.Constant dense<1.200000e+01> : tensor<1x1x1x1xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant dense<-1.050000e+01> : tensor<1xf32>
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%{{.*}}, %[[W]], %[[B]])
// CHECK-NEXT:    onnx.Return %[[Y]] : tensor<1x1x2x2xf32>
// NAMES-LABEL: func.func @one_channel
// NAMES:         "onnx.Conv"
// NAMES-SAME:      loc(
func.func @one_channel(%x: tensor<1x1x2x2xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<1.000000e+00> : tensor<1x1x1x1xf32>
  %two = onnx.Constant dense<2.000000e+00> : tensor<1xf32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<1xf32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<1xf32>
  %quarter = onnx.Constant dense<2.500000e-01> : tensor<1xf32>
  %three = onnx.Constant dense<3.000000e+00> : tensor<1x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %two, %half, %one, %quarter) <{epsilon = 0.000000e+00 : f32}> : (tensor<*xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<*xf32>
  %2 = "onnx.Mul"(%1, %three) : (tensor<*xf32>, tensor<1x1x1xf32>) -> tensor<*xf32>
  onnx.Return %2 : tensor<*xf32>
}

// -----

// Pools are not decomposed.
// CHECK-LABEL: func.func @pools
// CHECK:         "onnx.GlobalAveragePool"
func.func @pools(%x: tensor<1x3x2x2xf32>) -> tensor<*xf32> {
  %0 = "onnx.GlobalAveragePool"(%x) : (tensor<1x3x2x2xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Alternation of inference and folding: a Reshape's shape is static only once its operand is folded.
// CHECK-LABEL: func.func @rounds
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>) -> tensor<24xf32>
// CHECK-NEXT:    %[[SHAPE:.*]] = onnx.Constant dense<{{.*}}> : tensor<1xi64>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Reshape"(%[[X]], %[[SHAPE]])
// CHECK-NEXT:    onnx.Return %[[Y]] : tensor<24xf32>
func.func @rounds(%x: tensor<2x3x4xf32>) -> tensor<*xf32> {
  %axes = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<2x3x4xf32>) -> tensor<*xi64>
  %1 = "onnx.ReduceProd"(%0, %axes) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xi64>, none) -> tensor<*xi64>
  %2 = "onnx.Reshape"(%x, %1) <{allowzero = 0 : si64}> : (tensor<2x3x4xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %2 : tensor<*xf32>
}

// -----

// Constants in `value_float` and the like fold too.
// CHECK-LABEL: func.func @numbers
// CHECK-NEXT:    %[[C:.*]] = onnx.Constant dense<{{\[}}3, 5]> : tensor<2xi64>
// CHECK-NEXT:    onnx.Return %[[C]] : tensor<2xi64>
func.func @numbers() -> tensor<*xi64> {
  %0 = onnx.Constant {value_ints = [1, 3]} : tensor<2xi64>
  %1 = onnx.Constant {value_int = 2 : si64} : tensor<i64>
  %2 = "onnx.Add"(%0, %1) : (tensor<2xi64>, tensor<i64>) -> tensor<*xi64>
  onnx.Return %2 : tensor<*xi64>
}

// -----

// Batch normalization with computed statistics is not decomposed: it would become nine nodes.
// CHECK-LABEL: func.func @computed_statistics
// CHECK:         "onnx.Conv"
// CHECK-NEXT:    "onnx.BatchNormalizationInferenceMode"
// CHECK-NEXT:    onnx.Return
func.func @computed_statistics(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<*xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %s, %b, %m, %v) : (tensor<*xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// An export of TensorFlow: hard-swish between convolutions has two readers of one transpose; all between the
// first and the last one cancel.
// CHECK-LABEL: func.func @channels_last
// CHECK:         "onnx.Transpose"
// CHECK-NEXT:    "onnx.Conv"
// CHECK-NOT:     "onnx.Transpose"
// CHECK:         "onnx.Conv"
// CHECK-NEXT:    "onnx.Transpose"
// CHECK-NEXT:    onnx.Return
func.func @channels_last(%x: tensor<?x?x?x3xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<4x16x1x1xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %b = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<16xf32>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %six = onnx.Constant dense<6.0> : tensor<f32>
  %sixth = onnx.Constant dense<0.166666672> : tensor<f32>
  %0 = "onnx.Transpose"(%x) <{perm = [0, 3, 1, 2]}> : (tensor<?x?x?x3xf32>) -> tensor<*xf32>
  %1 = "onnx.Conv"(%0, %w, %none) <{auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]}> : (tensor<*xf32>, tensor<16x3x3x3xf32>, none) -> tensor<*xf32>
  %2 = "onnx.Transpose"(%1) <{perm = [0, 2, 3, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  %3 = "onnx.Add"(%2, %b) : (tensor<*xf32>, tensor<16xf32>) -> tensor<*xf32>
  %4 = "onnx.Add"(%3, %three) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %5 = "onnx.Clip"(%4, %zero, %six) : (tensor<*xf32>, tensor<f32>, tensor<f32>) -> tensor<*xf32>
  %6 = "onnx.Mul"(%5, %sixth) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %7 = "onnx.Mul"(%3, %6) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %8 = "onnx.Transpose"(%7) <{perm = [0, 3, 1, 2]}> : (tensor<*xf32>) -> tensor<*xf32>
  %9 = "onnx.Conv"(%8, %v, %none) <{kernel_shape = [1, 1]}> : (tensor<*xf32>, tensor<4x16x1x1xf32>, none) -> tensor<*xf32>
  %10 = "onnx.Transpose"(%9) <{perm = [0, 2, 3, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %10 : tensor<*xf32>
}
