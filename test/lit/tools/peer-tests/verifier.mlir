// RUN: onnx-mlir-opt %s -split-input-file -verify-diagnostics

// Written like a test of onnx-mlir: its tool name, options, checks and spellings of input.

func.func @test_concat_verifier_1(%arg0 : tensor<5x5x1x32xf32>, %arg1 : tensor<5x5x3x32xf32>, %arg2 : tensor<5x5x5x32xf32>) -> tensor<*xf32> {
    // expected-error @+1 {{onnx.Concat: 'axis' value is 4, accepted range is [-4, 3]}}
  %1 = "onnx.Concat"(%arg0, %arg1, %arg2) { axis = 4 : si64} : (tensor<5x5x1x32xf32>, tensor<5x5x3x32xf32>, tensor<5x5x5x32xf32>)  -> tensor<*xf32>
  "onnx.Return"(%1) : (tensor<*xf32>) -> ()
}

// -----

func.func @unsupport_gemm_unknown(%arg0 : tensor<2x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{onnx.Flatten: 'axis' value is 5, accepted range is [-2, 2]}}
  %1 = "onnx.Flatten"(%arg0) { axis = 5 : si64} : (tensor<2x3xf32>)  -> tensor<*xf32>
  "onnx.Return"(%1) : (tensor<*xf32>) -> ()
}
