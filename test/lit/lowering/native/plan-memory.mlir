// RUN: onnx-opt %s --plan-memory --split-input-file | filecheck %s
// RUN: onnx-opt %s --plan-memory=mem-alloc=first-fit --split-input-file | filecheck %s --check-prefix=FIRST
// RUN: onnx-opt %s --plan-memory=mem-alloc=best-fit --split-input-file | filecheck %s --check-prefix=BEST

// A result is written in place of an operand with no later use; outputs of the model have their own memory.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    krnl.arena = {lower_bound = 256 : i64, peak = 256 : i64, size = 256 : i64}
// CHECK:         %[[A:.*]] = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<64xf32>
// CHECK-NEXT:    "krnl.call"(%[[A]], %{{.*}}) <{funcName = "next"
// CHECK-NEXT:    %[[B:.*]] = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<64xf32>
// CHECK-NEXT:    "krnl.call"(%[[B]], %[[A]]) <{funcName = "next", inPlace = array<i64: 0, 1>
// CHECK-NEXT:    %[[C:.*]] = memref.alloc() : memref<64xf32>
// CHECK-NEXT:    "krnl.call"(%[[C]], %[[B]]) <{funcName = "next", numOfOutput
func.func @chain(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<64xf32> to memref<64xf32>
  %a = memref.alloc() : memref<64xf32>
  "krnl.call"(%a, %0) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %b = memref.alloc() : memref<64xf32>
  "krnl.call"(%b, %a) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %c = memref.alloc() : memref<64xf32>
  "krnl.call"(%c, %b) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<64xf32> to tensor<64xf32>
  onnx.Return %1 : tensor<64xf32>
}
func.func private @next(%y: memref<64xf32>, %x: memref<64xf32>) {
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to 64) {
    %0 = krnl.load %x[%at] : memref<64xf32>
    krnl.store %0, %y[%at] : memref<64xf32>
  }
  return
}

// -----

// A smaller result is written over the front of a larger operand, by a call that runs in order; what that leaves is
// free after the call. Only where this lowers the peak: the second call is parallel.
// CHECK-LABEL: func.func @front
// CHECK-SAME:    krnl.arena = {lower_bound = 1024 : i64, peak = 1024 : i64, size = 1024 : i64}
// CHECK:         memref.alloc() {krnl.offsets = array<i64: 0>} : memref<256xf32>
// CHECK:         memref.alloc() {krnl.offsets = array<i64: 0>} : memref<64xf32>
// CHECK-NEXT:    "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "fourth", inPlace = array<i64: 0, 1>, iterations = 64 : i64, numOfOutput = 1 : si64, sequential}>
// CHECK:         memref.alloc() {krnl.offsets = array<i64: {{256|512|768}}>} : memref<64xf32>
func.func @front(%x: tensor<256xf32>) -> tensor<64xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<256xf32> to memref<256xf32>
  %a = memref.alloc() : memref<256xf32>
  "krnl.call"(%a, %0) {funcName = "any", numOfOutput = 1 : si64} : (memref<256xf32>, memref<256xf32>) -> ()
  %b = memref.alloc() : memref<64xf32>
  "krnl.call"(%b, %a) {funcName = "fourth", iterations = 64 : i64, numOfOutput = 1 : si64} : (memref<64xf32>, memref<256xf32>) -> ()
  %c = memref.alloc() : memref<64xf32>
  "krnl.call"(%c, %b) {funcName = "any", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %d = memref.alloc() : memref<64xf32>
  "krnl.call"(%d, %b, %c) {funcName = "any", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %d : memref<64xf32> to tensor<64xf32>
  onnx.Return %1 : tensor<64xf32>
}
func.func private @fourth(%y: memref<64xf32>, %x: memref<256xf32>, %begin: index, %end: index) {
  %four = arith.constant 4 : index
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = %begin to %end) {
    %from = arith.muli %at, %four : index
    %0 = krnl.load %x[%from] : memref<256xf32>
    krnl.store %0, %y[%at] : memref<64xf32>
  }
  return
}

// -----

