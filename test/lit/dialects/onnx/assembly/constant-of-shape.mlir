// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// The custom format of ConstantOfShape: one attribute dictionary, omitted if empty.

// CHECK:      module {
// CHECK-NEXT:   func.func @of_shape(%arg0: tensor<3xi64>) {
// CHECK-NEXT:     %0 = onnx.ConstantOfShape(%arg0) {value = dense<1.000000e+00> : tensor<1xf32>} : (tensor<3xi64>) -> tensor<?x?x?xf32>
// CHECK-NEXT:     %1 = onnx.ConstantOfShape(%arg0) : (tensor<3xi64>) -> tensor<?x?x?xf32>
// CHECK-NEXT:     %2 = onnx.ConstantOfShape(%arg0) {onnx_node_name = "c", value = dense<2> : tensor<1xi64>} : (tensor<3xi64>) -> tensor<*xi64>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @of_shape(%s: tensor<3xi64>) {
  %0 = onnx.ConstantOfShape(%s) {value = dense<1.0> : tensor<1xf32>} : (tensor<3xi64>) -> tensor<?x?x?xf32>
  %1 = onnx.ConstantOfShape(%s) : (tensor<3xi64>) -> tensor<?x?x?xf32>
  %2 = "onnx.ConstantOfShape"(%s) <{value = dense<2> : tensor<1xi64>}> {onnx_node_name = "c"} : (tensor<3xi64>) -> tensor<*xi64>
  onnx.Return
}
