// RUN: onnx-opt %s --dla-share-constants | filecheck %s

// The second constant is the first; the third has other elements, the fourth another layout.
// CHECK-LABEL: @main
// CHECK-COUNT-3: "dla.constant"()
// CHECK-NOT:     "dla.constant"()
func.func @main(%x: tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8> {
  %k = "dla.constant"() <{layout = "per_kernel", value = dense<3> : tensor<8xi16>}> : () -> tensor<8xi16>
  %l = "dla.constant"() <{layout = "per_kernel", value = dense<3> : tensor<8xi16>}> : () -> tensor<8xi16>
  %m = "dla.constant"() <{layout = "per_kernel", value = dense<4> : tensor<8xi16>}> : () -> tensor<8xi16>
  %a = "dla.sdp"(%x, %k) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x8x4x4xi8>, tensor<8xi16>) -> tensor<1x8x4x4xi8>
  %b = "dla.sdp"(%a, %l) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x8x4x4xi8>, tensor<8xi16>) -> tensor<1x8x4x4xi8>
  %c = "dla.sdp"(%b, %m) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x8x4x4xi8>, tensor<8xi16>) -> tensor<1x8x4x4xi8>
  %n = "dla.constant"() <{layout = "cube", value = dense<3> : tensor<1x8x4x4xi8>}> : () -> tensor<1x8x4x4xi8>
  %d = "dla.sdp"(%c, %n) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}>
     : (tensor<1x8x4x4xi8>, tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8>
  func.return %d : tensor<1x8x4x4xi8>
}

// A constant without readers takes no memory.
// CHECK-LABEL: @unused
// CHECK-NEXT:    return
func.func @unused(%x: tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8> {
  %k = "dla.constant"() <{layout = "per_kernel", value = dense<3> : tensor<8xi16>}> : () -> tensor<8xi16>
  func.return %x : tensor<1x8x4x4xi8>
}
