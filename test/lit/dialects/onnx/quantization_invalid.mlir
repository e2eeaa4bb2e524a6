// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Integers for real numbers and back: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @DequantizeLinear(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0 = "onnx.DequantizeLinear"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DynamicQuantizeLinear(%arg0: tensor<*xindex>) -> (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>) {
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0:3 = "onnx.DynamicQuantizeLinear"(%arg0) : (tensor<*xindex>) -> (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>)
  onnx.Return %0#0, %0#1, %0#2 : tensor<*xui8>, tensor<*xf32>, tensor<*xui8>
}

// -----

func.func @QuantizeLinear(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xui8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xf32>, none) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}
