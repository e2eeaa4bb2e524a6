// RUN: onnx-opt %s --share-kernels --split-input-file | filecheck %s
// RUN: onnx-opt %s --share-kernels --share-kernels --split-input-file | filecheck %s

// Kernels that differ by a factor and a zero point, not by the limit: one takes both from its callers.
// CHECK-LABEL: func.func @scales
// CHECK:         %[[F:.*]] = "krnl.global"() <{{.*}}value = dense<2.000000e+00> : tensor<1xf32>
// CHECK:         %[[Z:.*]] = "krnl.global"() <{{.*}}value = dense<7> : tensor<1xi32>
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}, %[[F]], %[[Z]], %{{.*}}) <{funcName = "first", iterationsOf = 4 : i64
// CHECK:         %[[G:.*]] = "krnl.global"() <{{.*}}value = dense<-0.000000e+00> : tensor<1xf32>
// CHECK:         %[[Y:.*]] = "krnl.global"() <{{.*}}value = dense<-8> : tensor<1xi32>
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}, %[[G]], %[[Y]], %{{.*}}) <{funcName = "first", iterationsOf = 4 : i64
// CHECK:       func.func private @first(%{{.*}}: memref<?xi32>, %{{.*}}: memref<?xf32>, %[[A:.*]]: memref<1xf32>, %[[B:.*]]: memref<1xi32>, %{{.*}}: index
// CHECK:         %[[LIMIT:.*]] = arith.constant 1.000000e+02 : f32
// CHECK:         %[[FACTOR:.*]] = krnl.load %[[A]][
// CHECK:         %[[ZERO:.*]] = krnl.load %[[B]][
// CHECK:         arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK:         arith.minimumf %{{.*}}, %[[LIMIT]]
// CHECK:         arith.addi %{{.*}}, %[[ZERO]]
// CHECK-NOT:   func.func private
func.func @scales(%y: memref<?xi32>, %x: memref<?xf32>, %n: index) {
  "krnl.call"(%y, %x, %n) <{funcName = "first", iterationsOf = 2 : i64, numOfOutput = 1 : si64}> : (memref<?xi32>, memref<?xf32>, index) -> ()
  "krnl.call"(%y, %x, %n) <{funcName = "second", iterationsOf = 2 : i64, numOfOutput = 1 : si64}> : (memref<?xi32>, memref<?xf32>, index) -> ()
  return
}
func.func private @first(%y: memref<?xi32>, %x: memref<?xf32>, %n: index, %begin: index, %end: index) {
  %limit = arith.constant 100.0 : f32
  %factor = arith.constant 2.0 : f32
  %zero = arith.constant 7 : i32
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = %begin to %end) {
    %0 = krnl.load %x[%i] : memref<?xf32>
    %1 = arith.mulf %0, %factor : f32
    %2 = arith.minimumf %1, %limit : f32
    %3 = arith.fptosi %2 : f32 to i32
    %4 = arith.addi %3, %zero : i32
    krnl.store %4, %y[%i] : memref<?xi32>
  }
  return
}
func.func private @second(%y: memref<?xi32>, %x: memref<?xf32>, %n: index, %begin: index, %end: index) {
  %limit = arith.constant 100.0 : f32
  %factor = arith.constant -0.0 : f32
  %zero = arith.constant -8 : i32
  %l = krnl.define_loops 1
  krnl.iterate(%l) with (%l -> %i = %begin to %end) {
    %0 = krnl.load %x[%i] : memref<?xf32>
    %1 = arith.mulf %0, %factor : f32
    %2 = arith.minimumf %1, %limit : f32
    %3 = arith.fptosi %2 : f32 to i32
    %4 = arith.addi %3, %zero : i32
    krnl.store %4, %y[%i] : memref<?xi32>
  }
  return
}

// -----

// Kernels of other operators, shapes or indices stay apart, and so does one that is called twice with one number.
// CHECK-LABEL: func.func @others
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "product"
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "product"
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "sum"
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "next"
// CHECK-COUNT-3: func.func private
func.func @others(%y: memref<4xf32>, %x: memref<4xf32>) {
  "krnl.call"(%y, %x) <{funcName = "product", numOfOutput = 1 : si64}> : (memref<4xf32>, memref<4xf32>) -> ()
  "krnl.call"(%x, %y) <{funcName = "product", numOfOutput = 1 : si64}> : (memref<4xf32>, memref<4xf32>) -> ()
  "krnl.call"(%y, %x) <{funcName = "sum", numOfOutput = 1 : si64}> : (memref<4xf32>, memref<4xf32>) -> ()
  "krnl.call"(%y, %x) <{funcName = "next", numOfOutput = 1 : si64}> : (memref<4xf32>, memref<4xf32>) -> ()
  return
}
func.func private @product(%y: memref<4xf32>, %x: memref<4xf32>) {
  %number = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %0 = krnl.load %x[%c0] : memref<4xf32>
  %1 = arith.mulf %0, %number : f32
  krnl.store %1, %y[%c0] : memref<4xf32>
  return
}
func.func private @sum(%y: memref<4xf32>, %x: memref<4xf32>) {
  %number = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %0 = krnl.load %x[%c0] : memref<4xf32>
  %1 = arith.addf %0, %number : f32
  krnl.store %1, %y[%c0] : memref<4xf32>
  return
}
func.func private @next(%y: memref<4xf32>, %x: memref<4xf32>) {
  %number = arith.constant 2.0 : f32
  %c1 = arith.constant 1 : index
  %0 = krnl.load %x[%c1] : memref<4xf32>
  %1 = arith.mulf %0, %number : f32
  krnl.store %1, %y[%c1] : memref<4xf32>
  return
}
