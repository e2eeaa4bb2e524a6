// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: onnx-opt %s --scrub-disposable --mlir-print-op-generic | filecheck %s --check-prefix=SCRUBBED
// RUN: onnx-opt %s --mlir-print-op-generic --mlir-elide-elementsattrs-if-larger=1 | filecheck %s --check-prefix=ELIDED

// onnx-mlir's attribute of folded constants outside of onnx.Constant: its id is dropped, its bytes are read.

// CHECK:      module {
// CHECK-NEXT:   func.func @disposable() {
// CHECK-NEXT:     %0 = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %1 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:     %2 = onnx.Constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT:     %3 = onnx.Constant dense<[-1, 7]> : tensor<2xi4>
// CHECK-NEXT:     %4 = onnx.Constant dense_resource<__elided__> : tensor<2xf32>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }

// GENERIC:       "onnx.Constant"() <{value = #onnx.dense_disposable<{{[0-9]+}}:"0x0000803F00000040"> : tensor<2xf32>}> : () -> tensor<2xf32>
// GENERIC-NEXT:  "onnx.Constant"() <{value = #onnx.dense_disposable<{{[0-9]+}}:"0x0100000000000000"> : tensor<1xi64>}> : () -> tensor<1xi64>
// GENERIC-NEXT:  "onnx.Constant"() <{value = #onnx.dense_disposable<{{[0-9]+}}:"0x0100"> : tensor<2xi1>}> : () -> tensor<2xi1>
// GENERIC-NEXT:  "onnx.Constant"() <{value = #onnx.dense_disposable<{{[0-9]+}}:"0x{{(FF|0F)07}}"> : tensor<2xi4>}> : () -> tensor<2xi4>

// SCRUBBED:      "onnx.Constant"() <{value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}> : () -> tensor<2xf32>

// ELIDED:        "onnx.Constant"() <{value = dense_resource<__elided__> : tensor<2xf32>}>
// ELIDED-NEXT:   #onnx.dense_disposable<{{[0-9]+}}:"0x0100000000000000"> : tensor<1xi64>
func.func @disposable() {
  %0 = onnx.Constant #onnx.dense_disposable<12:"0x0000803F00000040"> : tensor<2xf32>
  %1 = "onnx.Constant"() <{value = #onnx.dense_disposable<3:"0x0100000000000000"> : tensor<1xi64>}> : () -> tensor<1xi64>
  %2 = onnx.Constant #onnx.dense_disposable<13:"0x0100"> : tensor<2xi1>
  %3 = onnx.Constant #onnx.dense_disposable<14:"0x0F07"> : tensor<2xi4>
  %4 = onnx.Constant #onnx.dense_disposable<15:__elided__> : tensor<2xf32>
  onnx.Return
}
