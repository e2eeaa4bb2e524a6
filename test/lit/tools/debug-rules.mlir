// RUN: onnx-opt %s --recompose-onnx --debug-rules='RecomposeGelu*,Recompos' --verify-diagnostics
// RUN: onnx-opt %s --recompose-onnx --debug-rules='RecomposeGelu*' 2>&1 | filecheck %s
// RUN: onnx-opt %s --recompose-onnx --debug-rules='RecomposeGeluFromMul' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK:      debug-rules.mlir:21:8: remark: double: RecomposeGeluFromMulPattern does not apply: it is not 0.5 x (1 + erf(…)) or x (1 + tanh(…))
// CHECK-NEXT:   %4 = "onnx.Mul"
// CHECK:      debug-rules.mlir:24:8: remark: onnx.Mul: RecomposeGeluFromMulPattern applies

// UNKNOWN: debug-rules.mlir: warning: --debug-rules: no rule called 'RecomposeGeluFromMul' was tried on any op; did you mean 'RecomposeGeluFromMulPattern'?

// expected-warning@unknown {{no rule called 'Recompos' was tried}}
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %two = onnx.Constant dense<2.000000e+00> : tensor<f32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %0 = "onnx.Div"(%x, %root) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = "onnx.Erf"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Add"(%1, %one) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-remark@+1 {{double: RecomposeGeluFromMulPattern does not apply: it is not 0.5 x}}
  %4 = "onnx.Mul"(%x, %two) {onnx_node_name = "double"} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  // expected-remark@+1 {{RecomposeGeluFromMulPattern does not apply}}
  %5 = "onnx.Mul"(%x, %half) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %6 = "onnx.Mul"(%5, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> // expected-remark {{RecomposeGeluFromMulPattern applies}}
  onnx.Return %4, %6 : tensor<2xf32>, tensor<2xf32>
}
