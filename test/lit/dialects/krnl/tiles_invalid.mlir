// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: m, n and k are above 0, found [0, 4, 4]}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, m = 0 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: tile holds two sizes above 0, found [4]}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, m = 4 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: activation is one of none, relu}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, m = 4 : i64, n = 4 : i64, k = 4 : i64, tile = array<i64: 4, 4>, activation = "tanh"}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @f(%m: memref<4x4xf32>) {
  // expected-error @+1 {{krnl.gemm: 2 matrices of A, 1 of B}}
  "krnl.gemm"(%m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>, m = 2 : i64, n = 2 : i64, k = 2 : i64, tile = array<i64: 4, 4>, batch_a = array<i64: 0, 4>, batch_b = array<i64: 0>}> : (memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>) -> ()
  return
}
