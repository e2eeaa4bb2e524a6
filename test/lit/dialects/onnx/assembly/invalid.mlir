// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{takes 3 elements, the literal has 2}}
%0 = onnx.Constant dense<[1, 2]> : tensor<3xi64>

// -----

// expected-error@+1 {{undefined symbol alias '#nowhere'}}
%0 = onnx.Constant dense<1> : tensor<3xi64> loc(#nowhere)

// -----

// expected-error@+1 {{an elements attribute such as dense<1> : tensor<1xi64> is needed here}}
%0 = onnx.Constant "a"

// -----

// expected-error-re@+1 {{Operation onnx.{{[A-Z]}}othing is not registered}}
"onnx.Nothing"() : () -> ()