// Elsewhere the peak is higher: the call may be divided among threads.
// CHECK-LABEL: func.func @elsewhere
// CHECK:         funcName = "fourth", iterations = 64 : i64, numOfOutput = 1 : si64}>
func.func @elsewhere(%x: tensor<1024xf32>) -> tensor<64xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<1024xf32> to memref<1024xf32>
  %z = memref.alloc() : memref<1024xf32>
  "krnl.call"(%z, %0) {funcName = "any", numOfOutput = 1 : si64} : (memref<1024xf32>, memref<1024xf32>) -> ()
  %a = memref.alloc() : memref<256xf32>
  "krnl.call"(%a, %z) {funcName = "any", numOfOutput = 1 : si64} : (memref<256xf32>, memref<1024xf32>) -> ()
  %b = memref.alloc() : memref<64xf32>
  "krnl.call"(%b, %a) {funcName = "fourth", iterations = 64 : i64, numOfOutput = 1 : si64} : (memref<64xf32>, memref<256xf32>) -> ()
  %c = memref.alloc() : memref<64xf32>
  "krnl.call"(%c, %b) {funcName = "any", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<64xf32> to tensor<64xf32>
  onnx.Return %1 : tensor<64xf32>
}
func.func private @fourth(%y: memref<64xf32>, %x: memref<256xf32>, %begin: index, %end: index) {
  %four = arith.constant 4 : index
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = %begin to %end) {
    %from = arith.muli %at, %four : index
    %0 = krnl.load %x[%from] : memref<256xf32>
    krnl.store %0, %y[%at] : memref<64xf32>
  }
  return
}

// -----

// An operand with a later use is not overwritten.
// CHECK-LABEL: func.func @read_again
// CHECK-SAME:    size = 512 : i64
// CHECK-NOT:     inPlace
// CHECK:         onnx.Return
func.func @read_again(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<64xf32> to memref<64xf32>
  %a = memref.alloc() : memref<64xf32>
  "krnl.call"(%a, %0) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %b = memref.alloc() : memref<64xf32>
  "krnl.call"(%b, %a) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %c = memref.alloc() : memref<64xf32>
  "krnl.call"(%c, %b, %a) {funcName = "sum", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<64xf32> to tensor<64xf32>
  onnx.Return %1 : tensor<64xf32>
}
func.func private @next(%y: memref<64xf32>, %x: memref<64xf32>) {
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to 64) {
    %0 = krnl.load %x[%at] : memref<64xf32>
    krnl.store %0, %y[%at] : memref<64xf32>
  }
  return
}
func.func private @sum(%y: memref<64xf32>, %a: memref<64xf32>, %b: memref<64xf32>)

// -----

