// RUN: onnx-opt %s --dla-resolve-views --split-input-file | filecheck %s

// SDP passes write into the concatenation's surfaces; a network input must be copied there.
// CHECK-LABEL: @concat
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}}relu
// CHECK:         %[[COPY:.*]] = "dla.sdp"(%arg0) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
// CHECK:         "dla.concat"(%[[A]], %[[COPY]])
func.func @concat(%x: tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.concat"(%a, %x) <{axis = 1 : i64}> : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16>
  func.return %c : tensor<1x32x4x4xf16>
}

// -----

// The same cube twice: one operand is allocated inside of the concatenation, the other is a copy.
// CHECK-LABEL: @twice
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}}relu
// CHECK:         %[[COPY:.*]] = "dla.sdp"(%[[A]]) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
// CHECK:         "dla.concat"(%[[A]], %[[COPY]])
func.func @twice(%x: tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.concat"(%a, %a) <{axis = 1 : i64}> : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16>
  func.return %c : tensor<1x32x4x4xf16>
}

// -----

// 8 channels end inside of a 16-channel atom: 1x1 convolutions with ones shift both sources, the SDP adds them.
// CHECK-LABEL: @misaligned
// CHECK:         "dla.conv"(%arg0, {{%.+}}) {{.*}} : (tensor<1x8x4x4xf16>, tensor<24x8x1x1xf16>)
// CHECK:         %[[FIRST:.*]] = "dla.sdp"
// CHECK:         "dla.conv"(%arg1, {{%.+}}) {{.*}} : (tensor<1x16x4x4xf16>, tensor<24x16x1x1xf16>)
// CHECK:         %[[SUM:.*]] = "dla.sdp"({{%.+}}, %[[FIRST]]) {{.*}}x1_stage = #dla.stage<type = alu, mode = per_point>
// CHECK-NEXT:    return %[[SUM]]
func.func @misaligned(%x: tensor<1x8x4x4xf16>, %y: tensor<1x16x4x4xf16>) -> tensor<1x24x4x4xf16> {
  %c = "dla.concat"(%x, %y) <{axis = 1 : i64}> : (tensor<1x8x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x24x4x4xf16>
  func.return %c : tensor<1x24x4x4xf16>
}

// -----

// Integers are padded to whole atoms; a 1x1 convolution with ones gathers their channels.
// CHECK-LABEL: @misaligned_integers
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0)
// CHECK:         %[[B:.*]] = "dla.sdp"(%arg1)
// CHECK:         %[[ALL:.*]] = "dla.concat"(%[[A]], %[[B]]) <{alignment = 32 : i64, axis = 1 : i64}> : (tensor<1x8x4x4xi8>, tensor<1x16x4x4xi8>) -> tensor<1x48x4x4xi8>
// CHECK:         "dla.conv"(%[[ALL]], {{%.+}}) {{.*}} : (tensor<1x48x4x4xi8>, tensor<24x48x1x1xi8>)
// CHECK-NEXT:    %[[Y:.*]] = "dla.sdp"
// CHECK-NEXT:    return %[[Y]]
func.func @misaligned_integers(%x: tensor<1x8x4x4xi8>, %y: tensor<1x16x4x4xi8>) -> tensor<1x24x4x4xi8> {
  %c = "dla.concat"(%x, %y) <{axis = 1 : i64}> : (tensor<1x8x4x4xi8>, tensor<1x16x4x4xi8>) -> tensor<1x24x4x4xi8>
  func.return %c : tensor<1x24x4x4xi8>
}

// -----

