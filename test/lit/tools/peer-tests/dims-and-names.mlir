// RUN: onnx-mlir-opt --onnx-dim-analysis %s -split-input-file | FileCheck %s
// RUN: onnx-mlir-opt --set-onnx-node-name %s -split-input-file | FileCheck %s --check-prefix=NAME

// Written like a test of onnx-mlir: its tool name, options, checks and spellings of input.

func.func @test_dim(%arg0 : tensor<?x3xf32> {onnx.dim_params = "0:batch"}) -> tensor<?x3xf32> {
  %0 = "onnx.Relu"(%arg0) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  onnx.Return %0 : tensor<?x3xf32>
// CHECK-LABEL:  func.func @test_dim
// CHECK-SAME:   ([[PARAM_0_:%.+]]: tensor<?x3xf32> {onnx.dim_params = "0:batch"}) -> tensor<?x3xf32> {
// CHECK:           "onnx.DimGroup"([[PARAM_0_]]) <{axis = 0 : si64, group_id = [[G:[0-9]+]] : si64}> : (tensor<?x3xf32>) -> ()
// CHECK:           [[VAR_0_:%.+]] = "onnx.Relu"([[PARAM_0_]]) : (tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK:           "onnx.DimGroup"([[VAR_0_]]) <{axis = 0 : si64, group_id = [[G]] : si64}> : (tensor<?x3xf32>) -> ()
// CHECK:           onnx.Return [[VAR_0_]] : tensor<?x3xf32>
// NAME:            "onnx.Relu"({{.*}}) {onnx_node_name = "onnx.Relu_0"} : (tensor<?x3xf32>) -> tensor<?x3xf32>
}
