// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: transposed_b takes a static k, an A and a B as they are, and no bias}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>, packed, transposed_b}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: m, n and k are above 0, found [0, 4, 4]}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 0 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: tile holds two sizes above 0, found [4]}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: activation is one of none, relu}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>, activation = "tanh"}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: 2 matrices of A, 1 of B}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 2 : i64, n = 2 : i64, k = 2 : i64, tile = array<i64: 4, 4>, batch_a = array<i64: 0, 4>, batch_b = array<i64: 0>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // expected-error @+1 {{krnl.conv: tile holds two sizes above 0, found [6, 0]}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 0>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // expected-error @+1 {{krnl.conv: a range is two indices, found 1}}
  "krnl.conv"(%y, %x, %w, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // expected-error @+1 {{krnl.conv: a residual and where it starts come together}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, residual_start = array<i64: 0, 0>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // expected-error @+1 {{krnl.conv: depthwise takes a channel-blocked x, and tiles of one block}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 2>, depthwise}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // expected-error @+1 {{krnl.conv: y has 5 axes, x 4 or 5}}
  "krnl.conv"(%w, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> : (memref<2304xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>, %i: index) {
  // expected-error @+1 {{krnl.gemm: a range is two indices, found 1}}
  "krnl.gemm"(%m, %m, %m, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, m = 4 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<6x6x16xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: y has 4 axes, found 3}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<6x6x16xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: out holds two sizes above 0, found [6, 0]}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 0>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x8xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: y has a multiple of 16 channels, found 8}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x8xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x16xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: y has a multiple of 32 channels, found 16}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f", groups = 2 : i64}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x16xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x16xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: groups are 1 or more, found 0}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f", groups = 0 : i64}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x16xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x6xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: x has a multiple of 4 channels, found 6}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x6xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: x holds i8 and w i16}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: image_starts holds two indices for each image}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64: 1, 1>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: its region takes i32}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i64):
    krnl.stored %sum : i64
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi8>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: its region ends with what is stored, i8}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi8>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x6x6x16xi32>, %x: memref<1x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>, %i: index) {
  // expected-error @+1 {{krnl.int8_conv: a range is two indices, found 1}}
  "krnl.int8_conv"(%y, %x, %w, %s, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x16xi32>, memref<1x6x6x4xi8>, memref<64xi8>, memref<16xi32>, index) -> ()
  return
}

// -----

func.func private @k(%y: memref<?x6x6x16xi8>, %x: memref<?x6x6x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: 1 dynamic sizes, found 0 operands}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    %b = arith.trunci %sum : i32 to i8
    krnl.stored %b : i8
  }) : (memref<?x6x6x16xi8>, memref<?x6x6x4xi8>, memref<64xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func private @k(%y: memref<1x?x?x16xi8>, %x: memref<1x?x?x4xi8>, %w: memref<64xi8>, %s: memref<16xi32>, %n: index) {
  // expected-error @+1 {{krnl.int8_conv: 2 dynamic sizes, found 1 operands}}
  "krnl.int8_conv"(%y, %x, %w, %s, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: -9223372036854775808, -9223372036854775808>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    %b = arith.trunci %sum : i32 to i8
    krnl.stored %b : i8
  }) : (memref<1x?x?x16xi8>, memref<1x?x?x4xi8>, memref<64xi8>, memref<16xi32>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: results have bounds or an epilogue, not both}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, low = 0.000000e+00 : f32}> ({
  ^bb0(%v: f32):
    krnl.yield %v : f32
  }) : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: the epilogue takes one f32 and yields one f32}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> ({
  ^bb0(%v: f32):
    krnl.yield
  }) : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<1x64xf32>, %a: memref<1x8xf32>, %b: memref<8x64xf32>) {
  // expected-error @+1 {{krnl.gemm: prefetch is a number of bytes above 0, of a packed B}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 1 : i64, n = 64 : i64, k = 8 : i64, tile = array<i64: 1, 64>, prefetch = 64 : i64}> : (memref<1x64xf32>, memref<1x8xf32>, memref<8x64xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x64xf32>, %a: memref<8x8xf32>, %b: memref<512xf32>) {
  // expected-error @+1 {{krnl.gemm: next_panel_prefetch takes a number above 0, a packed B, and static n and k}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 8 : i64, n = 64 : i64, k = 8 : i64, tile = array<i64: 4, 32>, next_panel_prefetch = 32 : i64}> : (memref<8x64xf32>, memref<8x8xf32>, memref<512xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x64xf32>, %a: memref<8x8xf32>, %b: memref<512xf32>) {
  // expected-error @+1 {{krnl.gemm: next_panel_prefetch takes a number above 0, a packed B, and static n and k}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, m = 8 : i64, n = 64 : i64, k = 8 : i64, tile = array<i64: 4, 32>, next_panel_prefetch = 0 : i64}> : (memref<8x64xf32>, memref<8x8xf32>, memref<512xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<?x64xf32>, %a: memref<?x8xf32>, %b: memref<512xf32>, %m: index) {
  // expected-error @+1 {{krnl.gemm: next_panel_prefetch takes a number above 0, a packed B, and static n and k}}
  "krnl.gemm"(%c, %a, %b, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, packed, m = -9223372036854775808 : i64, n = 64 : i64, k = 8 : i64, tile = array<i64: 4, 32>, next_panel_prefetch = 32 : i64}> : (memref<?x64xf32>, memref<?x8xf32>, memref<512xf32>, index) -> ()
  return
}

