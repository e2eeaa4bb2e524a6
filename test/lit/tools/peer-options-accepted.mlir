// RUN: onnx-opt %s -O0 | filecheck %s
// RUN: onnx-opt %s -O1 | filecheck %s
// RUN: onnx-opt %s -O2 | filecheck %s
// RUN: onnx-opt %s -O3 --mtriple=s390x-ibm-loz --march=z16 --mcpu=z16 --maccel=CPU -j 4 | filecheck %s
// RUN: onnx-opt -mtriple s390x-ibm-loz -march z16 -mcpu z16 -maccel NONE -j4 %s | filecheck %s
// RUN: onnx-opt %s --onnx-hybrid-pass=false | filecheck %s
// RUN: onnx-opt %s --onnx-hybrid-pass | filecheck %s
// RUN: not onnx-opt %s --maccel=NNPA 2>&1 | filecheck %s --check-prefix=NNPA
// RUN: not onnx-opt %s -mcpu 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not onnx-opt %s --parallel 2>&1 | filecheck %s --check-prefix=PARALLEL
// RUN: not onnx-opt %s --opt-report=Simd 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: not onnx-opt %s --EmitLib 2>&1 | filecheck %s --check-prefix=EMIT

// onnx-mlir's options of code generation have no effect here, or are rejected with the nearest equivalent.

// CHECK:    module {
// CHECK:      "onnx.Relu"(%arg0)

// NNPA:     onnx-opt: option '--maccel' takes NONE, CPU, found 'NNPA'
// VALUE:    onnx-opt: option '--mcpu' needs a value: NAME
// PARALLEL: onnx-opt: option '--parallel' of onnx-mlir is not taken; nearest: `xonnc.compile(…, threads=N)` runs on several threads
// REPORT:   onnx-opt: option '--opt-report' of onnx-mlir is not taken; nearest: `--stats` lists the rules that were applied
// EMIT:     onnx-opt: option '--EmitLib' of onnx-mlir is for onnx-translate and xonnc emit
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}
