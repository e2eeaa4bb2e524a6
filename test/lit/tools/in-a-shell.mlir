// The same in lit's shell with one process for each command, since `%t` needs a file.
// RUN: onnx-mlir-opt %s -o %t
// RUN: FileCheck %s --input-file=%t

// CHECK: module {
// CHECK-NEXT: func.func private @f(tensor<2xf32>)
func.func private @f(tensor<2xf32>) -> ()
