// The same in lit's shell with one process for each command, as a file is written by redirection.
// RUN: onnx-mlir-opt %s > %t
// RUN: FileCheck %s < %t

// CHECK: module {
// CHECK-NEXT: func.func private @f(tensor<2xf32>)
func.func private @f(tensor<2xf32>) -> ()
