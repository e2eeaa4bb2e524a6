// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @from_memory
// CHECK:         "dla.pdp"(%arg0) <{kernel = array<i64: 3, 3>, mode = "average", pad_value = 0 : i64, pads = array<i64: 1, 1, 0, 0>, split_num = 2 : i64, strides = array<i64: 2, 2>}>
func.func @from_memory(%x: tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16> {
  %y = "dla.pdp"(%x) <{kernel = array<i64: 3, 3>, mode = "average", pads = array<i64: 1, 1, 0, 0>, split_num = 2 : i64, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16>
  func.return %y : tensor<1x16x4x4xf16>
}

// CHECK-LABEL: @on_the_fly
// CHECK:         "dla.pdp"({{%.+}}) <{kernel = array<i64: 2, 2>, mode = "max", pad_value = 0 : i64, pads = array<i64: 0, 0, 0, 0>, split_num = 1 : i64
func.func @on_the_fly(%x: tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x8x8xf16>) -> !dla.flow<tensor<1x16x8x8xf16>>
  %y = "dla.pdp"(%a) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (!dla.flow<tensor<1x16x8x8xf16>>) -> tensor<1x16x4x4xf16>
  func.return %y : tensor<1x16x4x4xf16>
}
