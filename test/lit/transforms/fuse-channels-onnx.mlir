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

// -----

// Quantized weights keep their integers: the factor of a row goes to its scale, a negative one mirrors the
// integers at the zero point.

// CHECK-LABEL: @quantized
// CHECK-DAG:     %[[W:.*]] = onnx.Constant dense<{{\[\[}}1, -2], [3, 6]]> : tensor<2x2xi8>
// CHECK-DAG:     %[[S:.*]] = onnx.Constant dense<[5.000000e-01, 1.500000e+00]> : tensor<2xf32>
// CHECK-DAG:     %[[Z:.*]] = onnx.Constant dense<1> : tensor<2xi8>
// CHECK:         "onnx.DequantizeLinear"(%[[W]], %[[S]], %[[Z]]) <{axis = 0 : si64}>
// CHECK-NEXT:    onnx.Return
func.func @quantized() -> tensor<2x2xf32> {
  %w = onnx.Constant dense<[[1, -2], [-1, -4]]> : tensor<2x2xi8>
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<1> : tensor<i8>
  %c = onnx.Constant dense<[[1.000000e+00], [-3.000000e+00]]> : tensor<2x1xf32>
  %0 = "onnx.DequantizeLinear"(%w, %s, %z) : (tensor<2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<2x2xf32>
  %1 = "onnx.Mul"(%0, %c) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  onnx.Return %1 : tensor<2x2xf32>
}

// -----

// No int8 is the opposite of -128; a factor of 0 would make a scale of 0; factors along two axes have no
// scales.

// CHECK-LABEL: @stays
// CHECK-COUNT-3: "onnx.Mul"
func.func @stays() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = onnx.Constant dense<[[1, -2], [-1, -128]]> : tensor<2x2xi8>
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %negative = onnx.Constant dense<[[1.000000e+00], [-3.000000e+00]]> : tensor<2x1xf32>
  %zero = onnx.Constant dense<[[1.000000e+00], [0.000000e+00]]> : tensor<2x1xf32>
  %both = onnx.Constant dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
  %0 = "onnx.DequantizeLinear"(%w, %s, %none) : (tensor<2x2xi8>, tensor<f32>, none) -> tensor<2x2xf32>
  %1 = "onnx.Mul"(%0, %negative) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %2 = "onnx.DequantizeLinear"(%w, %s, %none) : (tensor<2x2xi8>, tensor<f32>, none) -> tensor<2x2xf32>
  %3 = "onnx.Mul"(%2, %zero) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %4 = "onnx.DequantizeLinear"(%w, %s, %none) : (tensor<2x2xi8>, tensor<f32>, none) -> tensor<2x2xf32>
  %5 = "onnx.Mul"(%4, %both) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %1, %3, %5 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
