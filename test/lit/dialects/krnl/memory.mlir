// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @memory
func.func @memory(%m: memref<4xf32>, %v: f32, %n: i64, %i: index, %w: f64) {
  // CHECK-NEXT: krnl.memset %{{.*}}, %{{.*}} : memref<4xf32>
  krnl.memset %m, %v : memref<4xf32>
  // CHECK-NEXT: krnl.memset %{{.*}}, %{{.*}} {delayed = true} : memref<4xf32>
  krnl.memset %m, %v {delayed = true} : memref<4xf32>
  // CHECK-NEXT: %[[G:.*]] = "krnl.global"() <{name = "c0"{{.*}}value = dense<1.000000e+00> : tensor<4xf32>}> : () -> memref<4xf32>
  %g = "krnl.global"() {name = "c0", shape = [4], value = dense<1.0> : tensor<4xf32>} : () -> memref<4xf32>
  // CHECK-NEXT: "krnl.memcpy"(%{{.*}}, %[[G]], %{{.*}}, %{{.*}}, %{{.*}}) : (memref<4xf32>, memref<4xf32>, i64, index, index) -> ()
  "krnl.memcpy"(%m, %g, %n, %i, %i) : (memref<4xf32>, memref<4xf32>, i64, index, index) -> ()
  // CHECK-NEXT: "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "fn", numOfOutput = 1 : si64}> : (memref<4xf32>, memref<4xf32>) -> ()
  "krnl.call"(%m, %g) <{funcName = "fn", numOfOutput = 1 : si64}> : (memref<4xf32>, memref<4xf32>) -> ()
  // CHECK-NEXT: "krnl.erf"(%{{.*}}) : (f32) -> f32
  %e = "krnl.erf"(%v) : (f32) -> f32
  // CHECK-NEXT: %[[BITS:.*]] = "krnl.encode"(%{{.*}}) <{format = bf16, round_mode = "up", saturate = true}> : (f32) -> i16
  %bits = "krnl.encode"(%v) <{format = bf16, round_mode = "up", saturate = true}> : (f32) -> i16
  // CHECK-NEXT: "krnl.decode"(%[[BITS]]) <{format = bf16}> : (i16) -> f32
  %d = "krnl.decode"(%bits) <{format = bf16}> : (i16) -> f32
  // CHECK-NEXT: "krnl.remainder"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
  %r = "krnl.remainder"(%v, %v) : (f32, f32) -> f32
  // CHECK-NEXT: "krnl.to_odd"(%{{.*}}) : (f64) -> f32
  %o = "krnl.to_odd"(%w) : (f64) -> f32
  return
}

// CHECK-LABEL: @found_in
func.func @found_in(%t: memref<256xi8>, %b: i8) -> i8 {
  // CHECK-NEXT: "krnl.look_up"(%{{.*}}, %{{.*}}) <{shuffle = "llvm.x86.avx2.pshuf.b"}> : (memref<256xi8>, i8) -> i8
  %v = "krnl.look_up"(%t, %b) {shuffle = "llvm.x86.avx2.pshuf.b"} : (memref<256xi8>, i8) -> i8
  return %v : i8
}

// CHECK: "krnl.entry_point"() <{func = @memory, numInputs = 1 : i32, numOutputs = 1 : i32, signature = ""}> : () -> ()
"krnl.entry_point"() <{func = @memory, numInputs = 1 : i32, numOutputs = 1 : i32, signature = ""}> : () -> ()

// Transpose of a square tile of 4 rows of 4 elements.
// CHECK-LABEL: @turned
func.func @turned(%d: memref<8x4xf32>, %s: memref<4x8xf32>, %i: index, %j: index) {
  // CHECK-NEXT: "krnl.transpose"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 4 : i64, strides = array<i64: 4, 8>}> : (memref<8x4xf32>, memref<4x8xf32>, index, index, index, index) -> ()
  "krnl.transpose"(%d, %s, %i, %j, %j, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 4 : i64, strides = array<i64: 4, 8>}> : (memref<8x4xf32>, memref<4x8xf32>, index, index, index, index) -> ()
  return
}

// A data-dependent number of columns, each of three elements.
// CHECK-LABEL: @kept
func.func @kept(%x: tensor<3x60xi64>, %n: memref<2xi64>) -> tensor<3x?xi64> {
  // CHECK-NEXT: "krnl.keep"(%{{.*}}, %{{.*}}) <{axis = 1 : i64}> : (tensor<3x60xi64>, memref<2xi64>) -> tensor<3x?xi64>
  %y = "krnl.keep"(%x, %n) <{axis = 1 : i64}> : (tensor<3x60xi64>, memref<2xi64>) -> tensor<3x?xi64>
  return %y : tensor<3x?xi64>
}

// CHECK-LABEL: @drawn
func.func @drawn() -> memref<1xi64> {
  // CHECK-NEXT: "krnl.seed"() : () -> memref<1xi64>
  %s = "krnl.seed"() : () -> memref<1xi64>
  return %s : memref<1xi64>
}

// CHECK-LABEL: @called
func.func @called(%x: tensor<?x3xi64>) -> tensor<?xf32> {
  // CHECK-NEXT: "krnl.deferred_call"(%{{.*}}) <{callee = @found}> : (tensor<?x3xi64>) -> tensor<?xf32>
  %y = "krnl.deferred_call"(%x) <{callee = @found}> : (tensor<?x3xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK-LABEL: @same_buffer
func.func @same_buffer(%a: memref<4xf32>, %b: memref<4xf32>) {
  // CHECK-NEXT: "krnl.same_buffer"(%{{.*}}, %{{.*}}) : (memref<4xf32>, memref<4xf32>) -> i1
  %0 = "krnl.same_buffer"(%a, %b) : (memref<4xf32>, memref<4xf32>) -> i1
  return
}