// Kernels that read an element after writing it are never in place: reads at another index, elements that a loop
// reads repeatedly, a loop nest whose elements another thread may overwrite in the next nest already.
// CHECK-LABEL: func.func @kernels
// CHECK:         funcName = "transposed", numOfOutput
// CHECK:         funcName = "transposed", numOfOutput
// CHECK:         funcName = "again", numOfOutput
// CHECK:         funcName = "two_nests"
// CHECK:         funcName = "twice_in_a_row", inPlace = array<i64: 0, 1>
// CHECK:         funcName = "elsewhere", numOfOutput
// CHECK:         funcName = "stored_first", numOfOutput
func.func @kernels(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<8x8xf32> to memref<8x8xf32>
  %a = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%a, %0) {funcName = "transposed", numOfOutput = 1 : si64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %b = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%b, %a) {funcName = "transposed", numOfOutput = 1 : si64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %c = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%c, %b) {funcName = "again", numOfOutput = 1 : si64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %d = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%d, %c) {funcName = "two_nests", numOfOutput = 1 : si64, iterations = 8 : i64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %e = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%e, %d) {funcName = "twice_in_a_row", numOfOutput = 1 : si64, iterations = 8 : i64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %f = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%f, %e) {funcName = "elsewhere", numOfOutput = 1 : si64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %g = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%g, %f) {funcName = "stored_first", numOfOutput = 1 : si64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %h = memref.alloc() : memref<8x8xf32>
  "krnl.call"(%h, %g) {funcName = "transposed", numOfOutput = 1 : si64} : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %h : memref<8x8xf32> to tensor<8x8xf32>
  onnx.Return %1 : tensor<8x8xf32>
}
func.func private @transposed(%y: memref<8x8xf32>, %x: memref<8x8xf32>) {
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %row = 0 to 8, %j -> %column = 0 to 8) {
    %0 = krnl.load %x[%column, %row] : memref<8x8xf32>
    krnl.store %0, %y[%row, %column] : memref<8x8xf32>
  }
  return
}
func.func private @again(%y: memref<8x8xf32>, %x: memref<8x8xf32>) {
  %i, %j, %k = krnl.define_loops 3
  krnl.iterate(%i, %j, %k) with (%i -> %time = 0 to 3, %j -> %row = 0 to 8, %k -> %column = 0 to 8) {
    %0 = krnl.load %x[%row, %column] : memref<8x8xf32>
    krnl.store %0, %y[%row, %column] : memref<8x8xf32>
  }
  return
}
func.func private @two_nests(%y: memref<8x8xf32>, %x: memref<8x8xf32>, %first: index, %end: index) {
  %zero = arith.constant 0 : index
  %n = arith.constant 0.0 : f32
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %row = %first to %end) {
    %0 = krnl.load %x[%zero, %row] : memref<8x8xf32>
  }
  %j = krnl.define_loops 1
  krnl.iterate(%j) with (%j -> %row = %first to %end) {
    krnl.store %n, %y[%row, %zero] : memref<8x8xf32>
  }
  return
}
func.func private @twice_in_a_row(%y: memref<8x8xf32>, %x: memref<8x8xf32>, %first: index, %end: index) {
  %zero = arith.constant 0 : index
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %row = %first to %end) {
    %head = krnl.load %x[%row, %zero] : memref<8x8xf32>
    %j = krnl.define_loops 1
    krnl.iterate(%j) with (%j -> %column = 0 to 8) {
      %0 = krnl.load %x[%row, %column] : memref<8x8xf32>
      %1 = arith.subf %0, %head : f32
      krnl.store %1, %y[%row, %column] : memref<8x8xf32>
    }
    %k = krnl.define_loops 1
    krnl.iterate(%k) with (%k -> %column = 0 to 8) {
      %0 = krnl.load %y[%row, %column] : memref<8x8xf32>
      krnl.store %0, %y[%row, %column] : memref<8x8xf32>
    }
  }
  return
}
func.func private @elsewhere(%y: memref<8x8xf32>, %x: memref<8x8xf32>) {
  %one = arith.constant 1 : index
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %row = 0 to 7, %j -> %column = 0 to 8) {
    %next = arith.addi %row, %one : index
    %0 = krnl.load %x[%next, %column] : memref<8x8xf32>
    krnl.store %0, %y[%row, %column] : memref<8x8xf32>
  }
  return
}
func.func private @stored_first(%y: memref<8x8xf32>, %x: memref<8x8xf32>) {
  %n = arith.constant 0.0 : f32
  %i, %j = krnl.define_loops 2
  krnl.iterate(%i, %j) with (%i -> %row = 0 to 8, %j -> %column = 0 to 8) {
    krnl.store %n, %y[%row, %column] : memref<8x8xf32>
    %0 = krnl.load %x[%row, %column] : memref<8x8xf32>
    krnl.store %0, %y[%row, %column] : memref<8x8xf32>
  }
  return
}

// -----

// Not in place either: subviews, buffers of another type, a buffer that the call reads through another operand too.
// CHECK-LABEL: func.func @operands
// CHECK-NOT:     inPlace
// CHECK:         onnx.Return
func.func @operands(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<8xf32> to memref<8xf32>
  %whole = memref.alloc() : memref<16xf32>
  %part = memref.subview %whole[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %a = builtin.unrealized_conversion_cast %part : memref<8xf32, strided<[1], offset: 8>> to memref<8xf32>
  "krnl.call"(%a, %0) {funcName = "next", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xf32>) -> ()
  %b = memref.alloc() : memref<8xf32>
  "krnl.call"(%b, %a) {funcName = "next", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xf32>) -> ()
  %c = memref.alloc() : memref<8xi32>
  "krnl.call"(%c, %b) {funcName = "cast", numOfOutput = 1 : si64} : (memref<8xi32>, memref<8xf32>) -> ()
  %d = memref.alloc() : memref<8xf32>
  "krnl.call"(%d, %c, %c) {funcName = "unknown", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xi32>, memref<8xi32>) -> ()
  %e = memref.alloc() : memref<8xf32>
  "krnl.call"(%e, %d, %d) {funcName = "gathered", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  %f = memref.alloc() : memref<8xf32>
  "krnl.call"(%f, %e) {funcName = "next", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %f : memref<8xf32> to tensor<8xf32>
  onnx.Return %1 : tensor<8xf32>
}
func.func private @next(%y: memref<8xf32>, %x: memref<8xf32>) {
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to 8) {
    %0 = krnl.load %x[%at] : memref<8xf32>
    krnl.store %0, %y[%at] : memref<8xf32>
  }
  return
}
func.func private @cast(%y: memref<8xi32>, %x: memref<8xf32>) {
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to 8) {
    %0 = krnl.load %x[%at] : memref<8xf32>
    %1 = arith.fptosi %0 : f32 to i32
    krnl.store %1, %y[%at] : memref<8xi32>
  }
  return
}
func.func private @gathered(%y: memref<8xf32>, %a: memref<8xf32>, %b: memref<8xf32>) {
  %zero = arith.constant 0 : index
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to 8) {
    %0 = krnl.load %a[%at] : memref<8xf32>
    %1 = krnl.load %b[%zero] : memref<8xf32>
    %2 = arith.addf %0, %1 : f32
    krnl.store %2, %y[%at] : memref<8xf32>
  }
  return
}

