// RUN: onnx-opt %s --convert-krnl-to-llvm --split-input-file | filecheck %s
// RUN: onnx-opt %s --convert-krnl-to-llvm="processor=portable" --split-input-file | filecheck %s --check-prefix=PORTABLE
// RUN: onnx-opt %s --convert-krnl-to-llvm="threads=2" --split-input-file | filecheck %s --check-prefix=SHARED

// 19 elements: a vector of 16 and one of 3; with 4 lanes, four vectors of 4 and one of 3. The stack is aligned to
// vectors, which may be spilled.
// CHECK-LABEL: llvm.func internal @double
// CHECK-SAME:    attributes {passthrough = {{\[\[}}"alignstack", "64"{{\]\]}}}
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<3xf32>
// CHECK-NOT:     krnl.
// PORTABLE-LABEL: llvm.func internal @double(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) {
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

// An index that is used as a number becomes a vector of numbers, also a multiple of it.
// CHECK-LABEL: llvm.func internal @numbers
// CHECK:         %[[LANES:.*]] = llvm.mlir.constant(dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]> : vector<16xi32>)
// CHECK:         llvm.add %{{.*}}, %[[LANES]] : vector<16xi32>
func.func private @numbers(%y: memref<32xi32>) {
  %two = arith.constant 2 : index
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 32) {
    %0 = arith.muli %i, %two : index
    %1 = arith.index_cast %0 : index to i32
    krnl.store %1, %y[%i] : memref<32xi32>
  }
  return
}

// -----

// Non-contiguous elements are loaded one by one.
// CHECK-LABEL: llvm.func internal @transpose
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NOT:     vector<
func.func private @transpose(%y: memref<5x32xf32>, %x: memref<32x5xf32>) {
  %l:2 = krnl.define_loops 2
  krnl.iterate(%l#0, %l#1) with (%l#0 -> %i = 0 to 5, %l#1 -> %j = 0 to 32) {
    %0 = krnl.load %x[%j, %i] : memref<32x5xf32>
    krnl.store %0, %y[%i, %j] : memref<5x32xf32>
  }
  return
}

// -----

// A reduction has four vectors of partial results, as an addition needs the result of the one before it. They are added, then the upper half to the lower half
// repeatedly. The two vectors that are left of ten have one partial result.
// CHECK-LABEL: llvm.func internal @sum
// CHECK:       ^{{.*}}(%{{.*}}: i64{{.*}}, %[[A:.*]]: vector<16xf32>{{.*}}, %[[B:.*]]: vector<16xf32>{{.*}}, %[[C:.*]]: vector<16xf32>{{.*}}, %[[D:.*]]: vector<16xf32>
// CHECK:         llvm.fadd %[[A]], %{{.*}} : vector<16xf32>
// CHECK:         llvm.fadd %[[B]], %{{.*}} : vector<16xf32>
// CHECK:         llvm.fadd %[[C]], %{{.*}} : vector<16xf32>
// CHECK:         llvm.fadd %[[D]], %{{.*}} : vector<16xf32>
// CHECK:         llvm.fadd %[[A]], %[[B]] : vector<16xf32>
// CHECK:         llvm.fadd %[[C]], %[[D]] : vector<16xf32>
// CHECK:       ^{{.*}}(%{{.*}}: i64{{.*}}, %[[E:.*]]: vector<16xf32>
// CHECK:         llvm.fadd %[[E]], %{{.*}} : vector<16xf32>
// CHECK:         llvm.shufflevector %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf32>
// CHECK:         llvm.fadd %{{.*}} : vector<8xf32>
// CHECK:         llvm.store
func.func private @sum(%y: memref<1xf32>, %x: memref<160xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %l = krnl.define_loops 1
  %s = krnl.iterate(%l) with (%l -> %i = 0 to 160) iter_args(%a = %zero) -> (f32) {
    %0 = krnl.load %x[%i] : memref<160xf32>
    %1 = arith.addf %a, %0 : f32
    krnl.yield %1 : f32
  }
  krnl.store %s, %y[%c0] : memref<1xf32>
  return
}

// -----

// Iterations with an exponential take longer than an addition: the sum has one vector.
// CHECK-LABEL: llvm.func internal @sum_of_exponentials
// CHECK:         %[[STEP:.*]] = llvm.mlir.constant(16) : i64
// CHECK:       ^{{.*}}(%{{.*}}: i64{{.*}}, %[[A:.*]]: vector<16xf32>
// CHECK:         llvm.fadd %[[A]], %{{.*}} : vector<16xf32>
// CHECK-NEXT:    llvm.add %{{.*}}, %[[STEP]] : i64
func.func private @sum_of_exponentials(%y: memref<1xf32>, %x: memref<160xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %l = krnl.define_loops 1
  %s = krnl.iterate(%l) with (%l -> %i = 0 to 160) iter_args(%a = %zero) -> (f32) {
    %0 = krnl.load %x[%i] : memref<160xf32>
    %1 = math.exp %0 : f32
    %2 = arith.addf %a, %1 : f32
    krnl.yield %2 : f32
  }
  krnl.store %s, %y[%c0] : memref<1xf32>
  return
}

