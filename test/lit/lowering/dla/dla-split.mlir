// RUN: onnx-opt %s --dla-split --split-input-file | filecheck %s

// Everything fits: one bank for weights, and all others for data, so that the next convolution may load beside it.
// CHECK-LABEL: @whole
// CHECK:         banks = #dla.banks<data_banks = 15, weight_banks = 1>
// CHECK-NOT:     "dla.concat"
func.func @whole(%x: tensor<1x16x8x8xf16>, %w: tensor<16x16x3x3xf16>) -> tensor<1x16x6x6xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<16x16x3x3xf16>) -> !dla.flow<tensor<1x16x6x6xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x6x6xf32>>) -> tensor<1x16x6x6xf16>
  func.return %y : tensor<1x16x6x6xf16>
}

// -----

// 128 rows of 32 entries each; 15 banks of 256 entries hold 120. Two tiles fit at once, so that one is loaded while
// another computes; nothing computes while the first is loaded, nor is loaded while the last computes, so they are
// shorter. Inputs overlap by two rows (the halo), each tile adds its own rows of the residual, and the weights are
// read once.
// CHECK-LABEL: @pieces
// CHECK:         %[[IN0:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x32x128x64xf16>) -> tensor<1x32x14x64xf16>
// CHECK:         %[[R0:.*]] = "dla.slice"(%arg2) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x128x64xf16>) -> tensor<1x16x13x64xf16>
// CHECK:         %[[A0:.*]] = "dla.conv"(%[[IN0]], %arg1) <{banks = #dla.banks<data_banks = 15, weight_banks = 1, skip_weight_release = true>{{.*}}pads = array<i64: 1, 1, 0, 1>
// CHECK:         %[[Y0:.*]] = "dla.sdp"(%[[A0]], %[[R0]])
// CHECK:         %[[IN1:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 12, 0>}> : (tensor<1x32x128x64xf16>) -> tensor<1x32x27x64xf16>
// CHECK:         %[[R1:.*]] = "dla.slice"(%arg2) <{offsets = array<i64: 0, 13, 0>}>
// CHECK:         %[[A1:.*]] = "dla.conv"(%[[IN1]], %arg1) <{banks = #dla.banks<data_banks = 15, weight_banks = 1, weight_reuse = true, skip_weight_release = true>{{.*}}pads = array<i64: 0, 1, 0, 1>
// CHECK:         %[[Y1:.*]] = "dla.sdp"(%[[A1]], %[[R1]])
// CHECK:         %[[IN5:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 114, 0>}> : (tensor<1x32x128x64xf16>) -> tensor<1x32x14x64xf16>
// CHECK:         %[[A5:.*]] = "dla.conv"(%[[IN5]], %arg1) <{banks = #dla.banks<data_banks = 15, weight_banks = 1, weight_reuse = true>{{.*}}pads = array<i64: 0, 1, 1, 1>
// CHECK:         "dla.concat"(%[[Y0]], %[[Y1]], {{.*}}) <{axis = 2 : i64}>
func.func @pieces(%x: tensor<1x32x128x64xf16>, %w: tensor<16x32x3x3xf16>, %r: tensor<1x16x128x64xf16>) -> tensor<1x16x128x64xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x32x128x64xf16>, tensor<16x32x3x3xf16>) -> !dla.flow<tensor<1x16x128x64xf32>>
  %y = "dla.sdp"(%a, %r) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}>
     : (!dla.flow<tensor<1x16x128x64xf32>>, tensor<1x16x128x64xf16>) -> tensor<1x16x128x64xf16>
  func.return %y : tensor<1x16x128x64xf16>
}

// -----

// Not all kernels fit beside the data: they are streamed, two groups of 16 at a time.
// CHECK-LABEL: @streams
// CHECK:         banks = #dla.banks<data_banks = 6, weight_banks = 10>
func.func @streams(%x: tensor<1x512x7x7xf16>, %w: tensor<512x512x3x3xf16>) -> tensor<1x512x7x7xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x512x7x7xf16>, tensor<512x512x3x3xf16>) -> !dla.flow<tensor<1x512x7x7xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x512x7x7xf32>>) -> tensor<1x512x7x7xf16>
  func.return %y : tensor<1x512x7x7xf16>
}