// -----

// Each branch is reduced before the next one starts; in the opposite order both wide results would be alive.
// CHECK-LABEL: func.func @branches
// CHECK-SAME:    krnl.arena = {lower_bound = 4224 : i64, peak = 4224 : i64, size = 4224 : i64}
// CHECK:         %[[A:.*]] = memref.alloc() {{.*}} : memref<1024xf32>
// CHECK:         "krnl.call"(%[[A]], {{%.+}}) <{funcName = "wide"
// CHECK:         %[[P:.*]] = memref.alloc() {{.*}} : memref<1xf32>
// CHECK:         "krnl.call"(%[[P]], %[[A]]) <{funcName = "narrow"
// CHECK:         %[[B:.*]] = memref.alloc() {{.*}} : memref<1024xf32>
// CHECK:         "krnl.call"(%[[B]], {{%.+}}) <{funcName = "wide"
// CHECK:         %[[Q:.*]] = memref.alloc() {{.*}} : memref<1xf32>
// CHECK:         "krnl.call"(%[[Q]], %[[B]]) <{funcName = "narrow"
func.func @branches(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<1xf32> to memref<1xf32>
  %a = memref.alloc() : memref<1024xf32>
  "krnl.call"(%a, %0) {funcName = "wide", numOfOutput = 1 : si64} : (memref<1024xf32>, memref<1xf32>) -> ()
  %b = memref.alloc() : memref<1024xf32>
  "krnl.call"(%b, %0) {funcName = "wide", numOfOutput = 1 : si64} : (memref<1024xf32>, memref<1xf32>) -> ()
  %p = memref.alloc() : memref<1xf32>
  "krnl.call"(%p, %a) {funcName = "narrow", numOfOutput = 1 : si64} : (memref<1xf32>, memref<1024xf32>) -> ()
  %q = memref.alloc() : memref<1xf32>
  "krnl.call"(%q, %b) {funcName = "narrow", numOfOutput = 1 : si64} : (memref<1xf32>, memref<1024xf32>) -> ()
  %c = memref.alloc() : memref<1xf32>
  "krnl.call"(%c, %p, %q) {funcName = "sum", numOfOutput = 1 : si64} : (memref<1xf32>, memref<1xf32>, memref<1xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<1xf32> to tensor<1xf32>
  onnx.Return %1 : tensor<1xf32>
}

// -----

// A host step stays between the calls around it; its result is in the arena too.
// CHECK-LABEL: func.func @host
// CHECK:         "krnl.call"({{.*}}) <{funcName = "wide"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "wide"
// CHECK:         "onnx.Det"({{.*}}) {krnl.no_kernel = "none", krnl.offsets = array<i64: {{[0-9]+}}>}
// CHECK:         "krnl.call"({{.*}}) <{funcName = "narrow"
func.func @host(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<1xf32> to memref<1xf32>
  %a = memref.alloc() : memref<32x32xf32>
  "krnl.call"(%a, %0) {funcName = "wide", numOfOutput = 1 : si64} : (memref<32x32xf32>, memref<1xf32>) -> ()
  %b = memref.alloc() : memref<32x32xf32>
  "krnl.call"(%b, %0) {funcName = "wide", numOfOutput = 1 : si64} : (memref<32x32xf32>, memref<1xf32>) -> ()
  %2 = builtin.unrealized_conversion_cast %a : memref<32x32xf32> to tensor<32x32xf32>
  %3 = "onnx.Det"(%2) {krnl.no_kernel = "none"} : (tensor<32x32xf32>) -> tensor<f32>
  %4 = builtin.unrealized_conversion_cast %3 : tensor<f32> to memref<f32>
  %p = memref.alloc() : memref<1xf32>
  "krnl.call"(%p, %b, %4) {funcName = "narrow", numOfOutput = 1 : si64} : (memref<1xf32>, memref<32x32xf32>, memref<f32>) -> ()
  %1 = builtin.unrealized_conversion_cast %p : memref<1xf32> to tensor<1xf32>
  onnx.Return %1 : tensor<1xf32>
}

// -----

// Operands of a loop are alive until its end; branches of a condition share memory.
// CHECK-LABEL: func.func @control
// CHECK-SAME:    krnl.arena = {lower_bound = 512 : i64, peak = 832 : i64, size = 832 : i64}
// CHECK:         memref.alloc() {krnl.offsets = array<i64: [[READ:[0-9]+]]>} : memref<64xf32>
// CHECK:         scf.while
// CHECK:           memref.alloc() {krnl.offsets = array<i64: [[INSIDE:[0-9]+]]>} : memref<64xf32>
// CHECK:         scf.if
// CHECK:           memref.alloc() {krnl.offsets = array<i64: [[BRANCH:[0-9]+]]>} : memref<64xf32>
// CHECK:         } else {
// CHECK:           memref.alloc() {krnl.offsets = array<i64: [[BRANCH]]>} : memref<64xf32>
func.func @control(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<64xf32> to memref<64xf32>
  %go = memref.alloc() : memref<i1>
  "krnl.call"(%go, %0) {funcName = "test", numOfOutput = 1 : si64} : (memref<i1>, memref<64xf32>) -> ()
  %a = memref.alloc() : memref<64xf32>
  "krnl.call"(%a, %0) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %s = memref.alloc() : memref<64xf32>
  "krnl.call"(%s, %0) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  scf.while () : () -> () {
    %c = memref.load %go[] : memref<i1>
    scf.condition(%c)
  } do {
    %t = memref.alloc() : memref<64xf32>
    "krnl.call"(%t, %a) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
    "krnl.call"(%s, %t) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
    "krnl.call"(%go, %s) {funcName = "test", numOfOutput = 1 : si64} : (memref<i1>, memref<64xf32>) -> ()
    scf.yield
  }
  %y = memref.alloc() : memref<64xf32>
  %d = memref.load %go[] : memref<i1>
  scf.if %d {
    %t = memref.alloc() : memref<64xf32>
    "krnl.call"(%t, %s) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
    "krnl.call"(%y, %t) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  } else {
    %t = memref.alloc() : memref<64xf32>
    "krnl.call"(%t, %s) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
    "krnl.call"(%y, %t) {funcName = "next", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  }
  %1 = builtin.unrealized_conversion_cast %y : memref<64xf32> to tensor<64xf32>
  onnx.Return %1 : tensor<64xf32>
}

// -----

// A buffer inspected after all calls is alive to the end, so it is best written last.
// CHECK-LABEL: func.func @checked
// CHECK-SAME:    size = 128 : i64
// CHECK:         memref.alloc() {krnl.offsets = array<i64: 0>} : memref<17xf32>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "next"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "next"
// CHECK:         memref.alloc() {krnl.check = {{.*}}, krnl.offsets = array<i64: 0>} : memref<2xi64>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "bounds"
func.func @checked(%x: tensor<17xf32>) -> tensor<17xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<17xf32> to memref<17xf32>
  %n = memref.alloc() {krnl.check = {least = 0 : i64, message = "no", most = 3 : i64}} : memref<2xi64>
  "krnl.call"(%n, %0) {funcName = "bounds", numOfOutput = 1 : si64} : (memref<2xi64>, memref<17xf32>) -> ()
  %a = memref.alloc() : memref<17xf32>
  "krnl.call"(%a, %0) {funcName = "next", numOfOutput = 1 : si64} : (memref<17xf32>, memref<17xf32>) -> ()
  %b = memref.alloc() : memref<17xf32>
  "krnl.call"(%b, %a) {funcName = "next", numOfOutput = 1 : si64} : (memref<17xf32>, memref<17xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %b : memref<17xf32> to tensor<17xf32>
  onnx.Return %1 : tensor<17xf32>
}

// -----

// With dynamic shapes, buffers with disjoint lifetimes share a block, preferably one of equally large buffers.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME:    krnl.arena = {blocks = 3 : i64}
// CHECK:         memref.alloc(%[[N:.*]]) {krnl.blocks = array<i64: 0>} : memref<?x4xf32>
// CHECK:         memref.alloc(%[[N]]) {krnl.blocks = array<i64: 1>} : memref<?x8xf32>
// CHECK:         memref.alloc(%[[N]]) {krnl.blocks = array<i64: 0>} : memref<?x4xf32>
// CHECK:         memref.alloc() {krnl.blocks = array<i64: 2>} : memref<4xf32>
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %0 = builtin.unrealized_conversion_cast %x : tensor<?x4xf32> to memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%a, %0, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %b = memref.alloc(%n) : memref<?x8xf32>
  "krnl.call"(%b, %a, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x8xf32>, memref<?x4xf32>, index) -> ()
  %c = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%c, %b, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x8xf32>, index) -> ()
  %d = memref.alloc() : memref<4xf32>
  "krnl.call"(%d, %c, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<4xf32>, memref<?x4xf32>, index) -> ()
  %e = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%e, %d, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<4xf32>, index) -> ()
  %1 = builtin.unrealized_conversion_cast %e : memref<?x4xf32> to tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}

