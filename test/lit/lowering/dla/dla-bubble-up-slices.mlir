// RUN: onnx-opt %s --dla-bubble-up-slices --split-input-file | filecheck %s

// The last row and column of the result are not computed: the convolution reads less, with reduced pads.
// CHECK-LABEL: @convolution
// CHECK:         %[[X:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x9x9xf16>) -> tensor<1x16x6x9xf16>
// CHECK-NEXT:    %[[A:.*]] = "dla.conv"(%[[X]], %arg1) <{{.*}}pads = array<i64: 1, 1, 0, 1>{{.*}} -> !dla.flow<tensor<1x16x3x5xf32>>
// CHECK-NEXT:    %[[R:.*]] = "dla.slice"(%arg2) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x5x5xf16>) -> tensor<1x16x3x5xf16>
// CHECK-NEXT:    %[[Y:.*]] = "dla.sdp"(%[[A]], %[[R]], %arg3) {{.*}} -> tensor<1x16x3x5xf16>
// CHECK-NEXT:    return %[[Y]]
func.func @convolution(%x: tensor<1x16x9x9xf16>, %w: tensor<16x16x3x3xf16>, %r: tensor<1x16x5x5xf16>, %b: tensor<16xf16>) -> tensor<1x16x3x5xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}>
     : (tensor<1x16x9x9xf16>, tensor<16x16x3x3xf16>) -> !dla.flow<tensor<1x16x5x5xf32>>
  %s = "dla.sdp"(%a, %r, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>, x2_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (!dla.flow<tensor<1x16x5x5xf32>>, tensor<1x16x5x5xf16>, tensor<16xf16>) -> tensor<1x16x5x5xf16>
  %y = "dla.slice"(%s) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x5x5xf16>) -> tensor<1x16x3x5xf16>
  func.return %y : tensor<1x16x3x5xf16>
}

// -----

// Slices move up through SDP passes in memory, but not past a cube with another use.
// CHECK-LABEL: @passes
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}} -> tensor<1x16x4x4xf16>
// CHECK-NEXT:    %[[B:.*]] = "dla.slice"(%[[A]])
// CHECK-NEXT:    %[[C:.*]] = "dla.sdp"(%[[B]]) {{.*}} -> tensor<1x16x4x3xf16>
// CHECK-NEXT:    %[[Y:.*]] = "dla.sdp"(%[[C]]) {{.*}} -> tensor<1x16x4x3xf16>
// CHECK-NEXT:    return %[[A]], %[[Y]]
func.func @passes(%x: tensor<1x16x4x4xf16>) -> (tensor<1x16x4x4xf16>, tensor<1x16x4x3xf16>) {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = mul, mul_operand = 2.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.sdp"(%b) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = alu, alu_operand = 2.0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %y = "dla.slice"(%c) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x3xf16>
  func.return %a, %y : tensor<1x16x4x4xf16>, tensor<1x16x4x3xf16>
}

// -----

// Not moved: slices with a nonzero offset, slices of channels, and slices of one position.
// CHECK-LABEL: @stays
// CHECK:         "dla.sdp"(%arg0) {{.*}} -> tensor<1x32x4x4xf16>
// CHECK-NEXT:    "dla.slice"({{.*}}) <{offsets = array<i64: 0, 1, 0>}>
// CHECK-NEXT:    "dla.sdp"(%arg0) {{.*}} -> tensor<1x32x4x4xf16>
// CHECK-NEXT:    "dla.slice"({{.*}}) -> tensor<1x16x4x4xf16>
// CHECK-NEXT:    "dla.sdp"(%arg0) {{.*}} -> tensor<1x32x4x4xf16>
// CHECK-NEXT:    "dla.slice"({{.*}}) -> tensor<1x32x1x1xf16>
func.func @stays(%x: tensor<1x32x4x4xf16>) -> (tensor<1x32x3x4xf16>, tensor<1x16x4x4xf16>, tensor<1x32x1x1xf16>) {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x4x4xf16>
  %0 = "dla.slice"(%a) <{offsets = array<i64: 0, 1, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x3x4xf16>
  %b = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x4x4xf16>
  %1 = "dla.slice"(%b) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x4x4xf16>
  %2 = "dla.slice"(%c) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x1x1xf16>
  func.return %0, %1, %2 : tensor<1x32x3x4xf16>, tensor<1x16x4x4xf16>, tensor<1x32x1x1xf16>
}

// -----

// Not moved: the convolution would read one position of several, and neither the SDP nor the core reads with gaps.
// CHECK-LABEL: @one_position_read
// CHECK:         "dla.conv"(%arg0, %arg1)
// CHECK:         "dla.slice"
func.func @one_position_read(%x: tensor<1x16x2x2xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x2x1xf16> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x2x2xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x4x2xf32>>
  %s = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x16x4x2xf32>>) -> tensor<1x16x4x2xf16>
  %y = "dla.slice"(%s) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x4x2xf16>) -> tensor<1x16x2x1xf16>
  func.return %y : tensor<1x16x2x1xf16>
}

