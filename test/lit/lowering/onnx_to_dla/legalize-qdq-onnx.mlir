// RUN: onnx-opt %s --legalize-qdq-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --legalize-qdq-onnx='target=nv_full' --split-input-file | filecheck %s --check-prefix=FULL

// What a depthwise convolution reads has a scale for each channel: 1 and 2 become 2, and the weights before get
// the factors 2 and 1, those behind 1/2 and 1. The bound is where the integers end anyway.

// CHECK-LABEL: @depthwise
// CHECK:         %[[F:.*]] = onnx.Constant dense<[2.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK:         %[[W:.*]] = "onnx.DequantizeLinear"(%{{.*}}, %[[F]], %{{.*}}) <{axis = 0 : si64}>
// CHECK:         %[[C:.*]] = "onnx.Conv"(%arg0, %[[W]],
// CHECK:         %[[S:.*]] = onnx.Constant dense<2.000000e+00> : tensor<f32>
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[C]], %[[S]],
// CHECK-NEXT:    %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]], %[[S]],
// CHECK:         %[[V:.*]] = onnx.Constant dense<{{\[\[\[\[}}2.500000e+00]]], {{\[\[\[}}7.000000e+00]]]]>
// CHECK:         "onnx.Conv"(%[[D]], %[[V]],
func.func @depthwise(%x: tensor<1x2x2x2xf32>, %w: tensor<2x2x1x1xi8>) -> tensor<1x2x2x2xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %i = onnx.Constant dense<1> : tensor<2x2x1x1xi8>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %s = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %z = onnx.Constant dense<0> : tensor<2xui8>
  %low = onnx.Constant dense<0.000000e+00> : tensor<f32>
  %high = onnx.Constant dense<6.000000e+02> : tensor<f32>
  %v = onnx.Constant dense<[[[[5.0]]], [[[7.0]]]]> : tensor<2x1x1x1xf32>
  %0 = "onnx.DequantizeLinear"(%i, %one, %zero) : (tensor<2x2x1x1xi8>, tensor<f32>, tensor<i8>) -> tensor<2x2x1x1xf32>
  %1 = "onnx.Conv"(%x, %0, %none) : (tensor<1x2x2x2xf32>, tensor<2x2x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  %2 = "onnx.Clip"(%1, %low, %high) : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %3 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xui8>) -> tensor<1x2x2x2xui8>
  %4 = "onnx.DequantizeLinear"(%3, %s, %z) : (tensor<1x2x2x2xui8>, tensor<2xf32>, tensor<2xui8>) -> tensor<1x2x2x2xf32>
  %5 = "onnx.Conv"(%4, %v, %none) <{group = 2 : si64}> : (tensor<1x2x2x2xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x2x2xf32>
  onnx.Return %5 : tensor<1x2x2x2xf32>
}

// -----

// Behind a function the scale is the one that covers all channels, with their zero points: -30 to 480.

// CHECK-LABEL: @function
// CHECK:         %[[T:.*]] = "onnx.Tanh"
// CHECK:         %[[S:.*]] = onnx.Constant dense<2.000000e+00> : tensor<f32>
// CHECK:         %[[Z:.*]] = onnx.Constant dense<15> : tensor<ui8>
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[T]], %[[S]], %[[Z]])
// CHECK-NEXT:    "onnx.DequantizeLinear"(%[[Q]], %[[S]], %[[Z]])
func.func @function(%x: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %s = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %z = onnx.Constant dense<[30, 15]> : tensor<2xui8>
  %0 = "onnx.Tanh"(%x) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %1 = "onnx.QuantizeLinear"(%0, %s, %z) : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xui8>) -> tensor<1x2x2x2xui8>
  %2 = "onnx.DequantizeLinear"(%1, %s, %z) : (tensor<1x2x2x2xui8>, tensor<2xf32>, tensor<2xui8>) -> tensor<1x2x2x2xf32>
  onnx.Return %2 : tensor<1x2x2x2xf32>
}

// -----

// A factor for each channel with a zero point: the SDP subtracts one only with a Y stage, which nv_full has.

// CHECK-LABEL: @product
// CHECK:         %[[D:.*]] = "onnx.DequantizeLinear"(%arg0,
// CHECK:         %[[S:.*]] = onnx.Constant dense<2.007{{.*}}> : tensor<f32>
// CHECK:         %[[Z:.*]] = onnx.Constant dense<0> : tensor<i8>
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%arg1, %[[S]], %[[Z]]) {{.*}}dla.inserted
// CHECK-NEXT:    %[[G:.*]] = "onnx.DequantizeLinear"(%[[Q]],
// CHECK-NEXT:    "onnx.Mul"(%[[D]], %[[G]])
// FULL-LABEL: @product
// FULL-NOT:      dla.inserted
func.func @product(%x: tensor<1x2x2x2xui8>, %g: tensor<1x2x1x1xf32>) -> tensor<1x2x2x2xf32> {
  %s = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<ui8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x2x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x2x2xf32>
  %1 = "onnx.QuantizeLinear"(%g, %s, %z) : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x1x1xui8>
  %2 = "onnx.DequantizeLinear"(%1, %s, %z) : (tensor<1x2x1x1xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x1x1xf32>
  %3 = "onnx.Mul"(%0, %2) : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x2x2xf32>
  onnx.Return %3 : tensor<1x2x2x2xf32>
}

// -----

// Weights of float16 that would be infinite times 2 stay as they are; the scale is that of all channels.

// CHECK-LABEL: @large_weights
// CHECK:         %[[W:.*]] = onnx.Constant dense<{{.*}}> : tensor<2x2x1x1xf16>
// CHECK:         "onnx.Conv"(%arg0, %[[W]],
// CHECK:         %[[S:.*]] = onnx.Constant dense<2.000000e+00> : tensor<f16>
// CHECK:         %[[D:.*]] = "onnx.DequantizeLinear"(%{{.*}}, %[[S]],
// CHECK:         "onnx.Conv"(%[[D]], %{{.*}}
func.func @large_weights(%x: tensor<1x2x2x2xf16>) -> tensor<1x2x2x2xf16> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<4.000000e+04> : tensor<2x2x1x1xf16>
  %s = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>
  %z = onnx.Constant dense<0> : tensor<2xui8>
  %v = onnx.Constant dense<[[[[5.0]]], [[[7.0]]]]> : tensor<2x1x1x1xf16>
  %1 = "onnx.Conv"(%x, %w, %none) : (tensor<1x2x2x2xf16>, tensor<2x2x1x1xf16>, none) -> tensor<1x2x2x2xf16>
  %3 = "onnx.QuantizeLinear"(%1, %s, %z) : (tensor<1x2x2x2xf16>, tensor<2xf16>, tensor<2xui8>) -> tensor<1x2x2x2xui8>
  %4 = "onnx.DequantizeLinear"(%3, %s, %z) : (tensor<1x2x2x2xui8>, tensor<2xf16>, tensor<2xui8>) -> tensor<1x2x2x2xf16>
  %5 = "onnx.Conv"(%4, %v, %none) <{group = 2 : si64}> : (tensor<1x2x2x2xf16>, tensor<2x1x1x1xf16>, none) -> tensor<1x2x2x2xf16>
  onnx.Return %5 : tensor<1x2x2x2xf16>
}