// -----

// A tile of a matrix product: accumulators are carried through the loop over the inner dimension.
// CHECK-LABEL: llvm.func internal @product
// CHECK:         llvm.intr.fma
func.func private @product(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<8x16xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<4x8xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

// A transposed A: the rows of a tile are consecutive elements, a step of k is a row of 4.
// CHECK-LABEL: llvm.func internal @transposed
// CHECK:         llvm.getelementptr inbounds %{{.*}}[3] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK:         llvm.intr.fma
func.func private @transposed(%c: memref<4x16xf32>, %a: memref<8x4xf32>, %b: memref<8x16xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, transposed_a, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>}> : (memref<4x16xf32>, memref<8x4xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

// B is prefetched as many bytes ahead as the `prefetch` attribute says.
// CHECK-LABEL: llvm.func internal @streamed
// CHECK:         llvm.getelementptr %{{.*}}[1024]
// CHECK:         "llvm.prefetch.p0"
// CHECK:         llvm.intr.fma
func.func private @streamed(%c: memref<1x64xf32>, %a: memref<1x512xf32>, %b: memref<32768xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, prefetch = 1024 : i64, m = 1 : i64, n = 64 : i64, k = 512 : i64, tile = array<i64: 1, 64>}> : (memref<1x64xf32>, memref<1x512xf32>, memref<32768xf32>) -> ()
  return
}

// -----

// A tile of two rows and two vectors prefetches, for writing, the four lines of C that it stores after the loop.
// CHECK-LABEL: llvm.func internal @stored_later
// CHECK:         %[[WRITE:.*]] = llvm.mlir.constant(1 : i32) : i32
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.prefetch.p0"(%{{.*}}, %[[WRITE]], %{{.*}}, %[[WRITE]])
// CHECK-NOT:     "llvm.prefetch.p0"
// CHECK:         llvm.intr.fma
func.func private @stored_later(%c: memref<2x32xf32>, %a: memref<2x512xf32>, %b: memref<16384xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, write_prefetch, m = 2 : i64, n = 32 : i64, k = 512 : i64, tile = array<i64: 2, 32>}> : (memref<2x32xf32>, memref<2x512xf32>, memref<16384xf32>) -> ()
  return
}

// -----

// The outer loop is over the tiles of two rows, 16 elements of C each; the inner one over the panels of four columns.
// CHECK-LABEL: llvm.func internal @row_by_row
// CHECK-DAG:     %[[TILES:.*]] = llvm.mlir.constant(3) : i64
// CHECK-DAG:     %[[PANELS:.*]] = llvm.mlir.constant(2) : i64
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[TILES]]
// CHECK:         llvm.icmp "slt" %{{.*}}, %[[PANELS]]
func.func private @row_by_row(%c: memref<6x8xf32>, %a: memref<6x5xf32>, %b: memref<40xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, rows_first, m = 6 : i64, n = 8 : i64, k = 5 : i64, tile = array<i64: 2, 4>}> : (memref<6x8xf32>, memref<6x5xf32>, memref<40xf32>) -> ()
  return
}

// -----

// 1x1 convolution: pixels of the next channel block are prefetched by cache lines: three pixels of
// 16 channels of 4 bytes; 4 pixels of one block before the next.
// CHECK-LABEL: llvm.func internal @announced
// CHECK:         llvm.getelementptr %{{.*}}[64]
// CHECK:         "llvm.prefetch.p0"
// CHECK:         llvm.getelementptr %{{.*}}[64]
// CHECK:         "llvm.prefetch.p0"
// CHECK:         llvm.getelementptr %{{.*}}[128]
// CHECK:         "llvm.prefetch.p0"
// CHECK-NOT:     "llvm.prefetch.p0"
// CHECK:         llvm.return
func.func private @announced(%y: memref<1x1x1x4x16xf32>, %x: memref<1x2x1x4x16xf32>, %w: memref<512xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 32 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 1, 3>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 3, 1>, prefetch = 64 : i64}> : (memref<1x1x1x4x16xf32>, memref<1x2x1x4x16xf32>, memref<512xf32>, index, index) -> ()
  return
}

// -----

