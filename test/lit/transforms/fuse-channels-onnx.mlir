// RUN: onnx-opt %s --fuse-channels-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-channels-onnx='disable-pattern=FuseConstantBatchNormConv' --split-input-file | filecheck %s --check-prefix=WITHOUT

// 2 / sqrt(0.25) = 4: weights times 4, bias 4 (0 - 1) + 0.5.

// CHECK-LABEL: @normalized
// CHECK-DAG:     %[[W:.*]] = onnx.Constant dense<4.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-DAG:     %[[B:.*]] = onnx.Constant dense<-3.500000e+00> : tensor<1xf32>
// CHECK:         "onnx.Conv"(%{{.*}}, %[[W]], %[[B]])
// CHECK-NEXT:    onnx.Return
// WITHOUT-LABEL: @normalized
// WITHOUT:       "onnx.BatchNormalizationInferenceMode"
func.func @normalized(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<1.000000e+00> : tensor<1x1x1x1xf32>
  %two = onnx.Constant dense<2.000000e+00> : tensor<1xf32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<1xf32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<1xf32>
  %quarter = onnx.Constant dense<2.500000e-01> : tensor<1xf32>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = "onnx.BatchNormalizationInferenceMode"(%0, %two, %half, %one, %quarter) <{epsilon = 0.000000e+00 : f32}> : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  onnx.Return %1 : tensor<1x1x2x2xf32>
}

// -----

// The convolution has another reader: it stays as it is.

// CHECK-LABEL: @two_readers
// CHECK:         onnx.Constant dense<1.000000e+00>
// CHECK:         "onnx.Mul"
// CHECK-NEXT:    onnx.Return
func.func @two_readers(%x: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<1.000000e+00> : tensor<1x1x1x1xf32>
  %two = onnx.Constant dense<2.000000e+00> : tensor<1x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = "onnx.Mul"(%0, %two) : (tensor<1x1x2x2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2x2xf32>
  onnx.Return %0, %1 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}
