// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @product
func.func @product(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<8x16xf32>, %d: memref<16xf32>) {
  // CHECK-NEXT: "krnl.gemm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: activation = "relu"
  // CHECK-SAME: tile = array<i64: 4, 16>
  "krnl.gemm"(%c, %a, %b, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, activation = "relu", packed}> : (memref<4x16xf32>, memref<4x8xf32>, memref<8x16xf32>, memref<16xf32>) -> ()
  return
}

// Weights in 16 bits, of which the stack holds 8 rows of a panel as float32 from 24 rows of A on.
// CHECK-LABEL: @narrow_product
func.func @narrow_product(%c: memref<?x16xf32>, %a: memref<?x8xf32>, %b: memref<128xf16>, %m: index) {
  // CHECK-NEXT: "krnl.gemm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: unpack = array<i64: 24, 8>
  // CHECK-SAME: memref<128xf16>
  "krnl.gemm"(%c, %a, %b, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, m = -9223372036854775808 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, unpack = array<i64: 24, 8>}> : (memref<?x16xf32>, memref<?x8xf32>, memref<128xf16>, index) -> ()
  return
}

// An int8 convolution with per-channel scales and a residual image that its epilogue adds.
// CHECK-LABEL: @bytes
func.func @bytes(%y: memref<1x6x6x16xi8>, %x: memref<1x8x8x4xi8>, %w: memref<576xi8>, %s: memref<16xi32>, %r: memref<1x7x7x16xi8>) {
  // CHECK-NEXT: "krnl.int8_conv"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: image_starts = array<i64: 1, 1>
  // CHECK-SAME: products = "llvm.x86.avx512.vpdpbusd.512"
  // CHECK-NEXT: ^{{.*}}(%{{.*}}: i32, %[[K:.*]]: i32, %[[B:.*]]: i8):
  // CHECK-NEXT:   krnl.stored %[[B]] : i8
  "krnl.int8_conv"(%y, %x, %w, %s, %s, %r) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64: 1, 1>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "llvm.x86.avx512.vpdpbusd.512"}> ({
  ^bb0(%sum: i32, %k: i32, %b: i8):
    krnl.stored %b : i8
  }) : (memref<1x6x6x16xi8>, memref<1x8x8x4xi8>, memref<576xi8>, memref<16xi32>, memref<16xi32>, memref<1x7x7x16xi8>) -> ()
  return
}

// Rows 0 to %n of a convolution whose input and output images have halos.
// CHECK-LABEL: @f
func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // CHECK-NEXT: "krnl.conv"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: depth = 16 : i64
  // CHECK-SAME: tile = array<i64: 6, 1>
  "krnl.conv"(%y, %x, %w, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, low = 0.000000e+00 : f32}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>, index, index) -> ()
  return
}

// -----

// A dilated window, of which rows and columns in a halo of zeros are skipped.
// CHECK-LABEL: @dilated
// CHECK:         halo = array<i64: 3, 3, 3, 3>
func.func @dilated(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x12x12x16xf32>, %w: memref<2304xf32>) {
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 3, 3>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, halo = array<i64: 3, 3, 3, 3>}> : (memref<1x1x6x6x16xf32>, memref<1x1x12x12x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

// An image of 32 channels is two planes of 16; the next one begins two planes later.
// CHECK-LABEL: @volumes
// CHECK:         plane_step = 2 : i64
func.func @volumes(%y: memref<2x1x6x6x16xf32>, %x: memref<4x1x8x8x16xf32>, %w: memref<4608xf32>) {
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 32 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, plane_step = 2 : i64}> : (memref<2x1x6x6x16xf32>, memref<4x1x8x8x16xf32>, memref<4608xf32>) -> ()
  return
}

// -----

// Rows of B that are multiplied in pieces.
// CHECK-LABEL: @rows_in_pieces
// CHECK:         depth_piece = 16 : i64
func.func @rows_in_pieces(%c: memref<8x64xf32>, %a: memref<8x40xf32>, %b: memref<2x40x32xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, m = 8 : i64, n = 64 : i64, k = 40 : i64, tile = array<i64: 4, 32>, depth_piece = 16 : i64}> : (memref<8x64xf32>, memref<8x40xf32>, memref<2x40x32xf32>) -> ()
  return
}

// -----

// Input channels that are multiplied in pieces.
// CHECK-LABEL: @in_pieces
// CHECK:         depth_piece = 16 : i64
func.func @in_pieces(%y: memref<1x1x6x6x16xf32>, %x: memref<1x3x8x8x16xf32>, %w: memref<6912xf32>) {
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 48 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, depth_piece = 16 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x3x8x8x16xf32>, memref<6912xf32>) -> ()
  return
}

// -----

// Weights that are prefetched.
// CHECK-LABEL: @prefetched
// CHECK:         weight_prefetch = 2048 : i64
func.func @prefetched(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, weight_prefetch = 2048 : i64}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// -----

// An epilogue region: applied to each result of a convolution before it is stored.
// CHECK-LABEL: @epilogue
// CHECK:         "krnl.conv"
// CHECK:         ^{{.*}}(%[[V:.*]]: f32):
// CHECK-NEXT:      %[[R:.*]] = arith.mulf %[[V]], %[[V]] : f32
// CHECK-NEXT:      krnl.yield %[[R]] : f32
func.func @epilogue(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>) {
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> ({
  ^bb0(%v: f32):
    %r = arith.mulf %v, %v : f32
    krnl.yield %r : f32
  }) : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>) -> ()
  return
}

// Weights of 4 bits in words of 8, with a scale and a zero point for each block of 32.
// CHECK-LABEL: @quantized_weights
func.func @quantized_weights(%c: memref<?x16xf32>, %a: memref<?x64xf32>, %b: memref<128xi32>, %s: memref<32xf32>, %z: memref<32xi8>, %m: index) {
  // CHECK-NEXT: "krnl.dequantize_gemm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: bits = 4 : i64, block = 32 : i64
  // CHECK-SAME: tile = array<i64: 4, 16>
  "krnl.dequantize_gemm"(%c, %a, %b, %s, %z, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 1>, m = -9223372036854775808 : i64, n = 16 : i64, k = 64 : i64, bits = 4 : i64, block = 32 : i64, tile = array<i64: 4, 16>}> : (memref<?x16xf32>, memref<?x64xf32>, memref<128xi32>, memref<32xf32>, memref<32xi8>, index) -> ()
  return
}

// -----

// Operands are the bits of bfloat16 values; an instruction adds two products.
// CHECK-LABEL: @bf16
// CHECK:         "krnl.gemm"
// CHECK-SAME:      products = "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK:         "krnl.conv"
// CHECK-SAME:      products = "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @bf16(%c: memref<4x16xf32>, %a: memref<4x8xi16>, %b: memref<8x16xi16>, %y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xi16>, %w: memref<2304xi16>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, packed, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<4x16xf32>, memref<4x8xi16>, memref<8x16xi16>) -> ()
  "krnl.conv"(%y, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, products = "llvm.x86.avx512bf16.dpbf16ps.512"}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xi16>, memref<2304xi16>) -> ()
  return
}

// -----

// Dot products of rows of A and rows of B.
// CHECK-LABEL: @dot_products
// CHECK:         "krnl.gemm"
// CHECK-SAME:      transposed_b
func.func @dot_products(%c: memref<2x16xf32>, %a: memref<2x64xf32>, %b: memref<16x64xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 2 : i64, n = 16 : i64, k = 64 : i64, tile = array<i64: 2, 8>, transposed_b}> : (memref<2x16xf32>, memref<2x64xf32>, memref<16x64xf32>) -> ()
  return
}
