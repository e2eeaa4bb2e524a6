// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Boxes and regions of interest: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @NonMaxSuppression(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi64> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'boxes' at position 0 does not verify}}
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @RoiAlign(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.RoiAlign"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @RoiAlignV10(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.RoiAlignV10"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