// -----

// Kernels that access both with the same dynamic sizes write in place; the others are apart from what they read.
// CHECK-LABEL: func.func @dynamic_in_place
// CHECK-SAME:    krnl.arena = {blocks = 2 : i64}
// CHECK:         %[[A:.*]] = memref.alloc(%{{.*}}) {krnl.blocks = array<i64: 0>} : memref<?x4xf32>
// CHECK:         %[[B:.*]] = memref.alloc(%{{.*}}) {krnl.blocks = array<i64: 0>} : memref<?x4xf32>
// CHECK-NEXT:    "krnl.call"(%[[B]], %[[A]], %{{.*}}) <{funcName = "same", inPlace = array<i64: 0, 1>, iterationsOf = 2 : i64
// CHECK:         memref.alloc(%{{.*}}) {krnl.blocks = array<i64: 1>} : memref<?x4xf32>
// CHECK-NEXT:    "krnl.call"({{.*}}) <{funcName = "other", numOfOutput
// CHECK:         memref.alloc(%{{.*}}) {krnl.blocks = array<i64: 0>} : memref<?x4xf32>
// CHECK-NEXT:    "krnl.call"({{.*}}) <{funcName = "turned", iterationsOf
func.func @dynamic_in_place(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %0 = builtin.unrealized_conversion_cast %x : tensor<?x4xf32> to memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%a, %0, %n) {funcName = "same", iterationsOf = 2 : i64, numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%b, %a, %n) {funcName = "same", iterationsOf = 2 : i64, numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %c = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%c, %b, %n, %n) {funcName = "other", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index, index) -> ()
  %d = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%d, %c, %n) {funcName = "turned", iterationsOf = 2 : i64, numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %e = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%e, %d, %n) {funcName = "same", iterationsOf = 2 : i64, numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %1 = builtin.unrealized_conversion_cast %e : memref<?x4xf32> to tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}
