// RUN: onnx-opt %s --split-input-file --verify-diagnostics

func.func @shape(%x: tensor<1x8x4x4xf16>) {
  // expected-error @+1 {{the result is 8x4x4, found 8x4x2}}
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x2xf16>
  func.return
}

// -----

func.func @no_operand(%x: tensor<1x8x4x4xf16>) {
  // expected-error @+1 {{x1 has an operand if its stage reads memory, found none}}
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}>
     : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @needless_operand(%x: tensor<1x8x4x4xf16>) {
  // expected-error @+1 {{x2 has an operand if its stage reads memory, found one}}
  %y = "dla.sdp"(%x, %x) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>}>
     : (tensor<1x8x4x4xf16>, tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @per_kernel(%x: tensor<1x8x4x4xf16>, %b: tensor<7xf16>) {
  // expected-error @+1 {{the operand x1 is 8, found 7}}
  %y = "dla.sdp"(%x, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x8x4x4xf16>, tensor<7xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @both(%x: tensor<1x8x4x4xf16>, %b: tensor<8xf16>) {
  // expected-error @+1 {{the operand x1 is 8x2, found 8}}
  %y = "dla.sdp"(%x, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = both, mode = per_kernel>}>
     : (tensor<1x8x4x4xf16>, tensor<8xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @spread(%x: tensor<1x8x4x4xf16>, %b: tensor<1x8x1x4xf16>) {
  // expected-error @+1 {{the operand x1 is 8x1x1, found 8x1x4}}
  %y = "dla.sdp"(%x, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}>
     : (tensor<1x8x4x4xf16>, tensor<1x8x1x4xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @per_point(%x: tensor<1x8x4x4xf16>, %p: tensor<1x8x4x2xf16>) {
  // expected-error @+1 {{the operand y is 8x4x4, found 8x4x2}}
  %y = "dla.sdp"(%x, %p) <{operandSegmentSizes = array<i32: 1, 0, 0, 1>, y_stage = #dla.stage<type = alu, mode = per_point>}>
     : (tensor<1x8x4x4xf16>, tensor<1x8x4x2xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @flow(%x: tensor<1x8x4x4xf16>) {
  // expected-error @+1 {{the flow goes to exactly one dla.pdp, as its source}}
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x8x4x4xf16>) -> !dla.flow<tensor<1x8x4x4xf16>>
  func.return
}

// -----

func.func @offset(%x: tensor<1x16x8x8xi8>) -> tensor<1x16x8x8xi8> {
  // expected-error @+1 {{a mul_offset is for operands of y in memory, found 3 at x1}}
  %y = "dla.sdp"(%x, %x) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = mul, mode = per_point, mul_offset = 3>}>
     : (tensor<1x16x8x8xi8>, tensor<1x16x8x8xi8>) -> tensor<1x16x8x8xi8>
  func.return %y : tensor<1x16x8x8xi8>
}

// -----

func.func @relu_of_y(%x: tensor<1x8x4x4xf16>) {
  // expected-error @+1 {{y has no relu: the hardware would do nothing; use alu max with 0}}
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, y_stage = #dla.stage<act = relu>}> : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  func.return
}

// -----

func.func @lookup_without_a_table(%x: tensor<1x8x4x4xi8>) {
  // expected-error @+1 {{there is a lut if y looks up (act lut), found none}}
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, y_stage = #dla.stage<act = lut>}> : (tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8>
  func.return
}

// -----

func.func @lookup_elsewhere(%x: tensor<1x8x4x4xi8>) {
  // expected-error @+1 {{the lookup table is y's alone, found act lut at x1}}
  %y = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, x1_stage = #dla.stage<act = lut>}> : (tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8>
  func.return
}