// Each of two tiles of rows prefetches half of the next panel of 8x32 weights, 64 bytes a step, into the second-level
// cache: the panel is 1,024 bytes further, a tile's share 8 * 64 bytes, and the locality 2.
// CHECK-LABEL: llvm.func internal @next_panel
// CHECK:         %[[LEVEL:.*]] = llvm.mlir.constant(2 : i32) : i32
// CHECK:         %[[SHARE:.*]] = llvm.mlir.constant(512) : i64
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %{{.*}}[1024] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         %[[START:.*]] = llvm.mul %{{.*}}, %[[SHARE]] : i64
// CHECK:         llvm.getelementptr %[[NEXT]][%[[START]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         llvm.call_intrinsic "llvm.prefetch.p0"(%{{.*}}, %{{.*}}, %[[LEVEL]], %{{.*}})
// CHECK:         llvm.intr.fma
func.func private @next_panel(%c: memref<8x64xf32>, %a: memref<8x8xf32>, %b: memref<512xf32>) {
  "krnl.gemm"(%c, %a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, packed, next_panel_prefetch = 64 : i64, m = 8 : i64, n = 64 : i64, k = 8 : i64, tile = array<i64: 4, 32>}> : (memref<8x64xf32>, memref<8x8xf32>, memref<512xf32>) -> ()
  return
}

// -----

// With a dynamic number of rows, a step prefetches the 128 bytes of a row of the panel divided by the number of tiles.
// CHECK-LABEL: llvm.func internal @next_panel_of_dynamic_rows
// CHECK-COUNT-2: llvm.cond_br
// CHECK:         %[[TILES:.*]] = llvm.sdiv
// CHECK:         %[[BYTES:.*]] = llvm.sdiv %{{.*}}, %[[TILES]] : i64
// CHECK:         %[[TILE:.*]] = llvm.udiv
// CHECK:         %[[SHARE:.*]] = llvm.mul %[[BYTES]], %{{.*}} : i64
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %{{.*}}[1024] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         %[[START:.*]] = llvm.mul %[[TILE]], %[[SHARE]] : i64
// CHECK:         llvm.getelementptr %[[NEXT]][%[[START]]]
// CHECK:         llvm.call_intrinsic "llvm.prefetch.p0"
func.func private @next_panel_of_dynamic_rows(%c: memref<?x64xf32>, %a: memref<?x8xf32>, %b: memref<512xf32>, %m: index) {
  "krnl.gemm"(%c, %a, %b, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, packed, next_panel_prefetch = -9223372036854775808 : i64, m = -9223372036854775808 : i64, n = 64 : i64, k = 8 : i64, tile = array<i64: 4, 32>}> : (memref<?x64xf32>, memref<?x8xf32>, memref<512xf32>, index) -> ()
  return
}

// -----

// The same for a convolution: a panel is 16 channels by 32, 2,048 bytes; the first of two rows prefetches the first half
// of the next one, two lines of 64 bytes a step where 128 are asked for. A narrower last panel has none after it.
// CHECK-LABEL: llvm.func internal @next_panel_of_convolution
// CHECK:         llvm.getelementptr %{{.*}}[2048] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.call_intrinsic "llvm.prefetch.p0"
// CHECK:         llvm.getelementptr %{{.*}}[64] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK:         llvm.call_intrinsic "llvm.prefetch.p0"
// CHECK:         llvm.getelementptr %{{.*}}[128] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NOT:     llvm.prefetch
// CHECK:         llvm.return
func.func private @next_panel_of_convolution(%y: memref<1x3x2x4x16xf32>, %x: memref<1x1x2x4x16xf32>, %w: memref<768xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 16 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 2, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 2>, next_panel_prefetch = 128 : i64}> : (memref<1x3x2x4x16xf32>, memref<1x1x2x4x16xf32>, memref<768xf32>, index, index) -> ()
  return
}

// -----

// A row of dynamic width is divided into tiles of 4, 3, 2 and 1 pixels; a step prefetches 128 bytes of the next panel,
// divided by the number of tiles.
// CHECK-LABEL: llvm.func internal @rows_of_dynamic_width
// CHECK:         %[[IN_ROW:.*]] = llvm.sdiv
// CHECK:         %[[TILES:.*]] = llvm.mul %{{.*}}, %[[IN_ROW]] : i64
// CHECK:         %[[ANY:.*]] = llvm.call_intrinsic "llvm.smax.i64"(%[[TILES]], %{{.*}})
// CHECK:         %[[BYTES:.*]] = llvm.sdiv %{{.*}}, %[[ANY]] : i64
// CHECK-COUNT-4: llvm.mul %[[BYTES]], %{{.*}} : i64
// CHECK-NOT:     llvm.mul %[[BYTES]]
func.func private @rows_of_dynamic_width(%y: memref<1x2x?x?x16xf32>, %x: memref<1x1x?x?x16xf32>, %w: memref<512xf32>, %i: index, %n: index, %h: index, %v: index) {
  "krnl.conv"(%y, %x, %w, %i, %n, %h, %v) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 2>, depth = 16 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: -9223372036854775808, -9223372036854775808>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 2>, next_panel_prefetch = -9223372036854775808 : i64}> : (memref<1x2x?x?x16xf32>, memref<1x1x?x?x16xf32>, memref<512xf32>, index, index, index, index) -> ()
  return
}

