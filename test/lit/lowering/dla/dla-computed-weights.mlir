// RUN: onnx-opt %s --dla-allocate=target=nv_small | filecheck %s

// Of 16 channels at 3 rows of 8 positions each row is a group of kernels: its two surfaces of 64 bytes follow each other, and
// the next row begins after them. The result is the same bytes, as weights.
// CHECK:       "dla.memory"() <{{{.*}}role = "activations", size = 384 : i64
// CHECK-LABEL: @computed_weights
// CHECK:         "dla.sdp"(%arg0) {{.*}} -> !dla.surface<tensor<1x16x3x8xi8>, "activations" at 0, line 128, surface 64>
// CHECK:         "dla.kernels"({{%.+}}) : (!dla.surface<tensor<1x16x3x8xi8>, "activations" at 0, line 128, surface 64>) -> !dla.packed<tensor<24x16x1x1xi8>, "activations" at 0, size 384>
// CHECK:         "dla.conv"(%arg1, {{%.+}})
func.func @computed_weights(%x: tensor<1x16x3x8xi8>, %y: tensor<1x16x4x4xi8>) -> tensor<1x24x4x4xi8> {
  %w = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x3x8xi8>) -> tensor<1x16x3x8xi8>
  %k = "dla.kernels"(%w) : (tensor<1x16x3x8xi8>) -> tensor<24x16x1x1xi8>
  %a = "dla.conv"(%y, %k) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x4x4xi8>, tensor<24x16x1x1xi8>) -> !dla.flow<tensor<1x24x4x4xi32>>
  %z = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x24x4x4xi32>>) -> tensor<1x24x4x4xi8>
  func.return %z : tensor<1x24x4x4xi8>
}
