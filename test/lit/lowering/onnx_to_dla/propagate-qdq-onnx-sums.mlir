// RUN: onnx-opt %s --propagate-qdq-onnx=target=nv_large | filecheck %s --check-prefixes=CHECK,SUMS
// RUN: onnx-opt %s --propagate-qdq-onnx=target=nv_small | filecheck %s --check-prefixes=CHECK,STORED

// The SDP of nv_large looks up the sums of a convolution; elsewhere they are stored, in the range in which tanh varies.

// CHECK-LABEL: @sums
// CHECK:         %[[C:.*]] = "onnx.Conv"
// SUMS-NEXT:     "onnx.Tanh"(%[[C]])
// STORED:        "onnx.QuantizeLinear"(%[[C]],
// STORED-NEXT:   %[[D:.*]] = "onnx.DequantizeLinear"
// STORED-NEXT:   "onnx.Tanh"(%[[D]])
func.func @sums(%x: tensor<1x1x2x2xi8>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %s = onnx.Constant dense<7.8125e-03> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x1x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xf32>
  %1 = "onnx.Conv"(%0, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %2 = "onnx.Tanh"(%1) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xi8>
  %4 = "onnx.DequantizeLinear"(%3, %s, %z) : (tensor<1x1x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xf32>
  onnx.Return %4 : tensor<1x1x2x2xf32>
}