// -----

// Window rows and columns in the halo are skipped, and their weights.
// CHECK-LABEL: llvm.func internal @dilated_window
// CHECK:         llvm.call_intrinsic "llvm.smax.i64"
// CHECK:         %[[END:.*]] = llvm.call_intrinsic "llvm.smin.i64"
// CHECK:         %[[FIRST:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%{{.*}}, %[[END]])
// CHECK:         llvm.mul %[[FIRST]], %{{.*}} : i64
// CHECK:         llvm.sub %{{.*}}, %[[END]] : i64
func.func private @dilated_window(%y: memref<1x1x4x4x16xf32>, %x: memref<1x1x12x12x16xf32>, %w: memref<2304xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 4, 4>, start = array<i64: 0, 0>, out = array<i64: 4, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 1>, halo = array<i64: 4, 4, 4, 4>}> : (memref<1x1x4x4x16xf32>, memref<1x1x12x12x16xf32>, memref<2304xf32>, index, index) -> ()
  return
}

// -----

// Two groups of 8 channels in a block: the first step multiplies by channel 0 in the lanes of the first group and by
// channel 8 in those of the second.
// CHECK-LABEL: llvm.func internal @groups_in_a_block
// CHECK:         llvm.shufflevector {{.*}} [0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8]
// CHECK:         llvm.intr.fma
// CHECK:         llvm.shufflevector {{.*}} [1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9]
func.func private @groups_in_a_block(%y: memref<1x1x1x4x16xf32>, %x: memref<1x1x1x4x16xf32>, %w: memref<128xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 8 : i64, groups = 2 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 1, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 1>}> : (memref<1x1x1x4x16xf32>, memref<1x1x1x4x16xf32>, memref<128xf32>, index, index) -> ()
  return
}

// -----

// Two groups of two blocks each: a panel of blocks 2 and 3 reads from block 2 of the input on.
// CHECK-LABEL: llvm.func internal @groups_of_blocks
// CHECK:         %[[GROUP:.*]] = llvm.udiv %{{.*}}, %[[TWO:.*]] : i64
// CHECK:         llvm.mul %[[GROUP]], %[[TWO]] : i64
func.func private @groups_of_blocks(%y: memref<1x4x1x4x16xf32>, %x: memref<1x4x1x4x16xf32>, %w: memref<2048xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 32 : i64, groups = 2 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 1, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 2>}> : (memref<1x4x1x4x16xf32>, memref<1x4x1x4x16xf32>, memref<2048xf32>, index, index) -> ()
  return
}

// -----

// Weights of a convolution are prefetched as many bytes ahead as `weight_prefetch` says: two vectors in each
// step, of two blocks of channels.
// CHECK-LABEL: llvm.func internal @weights_ahead
// CHECK:         llvm.getelementptr %[[W:.*]][2048]
// CHECK-NEXT:    "llvm.prefetch.p0"
// CHECK-NEXT:    llvm.getelementptr %[[W]][2112]
// CHECK-NEXT:    "llvm.prefetch.p0"
// CHECK-NOT:     "llvm.prefetch.p0"
// CHECK-COUNT-6: llvm.intr.fma
// CHECK-NOT:     "llvm.prefetch.p0"
// CHECK:         llvm.return
func.func private @weights_ahead(%y: memref<1x2x1x4x16xf32>, %x: memref<1x2x1x4x16xf32>, %w: memref<1024xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 32 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 1, 3>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 3, 2>, weight_prefetch = 2048 : i64}> : (memref<1x2x1x4x16xf32>, memref<1x2x1x4x16xf32>, memref<1024xf32>, index, index) -> ()
  return
}

// -----

// A convolution: 6 pixels of one channel block are 6 accumulators, carried through the loops over the window.
// Their elements are at constant distances from one pointer, which is hidden from loop strength reduction.
// CHECK-LABEL: llvm.func internal @conv
// CHECK-SAME:    %{{[^:]*}}: i64, %{{[^:]*}}: i64
// CHECK:         %[[X:.*]] = llvm.call_intrinsic "llvm.ptrmask.p0.i64"
// CHECK:         llvm.load %[[X]]
// CHECK:         llvm.intr.fma
// CHECK:         llvm.getelementptr inbounds %[[X]][16]
// CHECK-COUNT-5: llvm.intr.fma
// CHECK-NOT:     llvm.intr.fma
// CHECK:         llvm.store
func.func private @conv(%y: memref<1x1x6x6x16xf32>, %x: memref<1x1x8x8x16xf32>, %w: memref<2304xf32>, %i: index, %n: index) {
  "krnl.conv"(%y, %x, %w, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 0>, depth = 16 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 6, 1>}> : (memref<1x1x6x6x16xf32>, memref<1x1x8x8x16xf32>, memref<2304xf32>, index, index) -> ()
  return
}

