// RUN: onnx-opt %s --split-input-file | onnx-opt --split-input-file | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic --split-input-file | onnx-opt --split-input-file | filecheck %s

// Comparison and select on scalars and vectors; the condition is one i1 or a vector of i1.
// CHECK:      %[[C:.*]] = llvm.fcmp "olt" %[[A:.*]], %[[B:.*]] : vector<4xf32>
// CHECK-NEXT: llvm.select %[[C]], %[[A]], %[[B]] : vector<4xi1>, vector<4xf32>
// CHECK:      %[[D:.*]] = llvm.fcmp "uno" %[[X:.*]], %[[X]] : f64
// CHECK-NEXT: llvm.select %[[D]], %[[A]], %[[B]] : i1, vector<4xf32>
builtin.module {
  llvm.func @f(%a: vector<4xf32>, %b: vector<4xf32>, %x: f64) -> !llvm.void {
    %0 = llvm.fcmp "olt" %a, %b : vector<4xf32>
    %1 = llvm.select %0, %a, %b : vector<4xi1>, vector<4xf32>
    %2 = llvm.fcmp "uno" %x, %x : f64
    %3 = llvm.select %2, %a, %b : i1, vector<4xf32>
    llvm.return
  }
}