func.func private @same(%y: memref<?xf32>, %x: memref<?xf32>, %n: index, %begin: index, %end: index) {
  %0 = "krnl.shaped"(%y, %n) : (memref<?xf32>, index) -> memref<?x4xf32>
  %1 = "krnl.shaped"(%x, %n) : (memref<?xf32>, index) -> memref<?x4xf32>
  %l:2 = krnl.define_loops 2
  krnl.iterate(%l#0, %l#1) with (%l#0 -> %i = %begin to %end, %l#1 -> %j = 0 to 4) {
    %2 = krnl.load %1[%i, %j] : memref<?x4xf32>
    krnl.store %2, %0[%i, %j] : memref<?x4xf32>
  }
  return
}
func.func private @other(%y: memref<?xf32>, %x: memref<?xf32>, %n: index, %m: index) {
  %0 = "krnl.shaped"(%y, %n) : (memref<?xf32>, index) -> memref<?x4xf32>
  %1 = "krnl.shaped"(%x, %m) : (memref<?xf32>, index) -> memref<?x4xf32>
  %l:2 = krnl.define_loops 2
  krnl.iterate(%l#0, %l#1) with (%l#0 -> %i = 0 to %n, %l#1 -> %j = 0 to 4) {
    %2 = krnl.load %1[%i, %j] : memref<?x4xf32>
    krnl.store %2, %0[%i, %j] : memref<?x4xf32>
  }
  return
}
func.func private @turned(%y: memref<?xf32>, %x: memref<?xf32>, %n: index, %begin: index, %end: index) {
  %three = arith.constant 3 : index
  %0 = "krnl.shaped"(%y, %n) : (memref<?xf32>, index) -> memref<?x4xf32>
  %1 = "krnl.shaped"(%x, %n) : (memref<?xf32>, index) -> memref<?x4xf32>
  %l:2 = krnl.define_loops 2
  krnl.iterate(%l#0, %l#1) with (%l#0 -> %i = %begin to %end, %l#1 -> %j = 0 to 4) {
    %2 = arith.subi %three, %j : index
    %3 = krnl.load %1[%i, %2] : memref<?x4xf32>
    krnl.store %3, %0[%i, %j] : memref<?x4xf32>
  }
  return
}

