// RUN: onnx-opt %s --dla-place-in-cvsram=target=nv_full_cvsram --split-input-file | filecheck %s
// RUN: onnx-opt %s --dla-place-in-cvsram=target=nv_full_cvsram --dla-allocate=target=nv_full_cvsram --split-input-file | filecheck %s --check-prefix=PLACED
// RUN: onnx-opt %s --dla-place-in-cvsram=target=nv_full --split-input-file | filecheck %s --check-prefix=NONE

// NONE-NOT: cvsram

// The inner cube is on the chip; the network's output stays in DRAM.
// CHECK-LABEL:  @chain
// CHECK-NEXT:     "dla.sdp"(%arg0) {{.*}} {cvsram}
// CHECK-NEXT:     "dla.sdp"
// CHECK-NOT:      cvsram
// CHECK:          return
// PLACED:       "dla.memory"() <{role = "on_chip", size = 512 : i64, sym_name = "cvsram"}>
// PLACED-LABEL: @chain
// PLACED:         -> !dla.surface<tensor<1x16x4x4xf16>, "cvsram" at 0, line 128, surface 512>
// PLACED:         -> !dla.surface<tensor<1x16x4x4xf16>, "output_0" at 0
func.func @chain(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %b : tensor<1x16x4x4xf16>
}

// -----

// Two cubes of 300 KiB are alive at once and one fits: the one that three layers access, not two.
// CHECK-LABEL:  @hottest
// CHECK-NEXT:     %0 = "dla.pdp"({{.*}}> :
// CHECK-NEXT:     %1 = "dla.pdp"({{.*}}> {cvsram} :
// CHECK-NEXT:     %2 = "dla.sdp"({{.*}}> :
// CHECK-NEXT:     %3 = "dla.sdp"({{.*}}> :
// PLACED:       "dla.memory"() <{{{.*}}role = "activations", size = 307200 : i64
// PLACED:       "dla.memory"() <{role = "on_chip", size = 307200 : i64, sym_name = "cvsram"}>
func.func @hottest(%x: tensor<1x16x96x100xf16>) -> (tensor<1x16x96x100xf16>, tensor<1x16x96x100xf16>) {
  %a = "dla.pdp"(%x) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x96x100xf16>) -> tensor<1x16x96x100xf16>
  %b = "dla.pdp"(%x) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x96x100xf16>) -> tensor<1x16x96x100xf16>
  %c = "dla.sdp"(%b, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}> : (tensor<1x16x96x100xf16>, tensor<1x16x96x100xf16>) -> tensor<1x16x96x100xf16>
  %d = "dla.sdp"(%b, %a) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}> : (tensor<1x16x96x100xf16>, tensor<1x16x96x100xf16>) -> tensor<1x16x96x100xf16>
  func.return %c, %d : tensor<1x16x96x100xf16>, tensor<1x16x96x100xf16>
}

// -----

// A concatenation is stored as a whole: its attribute holds for the cubes stored in it.
// CHECK-LABEL:  @concatenation
// CHECK:          "dla.concat"{{.*}} {cvsram}
// PLACED-LABEL: @concatenation
// PLACED:         -> !dla.surface<tensor<1x16x4x4xf16>, "cvsram" at 0
// PLACED:         -> !dla.surface<tensor<1x16x4x4xf16>, "cvsram" at 512
func.func @concatenation(%x: tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.concat"(%a, %b) <{axis = 1 : i64}> : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16>
  %d = "dla.sdp"(%c) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x32x4x4xf16>
  func.return %d : tensor<1x32x4x4xf16>
}

// -----

// The runtime's CPU emulator reads DRAM.
// CHECK-LABEL:  @softmax
// CHECK-NOT:      cvsram
func.func @softmax(%x: tensor<1x16x1x1xf16>) -> tensor<1x16x1x1xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x1x1xf16>) -> tensor<1x16x1x1xf16>
  %b = "dla.softmax"(%a) : (tensor<1x16x1x1xf16>) -> tensor<1x16x1x1xf16>
  func.return %b : tensor<1x16x1x1xf16>
}