// With many channels there are several gathering convolutions, which write whole atoms each.
// CHECK-LABEL: @gathered_in_parts
// CHECK:         "dla.slice"({{%.+}}) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x228x1x1xi8>) -> tensor<1x156x1x1xi8>
// CHECK:         "dla.conv"({{.*}} : (tensor<1x156x1x1xi8>, tensor<128x156x1x1xi8>)
// CHECK:         "dla.slice"({{%.+}}) <{offsets = array<i64: 128, 0, 0>}> : (tensor<1x228x1x1xi8>) -> tensor<1x100x1x1xi8>
// CHECK:         "dla.conv"({{.*}} : (tensor<1x100x1x1xi8>, tensor<72x100x1x1xi8>)
// CHECK:         "dla.concat"
func.func @gathered_in_parts(%x: tensor<1x100x1x1xi8>) -> tensor<1x200x1x1xi8> {
  %c = "dla.concat"(%x, %x) <{axis = 1 : i64}> : (tensor<1x100x1x1xi8>, tensor<1x100x1x1xi8>) -> tensor<1x200x1x1xi8>
  func.return %c : tensor<1x200x1x1xi8>
}

// -----

// A slice from channel 8 needs a 1x1 convolution; one from channel 16, an atom boundary, stays a view.
// CHECK-LABEL: @slices
// CHECK:         "dla.conv"(%arg0, {{%.+}}) {{.*}} : (tensor<1x32x4x4xf16>, tensor<8x32x1x1xf16>)
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 16, 0, 0>}>
func.func @slices(%x: tensor<1x32x4x4xf16>) -> (tensor<1x8x4x4xf16>, tensor<1x16x4x4xf16>) {
  %a = "dla.slice"(%x) <{offsets = array<i64: 8, 0, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x8x4x4xf16>
  %b = "dla.slice"(%x) <{offsets = array<i64: 16, 0, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %a, %b : tensor<1x8x4x4xf16>, tensor<1x16x4x4xf16>
}

// -----

// An input that is an output as well is copied.
// CHECK-LABEL: @through
// CHECK:         %[[COPY:.*]] = "dla.sdp"(%arg0)
// CHECK:         return %[[COPY]]
func.func @through(%x: tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16> {
  func.return %x : tensor<1x8x4x4xf16>
}

// -----

// A 1x1 slice of a cube has gaps between its atoms, which the PDP can read and the SDP cannot.
// CHECK-LABEL: @single_position
// CHECK:         %[[PART:.*]] = "dla.slice"(%arg0) <{offsets = array<i64: 0, 2, 1>}>
// CHECK:         %[[TAKEN:.*]] = "dla.pdp"(%[[PART]])
// CHECK:         "dla.sdp"(%[[TAKEN]])
func.func @single_position(%x: tensor<1x8x4x4xf16>) -> tensor<1x8x1x1xf16> {
  %a = "dla.slice"(%x) <{offsets = array<i64: 0, 2, 1>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x1x1xf16>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x1x1xf16>) -> tensor<1x8x1x1xf16>
  func.return %b : tensor<1x8x1x1xf16>
}

// -----

// Rows that a concatenation continues have gaps; what is reshaped is a copy without.
// CHECK-LABEL: @reshaped_rows_with_gaps
// CHECK:         %[[A:.*]] = "dla.sdp"(%arg0) {{.*}}relu
// CHECK:         %[[DENSE:.*]] = "dla.sdp"(%[[A]])
// CHECK:         "dla.reshape"(%[[DENSE]])
// CHECK:         "dla.concat"(%[[A]], {{%.+}})
func.func @reshaped_rows_with_gaps(%x: tensor<1x8x4x4xf16>) -> (tensor<1x8x4x8xf16>, tensor<1x8x2x8xf16>) {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = relu>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  %r = "dla.reshape"(%a) : (tensor<1x8x4x4xf16>) -> tensor<1x8x2x8xf16>
  %b = "dla.sdp"(%r) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x2x8xf16>) -> tensor<1x8x2x8xf16>
  %c = "dla.concat"(%a, %x) <{axis = 3 : i64}> : (tensor<1x8x4x4xf16>, tensor<1x8x4x4xf16>) -> tensor<1x8x4x8xf16>
  func.return %c, %b : tensor<1x8x4x8xf16>, tensor<1x8x2x8xf16>
}
