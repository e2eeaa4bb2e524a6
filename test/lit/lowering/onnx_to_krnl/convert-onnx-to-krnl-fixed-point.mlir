// RUN: onnx-opt %s --fuse-onnx="processor=avx512vnni" --assign-layout="processor=avx512vnni" --convert-onnx-to-krnl="processor=avx512vnni" | filecheck %s
// RUN: onnx-opt %s --fuse-onnx="processor=avx512" --assign-layout="processor=avx512" --convert-onnx-to-krnl="processor=avx512" | filecheck %s --check-prefix=FLOAT

// A row of float activations is multiplied with weights of 4 bits as integers of 23 bits, by the same dot products.
// CHECK-LABEL: func.func @fixed_point
// CHECK:         krnl.dequantize_gemm
// CHECK-SAME:    products = "llvm.x86.avx512.vpdpbusd.512"
// FLOAT-LABEL: func.func @fixed_point
// FLOAT:         krnl.dequantize_gemm
// FLOAT-NOT:     products
func.func @fixed_point(%x: tensor<1x32xf32>) -> tensor<1x4xf32> {
  %w = onnx.Constant dense<3> : tensor<32x4xi4>
  %s = onnx.Constant dense<0.5> : tensor<1x4xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%w, %s, %n) <{axis = 0 : si64, block_size = 32 : si64}> : (tensor<32x4xi4>, tensor<1x4xf32>, none) -> tensor<32x4xf32>
  %y = "onnx.MatMul"(%x, %0) : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  onnx.Return %y : tensor<1x4xf32>
}
