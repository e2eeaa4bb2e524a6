// RUN: onnx-opt %s --assign-precision-onnx | filecheck %s

// The squares of 1280 exceed float16.
// CHECK-LABEL: @too_large
// CHECK-NOT:     dla.precision
func.func @too_large(%q: tensor<1x32x2x2xi8>) -> tensor<1x32x2x2xi8> {
  %scale = onnx.Constant dense<10.0> : tensor<f32>
  %zero = onnx.Constant dense<0> : tensor<i8>
  %ones = onnx.Constant dense<1.0> : tensor<32xf32>
  %x = "onnx.DequantizeLinear"(%q, %scale, %zero) : (tensor<1x32x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xf32>
  %n = "onnx.InstanceNormalization"(%x, %ones, %ones) : (tensor<1x32x2x2xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<1x32x2x2xf32>
  %y = "onnx.QuantizeLinear"(%n, %scale, %zero) : (tensor<1x32x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x32x2x2xi8>
  onnx.Return %y : tensor<1x32x2x2xi8>
}
