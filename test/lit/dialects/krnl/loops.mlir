// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @schedule
// CHECK-NEXT:    %[[L:.*]]:2 = krnl.define_loops 2
// CHECK-NEXT:    %[[B:.*]]:2 = krnl.block %[[L]]#0 4 : (!krnl.loop) -> (!krnl.loop, !krnl.loop)
func.func @schedule(%m: memref<8x6xf32>, %n: index) {
  %ii, %ij = krnl.define_loops 2
  %ib, %il = krnl.block %ii 4 : (!krnl.loop) -> (!krnl.loop, !krnl.loop)
  // CHECK: krnl.permute({{.*}}) [0, 2, 1] : !krnl.loop, !krnl.loop, !krnl.loop
  krnl.permute(%ib, %il, %ij) [0, 2, 1] : !krnl.loop, !krnl.loop, !krnl.loop
  // CHECK-NEXT: krnl.unroll %{{.*}} : !krnl.loop
  krnl.unroll %il : !krnl.loop
  // CHECK-NEXT: krnl.parallel(%{{.*}}) : !krnl.loop
  krnl.parallel(%ib) : !krnl.loop
  // CHECK-NEXT: krnl.iterate(%{{.*}}, %{{.*}}) with (%{{.*}} -> %[[I:.*]] = 0 to 8, %{{.*}} -> %[[J:.*]] = 2 to %{{.*}}) {
  krnl.iterate(%ib, %ij) with (%ii -> %i = 0 to 8, %ij -> %j = 2 to %n) {
    // CHECK-NEXT: %{{.*}} = krnl.get_induction_var_value(%{{.*}}) : (!krnl.loop) -> index
    %0 = krnl.get_induction_var_value(%il) : (!krnl.loop) -> index
    // CHECK-NEXT: %[[V:.*]] = krnl.load %{{.*}}[%[[I]], %[[J]]] : memref<8x6xf32>
    %1 = krnl.load %m[%i, %j] : memref<8x6xf32>
    // CHECK-NEXT: krnl.store %[[V]], %{{.*}}[%[[I]], %[[J]]] : memref<8x6xf32>
    krnl.store %1, %m[%i, %j] : memref<8x6xf32>
  }
  return
}

// CHECK-LABEL: @sum
func.func @sum(%m: memref<8xf32>, %zero: f32) -> f32 {
  %l = krnl.define_loops 1
  // CHECK: %[[S:.*]] = krnl.iterate(%{{.*}}) with (%{{.*}} -> %{{.*}} = 0 to 8) iter_args(%{{.*}} = %{{.*}}) -> (f32) {
  %s = krnl.iterate(%l) with (%l -> %i = 0 to 8) iter_args(%a = %zero) -> (f32) {
    %0 = krnl.load %m[%i] : memref<8xf32>
    %1 = arith.addf %a, %0 : f32
    // CHECK: krnl.yield %{{.*}} : f32
    krnl.yield %1 : f32
  }
  return %s : f32
}
