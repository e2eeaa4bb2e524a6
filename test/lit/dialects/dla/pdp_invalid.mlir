// RUN: onnx-opt %s --split-input-file --verify-diagnostics

func.func @mode(%x: tensor<1x16x8x8xf16>) {
  // expected-error @+1 {{mode is average, max or min, found sum}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "sum", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16>
  func.return
}

// -----

func.func @pads(%x: tensor<1x16x8x8xf16>) {
  // expected-error @+1 {{pads are below the kernel (2, 2), found (0, 0, 0, 2)}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 2>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x5xf16>
  func.return
}

// -----

func.func @rows(%x: tensor<1x16x8x8xf16>) {
  // expected-error @+1 {{the result is 16x4x4, found 16x8x8}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
  func.return
}

// -----

func.func @split_flow(%x: tensor<1x16x8x8xf16>) {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x8x8xf16>) -> !dla.flow<tensor<1x16x8x8xf16>>
  // expected-error @+1 {{split_num above 1 needs a source in memory, found a flow}}
  %y = "dla.pdp"(%a) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, split_num = 2 : i64, strides = array<i64: 2, 2>}>
     : (!dla.flow<tensor<1x16x8x8xf16>>) -> tensor<1x16x4x4xf16>
  func.return
}

// -----

func.func @no_piece(%x: tensor<1x16x8x8xf16>) {
  // expected-error @+1 {{split_num is at least 1, found 0}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, split_num = 0 : i64, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16>
  func.return
}

// -----

func.func @pad_value(%x: tensor<1x16x8x8xf16>) {
  // expected-error @+1 {{pad_value is 0 but for averages of i8, found 3}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "average", pad_value = 3 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xf16>) -> tensor<1x16x4x4xf16>
  func.return
}

// -----

func.func @pad_value_range(%x: tensor<1x16x8x8xi8>) {
  // expected-error @+1 {{pad_value is -128 to 127, found 128}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "average", pad_value = 128 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x8x8xi8>) -> tensor<1x16x4x4xi8>
  func.return
}

// -----

func.func @rows_over(%x: tensor<1x16x13x12xf16>) {
  // expected-error @+1 {{the windows leave 1 rows and 0 columns over; take a slice of what they reach}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x13x12xf16>) -> tensor<1x16x6x6xf16>
  func.return
}

// -----

func.func @columns_over(%x: tensor<1x16x6x8xf16>) {
  // expected-error @+1 {{the windows leave 0 rows and 2 columns over; take a slice of what they reach}}
  %y = "dla.pdp"(%x) <{kernel = array<i64: 2, 2>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 4>}>
     : (tensor<1x16x6x8xf16>) -> tensor<1x16x3x2xf16>
  func.return
}
