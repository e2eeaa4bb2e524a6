// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Integers for real numbers and back: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @DequantizeLinear
// CHECK: "onnx.DequantizeLinear"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = 1 : si64}> : (tensor<*xi32>, tensor<*xf32>, none) -> tensor<*xf32>
func.func @DequantizeLinear(%arg0: tensor<*xi32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DequantizeLinear"(%arg0, %arg1, %none) : (tensor<*xi32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DynamicQuantizeLinear
// CHECK: "onnx.DynamicQuantizeLinear"({{%.+}}) : (tensor<*xf32>) -> (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>)
func.func @DynamicQuantizeLinear(%arg0: tensor<*xf32>) -> (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>) {
  %0:3 = "onnx.DynamicQuantizeLinear"(%arg0) : (tensor<*xf32>) -> (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>)
  onnx.Return %0#0, %0#1, %0#2 : tensor<*xui8>, tensor<*xf32>, tensor<*xui8>
}

// CHECK-LABEL: @QuantizeLinear
// CHECK: "onnx.QuantizeLinear"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = 1 : si64, saturate = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xui8>
func.func @QuantizeLinear(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xui8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}