// -----

// Large buffers share a block, and small ones do; a small one is not in the way of the next large one.
// CHECK-LABEL: func.func @large_and_small
// CHECK-SAME:    krnl.arena = {blocks = 3 : i64}
// CHECK:         {krnl.blocks = array<i64: 0>} : memref<?x64xf32>
// CHECK:         {krnl.blocks = array<i64: 1>} : memref<?x4xf32>
// CHECK:         {krnl.blocks = array<i64: 2>} : memref<?x4xf32>
// CHECK:         {krnl.blocks = array<i64: 0>} : memref<?x64xf32>
func.func @large_and_small(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %0 = builtin.unrealized_conversion_cast %x : tensor<?x4xf32> to memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x64xf32>
  "krnl.call"(%a, %0, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x64xf32>, memref<?x4xf32>, index) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%b, %a, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x64xf32>, index) -> ()
  %c = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%c, %b, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %d = memref.alloc(%n) : memref<?x64xf32>
  "krnl.call"(%d, %c, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x64xf32>, memref<?x4xf32>, index) -> ()
  %e = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%e, %d, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x64xf32>, index) -> ()
  %1 = builtin.unrealized_conversion_cast %e : memref<?x4xf32> to tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}

// -----

// Buffers that grow with the square of a dimension share a block, though others are as large for small shapes.
// CHECK-LABEL: func.func @square
// CHECK-SAME:    krnl.arena = {blocks = 3 : i64}
// CHECK:         {krnl.blocks = array<i64: 0>} : memref<?x?xf32>
// CHECK:         {krnl.blocks = array<i64: 1>} : memref<?x64xf32>
// CHECK:         {krnl.blocks = array<i64: 2>} : memref<?x64xf32>
// CHECK:         {krnl.blocks = array<i64: 0>} : memref<?x?xf32>
func.func @square(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %0 = builtin.unrealized_conversion_cast %x : tensor<?x4xf32> to memref<?x4xf32>
  %a = memref.alloc(%n, %n) : memref<?x?xf32>
  "krnl.call"(%a, %0, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x?xf32>, memref<?x4xf32>, index) -> ()
  %b = memref.alloc(%n) : memref<?x64xf32>
  "krnl.call"(%b, %a, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x64xf32>, memref<?x?xf32>, index) -> ()
  %c = memref.alloc(%n) : memref<?x64xf32>
  "krnl.call"(%c, %b, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x64xf32>, memref<?x64xf32>, index) -> ()
  %d = memref.alloc(%n, %n) : memref<?x?xf32>
  "krnl.call"(%d, %c, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x?xf32>, memref<?x64xf32>, index) -> ()
  %e = memref.alloc(%n) : memref<?x4xf32>
  "krnl.call"(%e, %d, %n) {funcName = "k", numOfOutput = 1 : si64} : (memref<?x4xf32>, memref<?x?xf32>, index) -> ()
  %1 = builtin.unrealized_conversion_cast %e : memref<?x4xf32> to tensor<?x4xf32>
  onnx.Return %1 : tensor<?x4xf32>
}

