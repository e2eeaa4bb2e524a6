// RUN: onnx-mlir-opt --shape-inference --constprop-onnx %s -split-input-file | FileCheck %s

// Written like a test of onnx-mlir: its tool name, options, checks and spellings of input.

// CHECK-LABEL: @test_add_constant_1(%arg0: tensor<3xf32>) -> tensor<3xf32>
func.func @test_add_constant_1(%arg0 : tensor<3xf32>) -> tensor<3xf32> {
  %0 = onnx.Constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %1 = "onnx.Add"(%0, %arg0) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "onnx.Return"(%1) : (tensor<3xf32>) -> ()
  // CHECK-NEXT: [[CONST:%.+]] = onnx.Constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>
  // CHECK-NEXT: [[ADD:%.+]] = "onnx.Add"(%arg0, [[CONST]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
}

// -----

// CHECK-LABEL: @test_add_constant_3(%arg0: tensor<3xi32>) -> tensor<3xi32>
func.func @test_add_constant_3(%arg0 : tensor<3xi32>) -> tensor<3xi32> {
  %0 = "onnx.Constant"() {value = dense<[0, 1, 2]> : tensor<3xi32>} : () -> tensor<3xi32>
  %1 = "onnx.Constant"() {value = dense<[10, 11, 12]> : tensor<3xi32>} : () -> tensor<3xi32>
  %2 = "onnx.Add"(%0, %arg0) : (tensor<3xi32> , tensor<3xi32>) -> tensor<3xi32>
  %3 = "onnx.Add"(%1, %2) : (tensor<3xi32> , tensor<3xi32>) -> tensor<3xi32>
  onnx.Return %3 : tensor<3xi32>
  // CHECK-NEXT: [[CONST1:%.+]] = onnx.Constant dense<[10, 12, 14]> : tensor<3xi32>
  // CHECK-NEXT: [[ADD1:%.+]] = "onnx.Add"(%arg0, [[CONST1]]) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  // CHECK-NEXT: onnx.Return [[ADD1]] : tensor<3xi32>
}

// -----

// CHECK-LABEL: @test_default_transpose_const_1
func.func @test_default_transpose_const_1() -> tensor<*xi32> {
  %0 = onnx.Constant dense<[[[111, 112, 113, 114], [121, 122, 123, 124], [131, 132, 133, 134]], [[211, 212, 213, 214], [221, 222, 223, 224], [231, 232, 233, 234]]]> : tensor<2x3x4xi32>
  %1 = "onnx.Transpose"(%0) : (tensor<2x3x4xi32>) -> tensor<*xi32>
  onnx.Return %1 : tensor<*xi32>
  // CHECK{LITERAL}: onnx.Constant dense<[[[111, 211], [121, 221], [131, 231]], [[112, 212], [122, 222], [132, 232]], [[113, 213], [123, 223], [133, 233]], [[114, 214], [124, 224], [134, 234]]]> : tensor<4x3x2xi32>
}

// -----

func.func @test_split_axis_0() -> (tensor<1x10xf32>, tensor<1x10xf32>) {
  %split = onnx.Constant dense<[1, 1]> : tensor<2xi64>
  %input = onnx.Constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]]> : tensor<2x10xf32>
  %0, %1 = "onnx.Split"(%input, %split) { axis = 0 : si64} : (tensor<2x10xf32>, tensor<2xi64>) -> (tensor<1x10xf32>, tensor<1x10xf32>)
  "onnx.Return"(%0, %1) : (tensor<1x10xf32>, tensor<1x10xf32>) -> ()

  // CHECK-LABEL: func @test_split_axis_0
  // CHECK-DAG: {{.*}} = onnx.Constant dense<{{.}}[1.000000e+01, 1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01, 1.600000e+01, 1.700000e+01, 1.800000e+01, 1.900000e+01]]> : tensor<1x10xf32>
  // CHECK-DAG: {{.*}} = onnx.Constant dense<{{.}}[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00]]> : tensor<1x10xf32>
  // CHECK-NOT: {{.*}} = "onnx.Split"{{.*}}
}