// -----

// A slice of a pixel-format input keeps the format.
// CHECK-LABEL: @image
// CHECK:         %[[X:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}> : (!dla.image<R8, tensor<1x1x9x9xi8>>) -> !dla.image<R8, tensor<1x1x8x9xi8>>
// CHECK-NEXT:    "dla.conv"(%[[X]], %arg1) {{.*}} -> !dla.flow<tensor<1x8x6x7xi32>>
func.func @image(%x: !dla.image<R8, tensor<1x1x9x9xi8>>, %w: tensor<8x3x3x1xi8>) -> tensor<1x8x6x7xi8> {
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (!dla.image<R8, tensor<1x1x9x9xi8>>, tensor<8x3x3x1xi8>) -> !dla.flow<tensor<1x8x7x7xi32>>
  %s = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x8x7x7xi32>>) -> tensor<1x8x7x7xi8>
  %y = "dla.slice"(%s) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x7x7xi8>) -> tensor<1x8x6x7xi8>
  func.return %y : tensor<1x8x6x7xi8>
}

// -----

// A slice of a slice is one slice; a part of one source of a concatenation is a slice of that source.
// CHECK-LABEL: @one_source
// CHECK-NEXT:    %[[Y:.*]] = "dla.slice"(%arg1) <{offsets = array<i64: 0, 2, 1>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x2x3xf16>
// CHECK-NEXT:    return %[[Y]], %arg0
func.func @one_source(%x: tensor<1x16x2x4xf16>, %y: tensor<1x16x4x4xf16>) -> (tensor<1x16x2x3xf16>, tensor<1x16x2x4xf16>) {
  %c = "dla.concat"(%x, %y) <{axis = 2 : i64}> : (tensor<1x16x2x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x16x6x4xf16>
  %0 = "dla.slice"(%c) <{offsets = array<i64: 0, 1, 0>}> : (tensor<1x16x6x4xf16>) -> tensor<1x16x5x4xf16>
  %1 = "dla.slice"(%0) <{offsets = array<i64: 0, 3, 1>}> : (tensor<1x16x5x4xf16>) -> tensor<1x16x2x3xf16>
  %2 = "dla.slice"(%c) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x16x6x4xf16>) -> tensor<1x16x2x4xf16>
  func.return %1, %2 : tensor<1x16x2x3xf16>, tensor<1x16x2x4xf16>
}

// -----

// The first and the last source are read by no slice: they go, and so does the layer that computes the last.
// CHECK-LABEL: @unread_sources
// CHECK-NEXT:    %[[C:.*]] = "dla.concat"(%arg0, %arg2) <{axis = 3 : i64}> : {{.*}} -> tensor<1x8x2x4xf16>
// CHECK-NEXT:    %[[X:.*]] = "dla.slice"(%[[C]]) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x1x3xf16>
// CHECK-NEXT:    %[[Y:.*]] = "dla.slice"(%[[C]]) <{offsets = array<i64: 0, 0, 1>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x2x2xf16>
// CHECK-NEXT:    return %[[X]], %[[Y]], %arg3
func.func @unread_sources(%a: tensor<1x8x2x2xf16>, %b: tensor<1x8x2x1xf16>, %c: tensor<1x8x2x2xf16>, %d: tensor<1x8x2x2xf16>) -> (tensor<1x8x1x3xf16>, tensor<1x8x2x2xf16>, tensor<1x8x2x2xf16>) {
  %s = "dla.sdp"(%d) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x8x2x2xf16>) -> tensor<1x8x2x2xf16>
  %t = "dla.concat"(%b, %a, %c, %d, %s) <{axis = 3 : i64}>
     : (tensor<1x8x2x1xf16>, tensor<1x8x2x2xf16>, tensor<1x8x2x2xf16>, tensor<1x8x2x2xf16>, tensor<1x8x2x2xf16>) -> tensor<1x8x2x9xf16>
  %0 = "dla.slice"(%t) <{offsets = array<i64: 0, 0, 1>}> : (tensor<1x8x2x9xf16>) -> tensor<1x8x1x3xf16>
  %1 = "dla.slice"(%t) <{offsets = array<i64: 0, 0, 2>}> : (tensor<1x8x2x9xf16>) -> tensor<1x8x2x2xf16>
  %2 = "dla.slice"(%t) <{offsets = array<i64: 0, 0, 5>}> : (tensor<1x8x2x9xf16>) -> tensor<1x8x2x2xf16>
  func.return %0, %1, %2 : tensor<1x8x1x3xf16>, tensor<1x8x2x2xf16>, tensor<1x8x2x2xf16>
}

