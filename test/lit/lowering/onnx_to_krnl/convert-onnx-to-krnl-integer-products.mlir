// RUN: onnx-opt %s --fuse-onnx="processor=avx512vnni" --assign-layout="processor=avx512vnni" --convert-onnx-to-krnl="processor=avx512vnni" | filecheck %s
// RUN: onnx-opt %s --fuse-onnx="processor=avx512" --assign-layout="processor=avx512" --convert-onnx-to-krnl="processor=avx512" | filecheck %s --check-prefix=FLOAT

// Activations of int8 with the blocks of the weights are multiplied as integers, by dot products of the processor.
// CHECK-LABEL: func.func @integer_products
// CHECK:         krnl.pack %{{.*}} {form = "words", {{.*}}} : memref<16x4xi8> -> memref<64xi32>
// CHECK:         krnl.quantized_gemm
// CHECK-SAME:    block = 8 : i64
// CHECK-SAME:    products = "llvm.x86.avx512.vpdpbusd.512", tile = array<i64: 4, 16>, zero_point = 128 : i64
// CHECK-SAME:    memref<2x16xi8>
// CHECK-SAME:    memref<2x2xf32>
// A processor without them dequantizes both.
// FLOAT-LABEL: func.func @integer_products
// FLOAT:         krnl.dequantize_gemm
func.func @integer_products(%q: tensor<2x16xi8>, %f: tensor<2x2xf32>) -> tensor<2x4xf32> {
  %w = onnx.Constant dense<3> : tensor<16x4xi8>
  %s = onnx.Constant dense<0.5> : tensor<2x4xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%q, %f, %n) <{axis = 1 : si64, block_size = 8 : si64}> : (tensor<2x16xi8>, tensor<2x2xf32>, none) -> tensor<2x16xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %n) <{axis = 0 : si64, block_size = 8 : si64}> : (tensor<16x4xi8>, tensor<2x4xf32>, none) -> tensor<16x4xf32>
  %y = "onnx.MatMul"(%0, %1) : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  onnx.Return %y : tensor<2x4xf32>
}
