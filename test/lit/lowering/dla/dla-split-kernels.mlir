// RUN: onnx-opt %s --dla-split-kernels --split-input-file | filecheck %s
// RUN: onnx-opt %s --dla-split-kernels="target=nv_small" --split-input-file | filecheck %s --check-prefix=SMALL

// Groups of 32 kernels of 25088 bytes exceed the 512 KB of nv_full, where 19 fit beside the data, and the 128 KB of
// nv_small, where 4 fit.
// CHECK-LABEL: @fully_connected
// CHECK:         %[[W0:.*]] = "dla.constant"() {{.*}} -> tensor<13x512x7x7xi8>
// CHECK:         %[[A0:.*]] = "dla.conv"(%arg0, %[[W0]]) {{.*}} -> !dla.flow<tensor<1x13x1x1xi32>>
// CHECK:         %[[B0:.*]] = "dla.constant"() <{layout = "per_kernel", {{.*}} -> tensor<13x2xi16>
// CHECK:         %[[R0:.*]] = "dla.slice"(%arg1) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x40x1x1xi8>) -> tensor<1x13x1x1xi8>
// CHECK:         %[[Y0:.*]] = "dla.sdp"(%[[A0]], %[[B0]], %[[R0]]) {{.*}}truncate = 3{{.*}} -> tensor<1x13x1x1xi8>
// CHECK:         "dla.constant"() {{.*}} -> tensor<13x512x7x7xi8>
// CHECK:         "dla.slice"(%arg1) <{offsets = array<i64: 13, 0, 0>}>
// CHECK:         "dla.constant"() {{.*}} -> tensor<14x512x7x7xi8>
// CHECK:         "dla.slice"(%arg1) <{offsets = array<i64: 26, 0, 0>}>
// CHECK:         %[[Y:.*]] = "dla.concat"(%[[Y0]], {{%.+}}, {{%.+}}) <{axis = 1 : i64}>
// CHECK-NEXT:    return %[[Y]]
// SMALL-LABEL: @fully_connected
// SMALL-COUNT-10: -> !dla.flow<tensor<1x4x1x1xi32>>
func.func @fully_connected(%x: tensor<1x512x7x7xi8>, %r: tensor<1x40x1x1xi8>) -> tensor<1x40x1x1xi8> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<40x512x7x7xi8>}> : () -> tensor<40x512x7x7xi8>
  %b = "dla.constant"() <{layout = "per_kernel", value = dense<2> : tensor<40x2xi16>}> : () -> tensor<40x2xi16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x512x7x7xi8>, tensor<40x512x7x7xi8>) -> !dla.flow<tensor<1x40x1x1xi32>>
  %y = "dla.sdp"(%a, %b, %r) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, x1_stage = #dla.stage<type = both, mode = per_kernel, truncate = 3>, x2_stage = #dla.stage<type = alu, mode = per_point>}>
     : (!dla.flow<tensor<1x40x1x1xi32>>, tensor<40x2xi16>, tensor<1x40x1x1xi8>) -> tensor<1x40x1x1xi8>
  func.return %y : tensor<1x40x1x1xi8>
}

// -----

// Kernels that fit in groups are not split.
// CHECK-LABEL: @fits
// CHECK-NOT:     "dla.concat"
// SMALL-LABEL: @fits
// SMALL-NOT:     "dla.concat"
func.func @fits(%x: tensor<1x512x3x3xi8>) -> tensor<1x40x1x1xi8> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1> : tensor<40x512x3x3xi8>}> : () -> tensor<40x512x3x3xi8>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x512x3x3xi8>, tensor<40x512x3x3xi8>) -> !dla.flow<tensor<1x40x1x1xi32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x40x1x1xi32>>) -> tensor<1x40x1x1xi8>
  func.return %y : tensor<1x40x1x1xi8>
}