// -----

// Rows 2 and 3 of six: the first row of the third source, and the second one of the first.
// CHECK-LABEL: @interleaved
// CHECK-NEXT:    %[[B:.*]] = "dla.slice"(%arg2) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x1x4xf16>
// CHECK-NEXT:    %[[A:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 1, 0>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x1x4xf16>
// CHECK-NEXT:    "dla.concat"(%[[B]], %[[A]]) <{axis = 2 : i64}> : {{.*}} -> tensor<1x8x2x4xf16>
func.func @interleaved(%x: tensor<1x8x2x4xf16>, %y: tensor<1x8x2x4xf16>, %z: tensor<1x8x2x4xf16>) -> tensor<1x8x2x4xf16> {
  %c = "dla.concat"(%x, %y, %z) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>) -> tensor<1x8x6x4xf16>
  %0 = "dla.slice"(%c) <{offsets = array<i64: 0, 2, 0>}> : (tensor<1x8x6x4xf16>) -> tensor<1x8x2x4xf16>
  func.return %0 : tensor<1x8x2x4xf16>
}

// -----

// As many rows as sources: each is read. A reader other than a slice takes all as well.
// CHECK-LABEL: @all_read
// CHECK:         "dla.concat"(%arg0, %arg1) <{axis = 2 : i64, is_interleaved}>
// CHECK-NEXT:    "dla.slice"
// CHECK-NEXT:    "dla.concat"(%arg0, %arg1) <{axis = 2 : i64}>
// CHECK-NEXT:    return
func.func @all_read(%x: tensor<1x8x2x4xf16>, %y: tensor<1x8x2x4xf16>) -> (tensor<1x8x2x4xf16>, tensor<1x8x4x4xf16>, tensor<1x8x2x4xf16>) {
  %c = "dla.concat"(%x, %y) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>) -> tensor<1x8x4x4xf16>
  %0 = "dla.slice"(%c) <{offsets = array<i64: 0, 1, 0>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x2x4xf16>
  %d = "dla.concat"(%x, %y) <{axis = 2 : i64}> : (tensor<1x8x2x4xf16>, tensor<1x8x2x4xf16>) -> tensor<1x8x4x4xf16>
  %1 = "dla.slice"(%d) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x2x4xf16>
  func.return %0, %d, %1 : tensor<1x8x2x4xf16>, tensor<1x8x4x4xf16>, tensor<1x8x2x4xf16>
}

// -----

// Columns that a transposed convolution of stride 2 interleaves, of which the even ones are read.
// CHECK-LABEL: @one_column
// CHECK-NEXT:    %[[R:.*]] = "dla.reshape"(%arg0) : (tensor<1x8x6x1xf16>) -> tensor<1x8x3x2xf16>
// CHECK-NEXT:    %[[Y:.*]] = "dla.slice"(%[[R]]) <{offsets = array<i64: 0, 1, 1>}> : (tensor<1x8x3x2xf16>) -> tensor<1x8x2x1xf16>
// CHECK-NEXT:    return %[[Y]]
func.func @one_column(%x: tensor<1x8x6x1xf16>, %y: tensor<1x8x6x1xf16>) -> tensor<1x8x2x1xf16> {
  %s = "dla.sdp"(%y) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x8x6x1xf16>) -> tensor<1x8x6x1xf16>
  %c = "dla.concat"(%x, %s) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x6x1xf16>, tensor<1x8x6x1xf16>) -> tensor<1x8x12x1xf16>
  %r = "dla.reshape"(%c) : (tensor<1x8x12x1xf16>) -> tensor<1x8x3x4xf16>
  %0 = "dla.slice"(%r) <{offsets = array<i64: 0, 1, 2>}> : (tensor<1x8x3x4xf16>) -> tensor<1x8x2x1xf16>
  func.return %0 : tensor<1x8x2x1xf16>
}

