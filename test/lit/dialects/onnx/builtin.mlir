// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Structural ops of a graph that are no ONNX operators, in their custom assembly format.

// CHECK-LABEL: @main_graph
// CHECK:         %{{.+}} = "onnx.NoValue"() : () -> none
// CHECK-NEXT:    %{{.+}} = "onnx.Dim"(%{{.+}}) <{axis = 0 : si64}> : (tensor<?x3xf32>) -> tensor<1xi64>
// CHECK-NEXT:    "onnx.DimGroup"(%{{.+}}) <{axis = 0 : si64, group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()
// CHECK-NEXT:    "onnx.DimGroup"(%{{.+}}) <{axis = 0 : si64, group_id = -1 : si64}> : (tensor<?x3xf32>) -> ()
// CHECK-NEXT:    "onnx.PrintSignature"(%{{.+}}) <{op_name = "conv1", print_data = 0 : si64}> : (tensor<?x3xf32>, none) -> ()
// CHECK-NEXT:    %{{.+}} = "onnx.Custom"(%{{.+}}) <{function_name = "Spline"}> {domain_name = "org.example", knots = 4 : si64} : (tensor<?x3xf32>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %{{.+}}, %{{.+}} : tensor<?x3xf32>, tensor<*xf32>
func.func @main_graph(%arg0: tensor<?x3xf32>) -> (tensor<?x?xf32>, tensor<2x3xf32>) {
  %none = "onnx.NoValue"() : () -> none
  %dim = "onnx.Dim"(%arg0) : (tensor<?x3xf32>) -> tensor<1xi64>
  "onnx.DimGroup"(%arg0) <{group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()
  "onnx.DimGroup"(%arg0) : (tensor<?x3xf32>) -> ()
  "onnx.PrintSignature"(%arg0, %none) <{op_name = "conv1", print_data = 0 : si64}> : (tensor<?x3xf32>, none) -> ()
  %custom = "onnx.Custom"(%arg0) {function_name = "Spline", domain_name = "org.example", knots = 4 : si64} : (tensor<?x3xf32>) -> tensor<*xf32>
  onnx.Return %arg0, %custom : tensor<?x3xf32>, tensor<*xf32>
}

// CHECK: "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
"onnx.EntryPoint"() <{func = @main_graph}> : () -> ()

// CHECK-LABEL: @nothing
// CHECK:         onnx.Return{{$}}
func.func @nothing() {
  onnx.Return
}

// CHECK-LABEL: @with_attributes
// CHECK:         onnx.Return {note = "last"} %{{.+}} : tensor<f32>
func.func @with_attributes(%arg0: tensor<f32>) -> tensor<f32> {
  onnx.Return {note = "last"} %arg0 : tensor<f32>
}
