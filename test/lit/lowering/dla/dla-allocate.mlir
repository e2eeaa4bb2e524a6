// RUN: onnx-opt %s --dla-allocate --split-input-file | filecheck %s
// RUN: onnx-opt %s --dla-allocate=mem-alloc=first-fit --split-input-file | filecheck %s --check-prefix=LOWEST
// RUN: onnx-opt %s --dla-allocate=mem-alloc=best-fit --split-input-file | filecheck %s --check-prefix=TIGHTEST

// Inputs and outputs have their own memory; of the inner cubes, the third reuses the memory of the first.
// With three cubes of one size each allocator finds it.
// LOWEST:      "dla.memory"() <{lower_bound = 1024 : i64, peak = 1024 : i64, role = "activations", size = 1024 : i64, sym_name = "activations"}>
// TIGHTEST:    "dla.memory"() <{lower_bound = 1024 : i64, peak = 1024 : i64, role = "activations", size = 1024 : i64, sym_name = "activations"}>
// CHECK:       "dla.memory"() <{lower_bound = 1024 : i64, peak = 1024 : i64, role = "activations", size = 1024 : i64, sym_name = "activations"}>
// CHECK:       "dla.memory"() <{role = "input", size = 512 : i64, sym_name = "input_0"}>
// CHECK:       "dla.memory"() <{role = "output", size = 512 : i64, sym_name = "output_0"}>
// CHECK-LABEL: @chain(%arg0: !dla.surface<tensor<1x16x4x4xf16>, "input_0" at 0, line 128, surface 512>)
// CHECK:         "dla.pdp"(%arg0) {{.*}} -> !dla.surface<tensor<1x16x4x4xf16>, "activations" at [[FIRST:[0-9]+]], line 128
// CHECK:         "dla.pdp"({{%.+}}) {{.*}} -> !dla.surface<tensor<1x16x4x4xf16>, "activations" at {{[0-9]+}}, line 128
// CHECK:         "dla.pdp"({{%.+}}) {{.*}} -> !dla.surface<tensor<1x16x4x4xf16>, "activations" at [[FIRST]], line 128
// CHECK:         -> !dla.surface<tensor<1x16x4x4xf16>, "output_0" at 0
func.func @chain(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.pdp"(%x) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.pdp"(%a) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.pdp"(%b) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %d = "dla.pdp"(%c) <{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %d : tensor<1x16x4x4xf16>
}

// -----

// Elementwise SDP passes may run in place: 512 bytes hold all three cubes.
// CHECK:       lower_bound = 512 : i64
// CHECK-LABEL: @in_place
func.func @in_place(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.sdp"(%b) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %d = "dla.sdp"(%c) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %d : tensor<1x16x4x4xf16>
}

// -----

// No in-place result where the convolution reads the cube as well: later windows would read results.
// CHECK:       lower_bound = 1024 : i64
// CHECK-LABEL: @not_over_the_own_source
func.func @not_over_the_own_source(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16> {
  %w = "dla.constant"() <{layout = "kernels", value = dense<1.0> : tensor<16x16x1x1xf32>}> : () -> tensor<16x16x1x1xf16>
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %s = "dla.conv"(%a, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> !dla.flow<tensor<1x16x4x4xf32>>
  %b = "dla.sdp"(%s, %a) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_point>}> : (!dla.flow<tensor<1x16x4x4xf32>>, tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.sdp"(%b) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  func.return %c : tensor<1x16x4x4xf16>
}

// -----

// Sources are allocated inside of their concatenation, in consecutive surfaces; a slice of rows adds line strides.
// CHECK-LABEL: @views
// CHECK:         "dla.sdp"(%arg0) {{.*}} -> !dla.surface<tensor<1x16x4x4xf16>, "activations" at 0, line 128, surface 512>
// CHECK:         "dla.sdp"(%arg0) {{.*}} -> !dla.surface<tensor<1x16x4x4xf16>, "activations" at 512, line 128, surface 512>
// CHECK:         "dla.concat"{{.*}} -> !dla.surface<tensor<1x32x4x4xf16>, "activations" at 0, line 128, surface 512>
// CHECK:         "dla.slice"{{.*}} -> !dla.surface<tensor<1x16x3x4xf16>, "activations" at 640, line 128, surface 512>
func.func @views(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x3x4xf16> {
  %a = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = "dla.concat"(%a, %b) <{axis = 1 : i64}> : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16>
  %s = "dla.slice"(%c) <{offsets = array<i64: 16, 1, 0>}> : (tensor<1x32x4x4xf16>) -> tensor<1x16x3x4xf16>
  %d = "dla.sdp"(%s) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x3x4xf16>) -> tensor<1x16x3x4xf16>
  func.return %d : tensor<1x16x3x4xf16>
}

// -----

// Constants are aligned to 128 bytes; kernels are padded to whole convolution-buffer entries, also of 128 bytes.
// CHECK:       "dla.memory"() <{role = "constants", size = 768 : i64, sym_name = "constants"}>
// CHECK-LABEL: @in_order
// CHECK:         -> !dla.packed<tensor<16xf16>, "constants" at 0, size 32>
// CHECK:         -> !dla.packed<tensor<4x16x1x1xf16>, "constants" at 128, size 128>
// CHECK:         -> !dla.surface<tensor<1x4x4x4xf16>, "constants" at 256, line 128, surface 512>
func.func @in_order(%x: tensor<1x16x4x4xf16>) -> tensor<1x4x4x4xf16> {
  %b = "dla.constant"() <{layout = "per_kernel", value = dense<1.0> : tensor<16xf32>}> : () -> tensor<16xf16>
  %w = "dla.constant"() <{layout = "kernels", value = dense<1.0> : tensor<4x16x1x1xf32>}> : () -> tensor<4x16x1x1xf16>
  %p = "dla.constant"() <{layout = "cube", value = dense<1.0> : tensor<1x4x4x4xf32>}> : () -> tensor<1x4x4x4xf16>
  %y = "dla.sdp"(%x, %b) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = alu, mode = per_kernel>}> : (tensor<1x16x4x4xf16>, tensor<16xf16>) -> tensor<1x16x4x4xf16>
  %a = "dla.conv"(%y, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x4x4xf16>, tensor<4x16x1x1xf16>) -> !dla.flow<tensor<1x4x4x4xf32>>
  %z = "dla.sdp"(%a, %p) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>, x1_stage = #dla.stage<type = mul, mode = per_point>}> : (!dla.flow<tensor<1x4x4x4xf32>>, tensor<1x4x4x4xf16>) -> tensor<1x4x4x4xf16>
  func.return %z : tensor<1x4x4x4xf16>
}

// -----

// Between FP16 and int8 the SDP reads and writes surfaces of int16 in pairs: 16 channels take two. It reads other bytes than
// it writes there, so that no result lies over its operand: 1024 bytes of int16 and 512 of int8.
// CHECK:       "dla.memory"() <{{{.*}}role = "activations", size = 1536 : i64
// CHECK-LABEL: @precisions
func.func @precisions(%x: tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xi8> {
  %w = "dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xi16>
  %q = "dla.sdp"(%w) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xi16>) -> tensor<1x16x4x4xi8>
  %y = "dla.sdp"(%q) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (tensor<1x16x4x4xi8>) -> tensor<1x16x4x4xi8>
  func.return %y : tensor<1x16x4x4xi8>
}
