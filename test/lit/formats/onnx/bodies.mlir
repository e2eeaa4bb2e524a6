// RUN: onnx-translate %s --to=onnxtxt | filecheck %s

// Regions become subgraphs that use outer values; values without names are named after their ops.

// CHECK:      main_graph (bool c, float[2] x) => (float[2] y)
// CHECK:      a = Abs (x)
// CHECK:      y = If (c) <
// CHECK-DAG:  then_branch: graph = then_body () => (float[2] p)
// CHECK-DAG:  p = Relu (a)
// CHECK-DAG:  Neg_1 = Neg (a)

func.func @main_graph(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<2xf32> {onnx.name = "x"})
    -> (tensor<2xf32> {onnx.name = "y"}) {
  %a = "onnx.Abs"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["a"]>[unknown])
  %y = "onnx.If"(%c) ({
    %p = "onnx.Relu"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["q"]>[unknown])
    onnx.Yield %p : tensor<2xf32>
  }, {
    %n = "onnx.Neg"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %n : tensor<2xf32>
  }) {onnx.then_branch = {name = "then_body", output = ["p"]}} : (tensor<i1>) -> tensor<2xf32>
  onnx.Return %y : tensor<2xf32>
}
