// RUN: onnx-opt %s --split-input-file --verify-diagnostics

func.func @positions(%x: tensor<1x10x2x1xf16>) {
  // expected-error @+1 {{softmax takes 1xCx1x1, found 1x10x2x1}}
  %a = "dla.softmax"(%x) : (tensor<1x10x2x1xf16>) -> tensor<1x10x2x1xf16>
  func.return
}

// -----

func.func @softmax_shape(%x: tensor<1x10x1x1xf16>) {
  // expected-error @+1 {{the result is 10x1x1, found 12x1x1}}
  %a = "dla.softmax"(%x) : (tensor<1x10x1x1xf16>) -> tensor<1x12x1x1xf16>
  func.return
}

// -----

func.func @power_shape(%x: tensor<1x10x2x1xf16>) {
  // expected-error @+1 {{the result is 10x2x1, found 10x1x2}}
  %a = "dla.power"(%x) <{power = 2.0 : f32}> : (tensor<1x10x2x1xf16>) -> tensor<1x10x1x2xf16>
  func.return
}
