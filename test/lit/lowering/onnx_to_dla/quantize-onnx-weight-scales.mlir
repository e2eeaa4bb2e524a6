// RUN: rm -rf %t && mkdir %t && echo '{"x": {"min": -1.27, "max": 1.27}, "y": {"min": -2, "max": 2}, "z": {"min": -2, "max": 2}}' > %t/table.json
// RUN: onnx-opt %s --quantize-onnx=table=%t/table.json | filecheck %s

// The first channel's bias would be 4.2e7 units of its sums; the biases of all channels share a shift.
// CHECK-LABEL: @small_weights
// CHECK:         %[[W:.*]] = onnx.Constant dense<{{.*}}> : tensor<2x1x1x1xi8>
// CHECK:         %[[S:.*]] = onnx.Constant dense<[0.00381481368, 0.00787401571]> : tensor<2xf32>
// CHECK:         %[[R:.*]] = "onnx.DequantizeLinear"(%[[W]], %[[S]], {{.*}}) <{axis = 0 : si64{{.*}}}> : (tensor<2x1x1x1xi8>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x1x1x1xf32>
// CHECK:         "onnx.Conv"(%{{.*}}, %[[R]], %{{.*}})
// CHECK:         onnx.Constant dense<{{.*}}> : tensor<2x2x1x1xf32>
// CHECK:         "onnx.Conv"
func.func @small_weights(%x: tensor<1x1x4x4xf32> {onnx.name = "x"}) -> (tensor<1x2x4x4xf32> {onnx.name = "z"}) {
  %w = onnx.Constant dense<[[[[3.0e-3]]], [[[1.0]]]]> : tensor<2x1x1x1xf32>
  %b = onnx.Constant dense<[10.0, 0.5]> : tensor<2xf32>
  %y = "onnx.Conv"(%x, %w, %b) {onnx_node_name = "y"} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %v = onnx.Constant dense<0.5> : tensor<2x2x1x1xf32>
  %z = "onnx.Conv"(%y, %v, %b) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  onnx.Return %z : tensor<1x2x4x4xf32>
}
