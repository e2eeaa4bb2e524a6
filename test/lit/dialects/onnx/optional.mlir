// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Values that may be absent at run time: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @Optional
// CHECK: "onnx.Optional"({{%.+}}) <{type = tensor<*xf32>}> : (none) -> !onnx.Opt<tensor<*xf32>>
func.func @Optional() -> !onnx.Opt<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Optional"(%none) <{type = tensor<*xf32>}> : (none) -> !onnx.Opt<tensor<*xf32>>
  onnx.Return %0 : !onnx.Opt<tensor<*xf32>>
}

// CHECK-LABEL: @OptionalGetElement
// CHECK: "onnx.OptionalGetElement"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @OptionalGetElement(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.OptionalGetElement"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @OptionalHasElement
// CHECK: "onnx.OptionalHasElement"({{%.+}}) : (none) -> tensor<*xi1>
func.func @OptionalHasElement() -> tensor<*xi1> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.OptionalHasElement"(%none) : (none) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}