// -----

// Two of three sources stay interleaved.
// CHECK-LABEL: @two_columns
// CHECK-NEXT:    %[[C:.*]] = "dla.concat"(%arg1, %arg2) <{axis = 2 : i64, is_interleaved}> : {{.*}} -> tensor<1x8x8x1xf16>
// CHECK-NEXT:    %[[R:.*]] = "dla.reshape"(%[[C]]) : (tensor<1x8x8x1xf16>) -> tensor<1x8x2x4xf16>
// CHECK-NEXT:    "dla.slice"(%[[R]]) <{offsets = array<i64: 0, 0, 2>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x2x2xf16>
func.func @two_columns(%x: tensor<1x8x4x1xf16>, %y: tensor<1x8x4x1xf16>, %z: tensor<1x8x4x1xf16>) -> tensor<1x8x2x2xf16> {
  %c = "dla.concat"(%x, %y, %z) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x4x1xf16>, tensor<1x8x4x1xf16>, tensor<1x8x4x1xf16>) -> tensor<1x8x12x1xf16>
  %r = "dla.reshape"(%c) : (tensor<1x8x12x1xf16>) -> tensor<1x8x2x6xf16>
  %0 = "dla.slice"(%r) <{offsets = array<i64: 0, 0, 4>}> : (tensor<1x8x2x6xf16>) -> tensor<1x8x2x2xf16>
  func.return %0 : tensor<1x8x2x2xf16>
}

// -----

// The last column of a group of three and the first of the next: the second source is not read.
// CHECK-LABEL: @columns_of_two_groups
// CHECK-NEXT:    %[[C:.*]] = "dla.concat"(%arg0, %arg2) <{axis = 2 : i64, is_interleaved}> : {{.*}} -> tensor<1x8x8x1xf16>
// CHECK-NEXT:    %[[R:.*]] = "dla.reshape"(%[[C]]) : (tensor<1x8x8x1xf16>) -> tensor<1x8x2x4xf16>
// CHECK-NEXT:    "dla.slice"(%[[R]]) <{offsets = array<i64: 0, 0, 1>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x2x2xf16>
func.func @columns_of_two_groups(%x: tensor<1x8x4x1xf16>, %y: tensor<1x8x4x1xf16>, %z: tensor<1x8x4x1xf16>) -> tensor<1x8x2x2xf16> {
  %c = "dla.concat"(%x, %y, %z) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x4x1xf16>, tensor<1x8x4x1xf16>, tensor<1x8x4x1xf16>) -> tensor<1x8x12x1xf16>
  %r = "dla.reshape"(%c) : (tensor<1x8x12x1xf16>) -> tensor<1x8x2x6xf16>
  %0 = "dla.slice"(%r) <{offsets = array<i64: 0, 0, 2>}> : (tensor<1x8x2x6xf16>) -> tensor<1x8x2x2xf16>
  func.return %0 : tensor<1x8x2x2xf16>
}

// -----

// Two slices read columns of the second source alone.
// CHECK-LABEL: @columns_of_two_slices
// CHECK-NEXT:    %[[R:.*]] = "dla.reshape"(%arg1) : (tensor<1x8x6x1xf16>) -> tensor<1x8x3x2xf16>
// CHECK-NEXT:    "dla.slice"(%[[R]]) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x3x2xf16>) -> tensor<1x8x3x1xf16>
// CHECK-NEXT:    "dla.slice"(%[[R]]) <{offsets = array<i64: 0, 1, 1>}> : (tensor<1x8x3x2xf16>) -> tensor<1x8x2x1xf16>
func.func @columns_of_two_slices(%x: tensor<1x8x6x1xf16>, %y: tensor<1x8x6x1xf16>) -> (tensor<1x8x3x1xf16>, tensor<1x8x2x1xf16>) {
  %s = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x6x1xf16>) -> tensor<1x8x6x1xf16>
  %c = "dla.concat"(%s, %y) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x6x1xf16>, tensor<1x8x6x1xf16>) -> tensor<1x8x12x1xf16>
  %r = "dla.reshape"(%c) : (tensor<1x8x12x1xf16>) -> tensor<1x8x3x4xf16>
  %0 = "dla.slice"(%r) <{offsets = array<i64: 0, 0, 1>}> : (tensor<1x8x3x4xf16>) -> tensor<1x8x3x1xf16>
  %1 = "dla.slice"(%r) <{offsets = array<i64: 0, 1, 3>}> : (tensor<1x8x3x4xf16>) -> tensor<1x8x2x1xf16>
  func.return %0, %1 : tensor<1x8x3x1xf16>, tensor<1x8x2x1xf16>
}

