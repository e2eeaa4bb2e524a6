// RUN: not onnx-opt %s --prepack-weights 2>&1 | filecheck %s

// CHECK: krnl.pack: the weights are not a krnl.global with a value
func.func @argument(%w: memref<2x3xf32>) {
  %p = krnl.pack %w {form = "gemm_panels", sizes = {width = 2 : i64}} : memref<2x3xf32> -> memref<8xf32>
  func.return
}
