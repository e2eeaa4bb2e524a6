// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @sizes
func.func @sizes(%b: memref<?xf32>, %n: index, %s: index) {
  // CHECK-NEXT: "krnl.shaped"(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<?xf32>, index, index) -> memref<?x?x64xf32>
  %m = "krnl.shaped"(%b, %n, %s) : (memref<?xf32>, index, index) -> memref<?x?x64xf32>
  // CHECK-NEXT: "krnl.require"(%{{.*}}, %{{.*}}) <{what = "axis 0 of input 'x'"}> : (index, index) -> ()
  "krnl.require"(%n, %s) {what = "axis 0 of input 'x'"} : (index, index) -> ()
  // CHECK-NEXT: "krnl.call"(%{{.*}}, %{{.*}}, %{{.*}}) <{funcName = "fn", iterationsOf = 2 : i64, numOfOutput = 1 : si64}> : (memref<?xf32>, index, index) -> ()
  "krnl.call"(%b, %n, %s) {funcName = "fn", numOfOutput = 1 : si64, iterationsOf = 2 : i64} : (memref<?xf32>, index, index) -> ()
  // CHECK-NEXT: "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "none", iterationsOf = 0 : i64, numOfOutput = 0 : si64}> : (index, memref<?xf32>) -> ()
  "krnl.call"(%n, %b) {funcName = "none", numOfOutput = 0 : si64, iterationsOf = 0 : i64} : (index, memref<?xf32>) -> ()
  return
}

// CHECK-LABEL: @tiles
func.func @tiles(%c: memref<?x4xf32>, %b: memref<4x4xf32>, %y: memref<?x1x4x4x16xf32>, %w: memref<256xf32>, %n: index) {
  // CHECK-NEXT: "krnl.gemm"({{.*}}) <{k = 4 : i64, m = -9223372036854775808 : i64, n = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>
  "krnl.gemm"(%c, %c, %b, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, m = -9223372036854775808 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>}> : (memref<?x4xf32>, memref<?x4xf32>, memref<4x4xf32>, index) -> ()
  // CHECK-NEXT: "krnl.conv"({{.*}}) <{{{.*}}operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>
  "krnl.conv"(%y, %y, %w, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>, depth = 16 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 4, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 1>}> : (memref<?x1x4x4x16xf32>, memref<?x1x4x4x16xf32>, memref<256xf32>, index) -> ()
  // CHECK-NEXT: "krnl.conv"({{.*}}) <{{{.*}}operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 2>{{.*}}, start = array<i64: 0, -9223372036854775808>
  "krnl.conv"(%y, %y, %w, %n, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 2>, depth = 16 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, -9223372036854775808>, out = array<i64: 4, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 1>}> : (memref<?x1x4x4x16xf32>, memref<?x1x4x4x16xf32>, memref<256xf32>, index, index) -> ()
  // CHECK-NEXT: "krnl.transpose"({{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 1>, size = 4 : i64, strides = array<i64: 4, -9223372036854775808>}>
  "krnl.transpose"(%c, %b, %n, %n, %n, %n, %n) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 1>, size = 4 : i64, strides = array<i64: 4, -9223372036854775808>}> : (memref<?x4xf32>, memref<4x4xf32>, index, index, index, index, index) -> ()
  return
}

// CHECK-LABEL: @parts
func.func @parts(%m: memref<?x?x64xf32>, %i: index, %n: index) {
  // CHECK-NEXT: "krnl.subview"(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<?x?x64xf32>, index, index) -> memref<?x64xf32>
  %p = "krnl.subview"(%m, %i, %n) : (memref<?x?x64xf32>, index, index) -> memref<?x64xf32>
  // CHECK-NEXT: "krnl.subview"(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<?x64xf32>, index, index) -> memref<?x64xf32>
  %r = "krnl.subview"(%p, %i, %n) : (memref<?x64xf32>, index, index) -> memref<?x64xf32>
  return
}
