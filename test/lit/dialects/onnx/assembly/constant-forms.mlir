// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// The short format of Constant prints one type; the long one serves where types differ or `value` is absent.

// CHECK:      module {
// CHECK-NEXT:   func.func @forms() {
// CHECK-NEXT:     %0 = onnx.Constant dense<[5, 2]> : tensor<2xi64>
// CHECK-NEXT:     %1 = onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<*xi64>
// CHECK-NEXT:     %2 = onnx.Constant {onnx_node_name = "one", value_int = 1 : si64} : tensor<i64>
// CHECK-NEXT:     %3 = onnx.Constant {value_ints = [1, 2]} : tensor<2xi64>
// CHECK-NEXT:     %4 = onnx.Constant : tensor<64xf32>
// CHECK-NEXT:     %5 = onnx.Constant : tensor<*xf32>
// CHECK-NEXT:     %6 = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @forms() {
  %0 = onnx.Constant dense<[5, 2]> : tensor<2xi64>
  %1 = onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<*xi64>
  %2 = onnx.Constant {value_int = 1 : si64, onnx_node_name = "one"} : tensor<i64>
  %3 = onnx.Constant {value_ints = [1, 2]} : tensor<2xi64>
  %4 = onnx.Constant : tensor<64xf32>
  %5 = "onnx.Constant"() : () -> tensor<*xf32>
  %6 = "onnx.Constant"() <{value = dense<3> : tensor<1xi64>}> : () -> tensor<1xi64>
  onnx.Return
}