// -----

// The caller may give the same memory for an argument and a result if one call alone accesses the argument.
// CHECK-LABEL: func.func @cache
// CHECK:         funcName = "k", mayShare = array<i64: 0, 1>
func.func @cache(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to memref<4xf32>
  %a = memref.alloc() : memref<4xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64, mayShare = array<i64: 0, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %a : memref<4xf32> to tensor<4xf32>
  onnx.Return %1 : tensor<4xf32>
}

// -----

// Another call reads the argument; the result is no result of the function; the result is accessed before.
// CHECK-LABEL: func.func @read_again
// CHECK-NOT:     mayShare
func.func @read_again(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to memref<4xf32>
  %1 = builtin.unrealized_conversion_cast %y : tensor<4xf32> to memref<4xf32>
  %2 = builtin.unrealized_conversion_cast %z : tensor<4xf32> to memref<4xf32>
  %a = memref.alloc() : memref<4xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64, mayShare = array<i64: 0, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  %b = memref.alloc() : memref<4xf32>
  "krnl.call"(%b, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<4xf32>, memref<4xf32>) -> ()
  %c = memref.alloc() : memref<4xf32>
  "krnl.call"(%c, %1) {funcName = "k", numOfOutput = 1 : si64, mayShare = array<i64: 0, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  %d = memref.alloc() : memref<4xf32>
  "krnl.call"(%d, %c) {funcName = "k", numOfOutput = 1 : si64} : (memref<4xf32>, memref<4xf32>) -> ()
  "krnl.call"(%d, %2) {funcName = "k", numOfOutput = 1 : si64, mayShare = array<i64: 0, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  %3 = builtin.unrealized_conversion_cast %a : memref<4xf32> to tensor<4xf32>
  %4 = builtin.unrealized_conversion_cast %b : memref<4xf32> to tensor<4xf32>
  %5 = builtin.unrealized_conversion_cast %d : memref<4xf32> to tensor<4xf32>
  onnx.Return %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// After the fifth call 512 bytes are free below 256 that are free too. First fit puts the next 256 bytes into the lower
// gap, so that the 512 of the one after do not fit it; best fit takes the gap of its size, and no plan takes less.
// CHECK-LABEL: func.func @gaps
// CHECK-SAME:    size = 1536 : i64
// BEST-LABEL:  func.func @gaps
// BEST-SAME:     size = 1536 : i64
// FIRST-LABEL: func.func @gaps
// FIRST-SAME:    lower_bound = 1536 : i64
// FIRST-SAME:    size = 2048 : i64
func.func @gaps(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<64xf32> to memref<64xf32>
  %a = memref.alloc() : memref<128xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<128xf32>, memref<64xf32>) -> ()
  %b = memref.alloc() : memref<64xf32>
  "krnl.call"(%b, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %c = memref.alloc() : memref<64xf32>
  "krnl.call"(%c, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %d = memref.alloc() : memref<64xf32>
  "krnl.call"(%d, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %z = memref.alloc() : memref<64xf32>
  "krnl.call"(%z, %a, %c) {funcName = "k", numOfOutput = 1 : si64} : (memref<64xf32>, memref<128xf32>, memref<64xf32>) -> ()
  %e = memref.alloc() : memref<64xf32>
  "krnl.call"(%e, %b) {funcName = "k", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>) -> ()
  %f = memref.alloc() : memref<128xf32>
  "krnl.call"(%f, %d) {funcName = "k", numOfOutput = 1 : si64} : (memref<128xf32>, memref<64xf32>) -> ()
  %y = memref.alloc() : memref<64xf32>
  "krnl.call"(%y, %b, %d, %e, %f, %z) {funcName = "k", numOfOutput = 1 : si64} : (memref<64xf32>, memref<64xf32>, memref<64xf32>, memref<64xf32>, memref<128xf32>, memref<64xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %y : memref<64xf32> to tensor<64xf32>
  onnx.Return %1 : tensor<64xf32>
}
