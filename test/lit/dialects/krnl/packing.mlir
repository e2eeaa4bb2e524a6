// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --print-op-generic | onnx-opt | filecheck %s

// CHECK-LABEL: func.func @forms
// CHECK:         krnl.pack %{{.*}} {factor = 5.000000e-01 : f64, form = "gemm_panels", sizes = {width = 32 : i64}} : memref<8x40xf32> -> memref<512xf32>
// CHECK:         krnl.pack %{{.*}} {form = "conv", sizes = {lanes = 16 : i64, step = 3 : i64, width = 2 : i64}} : memref<20x3x3x3xf32> -> memref<864xf32>
// CHECK:         krnl.pack %{{.*}} {form = "grouped_conv", sizes = {groups = 2 : i64, lanes = 16 : i64, step = 3 : i64, width = 2 : i64}} : memref<20x3x3x3xf32> -> memref<864xf32>
// CHECK:         krnl.pack %{{.*}} {form = "depthwise", sizes = {lanes = 8 : i64}} : memref<10x1x3x3xf32> -> memref<144xf32>
// CHECK:         krnl.pack %{{.*}} {form = "int8_conv", sizes = {{.*}}} : memref<20x3x1x1xi8> -> memref<128xi8>
// CHECK:         krnl.pack %{{.*}} {form = "int8_conv", sizes = {{.*}}} : memref<20x3x1x1xi8> -> memref<128xi16>
// CHECK:         krnl.pack %{{.*}} {form = "bf16_panels", sizes = {width = 32 : i64}} : memref<8x40xf32> -> memref<512xi16>
// CHECK:         krnl.pack %{{.*}} {form = "bf16_conv", sizes = {lanes = 16 : i64, step = 16 : i64, width = 2 : i64}} : memref<20x18x3x3xf32> -> memref<5184xi16>
// CHECK:         krnl.pack %{{.*}} {form = "winograd", sizes = {groups = 1 : i64, tile = 4 : i64, width = 32 : i64}} : memref<20x3x3x3xf32> -> memref<3456xf32>
func.func @forms(%a: memref<8x40xf32>, %b: memref<20x3x3x3xf32>, %c: memref<10x1x3x3xf32>, %d: memref<20x3x1x1xi8>, %e: memref<20x18x3x3xf32>) {
  %0 = krnl.pack %a {form = "gemm_panels", sizes = {width = 32 : i64}, factor = 0.5 : f64} : memref<8x40xf32> -> memref<512xf32>
  %1 = krnl.pack %b {form = "conv", sizes = {lanes = 16 : i64, width = 2 : i64, step = 3 : i64}} : memref<20x3x3x3xf32> -> memref<864xf32>
  %g = krnl.pack %b {form = "grouped_conv", sizes = {groups = 2 : i64, lanes = 16 : i64, width = 2 : i64, step = 3 : i64}} : memref<20x3x3x3xf32> -> memref<864xf32>
  %2 = krnl.pack %c {form = "depthwise", sizes = {lanes = 8 : i64}} : memref<10x1x3x3xf32> -> memref<144xf32>
  %3 = krnl.pack %d {form = "int8_conv", sizes = {groups = 1 : i64, channels = 32 : i64, depth = 4 : i64, width = 16 : i64, terms = 4 : i64}} : memref<20x3x1x1xi8> -> memref<128xi8>
  %4 = krnl.pack %d {form = "int8_conv", sizes = {groups = 1 : i64, channels = 32 : i64, depth = 4 : i64, width = 16 : i64, terms = 2 : i64}} : memref<20x3x1x1xi8> -> memref<128xi16>
  %5 = krnl.pack %a {form = "bf16_panels", sizes = {width = 32 : i64}} : memref<8x40xf32> -> memref<512xi16>
  %6 = krnl.pack %e {form = "bf16_conv", sizes = {lanes = 16 : i64, width = 2 : i64, step = 16 : i64}} : memref<20x18x3x3xf32> -> memref<5184xi16>
  %7 = krnl.pack %b {form = "winograd", sizes = {groups = 1 : i64, tile = 4 : i64, width = 32 : i64}} : memref<20x3x3x3xf32> -> memref<3456xf32>
  func.return
}