// -----

// Int8 convolution: each dot product adds four products for each of 6 pixels; the region maps a sum to what is stored.
// CHECK-LABEL: llvm.func internal @bytes
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         llvm.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK:         llvm.store %{{.*}} : vector<16xf32>
func.func private @bytes(%y: memref<1x6x6x16xf32>, %x: memref<1x8x8x4xi8>, %w: memref<576xi8>, %s: memref<16xi32>, %i: index, %n: index) {
  "krnl.int8_conv"(%y, %x, %w, %s, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 2, 0>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "llvm.x86.avx512.vpdpbusd.512"}> ({
  ^bb0(%sum: i32):
    %f = arith.sitofp %sum : i32 to f32
    krnl.stored %f : f32
  }) : (memref<1x6x6x16xf32>, memref<1x8x8x4xi8>, memref<576xi8>, memref<16xi32>, index, index) -> ()
  return
}

// -----

// The epilogues of long sums, here of 36 dot products, are a loop over pixels: sums are stored first.
// CHECK-LABEL: llvm.func internal @bytes_of_long_sums
// CHECK:         %[[SPACE:.*]] = llvm.alloca
// CHECK-COUNT-6: llvm.store %{{.*}} : vector<16xi32>, !llvm.ptr
// CHECK:         llvm.load %{{.*}} : !llvm.ptr -> vector<16xi32>
// CHECK:         llvm.sitofp
// CHECK-NOT:     llvm.sitofp
func.func private @bytes_of_long_sums(%y: memref<1x6x6x16xf32>, %x: memref<1x8x8x16xi8>, %w: memref<2304xi8>, %s: memref<16xi32>, %i: index, %n: index) {
  "krnl.int8_conv"(%y, %x, %w, %s, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 2, 0>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 16 : i64, products = "llvm.x86.avx512.vpdpbusd.512"}> ({
  ^bb0(%sum: i32):
    %f = arith.sitofp %sum : i32 to f32
    %m = arith.mulf %f, %f : f32
    %r = arith.addf %m, %f : f32
    krnl.stored %r : f32
  }) : (memref<1x6x6x16xf32>, memref<1x8x8x16xi8>, memref<2304xi8>, memref<16xi32>, index, index) -> ()
  return
}

// -----

// Without int8 dot products, two int16 products are added at a time.
// CHECK-LABEL: llvm.func internal @pairs
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         llvm.mul %{{.*}} : vector<16xi32>
// CHECK:         llvm.store %{{.*}} : vector<8xi32>
func.func private @pairs(%y: memref<1x6x6x8xi32>, %x: memref<1x6x6x2xi8>, %w: memref<16xi16>, %s: memref<8xi32>) {
  "krnl.int8_conv"(%y, %x, %w, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 6, 6>, out_start = array<i64: 0, 0>, image_starts = array<i64>, tile = array<i64: 6, 1>, lanes = 8 : i64}> ({
  ^bb0(%sum: i32):
    krnl.stored %sum : i32
  }) : (memref<1x6x6x8xi32>, memref<1x6x6x2xi8>, memref<16xi16>, memref<8xi32>) -> ()
  return
}

// -----

// A vectorised select takes a vector of i1.
// CHECK-LABEL: llvm.func internal @relu
// CHECK:         %[[C:.*]] = llvm.fcmp "olt" %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:         llvm.select %[[C]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
func.func private @relu(%y: memref<16xf32>, %x: memref<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 16) {
    %0 = krnl.load %x[%i] : memref<16xf32>
    %1 = arith.cmpf olt, %0, %zero : f32
    %2 = arith.select %1, %zero, %0 : f32
    krnl.store %2, %y[%i] : memref<16xf32>
  }
  return
}

// -----

// Stride 2: contiguous vectors are loaded, never beyond the last element, and shuffled to the even elements.
// CHECK-LABEL: llvm.func internal @halved
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK-NEXT:    llvm.shufflevector %{{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31] : vector<16xf32>
// CHECK:         llvm.store %{{.*}} : vector<16xf32>
func.func private @halved(%y: memref<16xf32>, %x: memref<31xf32>) {
  %c2 = arith.constant 2 : index
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 16) {
    %j = arith.muli %i, %c2 : index
    %v = krnl.load %x[%j] : memref<31xf32>
    krnl.store %v, %y[%i] : memref<16xf32>
  }
  return
}

// -----

// A maximum with nnan is one comparison.
// CHECK-LABEL: llvm.func internal @largest
// CHECK-NOT:     llvm.maximum
// CHECK:         llvm.fcmp "ogt"
func.func private @largest(%y: memref<1xf32>, %x: memref<1xf32>) {
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 1) {
    %a = krnl.load %x[%i] : memref<1xf32>
    %b = krnl.load %y[%i] : memref<1xf32>
    %v = arith.maximumf %a, %b fastmath<nnan> : f32
    krnl.store %v, %y[%i] : memref<1xf32>
  }
  return
}

