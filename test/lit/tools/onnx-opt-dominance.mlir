// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// A definition must dominate its uses.
func.func @later(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'onnx.Add' op operand #1 does not dominate this use}}
  %0 = "onnx.Add"(%x, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}

// -----

func.func @itself(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'onnx.Add' op operand #0 does not dominate this use}}
  %0 = "onnx.Add"(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}

// -----

// The same inside of a region: a use of a later value, and of a result of the op itself.
func.func @bodies(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.If"(%c) ({
    // expected-error@+1 {{'onnx.Relu' op operand #0 does not dominate this use}}
    %2 = "onnx.Relu"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %2 : tensor<2xf32>
  }, {
    // expected-error@+1 {{'onnx.Abs' op operand #0 does not dominate this use}}
    %2 = "onnx.Abs"(%0) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %2 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %1 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}

// -----

// Modules and onnx.Fused are graph regions without dominance.
"onnx.EntryPoint"() {func = @graph} : () -> ()
"onnx.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
%a = onnx.Constant dense<1.0> : tensor<2xf32>
func.func @graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Fused"(%x) <{kind = "k"}> ({
  ^bb0(%b: tensor<2xf32>):
    %2 = "onnx.Relu"(%3) : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "onnx.Abs"(%b) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %2 : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}
