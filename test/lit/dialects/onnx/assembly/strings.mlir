// RUN: onnx-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: onnx-opt %s --allow-unregistered-dialect | onnx-opt --allow-unregistered-dialect | filecheck %s
// RUN: onnx-opt %s --allow-unregistered-dialect --mlir-print-op-generic | onnx-opt --allow-unregistered-dialect | filecheck %s

// String tensors, escapes, bytes that are not UTF-8, and typed strings, which onnx ops do not need.

// CHECK:      module {
// CHECK-NEXT:   func.func @strings() {
// CHECK-NEXT:     %0 = onnx.Constant dense<["a", "b"]> : tensor<2x!onnx.String>
// CHECK-NEXT:     %1 = onnx.Constant dense<"a"> : tensor<2x1x!onnx.String>
// CHECK-NEXT:     %2 = onnx.Constant dense<"one"> : tensor<!onnx.String>
// CHECK-NEXT:     %3 = onnx.Constant dense<> : tensor<0x!onnx.String>
// CHECK-NEXT:     %4 = onnx.Constant dense<["say \22a\22", "tab\09", "back\\slash", "\C3\A9", "\FF"]> : tensor<5x!onnx.String>
// CHECK-NEXT:     %5 = onnx.Constant {value_string = "a"} : tensor<!onnx.String>
// CHECK-NEXT:     %6 = onnx.Constant {value_strings = ["a", "b"]} : tensor<2x!onnx.String>
// CHECK-NEXT:     "test.op"() {text = "a" : !onnx.String} : () -> ()
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @strings() {
  %0 = onnx.Constant dense<["a", "b"]> : tensor<2x!onnx.String>
  %1 = onnx.Constant dense<[["a"], ["a"]]> : tensor<2x1x!onnx.String>
  %2 = onnx.Constant dense<"one"> : tensor<!onnx.String>
  %3 = onnx.Constant dense<> : tensor<0x!onnx.String>
  %4 = onnx.Constant dense<["say \"a\"", "tab\09", "back\\slash", "\C3\A9", "\FF"]> : tensor<5x!onnx.String>
  %5 = onnx.Constant {value_string = "a" : !onnx.String} : tensor<!onnx.String>
  %6 = onnx.Constant {value_strings = ["a", "b" : !onnx.String]} : tensor<2x!onnx.String>
  "test.op"() {text = "a" : !onnx.String} : () -> ()
  onnx.Return
}
