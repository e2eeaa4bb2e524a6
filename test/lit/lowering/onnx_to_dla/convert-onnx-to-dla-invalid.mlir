// RUN: onnx-opt %s --convert-onnx-to-dla --verify-diagnostics --split-input-file

// An Expand whose declared result is impossible is rejected: it may come from the declared types of a loop body.
func.func @main_graph(%x: tensor<1x3x4x4xf32>, %z: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  // expected-error @+1 {{the DLA has no such operator}}
  %s = "onnx.Shape"(%z) : (tensor<1x3x4xf32>) -> tensor<3xi64>
  // expected-error @+1 {{a tensor of shape [1, 3, 4, 4] cannot be expanded to [1, 3, 4]}}
  %y = "onnx.Expand"(%x, %s) : (tensor<1x3x4x4xf32>, tensor<3xi64>) -> tensor<1x3x4xf32>
  onnx.Return %y : tensor<1x3x4xf32>
}
