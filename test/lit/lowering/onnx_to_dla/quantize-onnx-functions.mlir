// RUN: rm -rf %t && mkdir %t
// RUN: echo '{"x": {"min": -1, "max": 1}, "m": {"min": 0, "max": 4}, "s": {"min": 0, "max": 2}, "a": {"min": 1, "max": 3}, "r": {"min": 0.33, "max": 1}, "y": {"min": 0, "max": 1}, "z": {"min": 0, "max": 2}}' > %t/table.json
// RUN: onnx-opt %s --quantize-onnx=table=%t/table.json | filecheck %s

// What follows a function one after the other is one lookup; what precedes it is part of the pass that quantizes.
// CHECK-LABEL: @network
// CHECK:         %[[M:.*]] = "onnx.Mul"
// CHECK:         "onnx.QuantizeLinear"(%[[M]],
// CHECK:         %[[D:.*]] = "onnx.DequantizeLinear"
// CHECK-NEXT:    %[[S:.*]] = "onnx.Sqrt"(%[[D]])
// CHECK-NEXT:    %[[A:.*]] = "onnx.Add"(%[[S]],
// CHECK-NEXT:    %[[R:.*]] = "onnx.Div"({{.*}}, %[[A]])
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Clip"(%[[R]],
// CHECK:         "onnx.QuantizeLinear"(%[[Y]],
func.func @network(%x: tensor<1x4x4xf32> {onnx.name = "x"}) -> tensor<1x4x4xf32> {
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %none = "onnx.NoValue"() {value} : () -> none
  %m = "onnx.Mul"(%x, %two) : (tensor<1x4x4xf32>, tensor<f32>) -> tensor<1x4x4xf32> loc(fused<["m"]>["double"])
  %s = "onnx.Sqrt"(%m) : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32> loc(fused<["s"]>["root"])
  %a = "onnx.Add"(%s, %one) : (tensor<1x4x4xf32>, tensor<f32>) -> tensor<1x4x4xf32> loc(fused<["a"]>["more"])
  %r = "onnx.Div"(%one, %a) : (tensor<f32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32> loc(fused<["r"]>["part"])
  %y = "onnx.Clip"(%r, %none, %one) : (tensor<1x4x4xf32>, none, tensor<f32>) -> tensor<1x4x4xf32> loc(fused<["y"]>["last"])
  onnx.Return %y : tensor<1x4x4xf32>
}
