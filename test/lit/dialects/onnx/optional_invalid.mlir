// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Values that may be absent at run time: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @Optional(%arg0: tensor<*xindex>) -> !onnx.Opt<tensor<*xf32>> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Optional"(%arg0) <{type = tensor<*xf32>}> : (tensor<*xindex>) -> !onnx.Opt<tensor<*xf32>>
  onnx.Return %0 : !onnx.Opt<tensor<*xf32>>
}

// -----

func.func @OptionalGetElement(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.OptionalGetElement"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @OptionalHasElement(%arg0: tensor<*xindex>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.OptionalHasElement"(%arg0) : (tensor<*xindex>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}
