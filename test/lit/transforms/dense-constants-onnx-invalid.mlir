// RUN: onnx-opt %s --dense-constants-onnx --split-input-file --verify-diagnostics

func.func @too_large() -> tensor<1048576x1048576xf32> {
  // expected-error @+1 {{more than 1073741824 bytes are not made dense}}
  %0 = onnx.Constant sparse<[[0, 1]], [2.0]> : tensor<1048576x1048576xf32>
  onnx.Return %0 : tensor<1048576x1048576xf32>
}
