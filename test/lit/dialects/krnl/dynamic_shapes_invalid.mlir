// RUN: onnx-opt %s --split-input-file --verify-diagnostics | filecheck %s
// CHECK-NOT: error

func.func @f(%b: memref<?xf32>, %n: index) {
  // expected-error @+1 {{krnl.shaped: memref<?x?xf32> has 2 dynamic dimensions, found 1 sizes}}
  %m = "krnl.shaped"(%b, %n) : (memref<?xf32>, index) -> memref<?x?xf32>
  return
}

// -----

func.func @f(%b: memref<?xf32>, %n: index) {
  // expected-error @+1 {{krnl.shaped: element type of the result matches that of the source}}
  %m = "krnl.shaped"(%b, %n) : (memref<?xf32>, index) -> memref<?xf64>
  return
}

// -----

func.func @f(%b: memref<?xf32>, %n: index) {
  // expected-error @+1 {{krnl.call: iterationsOf: parameter 2 is not an index}}
  "krnl.call"(%b, %n) {funcName = "fn", numOfOutput = 1 : si64, iterationsOf = 2 : i64} : (memref<?xf32>, index) -> ()
  return
}

// -----

func.func @f(%b: memref<?xf32>, %n: index) {
  // expected-error @+1 {{krnl.call: iterationsOf: parameter 0 is not an index}}
  "krnl.call"(%b, %n) {funcName = "fn", numOfOutput = 1 : si64, iterationsOf = 0 : i64} : (memref<?xf32>, index) -> ()
  return
}

// -----

func.func @f(%b: memref<?xf32>, %n: index) {
  // expected-error @+1 {{krnl.call: the number of iterations is a constant or a parameter, not both}}
  "krnl.call"(%b, %n) {funcName = "fn", numOfOutput = 1 : si64, iterations = 4 : i64, iterationsOf = 1 : i64} : (memref<?xf32>, index) -> ()
  return
}

// -----

func.func @f(%c: memref<?x4xf32>, %b: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: 1 dynamic sizes, found 0 operands}}
  "krnl.gemm"(%c, %c, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, m = -9223372036854775808 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>}> : (memref<?x4xf32>, memref<?x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{krnl.gemm: dynamic_batch holds two numbers}}
  "krnl.gemm"(%c, %c, %c, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>, m = 4 : i64, n = 4 : i64, k = 4 : i64, dynamic_batch = array<i64: 1>, tile = array<i64: 4, 4>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, index) -> ()
  return
}

// -----

func.func @f(%y: memref<?x1x4x4x16xf32>, %w: memref<256xf32>) {
  // expected-error @+1 {{krnl.conv: 1 dynamic sizes, found 0 operands}}
  "krnl.conv"(%y, %y, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: 0, 0>, out = array<i64: 4, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 1>}> : (memref<?x1x4x4x16xf32>, memref<?x1x4x4x16xf32>, memref<256xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x1x4x4x16xf32>, %w: memref<256xf32>) {
  // expected-error @+1 {{krnl.conv: 1 dynamic sizes, found 0 operands}}
  "krnl.conv"(%y, %y, %w) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>, depth = 16 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, start = array<i64: -9223372036854775808, 0>, out = array<i64: 4, 4>, out_start = array<i64: 0, 0>, out_strides = array<i64: 1, 1>, tile = array<i64: 4, 1>}> : (memref<1x1x4x4x16xf32>, memref<1x1x4x4x16xf32>, memref<256xf32>) -> ()
  return
}

// -----

func.func @f(%c: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{krnl.transpose: 0 dynamic strides, found 1 operands}}
  "krnl.transpose"(%c, %c, %n, %n, %n, %n, %n) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 1>, size = 4 : i64, strides = array<i64: 4, 4>}> : (memref<4x4xf32>, memref<4x4xf32>, index, index, index, index, index) -> ()
  return
}

// -----

func.func @f(%m: memref<?x?x64xf32>, %i: index) {
  // expected-error @+1 {{krnl.subview: memref<?x32xf32> is not a slice of memref<?x?x64xf32>}}
  %p = "krnl.subview"(%m, %i, %i) : (memref<?x?x64xf32>, index, index) -> memref<?x32xf32>
  return
}

// -----

func.func @f(%m: memref<?x?x64xf32>, %i: index) {
  // expected-error @+1 {{krnl.subview: memref<?x64xf32> has 1 dynamic dimensions, found 0 sizes}}
  %p = "krnl.subview"(%m, %i) : (memref<?x?x64xf32>, index) -> memref<?x64xf32>
  return
}

// -----

func.func @f(%m: memref<?x?x64xf32>, %i: index) {
  // expected-error @+1 {{krnl.subview: element type of the result matches that of the source}}
  %p = "krnl.subview"(%m, %i, %i) : (memref<?x?x64xf32>, index, index) -> memref<?x64xf64>
  return
}
