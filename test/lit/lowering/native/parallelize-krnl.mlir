// RUN: onnx-opt %s --parallelize-krnl --split-input-file | filecheck %s
// RUN: onnx-opt %s --parallelize-krnl --parallelize-krnl --split-input-file | filecheck %s

// Rows are independent: the kernel takes the range of rows, the call their number.
// CHECK-LABEL: func.func @rows
// CHECK:         "krnl.call"({{.*}}) <{funcName = "sums", iterations = 8 : i64, numOfOutput = 1 : si64}>
// CHECK-LABEL: func.func private @sums
// CHECK-SAME:    %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK:         krnl.iterate(%{{.*}}) with (%{{.*}} -> %{{.*}} = %[[BEGIN]] to %[[END]])
func.func @rows(%y: memref<8xf32>, %x: memref<8x64xf32>) {
  "krnl.call"(%y, %x) {funcName = "sums", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8x64xf32>) -> ()
  func.return
}
func.func private @sums(%y: memref<8xf32>, %x: memref<8x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %row = 0 to 8) {
    %j = krnl.define_loops 1
    %sum = krnl.iterate(%j) with (%j -> %column = 0 to 64) iter_args(%before = %zero) -> (f32) {
      %0 = krnl.load %x[%row, %column] : memref<8x64xf32>
      %1 = arith.addf %before, %0 : f32
      krnl.yield %1 : f32
    }
    krnl.store %sum, %y[%row] : memref<8xf32>
  }
  func.return
}

// -----

// The number of iterations is a dimension that the caller passes; an axis of 1 is passed over.
// CHECK-LABEL: func.func @dynamic
// CHECK:         "krnl.call"({{.*}}) <{funcName = "scale", iterationsOf = 2 : i64, numOfOutput = 1 : si64}>
// CHECK-LABEL: func.func private @scale
// CHECK-SAME:    %{{[a-z0-9]+}}: index, %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK:         = 0 to 1, %{{.*}} -> %{{.*}} = %[[BEGIN]] to %[[END]])
func.func @dynamic(%y: memref<?xf32>, %x: memref<?xf32>, %n: index) {
  "krnl.call"(%y, %x, %n) {funcName = "scale", numOfOutput = 1 : si64} : (memref<?xf32>, memref<?xf32>, index) -> ()
  func.return
}
func.func private @scale(%y: memref<?xf32>, %x: memref<?xf32>, %n: index) {
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %first = 0 to 1, %j -> %at = 0 to %n) {
    %0 = krnl.load %x[%at] : memref<?xf32>
    %1 = arith.addf %0, %0 : f32
    krnl.store %1, %y[%at] : memref<?xf32>
  }
  func.return
}

// -----

// A running sum along the first axis: every row needs the one before. The innermost loop stays whole: it is
// vectorized.
// CHECK-LABEL: func.func private @running
// CHECK-NOT:     index)
// CHECK:         = 1 to 8, %{{.*}} -> %{{.*}} = 0 to 64)
// CHECK-LABEL: func.func private @one_loop
// CHECK-NOT:     index)
// CHECK:         = 0 to 64)
func.func @left(%y: memref<8x64xf32>, %z: memref<64xf32>) {
  "krnl.call"(%y) {funcName = "running", numOfOutput = 1 : si64} : (memref<8x64xf32>) -> ()
  "krnl.call"(%z) {funcName = "one_loop", numOfOutput = 1 : si64} : (memref<64xf32>) -> ()
  func.return
}
func.func private @running(%y: memref<8x64xf32>) {
  %before = arith.constant -1 : index
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %row = 1 to 8, %j -> %at = 0 to 64) {
    %last = arith.addi %row, %before : index
    %0 = krnl.load %y[%last, %at] : memref<8x64xf32>
    %1 = krnl.load %y[%row, %at] : memref<8x64xf32>
    %2 = arith.addf %0, %1 : f32
    krnl.store %2, %y[%row, %at] : memref<8x64xf32>
  }
  func.return
}
func.func private @one_loop(%y: memref<64xf32>) {
  %one = arith.constant 1.0 : f32
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to 64) {
    krnl.store %one, %y[%at] : memref<64xf32>
  }
  func.return
}

// -----

// Two calls of one kernel pass the same number; all iterations would write one element, or are carried on:
// these loops are left as they are.
// CHECK-LABEL: func.func @calls
// CHECK-COUNT-2: iterations = 4 : i64
// CHECK-NOT:     iterations
// CHECK-LABEL: func.func private @column
// CHECK-LABEL: func.func private @same_element
// CHECK-NOT:     index)
// CHECK-LABEL: func.func private @declared
func.func @calls(%y: memref<4x2xf32>, %x: memref<4x2xf32>, %z: memref<1xf32>) {
  "krnl.call"(%y) {funcName = "column", numOfOutput = 1 : si64} : (memref<4x2xf32>) -> ()
  "krnl.call"(%x) {funcName = "column", numOfOutput = 1 : si64} : (memref<4x2xf32>) -> ()
  "krnl.call"(%z, %x) {funcName = "same_element", numOfOutput = 1 : si64} : (memref<1xf32>, memref<4x2xf32>) -> ()
  "krnl.call"(%z) {funcName = "declared", numOfOutput = 1 : si64} : (memref<1xf32>) -> ()
  func.return
}
func.func private @column(%y: memref<4x2xf32>) {
  %one = arith.constant 1.0 : f32
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %row = 0 to 4, %j -> %at = 0 to 2) {
    krnl.store %one, %y[%row, %at] : memref<4x2xf32>
  }
  func.return
}
func.func private @same_element(%z: memref<1xf32>, %x: memref<4x2xf32>) {
  %zero = arith.constant 0 : index
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %row = 0 to 4, %j -> %at = 0 to 2) {
    %0 = krnl.load %x[%row, %at] : memref<4x2xf32>
    krnl.store %0, %z[%zero] : memref<1xf32>
  }
  func.return
}
func.func private @declared(memref<1xf32>)
