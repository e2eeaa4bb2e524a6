// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Operators under trial (ai.onnx.preview): types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @FlexAttention(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'Q' at position 0 does not verify}}
  %0 = "onnx.FlexAttention"(%arg0, %arg1, %arg2) ({}, {}) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
