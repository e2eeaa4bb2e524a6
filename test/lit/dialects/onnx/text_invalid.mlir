// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Strings: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @RegexFullMatch(%arg0: tensor<*xindex>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.RegexFullMatch"(%arg0) : (tensor<*xindex>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @StringConcat(%arg0: tensor<*xindex>, %arg1: tensor<*x!onnx.String>) -> tensor<*x!onnx.String> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.StringConcat"(%arg0, %arg1) : (tensor<*xindex>, tensor<*x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}

// -----

func.func @StringNormalizer(%arg0: tensor<*xindex>) -> tensor<*x!onnx.String> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.StringNormalizer"(%arg0) : (tensor<*xindex>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}

// -----

func.func @StringSplit(%arg0: tensor<*xindex>) -> (tensor<*x!onnx.String>, tensor<*xi64>) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.StringSplit"(%arg0) : (tensor<*xindex>) -> (tensor<*x!onnx.String>, tensor<*xi64>)
  onnx.Return %0#0, %0#1 : tensor<*x!onnx.String>, tensor<*xi64>
}
