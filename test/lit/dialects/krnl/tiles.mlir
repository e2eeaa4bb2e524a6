// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @product
func.func @product(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<8x16xf32>, %d: memref<16xf32>) {
  // CHECK-NEXT: "krnl.gemm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: activation = "relu"
  // CHECK-SAME: tile = array<i64: 4, 16>
  "krnl.gemm"(%c, %a, %b, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, activation = "relu", packed}> : (memref<4x16xf32>, memref<4x8xf32>, memref<8x16xf32>, memref<16xf32>) -> ()
  return
}

// Rows 0 to %n of a convolution of images with halos.
// CHECK-LABEL: @f
func.func @f(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index) {
  // CHECK-NEXT: "krnl.conv"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: depth = 16 : i64
  // CHECK-SAME: tile = array<i64: 6, 1>
  "krnl.conv"(%y, %x, %w, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>, low = 0.000000e+00 : f32}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>, index, index) -> ()
  return
}
