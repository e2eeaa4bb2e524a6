// RUN: rm -rf %t && mkdir %t && echo '{"x": {"min": -1, "max": 1}, "a": {"min": -4, "max": 4}, "b": {"min": 0, "max": 1}, "c": {"min": -0.3, "max": 4}, "d": {"min": -1, "max": 1}, "e": {"min": -1, "max": 1}}' > %t/table.json
// RUN: onnx-opt %s "--quantize-onnx=table=%t/table.json target=nv_large" | filecheck %s --check-prefixes=CHECK,SUMS
// RUN: onnx-opt %s "--quantize-onnx=table=%t/table.json target=nv_small" | filecheck %s --check-prefixes=CHECK,STORED

// The SDP of nv_large looks up the sums of the convolution, those of nv_small are stored first.
// CHECK-LABEL: @silu
// CHECK:         %[[A:.*]] = "onnx.Conv"
// SUMS-NEXT:     %[[B:.*]] = "onnx.Sigmoid"(%[[A]])
// SUMS-NEXT:     %[[C:.*]] = "onnx.Mul"(%[[A]], %[[B]])
// STORED:        "onnx.QuantizeLinear"(%[[A]]
// STORED-NEXT:   %[[S:.*]] = "onnx.DequantizeLinear"
// STORED-NEXT:   %[[B:.*]] = "onnx.Sigmoid"(%[[S]])
// STORED-NEXT:   %[[C:.*]] = "onnx.Mul"(%[[S]], %[[B]])
// CHECK:         "onnx.QuantizeLinear"(%[[C]]
func.func @silu(%x: tensor<1x4x4x4xf32> {onnx.name = "x"}) -> tensor<1x4x4x4xf32> {
  %w = onnx.Constant dense<1.0> : tensor<4x4x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %a = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x4x4xf32> loc(fused<["a"]>["a"])
  %b = "onnx.Sigmoid"(%a) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc(fused<["b"]>["b"])
  %c = "onnx.Mul"(%a, %b) : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc(fused<["c"]>["c"])
  onnx.Return %c : tensor<1x4x4x4xf32>
}

// No lookup table approximates a sine far from zero.
// CHECK-LABEL: @sine
// CHECK:         %[[A:.*]] = "onnx.Conv"
// CHECK:         "onnx.QuantizeLinear"(%[[A]]
// CHECK-NEXT:    %[[S:.*]] = "onnx.DequantizeLinear"
// CHECK-NEXT:    "onnx.Sin"(%[[S]])
func.func @sine(%x: tensor<1x4x4x4xf32> {onnx.name = "x"}) -> tensor<1x4x4x4xf32> {
  %w = onnx.Constant dense<1.0> : tensor<4x4x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %a = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x4x4xf32> loc(fused<["a"]>["a"])
  %d = "onnx.Sin"(%a) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc(fused<["d"]>["d"])
  onnx.Return %d : tensor<1x4x4x4xf32>
}
