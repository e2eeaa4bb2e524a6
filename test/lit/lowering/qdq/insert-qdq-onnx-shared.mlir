// RUN: rm -rf %t && mkdir %t && echo '{"n": {"scale": 1}, "a": {"scale": 3}, "b": {"scale": 3}, "c": {"min": 0, "max": 2.55}}' > %t/table.json
// RUN: onnx-opt %s --insert-qdq-onnx=table=%t/table.json | filecheck %s

// What a concatenation alone reads has its scale; an operator in float reads what is computed in float.
// CHECK-LABEL: @shared
// CHECK:         %[[N:.*]] = "onnx.Exp"
// CHECK:         "onnx.Conv"
// CHECK-NEXT:    onnx.Constant dense<0.00999999977> : tensor<f32>
// CHECK:         "onnx.Conv"
// CHECK-NEXT:    onnx.Constant dense<0.00999999977> : tensor<f32>
// CHECK:         "onnx.Concat"
// CHECK-NEXT:    onnx.Constant dense<0.00999999977> : tensor<f32>
// CHECK:         "onnx.Neg"(%[[N]])
func.func @shared(%x: tensor<1x1x2x2xf32> {onnx.name = "x"}) -> (tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<1x1x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %n = "onnx.Exp"(%x) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> loc(fused<["n"]>["n"])
  %a = "onnx.Conv"(%n, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32> loc(fused<["a"]>["a"])
  %b = "onnx.Conv"(%n, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32> loc(fused<["b"]>["b"])
  %c = "onnx.Concat"(%a, %b) {axis = 1 : si64} : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32> loc(fused<["c"]>["c"])
  %m = "onnx.Neg"(%n) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> loc(fused<["m"]>["m"])
  onnx.Return %c, %m : tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>
}
