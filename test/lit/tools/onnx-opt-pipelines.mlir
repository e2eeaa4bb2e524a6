// RUN: onnx-opt %s --pass-pipeline="builtin.module(func.func(cse,canonicalize-onnx),any(symbol-dce))" --dump-pass-pipeline --verify-roundtrip 2>&1 | filecheck %s
// RUN: not onnx-opt %s -p "builtin.module(scf.if(cse))" 2>&1 | filecheck %s --check-prefix=ANCHOR
// RUN: not onnx-opt %s -p "func.func(builtin.module(cse))" 2>&1 | filecheck %s --check-prefix=INSIDE
// RUN: not onnx-opt %s -p "func.func(cse" 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not onnx-opt %s -p "func.func(csee)" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: onnx-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: rm -rf %t && mkdir %t && onnx-opt %s --cse --symbol-dce --print-ir-after-all --mlir-print-ir-tree-dir=%t/tree && cat %t/tree/builtin_module_no-symbol-name/1_symbol-dce.mlir | filecheck %s --check-prefix=TREE
// RUN: not onnx-opt %s --insert-qdq-onnx --mlir-pass-pipeline-crash-reproducer=%t/bug.mlir 2>&1 | filecheck %s --check-prefix=SAYS
// RUN: cat %t/bug.mlir | filecheck %s --check-prefix=BUG
// RUN: onnx-opt %s --mlir-print-local-scope --mlir-print-debuginfo | filecheck %s --check-prefix=LOCAL

// CHECK:       Pass Manager with 3 passes:
// CHECK-NEXT:  builtin.module(func.func(cse,canonicalize-onnx),symbol-dce)
// CHECK-LABEL: func.func @first
// CHECK-NEXT:    "onnx.Relu"
// CHECK-NEXT:    "onnx.Add"
// CHECK-NOT:   @dead
// CHECK-LABEL: func.func @second
// CHECK-NEXT:    onnx.Return %arg0
// ANCHOR: cannot read the pipeline "scf.if(cse)": passes nest in builtin.module and func.func, not in scf.if
// INSIDE: cannot read the pipeline "builtin.module(cse)": passes nest in builtin.module and func.func, not in builtin.module inside func.func
// OPEN: cannot read the pipeline "func.func(cse": a parenthesis, brace or quote is not closed
// NAME: no pass 'csee'; did you mean 'cse'?
// DIALECTS: Available Dialects: {{.*}}dla,{{.*}}krnl,{{.*}}onnx,
// TREE: IR Dump After SymbolDce (symbol-dce)
// TREE: func.func @first
// TREE-NOT: @dead
// SAYS: bug.mlir has the input of the failing pipeline
// BUG: // configuration: onnx-opt {{.*}}bug.mlir '--pass-pipeline=builtin.module(insert-qdq-onnx)'
// BUG: func.func @first
// LOCAL-NOT: #loc
// LOCAL: loc("n1")
func.func @first(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("n1")
  %b = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("n1")
  %c = "onnx.Add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("n1")
  onnx.Return %c : tensor<2xf32>
}
func.func private @dead(%x: tensor<2xf32>) -> tensor<2xf32> {
  onnx.Return %x : tensor<2xf32>
}
func.func @second(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Identity"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %y : tensor<2xf32>
}