// -----

// A square tile is transposed by interleaving rows i and i + n/2, log2(n) times.
// CHECK-LABEL: llvm.func internal @turned
// CHECK:         %[[A:.*]] = llvm.load %{{.*}} -> vector<4xf32>
// CHECK:         %[[B:.*]] = llvm.load %{{.*}} -> vector<4xf32>
// CHECK:         %[[C:.*]] = llvm.load %{{.*}} -> vector<4xf32>
// CHECK:         %[[D:.*]] = llvm.load %{{.*}} -> vector<4xf32>
// CHECK:         %[[E:.*]] = llvm.shufflevector %[[A]], %[[C]] [0, 4, 1, 5] : vector<4xf32>
// CHECK:         %[[F:.*]] = llvm.shufflevector %[[A]], %[[C]] [2, 6, 3, 7] : vector<4xf32>
// CHECK:         %[[G:.*]] = llvm.shufflevector %[[B]], %[[D]] [0, 4, 1, 5] : vector<4xf32>
// CHECK:         llvm.shufflevector %[[B]], %[[D]] [2, 6, 3, 7] : vector<4xf32>
// CHECK:         llvm.shufflevector %[[E]], %[[G]] [0, 4, 1, 5] : vector<4xf32>
// CHECK:         llvm.shufflevector %[[E]], %[[G]] [2, 6, 3, 7] : vector<4xf32>
// CHECK:         llvm.shufflevector %[[F]], %{{.*}} [0, 4, 1, 5] : vector<4xf32>
// CHECK:         llvm.shufflevector %[[F]], %{{.*}} [2, 6, 3, 7] : vector<4xf32>
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<4xf32>
func.func private @turned(%d: memref<8x4xf32>, %s: memref<4x8xf32>, %i: index, %j: index) {
  "krnl.transpose"(%d, %s, %i, %j, %j, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 4 : i64, strides = array<i64: 4, 8>}> : (memref<8x4xf32>, memref<4x8xf32>, index, index, index, index) -> ()
  return
}

// -----

// Segments of 16 bytes are transposed like that, and then exchanged.
// CHECK-LABEL: llvm.func internal @turned_segments
// CHECK:         llvm.shufflevector %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>
// CHECK:         llvm.shufflevector %{{.*}} [2, 10, 3, 11, 6, 14, 7, 15] : vector<8xf32>
// CHECK:         llvm.shufflevector %{{.*}} [0, 1, 2, 3, 8, 9, 10, 11] : vector<8xf32>
// CHECK:         llvm.shufflevector %{{.*}} [4, 5, 6, 7, 12, 13, 14, 15] : vector<8xf32>
func.func private @turned_segments(%d: memref<8x8xf32>, %s: memref<8x8xf32>, %i: index, %j: index) {
  "krnl.transpose"(%d, %s, %i, %j, %j, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 8 : i64, strides = array<i64: 8, 8>}> : (memref<8x8xf32>, memref<8x8xf32>, index, index, index, index) -> ()
  return
}

// -----

// Each element twice (i / 2): half a vector is loaded and its lanes are repeated.
// CHECK-LABEL: llvm.func internal @repeated
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK:         llvm.shufflevector %{{.*}} [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7] : vector<8xf32>
// CHECK:         llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<3xf32>
func.func private @repeated(%y: memref<22xf32>, %x: memref<11xf32>) {
  %c2 = arith.constant 2 : index
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 22) {
    %0 = arith.divsi %i, %c2 : index
    %1 = krnl.load %x[%0] : memref<11xf32>
    krnl.store %1, %y[%i] : memref<22xf32>
  }
  return
}

// -----

// No such load: the last group is partial, groups of 3 do not divide a vector, the index is a sum of two quotients.
// CHECK-LABEL: llvm.func internal @not_repeated
// CHECK-NOT:     vector<
func.func private @not_repeated(%y: memref<24xf32>, %x: memref<13xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %l:3 = krnl.define_loops 3
  krnl.iterate(%l#0) with (%l#0 -> %i = 0 to 23) {
    %0 = arith.divsi %i, %c2 : index
    %1 = krnl.load %x[%0] : memref<13xf32>
    krnl.store %1, %y[%i] : memref<24xf32>
  }
  krnl.iterate(%l#1) with (%l#1 -> %j = 0 to 24) {
    %2 = arith.divsi %j, %c3 : index
    %3 = krnl.load %x[%2] : memref<13xf32>
    krnl.store %3, %y[%j] : memref<24xf32>
  }
  krnl.iterate(%l#2) with (%l#2 -> %k = 0 to 24) {
    %4 = arith.divsi %k, %c4 : index
    %5 = arith.addi %4, %4 : index
    %6 = krnl.load %x[%5] : memref<13xf32>
    krnl.store %6, %y[%k] : memref<24xf32>
  }
  return
}