// -----

// All sources are read: by as many columns, by another reader; or the sources do not divide the columns.
// CHECK-LABEL: @all_columns
// CHECK-COUNT-3: is_interleaved
func.func @all_columns(%x: tensor<1x8x4x1xf16>, %y: tensor<1x8x4x1xf16>, %z: tensor<1x8x6x1xf16>) -> (tensor<1x8x2x2xf16>, tensor<1x8x2x1xf16>, tensor<1x8x2x4xf16>, tensor<1x8x4x1xf16>) {
  %a = "dla.concat"(%x, %y) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x4x1xf16>, tensor<1x8x4x1xf16>) -> tensor<1x8x8x1xf16>
  %b = "dla.reshape"(%a) : (tensor<1x8x8x1xf16>) -> tensor<1x8x2x4xf16>
  %0 = "dla.slice"(%b) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x2x2xf16>
  %e = "dla.concat"(%x, %y) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x4x1xf16>, tensor<1x8x4x1xf16>) -> tensor<1x8x8x1xf16>
  %f = "dla.reshape"(%e) : (tensor<1x8x8x1xf16>) -> tensor<1x8x2x4xf16>
  %2 = "dla.slice"(%f) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x2x4xf16>) -> tensor<1x8x2x1xf16>
  %g = "dla.concat"(%z, %z) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x6x1xf16>, tensor<1x8x6x1xf16>) -> tensor<1x8x12x1xf16>
  %h = "dla.reshape"(%g) : (tensor<1x8x12x1xf16>) -> tensor<1x8x4x3xf16>
  %3 = "dla.slice"(%h) <{offsets = array<i64: 0, 0, 1>}> : (tensor<1x8x4x3xf16>) -> tensor<1x8x4x1xf16>
  func.return %0, %2, %f, %3 : tensor<1x8x2x2xf16>, tensor<1x8x2x1xf16>, tensor<1x8x2x4xf16>, tensor<1x8x4x1xf16>
}

// -----

// Rows above, of and below an image, beside a column: the row below, which is not read, is not computed.
// CHECK-LABEL: @rows_across_columns
// CHECK-NOT:     dla.sdp
// CHECK:         %[[R:.*]] = "dla.concat"(%arg0, %arg1) <{axis = 2 : i64}> : (tensor<1x8x1x4xf16>, tensor<1x8x4x4xf16>) -> tensor<1x8x5x4xf16>
// CHECK:         %[[L:.*]] = "dla.slice"(%arg3) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x6x1xf16>) -> tensor<1x8x5x1xf16>
// CHECK:         %[[C:.*]] = "dla.concat"(%[[L]], %[[R]]) <{axis = 3 : i64}> : (tensor<1x8x5x1xf16>, tensor<1x8x5x4xf16>) -> tensor<1x8x5x5xf16>
// CHECK-NEXT:    return %[[C]]
func.func @rows_across_columns(%x: tensor<1x8x1x4xf16>, %y: tensor<1x8x4x4xf16>, %z: tensor<1x8x1x4xf16>, %l: tensor<1x8x6x1xf16>) -> tensor<1x8x5x5xf16> {
  %s = "dla.sdp"(%z) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x1x4xf16>) -> tensor<1x8x1x4xf16>
  %r = "dla.concat"(%x, %y, %s) <{axis = 2 : i64}> : (tensor<1x8x1x4xf16>, tensor<1x8x4x4xf16>, tensor<1x8x1x4xf16>) -> tensor<1x8x6x4xf16>
  %c = "dla.concat"(%l, %r) <{axis = 3 : i64}> : (tensor<1x8x6x1xf16>, tensor<1x8x6x4xf16>) -> tensor<1x8x6x5xf16>
  %0 = "dla.slice"(%c) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x6x5xf16>) -> tensor<1x8x5x5xf16>
  func.return %0 : tensor<1x8x5x5xf16>
}
