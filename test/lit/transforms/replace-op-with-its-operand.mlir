// RUN: onnx-opt %s --replace-op-with-its-operand='list-id-regex=1:sum,0:act.*,0:sum' | filecheck %s
// RUN: onnx-opt %s --replace-op-with-its-operand=1:sum,0:act.*,0:sum | filecheck %s
// RUN: not onnx-opt %s --replace-op-with-its-operand='list-id-regex=2:sum' 2>&1 | filecheck %s --check-prefix=OPERAND
// RUN: not onnx-opt %s --replace-op-with-its-operand='list-id-regex=sum' 2>&1 | filecheck %s --check-prefix=ITEM
// RUN: not onnx-opt %s --replace-op-with-its-operand='list-id-regex=0:*sum' 2>&1 | filecheck %s --check-prefix=REGEX

// OPERAND: sum: list-id-regex asks for operand 2 of onnx.Add, which has 2; operands count from 0
// ITEM: list-id-regex: 'sum' is not a number, a colon and a regular expression, as 0:conv.* is
// REGEX: list-id-regex: '*sum' is no regular expression: nothing to repeat at position 0

// The first list item that matches the whole name applies; the node stays without uses.
// CHECK-LABEL: @main
// CHECK-SAME:    (%[[X:.*]]: tensor<2xf32>, %[[Y:.*]]: tensor<2xf32>)
// CHECK-NEXT:    "onnx.Add"(%[[X]], %[[Y]])
// CHECK-NEXT:    "onnx.Relu"(%[[Y]])
// CHECK-NEXT:    %[[N:.*]] = "onnx.Neg"(%[[Y]])
// CHECK-NEXT:    %[[A:.*]] = "onnx.Abs"(%[[Y]])
// CHECK-NEXT:    onnx.Return %[[N]], %[[A]]
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.Add"(%x, %y) {onnx_node_name = "sum"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Relu"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["r"]>["act1"])
  %2 = "onnx.Neg"(%1) {onnx_node_name = "react"} : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "onnx.Abs"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %2, %3 : tensor<2xf32>, tensor<2xf32>
}
