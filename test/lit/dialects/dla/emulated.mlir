// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @emulated
// CHECK:         "dla.softmax"(%arg0) <{input_scale = 1.000000e+00 : f32, output_scale = 1.000000e+00 : f32}> : (tensor<1x10x1x1xf16>) -> tensor<1x10x1x1xf16>
// CHECK:         "dla.power"({{%.+}}) <{power = 5.000000e-01 : f32, scale = 1.000000e+00 : f32, shift = 0.000000e+00 : f32}>
func.func @emulated(%x: tensor<1x10x1x1xf16>) -> tensor<1x10x1x1xf16> {
  %a = "dla.softmax"(%x) : (tensor<1x10x1x1xf16>) -> tensor<1x10x1x1xf16>
  %b = "dla.power"(%a) <{power = 5.0e-01 : f32}> : (tensor<1x10x1x1xf16>) -> tensor<1x10x1x1xf16>
  func.return %b : tensor<1x10x1x1xf16>
}
