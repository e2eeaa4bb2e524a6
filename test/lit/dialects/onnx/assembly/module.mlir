// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// CHECK:      #map = affine_map<(d0, d1)[s0] -> (d0 + d1 * 2 - s0, d0 floordiv 4)>
// CHECK-NEXT: module {
// CHECK-NEXT:   func.func @main_graph(%arg0: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
// CHECK-NEXT:     %0 = onnx.Constant dense<[1.000000e+00, 0x7FC00000, 0.699999988]> : tensor<3xf32>
// CHECK-NEXT:     %1 = onnx.Constant {value_int = 1 : si64} : tensor<i64>
// CHECK-NEXT:     %2 = "onnx.NoValue"() : () -> none
// CHECK-NEXT:     %3:2 = "onnx.Split"(%arg0, %2) <{axis = 0 : si64}> {test.a, test.z = #map} : (tensor<2x3xf32>, none) -> (tensor<1x3xf32>, tensor<1x3xf32>)
// CHECK-NEXT:     %4 = "onnx.Concat"(%3#1, %3#0) <{axis = 0 : si64}> : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:     onnx.Return %4 : tensor<2x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
// CHECK-NEXT: }
!t = tensor<2x3xf32>
func.func @main_graph(%x: !t {onnx.name = "x"}) -> (!t {onnx.name = "y"}) {
  %c = onnx.Constant dense<[1.0, 0x7FC00000, 0.7]> : tensor<3xf32>
  %one = onnx.Constant {value_int = 1 : si64} : tensor<i64>
  %none = "onnx.NoValue"() : () -> none
  %parts:2 = "onnx.Split"(%x, %none) {axis = 0 : si64, test.z = #later, test.a} : (!t, none) -> (tensor<1x3xf32>, tensor<1x3xf32>)
  %y = "onnx.Concat"(%parts#1, %parts#0) {axis = 0 : si64} : (tensor<1x3xf32>, tensor<1x3xf32>) -> !t
  onnx.Return %y : !t
}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()
#later = affine_map<(d0, d1)[s0] -> ((d0 + d1 * 2) - s0, d0 floordiv 4)>
