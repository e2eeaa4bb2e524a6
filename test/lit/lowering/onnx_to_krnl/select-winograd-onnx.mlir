// RUN: onnx-opt %s --select-winograd-onnx | filecheck %s
// RUN: onnx-opt %s --select-winograd-onnx="processor=avx2" | filecheck %s --check-prefix=AVX2
// RUN: onnx-opt %s --select-winograd-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl="threads=2" | filecheck %s --check-prefix=KRNL
// RUN: onnx-opt %s --cpu-pipeline | filecheck %s --check-prefix=OFF
// RUN: onnx-opt %s --cpu-pipeline="enable-pass=select-winograd-onnx" | filecheck %s --check-prefix=LLVM

// No optimization level includes the pass.
// OFF-NOT:  winograd

// Many pixels: tiles of 4x4; many weights on few pixels: of 2x2.
// CHECK-LABEL: func.func @tiles
// CHECK:         "onnx.Conv"{{.*}}krnl.winograd = 4 : i64
// CHECK:         "onnx.Conv"{{.*}}krnl.winograd = 2 : i64
// KRNL-LABEL:  func.func @tiles
// KRNL:          krnl.pack %{{.*}} {form = "winograd", sizes = {groups = 1 : i64, tile = 4 : i64, width = 64 : i64}} : memref<64x64x3x3xf32> -> memref<147456xf32>
// Each of two threads has memory of its own for the pixels of a strip and for its products.
// KRNL:          %[[PIXELS:.*]] = memref.alloc() : memref<2x36x[[COUNT:[0-9]+]]x4x16xf32>
// KRNL:          %[[SUMS:.*]] = memref.alloc() : memref<2x36x[[COUNT]]x4x16xf32>
// KRNL:          "krnl.call"(%{{.*}}, %[[PIXELS]], %[[SUMS]], %{{.*}}) <{funcName = "winograd_{{[0-9]+}}", iterations = 2 : i64
// Tiles that are larger than the image, or that have no transformations, have no effect.
// They divide weights that L2 does not hold: each computes half of the channels of the results.
// KRNL:          krnl.pack %{{.*}} {form = "winograd", sizes = {groups = 2 : i64, tile = 2 : i64, width = {{[0-9]+}} : i64}} : memref<512x512x3x3xf32>
// KRNL-LABEL:  func.func @asked
// KRNL-NOT:      funcName = "winograd
// KRNL-LABEL:  func.func private @winograd
// KRNL:          math.fma
// KRNL:          "krnl.gemm"
// KRNL-SAME:       batch_a
// KRNL:          math.fma
// LLVM:        llvm.func internal @winograd
func.func @tiles(%x: tensor<1x64x56x56xf32>, %z: tensor<1x512x7x7xf32>) -> (tensor<1x64x54x54xf32>, tensor<1x512x7x7xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<64x64x3x3xf32>
  %v = onnx.Constant dense<1.0> : tensor<512x512x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x54x54xf32>
  %1 = "onnx.Conv"(%z, %v, %none) <{pads = [1, 1, 1, 1]}> : (tensor<1x512x7x7xf32>, tensor<512x512x3x3xf32>, none) -> tensor<1x512x7x7xf32>
  onnx.Return %0, %1 : tensor<1x64x54x54xf32>, tensor<1x512x7x7xf32>
}

// Weights that are fed, strides, dilations, groups, another window, channels that fill no block, few pixels.
// A block of 8 lanes is filled by 24 channels.
// AVX2-LABEL:  func.func @others
// AVX2:          krnl.winograd
// CHECK-LABEL: func.func @others
// CHECK-NOT:     krnl.winograd
func.func @others(%x: tensor<1x64x30x30xf32>, %f: tensor<64x64x3x3xf32>, %t: tensor<1x24x30x30xf32>, %p: tensor<1x64x3x3xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<64x64x3x3xf32>
  %g = onnx.Constant dense<1.0> : tensor<64x32x3x3xf32>
  %k = onnx.Constant dense<1.0> : tensor<64x64x5x5xf32>
  %l = onnx.Constant dense<1.0> : tensor<64x24x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %f, %none) : (tensor<1x64x30x30xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  %1 = "onnx.Conv"(%x, %w, %none) <{strides = [2, 2]}> : (tensor<1x64x30x30xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x14x14xf32>
  %2 = "onnx.Conv"(%x, %w, %none) <{dilations = [2, 2]}> : (tensor<1x64x30x30xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x26x26xf32>
  %3 = "onnx.Conv"(%x, %g, %none) <{group = 2 : si64}> : (tensor<1x64x30x30xf32>, tensor<64x32x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  %4 = "onnx.Conv"(%x, %k, %none) : (tensor<1x64x30x30xf32>, tensor<64x64x5x5xf32>, none) -> tensor<1x64x26x26xf32>
  %5 = "onnx.Conv"(%t, %l, %none) : (tensor<1x24x30x30xf32>, tensor<64x24x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  %6 = "onnx.Conv"(%p, %w, %none) : (tensor<1x64x3x3xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x1x1xf32>
  onnx.Return
}

// CHECK-LABEL: func.func @asked
func.func @asked(%x: tensor<1x64x5x5xf32>) -> (tensor<1x64x3x3xf32>, tensor<1x64x3x3xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<64x64x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {krnl.winograd = 4 : i64} : (tensor<1x64x5x5xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x3x3xf32>
  %1 = "onnx.Conv"(%x, %w, %none) {krnl.winograd = 3 : i64} : (tensor<1x64x5x5xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x3x3xf32>
  onnx.Return %0, %1 : tensor<1x64x3x3xf32>, tensor<1x64x3x3xf32>
}
