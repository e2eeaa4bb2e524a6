// RUN: onnx-opt %s --plugin %S/../../../../examples/plugins/scaled_add.py --convert-onnx-to-dla | filecheck %s

// A product, a sum of two cubes and a ReLU, as the plug-in's `layers` adds them.
// CHECK-LABEL: @scaled_add
// CHECK:         %[[X:.*]] = "dla.sdp"(%{{.*}}) <{{.*}}type = mul{{.*}}mul_operand = 0.25
// CHECK:         %[[S:.*]] = "dla.sdp"(%[[X]], %{{.*}}) <{{.*}}type = alu{{.*}}mode = per_point
// CHECK:         "dla.sdp"(%[[S]]) <{{.*}}act = relu
func.func @scaled_add(%x: tensor<1x8x2x2xf32>, %y: tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32> {
  %r = "sums.ScaledAdd"(%x, %y) <{alpha = 0.25 : f32}>
      : (tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  onnx.Return %r : tensor<1x8x2x2xf32>
}
