// RUN: onnx-translate %s --to=onnxtxt | filecheck %s
// RUN: onnx-translate %s --to=onnx | onnx-translate | filecheck %s --check-prefix=BACK

// Names come from locations and argument attributes; folded constants become initializers, others Constant nodes.

// CHECK:      opset_import: ["" : 17]
// CHECK:      scaled (float[batch,2] x) => (float[batch,2] y)
// CHECK-NEXT: <float[2] w =  {1,2}>
// CHECK:      k = Constant <value: tensor = float {3}> ()
// CHECK:      [mul] t = Mul (x, k)
// CHECK:      y = Add (t, w)

// BACK: func.func @main_graph(%arg0: tensor<?x2xf32> {onnx.dim_params = "0:batch", onnx.name = "x"}{{.*}}) -> (tensor<?x2xf32> {onnx.dim_params = "0:batch", onnx.name = "y"}) {
// BACK: %[[W:.*]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// BACK: %[[K:.*]] = onnx.Constant dense<3.000000e+00> : tensor<f32> {onnx.node}
// BACK: %[[T:.*]] = "onnx.Mul"(%arg0, %[[K]])
// BACK: "onnx.Add"(%[[T]], %[[W]])
// BACK: "onnx.EntryPoint"() <{func = @main_graph}>

module attributes {onnx.graph = {name = "scaled"}, onnx.ir_version = 8 : i64, onnx.opset_imports = {"" = 17 : i64}} {
  func.func @main_graph(%x: tensor<?x2xf32> {onnx.name = "x", onnx.dim_params = "0:batch"})
      -> (tensor<?x2xf32> {onnx.name = "y", onnx.dim_params = "0:batch"}) {
    %w = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32> loc(fused<["w"]>[unknown])
    %k = onnx.Constant dense<3.0> : tensor<f32> {onnx.node} loc(fused<["k"]>[unknown])
    %t = "onnx.Mul"(%x, %k) : (tensor<?x2xf32>, tensor<f32>) -> tensor<*xf32> loc(fused<["t"]>["mul"])
    %y = "onnx.Add"(%t, %w) : (tensor<*xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    onnx.Return %y : tensor<?x2xf32>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}