// -----

func.func @f(%c: memref<4x?xf32>, %a: memref<4x8xf32>, %b: memref<8x?xf32>, %n: index) {
  // expected-error @+1 {{krnl.gemm: write_prefetch takes a static n}}
  "krnl.gemm"(%c, %a, %b, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, m = 4 : i64, n = -9223372036854775808 : i64, k = 8 : i64, tile = array<i64: 4, 16>, write_prefetch}> : (memref<4x?xf32>, memref<4x8xf32>, memref<8x?xf32>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: prefetch is a number of bytes above 0, for a channel-blocked x}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, prefetch = 0 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: weight_prefetch is a number of bytes above 0, and no depthwise convolution has it}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, weight_prefetch = 0 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x64xf32>, %a: memref<8x40xf32>, %b: memref<2x40x32xf32>) {
  // expected-error @+1 {{krnl.gemm: depth_piece is fewer rows than all of a packed B, with a row-major A, panels as the outer loop, and no unpack or products}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, m = 8 : i64, n = 64 : i64, k = 40 : i64, tile = array<i64: 4, 32>, depth_piece = 40 : i64}> : (memref<8x64xf32>, memref<8x40xf32>, memref<2x40x32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x64xf32>, %a: memref<8x40xf32>, %b: memref<2x40x32xf32>) {
  // expected-error @+1 {{krnl.gemm: depth_piece is fewer rows than all of a packed B, with a row-major A, panels as the outer loop, and no unpack or products}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, m = 8 : i64, n = 64 : i64, k = 40 : i64, tile = array<i64: 4, 32>, depth_piece = 0 : i64}> : (memref<8x64xf32>, memref<8x40xf32>, memref<2x40x32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x64xf32>, %a: memref<8x40xf32>, %b: memref<2x40x32xf32>) {
  // expected-error @+1 {{krnl.gemm: depth_piece is fewer rows than all of a packed B, with a row-major A, panels as the outer loop, and no unpack or products}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, rows_first, m = 8 : i64, n = 64 : i64, k = 40 : i64, tile = array<i64: 4, 32>, depth_piece = 16 : i64}> : (memref<8x64xf32>, memref<8x40xf32>, memref<2x40x32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x64xf32>, %a: memref<8x40xf32>, %b: memref<2x40x32xf32>) {
  // expected-error @+1 {{krnl.gemm: depth_piece is fewer rows than all of a packed B, with a row-major A, panels as the outer loop, and no unpack or products}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, transposed_a, m = 8 : i64, n = 64 : i64, k = 40 : i64, tile = array<i64: 4, 32>, depth_piece = 16 : i64}> : (memref<8x64xf32>, memref<8x40xf32>, memref<2x40x32xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x3x8x8x16xf32>, %w: memref<6912xf32>) {
  // expected-error @+1 {{krnl.conv: depth_piece is whole blocks of input channels, fewer than all, not of a depthwise convolution or one whose blocks hold several groups}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 48 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depth_piece = 24 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x3x8x8x16xf32>, memref<6912xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x3x8x8x16xf32>, %w: memref<6912xf32>) {
  // expected-error @+1 {{krnl.conv: depth_piece is whole blocks of input channels, fewer than all, not of a depthwise convolution or one whose blocks hold several groups}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 48 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depth_piece = 48 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x3x8x8x16xf32>, memref<6912xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x3x8x8x16xf32>, %w: memref<6912xf32>) {
  // expected-error @+1 {{krnl.conv: depth_piece is whole blocks of input channels, fewer than all, not of a depthwise convolution or one whose blocks hold several groups}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 48 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depth_piece = 0 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x3x8x8x16xf32>, memref<6912xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: next_panel_prefetch is a number of bytes above 0, dynamic where out is, not of a depthwise convolution}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, next_panel_prefetch = 0 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: next_panel_prefetch is a number of bytes above 0, dynamic where out is, not of a depthwise convolution}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, next_panel_prefetch = -9223372036854775808 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<144xf32>) {
  // expected-error @+1 {{krnl.conv: weight_prefetch is a number of bytes above 0, and no depthwise convolution has it}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depthwise, weight_prefetch = 64 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<144xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<144xf32>) {
  // expected-error @+1 {{krnl.conv: next_panel_prefetch is a number of bytes above 0, dynamic where out is, not of a depthwise convolution}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depthwise, next_panel_prefetch = 64 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<144xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: m, n, k and block are above 0, found [0, 16, 64, 32]}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 0 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: only m is dynamic, found 1 operands}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>, index) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: bits is 4 or 8, found 2}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 2 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: k holds whole blocks, and a block whole words of 8 weights, found k 64, block 48}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 48 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: either zero_points or zero_point is given}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: b holds i32, and zero_points i8}}
  "krnl.dequantize_gemm"(%c, %a, %s, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<32xf32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %i: index) {
  // expected-error @+1 {{krnl.dequantize_gemm: a range is two indices, found 1}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>, index) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %p: memref<512xf32>) {
  // expected-error @+1 {{krnl.dequantize_gemm: unpack is three numbers above 0, found [24, 0, 6]}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>, unpack = array<i64: 24, 0, 6>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %p: memref<512xf32>) {
  // expected-error @+1 {{krnl.dequantize_gemm: the depth of unpack divides k, holds whole words, and is a multiple or a divisor of a block, found 48 of k 64 with blocks of 32}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>, unpack = array<i64: 24, 48, 6>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<64xf32>) {
  // expected-error @+1 {{krnl.dequantize_gemm: products multiply weights of 4 bits with one zero point and a block that is a multiple of 32}}
  "krnl.dequantize_gemm"(%c, %a, %b, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 16 : i64, zero_point = 8 : i64, tile = array<i64: 4, 16>, products = "llvm.x86.avx512.vpdpbusd.512"}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<64xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %f: memref<4x2xf32>) {
  // expected-error @+1 {{krnl.quantized_gemm: a holds i8, found f32}}
  "krnl.quantized_gemm"(%c, %a, %b, %s, %f) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, zero_point = 8 : i64, products = "llvm.x86.avx512.vpdpbusd.512", tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xf32>, memref<128xi32>, memref<32xf32>, memref<4x2xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xi8>, %b: memref<128xi32>, %s: memref<32xf32>, %f: memref<4x2xf32>) {
  // expected-error @+1 {{krnl.quantized_gemm: block is at most 512, found 1024}}
  "krnl.quantized_gemm"(%c, %a, %b, %s, %f) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1>, m = 4 : i64, n = 16 : i64, k = 1024 : i64, bits = 4 : i64, block = 1024 : i64, zero_point = 8 : i64, products = "llvm.x86.avx512.vpdpbusd.512", tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xi8>, memref<128xi32>, memref<32xf32>, memref<4x2xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x64xi8>, %b: memref<128xi32>, %s: memref<32xf32>, %f: memref<4x2xf32>) {
  // expected-error @+1 {{krnl.quantized_gemm: k holds whole blocks, and a block whole words of 8 weights, found k 64, block 48}}
  "krnl.quantized_gemm"(%c, %a, %b, %s, %f) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1>, m = 4 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 48 : i64, zero_point = 8 : i64, products = "llvm.x86.avx512.vpdpbusd.512", tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x64xi8>, memref<128xi32>, memref<32xf32>, memref<4x2xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xi16>, %b: memref<8x16xi16>) {
  // expected-error @+1 {{krnl.gemm: products of bfloat16 are of one row-major A and one packed B}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xi16>, memref<8x16xi16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xi16>, %b: memref<8x16xi16>) {
  // expected-error @+1 {{krnl.gemm: products of bfloat16 are of one row-major A and one packed B}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, transposed_a, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xi16>, memref<8x16xi16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xi16>, %b: memref<8x16xi16>) {
  // expected-error @+1 {{krnl.gemm: products of bfloat16 are of one row-major A and one packed B}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, batch_a = array<i64: 0>, batch_b = array<i64: 0>, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xi16>, memref<8x16xi16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<8x16xi16>) {
  // expected-error @+1 {{krnl.gemm: products of bfloat16 are f32, of operands in i16; found f32, f32, i16}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xf32>, memref<8x16xi16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xi16>, %b: memref<8x16xi16>) {
  // expected-error @+1 {{krnl.gemm: products of bfloat16 take an even number of terms, found 7}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 7 : i64, tile = array<i64: 4, 16>, packed, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xi16>, memref<8x16xi16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xi16>, %b: memref<8x16xi16>, %n: index) {
  // expected-error @+1 {{krnl.gemm: products of bfloat16 have a static n}}
  "krnl.gemm"(%c, %a, %b, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, m = 4 : i64, n = -9223372036854775808 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xi16>, memref<8x16xi16>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xi16>, %w: memref<2304xi16>) {
  // expected-error @+1 {{krnl.conv: products of bfloat16 take a channel-blocked x, all channels}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depthwise, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xi16>, memref<2304xi16>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x16x8x8xi16>, %w: memref<2304xi16>) {
  // expected-error @+1 {{krnl.conv: products of bfloat16 take a channel-blocked x, all channels}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<1x1x6x6x16xf32>, memref<1x16x8x8xi16>, memref<2304xi16>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xi16>) {
  // expected-error @+1 {{krnl.conv: products of bfloat16 are f32, of operands in i16; found f32, f32, i16}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xi16>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xi16>, %w: memref<2304xi16>) {
  // expected-error @+1 {{krnl.conv: products of bfloat16 take an even number of terms, found 15}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 15 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xi16>, memref<2304xi16>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x4x6x6x16xf32>, %x: memref<1x2x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: groups are 2 or more, of a channel-blocked x, not depthwise}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 32 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 2>, groups = 1 : i64}> : (memref<1x4x6x6x16xf32>, memref<1x2x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x4x6x6x16xf32>, %x: memref<1x32x8x8xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: groups are 2 or more, of a channel-blocked x, not depthwise}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 2>, groups = 2 : i64}> : (memref<1x4x6x6x16xf32>, memref<1x32x8x8xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x4x6x6x16xf32>, %x: memref<1x2x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: groups are 2 or more, of a channel-blocked x, not depthwise}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depthwise, groups = 2 : i64}> : (memref<1x4x6x6x16xf32>, memref<1x2x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x4x6x6x16xf32>, %x: memref<1x2x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: 2 and 4 blocks of 16 are not 2 groups of 24}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 24 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 2>, groups = 2 : i64}> : (memref<1x4x6x6x16xf32>, memref<1x2x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x3x6x6x16xf32>, %x: memref<1x2x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: 2 and 3 blocks of 16 are not 2 groups of 16}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 2>, groups = 2 : i64}> : (memref<1x3x6x6x16xf32>, memref<1x2x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x4x6x6x16xf32>, %x: memref<1x2x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: 2 and 4 blocks of 16 are not 8 groups of 4}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 4 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, groups = 8 : i64}> : (memref<1x4x6x6x16xf32>, memref<1x2x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x2x6x6x16xf32>, %x: memref<1x2x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: 2 and 2 blocks of 16 are not 8 groups of 4}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 4 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 2>, groups = 8 : i64}> : (memref<1x2x6x6x16xf32>, memref<1x2x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x3x6x6x16xf32>, %x: memref<1x3x8x8x16xf32>, %w: memref<9216xf32>) {
  // expected-error @+1 {{krnl.conv: 3 and 3 blocks of 16 are not 8 groups of 6}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 6 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, groups = 8 : i64}> : (memref<1x3x6x6x16xf32>, memref<1x3x8x8x16xf32>, memref<9216xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<8x?xf32>, %a: memref<8x8xf32>, %b: memref<?xf32>, %n: index) {
  // expected-error @+1 {{krnl.gemm: next_panel_prefetch takes a number above 0, a packed B, and static n and k}}
  "krnl.gemm"(%c, %a, %b, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, packed, m = 8 : i64, n = -9223372036854775808 : i64, k = 8 : i64, tile = array<i64: 4, 32>, next_panel_prefetch = 32 : i64}> : (memref<8x?xf32>, memref<8x8xf32>, memref<?xf32>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<2x1x6x6x16xf32>, %x: memref<4x1x8x8x16xf32>, %w: memref<4608xf32>) {
  // expected-error @+1 {{krnl.conv: plane_step is 1 or more, of a convolution of all channels}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 32 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, plane_step = 0 : i64}> : (memref<2x1x6x6x16xf32>, memref<4x1x8x8x16xf32>, memref<4608xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<2x1x6x6x16xf32>, %x: memref<4x1x8x8x16xf32>, %w: memref<4608xf32>) {
  // expected-error @+1 {{krnl.conv: images of 32 channels, 3 planes apart, of 4 planes of 16}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 32 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, plane_step = 3 : i64}> : (memref<2x1x6x6x16xf32>, memref<4x1x8x8x16xf32>, memref<4608xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<2x1x6x6x16xf32>, %x: memref<4x1x8x8x16xf32>, %w: memref<4608xf32>) {
  // expected-error @+1 {{krnl.conv: images of 40 channels, 2 planes apart, of 4 planes of 16}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 40 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, plane_step = 2 : i64}> : (memref<2x1x6x6x16xf32>, memref<4x1x8x8x16xf32>, memref<4608xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: halo holds four sizes of 0 or more, not of a depthwise convolution}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, halo = array<i64: 1, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: halo holds four sizes of 0 or more, not of a depthwise convolution}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, halo = array<i64: 1, -1, 1, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<144xf32>) {
  // expected-error @+1 {{krnl.conv: halo holds four sizes of 0 or more, not of a depthwise convolution}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depthwise, halo = array<i64: 1, 1, 1, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<144xf32>) -> ()
  return
}

// -----

func.func private @k(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  // expected-error @+1 {{krnl.conv: windows begin at 1, end at 9, of 8 columns}}
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 1>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

func.func private @k(%y: memref<1x6x6x16xi8>, %x: memref<1x8x8x4xi8>, %w: memref<576xi8>, %s: memref<16xi32>) {
  // expected-error @+1 {{krnl.int8_conv: windows begin at -1, end at 7, of 8 rows}}
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: -1, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "f"}> ({
  ^bb0(%sum: i32):
    %b = arith.trunci %sum : i32 to i8
    krnl.stored %b : i8
  }) : (memref<1x6x6x16xi8>, memref<1x8x8x4xi8>, memref<576xi8>, memref<16xi32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<128xi8>) {
  // expected-error @+1 {{krnl.gemm: the elements of b are those of c, or f16 or i16 (bfloat16) for f32; found i8 for f32}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed}> : (memref<4x16xf32>, memref<4x8xf32>, memref<128xi8>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf64>, %a: memref<4x8xf64>, %b: memref<128xf16>) {
  // expected-error @+1 {{krnl.gemm: the elements of b are those of c, or f16 or i16 (bfloat16) for f32; found f16 for f64}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed}> : (memref<4x16xf64>, memref<4x8xf64>, memref<128xf16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<128xi16>) {
  // expected-error @+1 {{krnl.gemm: a b of 16 bits is packed, with static n and k}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x8xf32>, memref<128xi16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<128xf32>) {
  // expected-error @+1 {{krnl.gemm: unpack is two numbers above 0, of a b of 16 bits}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, unpack = array<i64: 24, 8>}> : (memref<4x16xf32>, memref<4x8xf32>, memref<128xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<128xf16>) {
  // expected-error @+1 {{krnl.gemm: unpack is two numbers above 0, of a b of 16 bits}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, unpack = array<i64: 24, 0>}> : (memref<4x16xf32>, memref<4x8xf32>, memref<128xf16>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<128xf16>) {
  // expected-error @+1 {{krnl.gemm: unpack takes panels one by one, of one product}}
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, rows_first, unpack = array<i64: 24, 8>}> : (memref<4x16xf32>, memref<4x8xf32>, memref<128xf16>) -> ()
  return
}