// -----

// A single result is returned as is.
// CHECK-LABEL: llvm.func internal @first
// CHECK-SAME:    -> f32
// CHECK:         %[[V:.*]] = llvm.load
// CHECK-NEXT:    llvm.return %[[V]] : f32
func.func private @first(%y: memref<2xf32>, %x: memref<2xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %0 = krnl.load %x[%c0] : memref<2xf32>
  return %0 : f32
}

// -----

// Several results are fields of a struct; an external kernel is declared.
// CHECK-LABEL: llvm.func internal @several
// CHECK-SAME:    (%[[Y:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr, %[[N:.*]]: i64) -> !llvm.struct<(i64, !llvm.ptr, i64)>
// CHECK-NEXT:    %[[S:.*]] = llvm.call @status(%[[Y]], %[[X]]) : (!llvm.ptr, !llvm.ptr) -> i64
// CHECK:         llvm.insertvalue %[[S]], %{{.*}}[0]
// CHECK-NEXT:    llvm.insertvalue %[[Y]], %{{.*}}[1]
// CHECK-NEXT:    %[[ALL:.*]] = llvm.insertvalue %[[N]], %{{.*}}[2]
// CHECK-NEXT:    llvm.return %[[ALL]]
// CHECK:       llvm.func @status(!llvm.ptr, !llvm.ptr) -> i64
func.func private @several(%y: memref<2xf32>, %x: memref<2xf32>, %n: index) -> (i64, memref<2xf32>, index) {
  %0 = "krnl.call"(%y, %x) {funcName = "status", numOfOutput = 1 : si64} : (memref<2xf32>, memref<2xf32>) -> i64
  return %0, %y, %n : i64, memref<2xf32>, index
}

// -----

// The range of iterations, 0 to their number, follows the arguments; results are extracted from the struct.
// CHECK-LABEL: llvm.func internal @calls
// CHECK-SAME:    (%[[Y:.*]]: !llvm.ptr, %[[N:.*]]: i64) -> i1
// CHECK-DAG:     %[[THREE:.*]] = llvm.mlir.constant(3) : i64
// CHECK-DAG:     %[[ZERO:.*]] = llvm.mlir.constant(0) : i64
// CHECK:         %[[TWO:.*]] = llvm.call @two(%[[Y]], %[[ZERO]], %[[THREE]]) : {{.*}} -> !llvm.struct<(i64, i1)>
// CHECK:         %[[B:.*]] = llvm.extractvalue %[[TWO]][1]
// CHECK-NEXT:    llvm.call @turned(%[[Y]], %[[N]], %[[ZERO]], %[[N]]) : (!llvm.ptr, i64, i64, i64) -> ()
// CHECK-NEXT:    llvm.return %[[B]] : i1
// CHECK:       llvm.func internal @turned
// CHECK-NOT:   @turned
// CHECK:       llvm.func @two(!llvm.ptr, i64, i64) -> !llvm.struct<(i64, i1)>
// CHECK-NOT:   @turned
func.func private @calls(%y: memref<2xf32>, %n: index) -> i1 {
  %0:2 = "krnl.call"(%y) {funcName = "two", numOfOutput = 1 : si64, iterations = 3 : i64} : (memref<2xf32>) -> (i64, i1)
  "krnl.call"(%y, %n) {funcName = "turned", numOfOutput = 1 : si64, iterationsOf = 1 : i64} : (memref<2xf32>, index) -> ()
  return %0#1 : i1
}
func.func private @turned(%y: memref<2xf32>, %n: index, %begin: index, %end: index) {
  return
}

// -----

// A declaration stays one, constants become globals; booleans take one byte each.
// CHECK-LABEL: llvm.func @status(!llvm.ptr) -> i64
// CHECK:       llvm.func internal @constants
// CHECK-DAG:     llvm.mlir.addressof @w : !llvm.ptr
// CHECK-DAG:     %[[B:.*]] = llvm.mlir.addressof @b : !llvm.ptr
// CHECK:         llvm.call @status(%[[B]]) : (!llvm.ptr) -> i64
// CHECK:       llvm.mlir.global internal constant @w(dense<{{\[}}[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>)
// CHECK-SAME:    alignment = 64 : i64{{.*}}!llvm.array<2 x !llvm.array<2 x f32>>
// CHECK:       llvm.mlir.global internal constant @b(dense<[1, 0]> : tensor<2xi8>) {{.*}}!llvm.array<2 x i8>
// CHECK-NOT:   @w
func.func private @status(%y: memref<2xi1>) -> i64
func.func private @constants(%y: memref<2x2xf32>) -> i64 {
  %c0 = arith.constant 0 : index
  %w = "krnl.global"() {name = "w", shape = [2, 2], value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, alignment = 64 : i64} : () -> memref<2x2xf32>
  %v = "krnl.global"() {name = "w", shape = [2, 2], value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, alignment = 64 : i64} : () -> memref<2x2xf32>
  %b = "krnl.global"() {name = "b", shape = [2], value = dense<[true, false]> : tensor<2xi1>} : () -> memref<2xi1>
  %0 = krnl.load %w[%c0, %c0] : memref<2x2xf32>
  krnl.store %0, %y[%c0, %c0] : memref<2x2xf32>
  %1 = "krnl.call"(%b) {funcName = "status", numOfOutput = 0 : si64} : (memref<2xi1>) -> i64
  return %1 : i64
}

