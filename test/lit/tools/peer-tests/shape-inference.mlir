// RUN: onnx-mlir-opt --shape-inference %s -split-input-file | FileCheck %s

// Written like a test of onnx-mlir: its tool name, options, checks and spellings of input.

func.func @test_default_transpose(%arg0 : tensor<5x5x1x32xf32>) -> tensor<*xf32> {
  %0 = "onnx.Transpose"(%arg0) : (tensor<5x5x1x32xf32>) -> tensor<*xf32>
  "func.return"(%0) : (tensor<*xf32>) -> ()

// CHECK-LABEL: test_default_transpose
// CHECK: [[RES:%.+]] = "onnx.Transpose"(%arg0) <{perm = [3, 2, 1, 0]}> : (tensor<5x5x1x32xf32>) -> tensor<32x1x5x5xf32>
// CHECK: return [[RES]] : tensor<32x1x5x5xf32>
}

// -----

func.func @test_conv_no_bias_0(%arg0 : tensor<1x2x32x64xf32>, %arg1 : tensor<5x2x6x7xf32>) -> tensor<*xf32> {
  %cst = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%arg0, %arg1, %cst) {auto_pad = "NOTSET", group = 1 : si64} : (tensor<1x2x32x64xf32>, tensor<5x2x6x7xf32>, none) -> tensor<*xf32>
  "onnx.Return"(%0) : (tensor<*xf32>) -> ()

// CHECK-LABEL: test_conv_no_bias_0
// CHECK: [[RES_ATTR:%.+]] = "onnx.Conv"(%arg0, %arg1, %0) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x2x32x64xf32>, tensor<5x2x6x7xf32>, none) -> tensor<1x5x27x58xf32>
// CHECK: onnx.Return [[RES_ATTR]] : tensor<1x5x27x58xf32>
}

// -----

func.func @test_loop(%arg0: tensor<i64>, %arg1: tensor<i1>, %arg2: tensor<?xf32>) -> (tensor<?x?xf32>) {
  %1 = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Loop"(%arg0, %arg1) ({
  ^bb0(%body_arg0: tensor<i64>, %body_arg1: tensor<i1>):
    %2 = "onnx.Add"(%arg2, %arg2) : (tensor<?xf32>, tensor<?xf32>) -> tensor<*xf32>
    onnx.Yield %body_arg1, %2 : tensor<i1>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
// CHECK-LABEL:  func.func @test_loop
// CHECK-SAME:   ([[PARAM_0_:%.+]]: tensor<i64>, [[PARAM_1_:%.+]]: tensor<i1>, [[PARAM_2_:%.+]]: tensor<?xf32>) -> tensor<?x?xf32> {
// CHECK:           [[VAR_0_:%.+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK:           [[VAR_1_:%.+]] = "onnx.Loop"([[PARAM_0_]], [[PARAM_1_]]) ({
// CHECK:           ^bb0([[I_0_:%.+]]: tensor<i64>, [[I_1_:%.+]]: tensor<i1>):
// CHECK:             [[VAR_2_:%.+]] = "onnx.Add"([[PARAM_2_]], [[PARAM_2_]]) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK:             onnx.Yield [[I_1_]], [[VAR_2_]] : tensor<i1>, tensor<?xf32>
// CHECK:           }) : (tensor<i64>, tensor<i1>) -> tensor<?x?xf32>
// CHECK:           onnx.Return [[VAR_1_]] : tensor<?x?xf32>
}

// -----

// The hidden size of a recurrence follows from its weights; the attribute is there only where it was given.

// CHECK-LABEL: @no_hidden_size
// CHECK:         "onnx.LSTM"
// CHECK-NOT:     hidden_size
// CHECK:         onnx.Return %{{.*}} : tensor<5x1x3x4xf32>
func.func @no_hidden_size(%x: tensor<5x3x2xf32>, %w: tensor<1x16x2xf32>, %r: tensor<1x16x4xf32>) -> tensor<*xf32> {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %Y, %Y_h, %Y_c = "onnx.LSTM"(%x, %w, %r, %n, %n, %n, %n, %n) : (tensor<5x3x2xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<*xf32>, none, none)
  onnx.Return %Y : tensor<*xf32>
}
