// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @product
func.func @product(%c: memref<4x16xf32>, %a: memref<4x8xf32>, %b: memref<8x16xf32>, %d: memref<16xf32>) {
  // CHECK-NEXT: "krnl.gemm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{
  // CHECK-SAME: activation = "relu"
  // CHECK-SAME: tile = array<i64: 4, 16>
  "krnl.gemm"(%c, %a, %b, %d) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>, m = 4 : i64, n = 16 : i64, k = 8 : i64, tile = array<i64: 4, 16>, activation = "relu", packed}> : (memref<4x16xf32>, memref<4x8xf32>, memref<8x16xf32>, memref<16xf32>) -> ()
  return
}
