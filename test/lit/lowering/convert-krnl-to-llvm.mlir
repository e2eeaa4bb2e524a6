// RUN: onnx-opt %s --convert-krnl-to-llvm --split-input-file | filecheck %s
// RUN: onnx-opt %s --convert-krnl-to-llvm="processor=portable" --split-input-file | filecheck %s --check-prefix=PORTABLE

// 19 elements: a vector of 16 and one of 3; where vectors have 4 lanes, four of these and one of 3.
// CHECK-LABEL: llvm.func internal @double
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<3xf32>
// CHECK-NOT:     krnl.
// PORTABLE:      llvm.fadd %{{.*}} : vector<4xf32>
// PORTABLE:      llvm.fadd %{{.*}} : vector<3xf32>
func.func private @double(%y: memref<19xf32>, %x: memref<19xf32>) {
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 19) {
    %0 = krnl.load %x[%i] : memref<19xf32>
    %1 = arith.addf %0, %0 : f32
    krnl.store %1, %y[%i] : memref<19xf32>
  }
  return
}

// -----

// Elements that do not lie side by side are read one by one.
// CHECK-LABEL: llvm.func internal @transpose
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NOT:     vector<
func.func private @transpose(%y: memref<3x32xf32>, %x: memref<32x3xf32>) {
  %l:2 = krnl.define_loops 2
  krnl.iterate(%l#0, %l#1) with (%l#0 -> %i = 0 to 3, %l#1 -> %j = 0 to 32) {
    %0 = krnl.load %x[%j, %i] : memref<32x3xf32>
    krnl.store %0, %y[%i, %j] : memref<3x32xf32>
  }
  return
}

// -----

// A sum becomes a vector of sums, whose halves are added until one number is left.
// CHECK-LABEL: llvm.func internal @sum
// CHECK:         llvm.fadd %{{.*}} : vector<16xf32>
// CHECK:         llvm.shufflevector %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<8xf32>
// CHECK:         llvm.store
func.func private @sum(%y: memref<1xf32>, %x: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %l = krnl.define_loops 1
  %s = krnl.iterate(%l) with (%l -> %i = 0 to 64) iter_args(%a = %zero) -> (f32) {
    %0 = krnl.load %x[%i] : memref<64xf32>
    %1 = arith.addf %a, %0 : f32
    krnl.yield %1 : f32
  }
  krnl.store %s, %y[%c0] : memref<1xf32>
  return
}

// -----

// A tile of a product: its sums are carried in the loop along the inner dimension.
// CHECK-LABEL: llvm.func internal @product
// CHECK:         llvm.intr.fma
func.func private @product(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<8x16xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x8xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

// A convolution: 6 pixels of one block of channels are 6 sums, which are carried through the window.
// CHECK-LABEL: llvm.func internal @conv
// CHECK-SAME:    %{{[^:]*}}: i64, %{{[^:]*}}: i64
// CHECK-COUNT-6: llvm.intr.fma
// CHECK-NOT:     llvm.intr.fma
// CHECK:         llvm.store
func.func private @conv(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>, index, index) -> ()
  return
}
