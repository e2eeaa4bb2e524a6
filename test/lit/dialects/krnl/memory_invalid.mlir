// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f(%m: memref<4x4xf32>, %i: index) {
  // expected-error @+1 {{krnl.load takes 2 indices for memref<4x4xf32>, found 1}}
  %0 = krnl.load %m[%i] : memref<4x4xf32>
  return
}

// -----

func.func @f(%m: memref<4x4xf32>, %i: index, %v: f32) {
  // expected-error @+1 {{krnl.store takes 2 indices for memref<4x4xf32>, found 1}}
  krnl.store %v, %m[%i] : memref<4x4xf32>
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index, %v: f64) {
  // expected-error @+1 {{type of 'value' matches element type of 'memref'}}
  "krnl.store"(%v, %m, %i) : (f64, memref<4xf32>, index) -> ()
  return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
  // expected-error @+1 {{result type matches element type of 'memref'}}
  %0 = "krnl.load"(%m, %i) : (memref<4xf32>, index) -> f64
  return
}

// -----

func.func @f(%m: memref<4xf32>, %v: f64) {
  // expected-error @+1 {{type of 'value' matches element type of 'dest'}}
  "krnl.memset"(%m, %v) : (memref<4xf32>, f64) -> ()
  return
}

// -----

func.func @f(%bits: f32) {
  // expected-error @+1 {{operand 'bits' at position 0 does not verify}}
  %0 = "krnl.decode"(%bits) <{format = bf16}> : (f32) -> f32
  return
}

// -----

func.func @f(%v: f64) {
  // expected-error @+1 {{operand 'x' at position 0 does not verify}}
  %0 = "krnl.encode"(%v) <{format = bf16, round_mode = "up", saturate = true}> : (f64) -> i16
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{operand 'x' at position 0 does not verify}}
  %0 = "krnl.to_odd"(%v) : (f32) -> f32
  return
}

// -----

func.func @f(%d: memref<8x4xf32>, %s: memref<4x8xf32>, %i: index, %j: index) {
  // expected-error @+1 {{krnl.transpose: size is a power of two above 1, found 6}}
  "krnl.transpose"(%d, %s, %i, %j, %j, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 6 : i64, strides = array<i64: 4, 8>}> : (memref<8x4xf32>, memref<4x8xf32>, index, index, index, index) -> ()
  return
}

// -----

func.func @f(%d: memref<8x4xf32>, %s: memref<4x8xf32>, %i: index, %j: index) {
  // expected-error @+1 {{krnl.transpose: strides holds two numbers}}
  "krnl.transpose"(%d, %s, %i, %j, %j, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 4 : i64, strides = array<i64: 4>}> : (memref<8x4xf32>, memref<4x8xf32>, index, index, index, index) -> ()
  return
}

// -----

func.func @f(%d: memref<8x4xf32>, %s: memref<4x8xf64>, %i: index, %j: index) {
  // expected-error @+1 {{element type of 'src' matches element type of 'dest'}}
  "krnl.transpose"(%d, %s, %i, %j, %j, %i) <{operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>, size = 4 : i64, strides = array<i64: 4, 8>}> : (memref<8x4xf32>, memref<4x8xf64>, index, index, index, index) -> ()
  return
}

// -----

func.func @f(%d: memref<8x4xf32>, %s: memref<4x8xf32>, %i: index) {
  // expected-error @+1 {{krnl.transpose takes 2 indices for memref<8x4xf32>, found 1}}
  "krnl.transpose"(%d, %s, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 2, 0>, size = 4 : i64, strides = array<i64: 4, 8>}> : (memref<8x4xf32>, memref<4x8xf32>, index, index, index) -> ()
  return
}

// -----

func.func @f(%x: tensor<3x60xi64>, %n: memref<2xi64>) {
  // expected-error @+1 {{krnl.keep: axis 2 of a tensor of rank 2}}
  %y = "krnl.keep"(%x, %n) <{axis = 2 : i64}> : (tensor<3x60xi64>, memref<2xi64>) -> tensor<3x?xi64>
  return
}

// -----

func.func @f(%x: tensor<3x60xi64>, %n: memref<1xi64>) {
  // expected-error @+1 {{krnl.keep: count is memref<2xi64>, found memref<1xi64>}}
  %y = "krnl.keep"(%x, %n) <{axis = 1 : i64}> : (tensor<3x60xi64>, memref<1xi64>) -> tensor<3x?xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{krnl.seed gives memref<1xi64>, found memref<2xi64>}}
  %s = "krnl.seed"() : () -> memref<2xi64>
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{krnl.call: inPlace pairs one of the 1 parameters that are written with one of the others, found 1 and 0}}
  "krnl.call"(%a, %b) {funcName = "fn", inPlace = array<i64: 1, 0>, numOfOutput = 1 : si64} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{krnl.call: inPlace holds pairs of parameters}}
  "krnl.call"(%a, %b) {funcName = "fn", inPlace = array<i64: 0>, numOfOutput = 1 : si64} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{krnl.call: mayShare pairs one of the 1 parameters that are written with one of the others, found 1 and 0}}
  "krnl.call"(%a, %b) {funcName = "fn", mayShare = array<i64: 1, 0>, numOfOutput = 1 : si64} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @f(%t: memref<128xi8>, %b: i8) -> i8 {
  // expected-error @+1 {{krnl.look_up: a table is memref<256xi8>, found memref<128xi8>}}
  %v = "krnl.look_up"(%t, %b) : (memref<128xi8>, i8) -> i8
  return %v : i8
}