// -----

// 7 rows of 512 entries each take 14 of the 16 banks; with a stride of 8, only the first row is read.
// CHECK-LABEL: @unread_rows
// CHECK:         %[[IN:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x32x7x1024xf16>) -> tensor<1x32x1x1024xf16>
// CHECK:         "dla.conv"(%[[IN]], %arg1)
func.func @unread_rows(%x: tensor<1x32x7x1024xf16>, %w: tensor<16x32x1x1xf16>) -> tensor<1x16x1x1024xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 8, 1>}>
     : (tensor<1x32x7x1024xf16>, tensor<16x32x1x1xf16>) -> !dla.flow<tensor<1x16x1x1024xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x1x1024xf32>>) -> tensor<1x16x1x1024xf16>
  func.return %y : tensor<1x16x1x1024xf16>
}

// -----

// Weights that convolutions in a row share stay in the buffer.
// CHECK-LABEL: @shared_weights
// CHECK:         "dla.conv"(%arg0, %arg1) <{banks = #dla.banks<data_banks = 15, weight_banks = 1, skip_weight_release = true>
// CHECK:         "dla.conv"({{.*}}, %arg1) <{banks = #dla.banks<data_banks = 15, weight_banks = 1, weight_reuse = true>
func.func @shared_weights(%x: tensor<1x16x8x8xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x8x8xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x8x8xf32>>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x8x8xf32>>) -> tensor<1x16x8x8xf16>
  %c = "dla.conv"(%b, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x8x8xf32>>
  %y = "dla.sdp"(%c) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x8x8xf32>>) -> tensor<1x16x8x8xf16>
  func.return %y : tensor<1x16x8x8xf16>
}

// -----

// The rows of a pooling are tiled, so that it runs beside the convolution that gives them. Windows of three rows at
// a stride of two share a row. Each part has the padding's value.
// CHECK-LABEL: @pooling
// CHECK:         "dla.concat"
// CHECK:         "dla.pdp"(%{{.*}}) <{{{.*}}pad_value = -8 : i64, pads = array<i64: 1, 1, 0, 0>
// CHECK:         %[[P1:.*]] = "dla.slice"(%{{.*}}) <{offsets = array<i64: 0, {{[0-9]+}}, 0>}>
// CHECK:         "dla.pdp"(%[[P1]]) <{{{.*}}pad_value = -8 : i64, pads = array<i64: 0, 1, 0, 0>
func.func @pooling(%x: tensor<1x32x128x64xi8>, %w: tensor<16x32x3x3xi8>) -> tensor<1x16x64x32xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x32x128x64xi8>, tensor<16x32x3x3xi8>) -> !dla.flow<tensor<1x16x128x64xi32>>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x128x64xi32>>) -> tensor<1x16x128x64xi8>
  %y = "dla.pdp"(%b) <{kernel = array<i64: 3, 3>, mode = "average", pad_value = -8 : i64, pads = array<i64: 1, 1, 0, 0>, split_num = 1, strides = array<i64: 2, 2>}>
     : (tensor<1x16x128x64xi8>) -> tensor<1x16x64x32xi8>
  func.return %y : tensor<1x16x64x32xi8>
}

// -----

// With a stride of two, rows and no window below: the second source of the concatenation is read by none.
// CHECK-LABEL: @unread
// CHECK:         dla.sdp
// CHECK-NOT:     dla.concat
// CHECK:         dla.conv
// CHECK-NOT:     dla.conv
// CHECK:         return
func.func @unread(%x: tensor<1x16x1x8xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x1x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x1x8xf16>) -> tensor<1x16x1x8xf16>
  %s = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x1x8xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x1x8xf32>>
  %b = "dla.sdp"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x1x8xf32>>) -> tensor<1x16x1x8xf16>
  %c = "dla.concat"(%a, %b) <{axis = 2 : i64}> : (tensor<1x16x1x8xf16>, tensor<1x16x1x8xf16>) -> tensor<1x16x2x8xf16>
  %d = "dla.conv"(%c, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x2x8xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x1x4xf32>>
  %y = "dla.sdp"(%d) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x1x4xf32>>) -> tensor<1x16x1x4xf16>
  func.return %y : tensor<1x16x1x4xf16>
}
