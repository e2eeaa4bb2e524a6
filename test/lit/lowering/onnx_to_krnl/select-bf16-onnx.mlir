// RUN: onnx-opt %s --select-bf16-onnx | filecheck %s
// RUN: onnx-opt %s --krnl-attach-core="core=sapphirerapids bf16-bytes=128" --select-bf16-onnx | filecheck %s
// RUN: onnx-opt %s --krnl-attach-core="core=sapphirerapids" --select-bf16-onnx | filecheck %s --check-prefix=SLOW
// RUN: onnx-opt %s --select-bf16-onnx="processor=avx512vnni" | filecheck %s --check-prefix=NONE
// RUN: onnx-opt %s --select-bf16-onnx="portable=true" | filecheck %s --check-prefix=NONE
// RUN: onnx-opt %s --select-bf16-onnx --fuse-onnx="processor=avx512bf16" --assign-layout="processor=avx512bf16" --convert-onnx-to-krnl="processor=avx512bf16" | filecheck %s --check-prefix=KRNL
// RUN: onnx-opt %s --cpu-pipeline="processor=avx512bf16 enable-pass=select-bf16-onnx" | filecheck %s --check-prefix=LLVM
// RUN: onnx-opt %s --cpu-pipeline="processor=avx512bf16" | filecheck %s --check-prefix=OFF

// Processors without the instructions, and C source, keep float32.
// NONE-NOT: krnl.operand_type
// OFF-NOT:  dpbf16ps

// Products with constant weights, an even number for each result.
// CHECK-LABEL: func.func @products
// CHECK:         "onnx.MatMul"(%{{.*}}, %{{.*}}) {krnl.operand_type = bf16}
// CHECK:         "onnx.Gemm"{{.*}}krnl.operand_type = bf16
// CHECK:         "onnx.Conv"{{.*}}krnl.operand_type = bf16
// KRNL-LABEL:  func.func @products
// One copy of %x in bfloat16 serves both products that read it.
// KRNL:          "krnl.call"(%[[COPY:.*]], %{{.*}}) <{funcName = "to_bf16_0"
// KRNL:          "krnl.call"(%{{.*}}, %[[COPY]], %{{.*}}) <{funcName = "gemm_1"
// KRNL:          "krnl.call"(%{{.*}}, %[[COPY]], %{{.*}}) <{funcName = "gemm_1"
// KRNL:          krnl.pack %{{.*}} {form = "bf16_conv",
// KRNL-LABEL:  func.func private @to_bf16
// KRNL:          "krnl.encode"(%{{.*}}) <{format = bf16
// KRNL:        func.func private @gemm
// KRNL:          "krnl.gemm"(
// KRNL-SAME:       products = "llvm.x86.avx512bf16.dpbf16ps.512"
// KRNL:        func.func private @conv
// KRNL:          "krnl.conv"(
// KRNL-SAME:       products = "llvm.x86.avx512bf16.dpbf16ps.512"
// LLVM:        llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @products(%x: tensor<4x8xf32>, %i: tensor<1x16x6x6xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>, tensor<1x16x4x4xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<8x32xf32>
  %v = onnx.Constant dense<1.0> : tensor<32x8xf32>
  %k = onnx.Constant dense<1.0> : tensor<16x16x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMul"(%x, %w) : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
  %1 = "onnx.Gemm"(%x, %v, %none) <{transB = 1 : si64}> : (tensor<4x8xf32>, tensor<32x8xf32>, none) -> tensor<4x32xf32>
  %2 = "onnx.Conv"(%i, %k, %none) : (tensor<1x16x6x6xf32>, tensor<16x16x3x3xf32>, none) -> tensor<1x16x4x4xf32>
  onnx.Return %0, %1, %2 : tensor<4x32xf32>, tensor<4x32xf32>, tensor<1x16x4x4xf32>
}

// Weights that are fed, an odd number of products, float64, a transposed A, few or grouped channels.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     krnl.operand_type
func.func @others(%x: tensor<4x7xf32>, %f: tensor<7x3xf32>, %d: tensor<4x8xf64>, %t: tensor<8x4xf32>, %i: tensor<1x8x6x6xf32>, %j: tensor<1x32x6x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf64>, tensor<4x3xf32>, tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<7x3xf32>
  %v = onnx.Constant dense<1.0> : tensor<8x3xf64>
  %u = onnx.Constant dense<1.0> : tensor<8x3xf32>
  %k = onnx.Constant dense<1.0> : tensor<16x8x3x3xf32>
  %l = onnx.Constant dense<1.0> : tensor<16x16x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMul"(%x, %f) : (tensor<4x7xf32>, tensor<7x3xf32>) -> tensor<4x3xf32>
  %1 = "onnx.MatMul"(%x, %w) : (tensor<4x7xf32>, tensor<7x3xf32>) -> tensor<4x3xf32>
  %2 = "onnx.MatMul"(%d, %v) : (tensor<4x8xf64>, tensor<8x3xf64>) -> tensor<4x3xf64>
  %3 = "onnx.Gemm"(%t, %u, %none) <{transA = 1 : si64}> : (tensor<8x4xf32>, tensor<8x3xf32>, none) -> tensor<4x3xf32>
  %4 = "onnx.Conv"(%i, %k, %none) : (tensor<1x8x6x6xf32>, tensor<16x8x3x3xf32>, none) -> tensor<1x16x4x4xf32>
  %5 = "onnx.Conv"(%j, %l, %none) <{group = 2 : si64}> : (tensor<1x32x6x6xf32>, tensor<16x16x3x3xf32>, none) -> tensor<1x16x4x4xf32>
  onnx.Return %0, %1, %2, %3, %4, %5 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf64>, tensor<4x3xf32>, tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>
}

// Where instructions for bfloat16 take longer than those for float32: products of up to 4 rows, whose weights are larger
// than L2.
// CHECK-LABEL: func.func @rows
// SLOW-LABEL: func.func @products
// SLOW-NOT:     krnl.operand_type
// SLOW-LABEL: func.func @rows
// SLOW:         "onnx.MatMul"(%{{.*}}, %{{.*}}) {krnl.operand_type = bf16}
// SLOW:         "onnx.Gemm"{{.*}}krnl.operand_type = bf16
// SLOW-NOT:     krnl.operand_type
func.func @rows(%x: tensor<2x2x1024xf32>, %y: tensor<1x1024xf32>, %z: tensor<5x1024xf32>, %d: tensor<?x1024xf32>) -> (tensor<2x2x1024xf32>, tensor<1x1024xf32>, tensor<5x1024xf32>, tensor<?x1024xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<1024x1024xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMul"(%x, %w) : (tensor<2x2x1024xf32>, tensor<1024x1024xf32>) -> tensor<2x2x1024xf32>
  %1 = "onnx.Gemm"(%y, %w, %none) : (tensor<1x1024xf32>, tensor<1024x1024xf32>, none) -> tensor<1x1024xf32>
  %2 = "onnx.MatMul"(%z, %w) : (tensor<5x1024xf32>, tensor<1024x1024xf32>) -> tensor<5x1024xf32>
  %3 = "onnx.MatMul"(%d, %w) : (tensor<?x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x1024xf32>
  onnx.Return %0, %1, %2, %3 : tensor<2x2x1024xf32>, tensor<1x1024xf32>, tensor<5x1024xf32>, tensor<?x1024xf32>
}
