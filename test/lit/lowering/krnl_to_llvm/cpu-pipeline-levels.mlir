// RUN: onnx-opt %s --cpu-pipeline="processor=avx2" | filecheck %s
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 level=1 enable-pass=fuse-onnx" | filecheck %s
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 level=1" | filecheck %s --check-prefix=O1
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 disable-pass=fuse-onnx" | filecheck %s --check-prefix=O1
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 level=0" | filecheck %s --check-prefix=O0
// RUN: not onnx-opt %s --cpu-pipeline="disable-pass=convert-onnx-to-krnl" 2>&1 | filecheck %s --check-prefix=NEEDED

// From level 2 on operators are fused into one kernel, from level 1 on common subexpressions are eliminated.

// CHECK:      llvm.func internal @add_fused_0
// CHECK-NOT:  llvm.func internal
// O1:         llvm.func internal @exp_0
// O1:         llvm.func internal @add_1
// O1:         llvm.call @exp_0
// O1-NOT:     llvm.call @exp_0
// O1:         llvm.call @add_1
// O0:         llvm.func internal @exp_0
// O0:         llvm.call @exp_0
// O0:         llvm.call @exp_0
// O0:         llvm.call @add_1
// NEEDED:     convert-onnx-to-krnl: a correct result needs this pass
func.func @model(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "onnx.Exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "onnx.Exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "onnx.Add"(%0, %1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  onnx.Return %2 : tensor<8xf32>
}
