// RUN: onnx-opt %s --cse | filecheck %s
// RUN: onnx-opt %s -cse | filecheck %s
// RUN: onnx-opt -p cse %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --pass-pipeline="builtin.module(cse)" | filecheck %s

// CHECK-LABEL: func.func @twice(%arg0: tensor<2xf32>)
// CHECK-NEXT:    %0 = "onnx.Relu"(%arg0)
// CHECK-NEXT:    %1 = "onnx.Add"(%0, %0)
// CHECK-NEXT:    onnx.Return %1
func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "onnx.Add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %c : tensor<2xf32>
}
