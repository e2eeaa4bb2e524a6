// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Sequence, optional, string and map types, and the none type.

// CHECK:      module {
// CHECK-NEXT:   func.func private @types(!onnx.Seq<tensor<*xf32>>, !onnx.Seq<!onnx.Opt<tensor<2xi64>>>, !onnx.Opt<tensor<?x3x!onnx.String>>, tensor<!onnx.String>, tensor<*x!onnx.String>, none, tensor<0x?xi4>, tensor<ui4>, !onnx.Map<i64, tensor<f32>>) -> (tensor<*xbf16>, tensor<1xf8E4M3FN>, tensor<1xf8E5M2FNUZ>, tensor<1xcomplex<f64>>)
// CHECK-NEXT:   func.func @alias(%arg0: !onnx.Seq<tensor<?xf32>>) -> !onnx.Seq<tensor<?xf32>> {
// CHECK-NEXT:     onnx.Return %arg0 : !onnx.Seq<tensor<?xf32>>
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func private @types(!onnx.Seq<tensor<*xf32>>, !onnx.Seq<!onnx.Opt<tensor<2xi64>>>, !onnx.Opt<tensor<?x3x!onnx.String>>, tensor<!onnx.String>, tensor<*x!onnx.String>, none, tensor<0x?xi4>, tensor<ui4>, !onnx.Map<i64, tensor<f32>>) -> (tensor<*xbf16>, tensor<1xf8E4M3FN>, tensor<1xf8E5M2FNUZ>, tensor<1xcomplex<f64>>)
!sequence = !onnx.Seq<tensor<?xf32>>
func.func @alias(%s: !sequence) -> !sequence {
  onnx.Return %s : !sequence
}
