// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Blocks with arguments have a label; value numbers inside of a region continue those around it.

// CHECK:      module {
// CHECK-NEXT:   func.func @regions(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<i64>) -> tensor<2xf32> {
// CHECK-NEXT:     %0 = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:     %1 = "onnx.If"(%arg0) ({
// CHECK-NEXT:       %4 = "onnx.Relu"(%arg1) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:       onnx.Yield %4 : tensor<2xf32>
// CHECK-NEXT:     }, {
// CHECK-NEXT:       %4 = "onnx.Exp"(%arg1) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:       onnx.Yield %4 : tensor<2xf32>
// CHECK-NEXT:     }) {onnx_node_name = "if"} : (tensor<i1>) -> tensor<2xf32>
// CHECK-NEXT:     %2:2 = "onnx.Loop"(%arg2, %0, %1) ({
// CHECK-NEXT:     ^bb0(%arg3: tensor<i64>, %arg4: tensor<i1>, %arg5: tensor<2xf32>):
// CHECK-NEXT:       %4 = "onnx.Relu"(%arg5) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:       onnx.Yield %arg4, %4, %arg3 : tensor<i1>, tensor<2xf32>, tensor<i64>
// CHECK-NEXT:     }) : (tensor<i64>, none, tensor<2xf32>) -> (tensor<2xf32>, tensor<?xi64>)
// CHECK-NEXT:     %3 = "onnx.Fused"(%2#0) <{kind = "k"}> ({
// CHECK-NEXT:     ^bb0(%arg3: tensor<2xf32>):
// CHECK-NEXT:       onnx.Yield %arg3 : tensor<2xf32>
// CHECK-NEXT:     }) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     onnx.Return %3 : tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @regions(%c: tensor<i1>, %x: tensor<2xf32>, %n: tensor<i64>) -> tensor<2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.If"(%c) ({
    %then = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %then : tensor<2xf32>
  }, {
    %else = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %else : tensor<2xf32>
  }) {onnx_node_name = "if"} : (tensor<i1>) -> tensor<2xf32>
  %1:2 = "onnx.Loop"(%n, %none, %0) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xf32>):
    %w = "onnx.Relu"(%v) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %go, %w, %i : tensor<i1>, tensor<2xf32>, tensor<i64>
  }) : (tensor<i64>, none, tensor<2xf32>) -> (tensor<2xf32>, tensor<?xi64>)
  %2 = "onnx.Fused"(%1#0) <{kind = "k"}> ({
  ^bb0(%a: tensor<2xf32>):
    onnx.Yield %a : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %2 : tensor<2xf32>
}
