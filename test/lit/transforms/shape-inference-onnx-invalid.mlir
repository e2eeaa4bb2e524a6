// RUN: onnx-opt %s --shape-inference --split-input-file --verify-diagnostics

func.func @declared_otherwise(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{declared: Transpose: the result is said to be tensor<2x4xf32>, but its operands make it tensor<3x2xf32>}}
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<2x4xf32> loc("declared")
  onnx.Return %0 : tensor<2x4xf32>
}

// -----

func.func @no_broadcast(%x: tensor<?x3xf32>, %y: tensor<2x4xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%y) : (tensor<2x4xf32>) -> tensor<*xf32>
  // expected-error @+1 {{sum: Add: shapes [?, 3] and [2, 4] do not broadcast}}
  %0 = "onnx.Add"(%x, %n) : (tensor<?x3xf32>, tensor<*xf32>) -> tensor<*xf32> loc("sum")
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @window_too_large(%x: tensor<1x3x2x2xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error @+1 {{conv1: Conv: a window of 3 does not fit into axis 2 of 2 with pads 0, 0}}
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x2x2xf32>, tensor<4x3x3x3xf32>, none) -> tensor<*xf32> loc("conv1")
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @not_a_reshape(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Constant dense<[4, -1]> : tensor<2xi64>
  // expected-error @+1 {{6 elements do not reshape to [4, -1]}}
  %1 = "onnx.Reshape"(%x, %0) <{allowzero = 0 : si64}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @rows_and_columns(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%b) : (tensor<4x5xf32>) -> tensor<*xf32>
  // expected-error @+1 {{[2, 3] times [4, 5]: 3 columns meet 4 rows}}
  %0 = "onnx.MatMul"(%a, %n) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
