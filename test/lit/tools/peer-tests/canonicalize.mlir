// RUN: onnx-mlir-opt --shape-inference --canonicalize="test-convergence=true" --shape-inference --cse %s -split-input-file | FileCheck %s

// Written like a test of onnx-mlir: its tool name, options, checks and spellings of input.

func.func @test_matmul_add_fused(%a0: tensor<10x10xf32>, %a1: tensor<10x10xf32>, %a2: tensor<10x10xf32>) -> tensor<10x10xf32> {
  // CHECK-LABEL: func @test_matmul_add_fused(%{{.*}}: tensor<10x10xf32>, %{{.*}}: tensor<10x10xf32>, %{{.*}}: tensor<10x10xf32>) -> tensor<10x10xf32> {
  // CHECK-NEXT: %{{[0-9]+}} = "onnx.Gemm"(%{{.*}}, %{{.*}}, %{{.*}}) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 0 : si64}> : (tensor<10x10xf32>, tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  // CHECK-NEXT: onnx.Return %{{[0-9]+}} : tensor<10x10xf32>
  %0 = "onnx.MatMul"(%a0, %a1) : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %1 = "onnx.Add"(%0, %a2) : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  onnx.Return %1 : tensor<10x10xf32>
}

// -----

// CHECK-LABEL: func @cast_elimination(%{{.*}}: tensor<2xf32>) -> tensor<2xf32> {
func.func @cast_elimination(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Cast"(%arg0) {to = f32} : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
  // CHECK-NEXT: onnx.Return %arg0 : tensor<2xf32>
}

// -----

func.func @test_transpose_fusion(%arg0: tensor<10x11x12x13xf32>) -> tensor<11x10x13x12xf32> {
  %0 = "onnx.Transpose"(%arg0) {perm = [3, 2, 1, 0]} : (tensor<10x11x12x13xf32>) -> tensor<13x12x11x10xf32>
  %1 = "onnx.Transpose"(%0) {perm = [2, 3, 0, 1]} : (tensor<13x12x11x10xf32>) -> tensor<11x10x13x12xf32>
  onnx.Return %1 : tensor<11x10x13x12xf32>
  // CHECK-LABEL: func @test_transpose_fusion
  // CHECK: %{{.*}} = "onnx.Transpose"(%arg0) <{perm = [1, 0, 3, 2]}> : (tensor<10x11x12x13xf32>) -> tensor<11x10x13x12xf32>
}

// -----

func.func @test_gelu_cast(%arg0: tensor<2x3xf32>) -> tensor<2x3xi1> {
  %0 = "onnx.Cast"(%arg0) {saturate = 1 : si64, to = f16} : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %1 = "onnx.Cast"(%0) {to = i1} : (tensor<2x3xf16>) -> tensor<2x3xi1>
  onnx.Return %1 : tensor<2x3xi1>
  // CHECK-LABEL: @test_gelu_cast
  // CHECK-NEXT: [[A:%.+]] = "onnx.Cast"(%arg0) <{saturate = 1 : si64, to = f16}> : (tensor<2x3xf32>) -> tensor<2x3xf16>
  // CHECK-NEXT: [[B:%.+]] = "onnx.Cast"([[A]]) <{saturate = 1 : si64, to = i1}> : (tensor<2x3xf16>) -> tensor<2x3xi1>
}
