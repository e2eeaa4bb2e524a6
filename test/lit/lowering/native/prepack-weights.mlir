// RUN: onnx-opt %s --prepack-weights --split-input-file | filecheck %s
// RUN: onnx-opt %s --prepack-weights --prepack-weights --split-input-file | filecheck %s

// Two panels of two columns, the second zero-padded, times a factor.
// CHECK-LABEL: func.func @panels
// CHECK-NOT:     krnl.pack
// CHECK-NOT:     memref<2x3xf32>
// CHECK:         %[[P:.*]] = "krnl.global"() <{name = "w", shape = [8], value = dense<[2.000000e+00, 4.000000e+00, 8.000000e+00, 1.000000e+01, 6.000000e+00, 0.000000e+00, 1.200000e+01, 0.000000e+00]> : tensor<8xf32>}> : () -> memref<8xf32>
// CHECK-NEXT:    "krnl.call"(%{{.*}}, %[[P]])
func.func @panels(%y: memref<8xf32>) {
  %w = "krnl.global"() {name = "w", shape = [2, 3], value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>} : () -> memref<2x3xf32>
  %p = krnl.pack %w {form = "gemm_panels", sizes = {width = 2 : i64}, factor = 2.0 : f64} : memref<2x3xf32> -> memref<8xf32>
  "krnl.call"(%y, %p) {funcName = "f", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @f(memref<8xf32>, memref<8xf32>)

// -----

// Weights that another op reads too stay.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[W:.*]] = "krnl.global"() <{name = "w", shape = [2, 1, 1, 1]
// CHECK:         %[[P:.*]] = "krnl.global"() <{name = "w", shape = [4], value = dense<[1.000000e+00, 2.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<4xf32>}>
// CHECK-NEXT:    "krnl.call"(%{{.*}}, %[[W]], %[[P]])
func.func @shared(%y: memref<8xf32>) {
  %w = "krnl.global"() {name = "w", shape = [2, 1, 1, 1], value = dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>} : () -> memref<2x1x1x1xf32>
  %p = krnl.pack %w {form = "depthwise", sizes = {lanes = 4 : i64}} : memref<2x1x1x1xf32> -> memref<4xf32>
  "krnl.call"(%y, %w, %p) {funcName = "f", numOfOutput = 1 : si64} : (memref<8xf32>, memref<2x1x1x1xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @f(memref<8xf32>, memref<2x1x1x1xf32>, memref<4xf32>)

// -----

// Eight fields of 4 bits, the lowest bits first: the weights 1, 2, ..., 8 of a column are 0x87654321, those
// of the second are 0; zero points are unsigned, and the panel is padded.
// CHECK-LABEL: func.func @block_quantized
// CHECK:         value = dense<[-2023406815, 0, 0]> : tensor<3xi32>
// CHECK:         value = dense<[7, -118, 0]> : tensor<3xi8>
func.func @block_quantized(%y: memref<2xf32>) {
  %w = "krnl.global"() {name = "w", shape = [8, 2], value = dense<[[-7, -8], [-6, -8], [-5, -8], [-4, -8], [-3, -8], [-2, -8], [-1, -8], [0, -8]]> : tensor<8x2xi8>} : () -> memref<8x2xi8>
  %words = krnl.pack %w {form = "words", sizes = {width = 3 : i64, bits = 4 : i64, offset = 8 : i64, for_bytes = 0 : i64}} : memref<8x2xi8> -> memref<3xi32>
  %z = "krnl.global"() {name = "z", shape = [1, 2], value = dense<[[-121, 10]]> : tensor<1x2xi8>} : () -> memref<1x2xi8>
  %zeros = krnl.pack %z {form = "zero_points", sizes = {width = 3 : i64, offset = 128 : i64}} : memref<1x2xi8> -> memref<3xi8>
  "krnl.call"(%y, %words, %zeros) {funcName = "f", numOfOutput = 1 : si64} : (memref<2xf32>, memref<3xi32>, memref<3xi8>) -> ()
  func.return
}
func.func private @f(memref<2xf32>, memref<3xi32>, memref<3xi8>)

// -----

// In the order for dot products of bytes, the lower four bits of all bytes come first: 0x84736251.
// CHECK-LABEL: func.func @for_bytes
// CHECK:         value = dense<-2072812975> : tensor<1xi32>
func.func @for_bytes(%y: memref<2xf32>) {
  %w = "krnl.global"() {name = "w", shape = [8, 1], value = dense<[[1], [2], [3], [4], [5], [6], [7], [8]]> : tensor<8x1xi8>} : () -> memref<8x1xi8>
  %words = krnl.pack %w {form = "words", sizes = {width = 1 : i64, bits = 4 : i64, offset = 0 : i64, for_bytes = 1 : i64}} : memref<8x1xi8> -> memref<1xi32>
  "krnl.call"(%y, %words) {funcName = "f", numOfOutput = 1 : si64} : (memref<2xf32>, memref<1xi32>) -> ()
  func.return
}
func.func private @f(memref<2xf32>, memref<1xi32>)

// -----

// Panels of two blocks of two channels, an input channel a step: output channels are innermost.
// CHECK-LABEL: func.func @conv
// CHECK:         value = dense<[1.000000e+00, 3.000000e+00, 5.000000e+00, 0.000000e+00, 2.000000e+00, 4.000000e+00, 6.000000e+00, 0.000000e+00]> : tensor<8xf32>
// CHECK:         value = dense<[1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : tensor<16xi8>
func.func @conv(%y: memref<2xf32>) {
  %w = "krnl.global"() {name = "w", shape = [3, 2, 1, 1], value = dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]]]> : tensor<3x2x1x1xf32>} : () -> memref<3x2x1x1xf32>
  %p = krnl.pack %w {form = "conv", sizes = {lanes = 2 : i64, width = 2 : i64, step = 1 : i64}} : memref<3x2x1x1xf32> -> memref<8xf32>
  %b = "krnl.global"() {name = "b", shape = [1, 6, 1], value = dense<[[[1], [2], [3], [4], [5], [6]]]> : tensor<1x6x1xi8>} : () -> memref<1x6x1xi8>
  %q = krnl.pack %b {form = "int8_conv", sizes = {groups = 1 : i64, channels = 2 : i64, depth = 8 : i64, width = 1 : i64, terms = 4 : i64}} : memref<1x6x1xi8> -> memref<16xi8>
  "krnl.call"(%y, %p, %q) {funcName = "f", numOfOutput = 1 : si64} : (memref<2xf32>, memref<8xf32>, memref<16xi8>) -> ()
  func.return
}
func.func private @f(memref<2xf32>, memref<8xf32>, memref<16xi8>)

// -----

// Of two groups of two output channels, each in panels of its own: narrower than the width, with both input channels of
// each group.
// CHECK-LABEL: func.func @groups
// CHECK:         value = dense<[1.000000e+00, 3.000000e+00, 2.000000e+00, 4.000000e+00, 5.000000e+00, 7.000000e+00, 6.000000e+00, 8.000000e+00]> : tensor<8xf32>
func.func @groups(%y: memref<2xf32>) {
  %w = "krnl.global"() {name = "w", shape = [4, 2, 1, 1], value = dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]], [[[7.0]], [[8.0]]]]> : tensor<4x2x1x1xf32>} : () -> memref<4x2x1x1xf32>
  %p = krnl.pack %w {form = "grouped_conv", sizes = {groups = 2 : i64, lanes = 2 : i64, width = 3 : i64, step = 2 : i64}} : memref<4x2x1x1xf32> -> memref<8xf32>
  "krnl.call"(%y, %p) {funcName = "g", numOfOutput = 1 : si64} : (memref<2xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @g(memref<2xf32>, memref<8xf32>)
