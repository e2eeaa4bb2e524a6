// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Return, Yield, NoValue, EntryPoint and the other ops of the dialect that are no ONNX operators.

// CHECK:      module {
// CHECK-NEXT:   func.func @main_graph(%arg0: tensor<?x3xf32> {onnx.dim_params = "0:batch", onnx.name = "x"}) -> (tensor<?x3xf32> {onnx.name = "y"}) {
// CHECK-NEXT:     %0 = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:     %1 = "onnx.Dim"(%arg0) <{axis = 0 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64>
// CHECK-NEXT:     "onnx.DimGroup"(%arg0) <{axis = 0 : si64, group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()
// CHECK-NEXT:     "onnx.PrintSignature"(%arg0, %0) <{op_name = "onnx.Relu, r", print_data = 0 : si64}> : (tensor<?x3xf32>, none) -> ()
// CHECK-NEXT:     %2 = "onnx.Custom"(%arg0) <{function_name = "f", inputs_for_infer = [0], output_element_type = f32, shape_infer_pattern = "SameAs"}> {domain_name = "d"} : (tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:     onnx.Return {note = "kept"} %2 : tensor<?x3xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @nothing() {
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT:   "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
// CHECK-NEXT: }
func.func @main_graph(%x: tensor<?x3xf32> {onnx.name = "x", onnx.dim_params = "0:batch"}) -> (tensor<?x3xf32> {onnx.name = "y"}) {
  %none = "onnx.NoValue"() {value} : () -> none
  %size = "onnx.Dim"(%x) {axis = 0 : si64} : (tensor<?x3xf32>) -> tensor<1xi64>
  "onnx.DimGroup"(%x) {axis = 0 : si64, group_id = 1 : si64} : (tensor<?x3xf32>) -> ()
  "onnx.PrintSignature"(%x, %none) {op_name = "onnx.Relu, r", print_data = 0 : si64} : (tensor<?x3xf32>, none) -> ()
  %0 = "onnx.Custom"(%x) {shape_infer_pattern = "SameAs", output_element_type = f32, inputs_for_infer = [0], function_name = "f", domain_name = "d"} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  onnx.Return {note = "kept"} %0 : tensor<?x3xf32>
}
func.func @nothing() {
  onnx.Return
}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()
