// RUN: onnx-opt %s --plan-memory --split-input-file --verify-diagnostics

// An existing plan is verified, whatever made it: here both buffers are alive in the second call.
// expected-error @unknown {{memref.alloc: its buffer at 64 in the arena overlaps that of memref.alloc at 0, and both are alive at once}}
func.func @overlap(%x: tensor<32xf32>) -> tensor<32xf32> attributes {krnl.arena = {size = 192 : i64}} {
  %0 = builtin.unrealized_conversion_cast %x : tensor<32xf32> to memref<32xf32>
  %a = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<32xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %b = memref.alloc() {krnl.offsets = array<i64: 64>} : memref<32xf32>
  "krnl.call"(%b, %a) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %c = memref.alloc() : memref<32xf32>
  "krnl.call"(%c, %b) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<32xf32> to tensor<32xf32>
  onnx.Return %1 : tensor<32xf32>
}

// -----

// expected-error @unknown {{krnl.call: the kernel 'k' may not write parameter 0 where parameter 1 lies}}
func.func @in_place(%x: tensor<32xf32>) -> tensor<32xf32> attributes {krnl.arena = {size = 128 : i64}} {
  %0 = builtin.unrealized_conversion_cast %x : tensor<32xf32> to memref<32xf32>
  %a = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<32xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %b = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<32xf32>
  "krnl.call"(%b, %a) {funcName = "k", inPlace = array<i64: 0, 1>, numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %c = memref.alloc() : memref<32xf32>
  "krnl.call"(%c, %b) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<32xf32> to tensor<32xf32>
  onnx.Return %1 : tensor<32xf32>
}

// -----

// expected-error @unknown {{memref.alloc: a buffer has no offset in the arena; run plan-memory}}
func.func @nowhere(%x: tensor<32xf32>) -> tensor<32xf32> attributes {krnl.arena = {size = 128 : i64}} {
  %0 = builtin.unrealized_conversion_cast %x : tensor<32xf32> to memref<32xf32>
  %a = memref.alloc() : memref<32xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %1 = "onnx.Relu"(%x) : (tensor<32xf32>) -> tensor<32xf32>
  onnx.Return %1 : tensor<32xf32>
}

// -----

// expected-error @unknown {{memref.alloc: a buffer has offset 32 in the arena; offsets are multiples of 64}}
func.func @odd(%x: tensor<32xf32>) -> tensor<32xf32> attributes {krnl.arena = {size = 160 : i64}} {
  %0 = builtin.unrealized_conversion_cast %x : tensor<32xf32> to memref<32xf32>
  %a = memref.alloc() {krnl.offsets = array<i64: 32>} : memref<32xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %1 = "onnx.Relu"(%x) : (tensor<32xf32>) -> tensor<32xf32>
  onnx.Return %1 : tensor<32xf32>
}

// -----

// Threads that divide the iterations would overwrite what others have still to read.
// expected-error @unknown {{krnl.call: the kernel 'half' may write parameter 0 over the larger parameter 1 in order only; make the call 'sequential'}}
func.func @parallel(%x: tensor<32xf32>) -> tensor<16xf32> attributes {krnl.arena = {size = 128 : i64}} {
  %0 = builtin.unrealized_conversion_cast %x : tensor<32xf32> to memref<32xf32>
  %a = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<32xf32>
  "krnl.call"(%a, %0) {funcName = "k", numOfOutput = 1 : si64} : (memref<32xf32>, memref<32xf32>) -> ()
  %b = memref.alloc() {krnl.offsets = array<i64: 0>} : memref<16xf32>
  "krnl.call"(%b, %a) {funcName = "half", inPlace = array<i64: 0, 1>, iterations = 16 : i64, numOfOutput = 1 : si64} : (memref<16xf32>, memref<32xf32>) -> ()
  %c = memref.alloc() : memref<16xf32>
  "krnl.call"(%c, %b) {funcName = "k", numOfOutput = 1 : si64} : (memref<16xf32>, memref<16xf32>) -> ()
  %1 = builtin.unrealized_conversion_cast %c : memref<16xf32> to tensor<16xf32>
  onnx.Return %1 : tensor<16xf32>
}
func.func private @half(%y: memref<16xf32>, %x: memref<32xf32>, %begin: index, %end: index) {
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = %begin to %end) {
    %from = arith.addi %at, %at : index
    %0 = krnl.load %x[%from] : memref<32xf32>
    krnl.store %0, %y[%at] : memref<16xf32>
  }
  return
}