// -----

// A model of kernel calls becomes a function that runs them in order; with several threads, each call is a function.
// CHECK-LABEL:  llvm.func internal @copy
// CHECK:        llvm.func @xonnc_run_0(
// CHECK:          llvm.call @copy(
// CHECK-NOT:    func.func
// SHARED:       llvm.func internal @xonnc_run_0_step_0(
func.func @model(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<8xf32> to memref<8xf32>
  %1 = memref.alloc() : memref<8xf32>
  "krnl.call"(%1, %0) <{funcName = "copy", numOfOutput = 1 : si64}> : (memref<8xf32>, memref<8xf32>) -> ()
  %2 = builtin.unrealized_conversion_cast %1 : memref<8xf32> to tensor<8xf32>
  onnx.Return %2 : tensor<8xf32>
}
func.func private @copy(%y: memref<8xf32>, %x: memref<8xf32>) {
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 8) {
    %0 = krnl.load %x[%i] : memref<8xf32>
    krnl.store %0, %y[%i] : memref<8xf32>
  }
  return
}

// -----

// Where e^x rounds to 0, no factor is so small that a product underflows, which is slow; none is infinite.
// CHECK-LABEL: llvm.func internal @exponentials
// CHECK:         %[[ZERO:.*]] = llvm.mlir.constant(dense<0.000000e+00> : vector<16xf32>)
// CHECK:         %[[LEAST:.*]] = llvm.mlir.constant(dense<-1.040000e+02> : vector<16xf32>)
// CHECK:         %[[IS_OUTSIDE:.*]] = llvm.fcmp "olt" %{{.*}}, %[[LEAST]] : vector<16xf32>
// CHECK:         llvm.select %[[IS_OUTSIDE]], %[[LEAST]], %{{.*}}
// CHECK:         %[[IS_BELOW:.*]] = llvm.fcmp "olt" %{{.*}}, %[[LEAST]] : vector<16xf32>
// CHECK:         %[[FACTOR:.*]] = llvm.select %[[IS_BELOW]], %[[ZERO]], %{{.*}}
// CHECK:         llvm.fmul %[[FACTOR]], %{{.*}} : vector<16xf32>
func.func private @exponentials(%y: memref<16xf32>, %x: memref<16xf32>) {
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = 0 to 16) {
    %0 = krnl.load %x[%i] : memref<16xf32>
    %1 = math.exp %0 : f32
    krnl.store %1, %y[%i] : memref<16xf32>
  }
  return
}

// -----

// What is left of a row of dynamic length has vectors of a quarter, if single elements would take long.
// CHECK-LABEL: llvm.func internal @rows_of_dynamic_length
// CHECK:         llvm.store %{{.*}} : vector<16xf32>
// CHECK:         llvm.store %{{.*}} : vector<4xf32>
// CHECK:         llvm.store %{{.*}} : f32
// CHECK:         llvm.load %{{.*}} -> vector<16xf32>
// CHECK-NOT:     vector<4xf32>
func.func private @rows_of_dynamic_length(%y: memref<?xf32>, %x: memref<?xf32>, %n: index) {
  %l:2 = krnl.define_loops 2
  %source = "krnl.shaped"(%x, %n) : (memref<?xf32>, index) -> memref<8x?xf32>
  %target = "krnl.shaped"(%y, %n) : (memref<?xf32>, index) -> memref<8x?xf32>
  krnl.iterate(%l#0, %l#1) with (%l#0 -> %i = 0 to 8, %l#1 -> %j = 0 to %n) {
    %0 = krnl.load %source[%i, %j] : memref<8x?xf32>
    %1 = math.exp %0 : f32
    krnl.store %1, %target[%i, %j] : memref<8x?xf32>
  }
  %k:2 = krnl.define_loops 2
  krnl.iterate(%k#0, %k#1) with (%k#0 -> %i = 0 to 8, %k#1 -> %j = 0 to %n) {
    %2 = krnl.load %target[%i, %j] : memref<8x?xf32>
    %3 = arith.addf %2, %2 : f32
    krnl.store %3, %target[%i, %j] : memref<8x?xf32>
  }
  return
}
