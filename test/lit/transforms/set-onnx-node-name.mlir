// RUN: onnx-opt %s --set-onnx-node-name --split-input-file 2>/dev/null | filecheck %s
// RUN: onnx-opt %s --set-onnx-node-name --set-onnx-node-name --split-input-file 2>/dev/null | filecheck %s
// RUN: onnx-opt %s --set-onnx-node-name --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=TOLD

// TOLD:      Duplicated onnx_node_name: twice. It will be updated with a new string.
// TOLD-NEXT: Duplicated onnx_node_name: conv1. It will be updated with a new string.

// A unique name stays, a duplicate gets a number, an empty one is derived from the operator.
// CHECK-LABEL: @said
// CHECK:         "onnx.Relu"(%{{.*}}) {onnx_node_name = "twice"}
// CHECK:         "onnx.Neg"(%{{.*}}) {onnx_node_name = "twice_0"}
// CHECK:         "onnx.Abs"(%{{.*}}) {onnx_node_name = "_1"}
func.func @said(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.Relu"(%x) {onnx_node_name = "twice"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Neg"(%0) {onnx_node_name = "twice"} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Abs"(%x) {onnx_node_name = ""} : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %1, %2 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Derived from the location, where imported nodes have their names.
// CHECK-LABEL: @located
// CHECK:         "onnx.Relu"(%{{.*}}) {onnx_node_name = "conv1"}
// CHECK:         "onnx.Neg"(%{{.*}}) {onnx_node_name = "conv1_0"}
// CHECK:         "onnx.Abs"(%{{.*}}) {onnx_node_name = "a_1"}
// CHECK:         "onnx.Ceil"(%{{.*}}) {onnx_node_name = "a-b_2"}
func.func @located(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["y"]>["conv1"])
  %1 = "onnx.Neg"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["z"]>["conv1"])
  %2 = "onnx.Abs"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("a")
  %3 = "onnx.Ceil"(%2) : (tensor<2xf32>) -> tensor<2xf32> loc(fused["a", "b"])
  onnx.Return %1, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Derived from the named node of the first operand; constants have none, and taken names are numbered on.
// CHECK-LABEL: @operands
// CHECK:         "onnx.Relu"(%{{.*}}) {onnx_node_name = "r"}
// CHECK:         "onnx.Neg"(%{{.*}}) {onnx_node_name = "r_onnx.Neg_0"}
// CHECK:         "onnx.Abs"(%{{.*}}) {onnx_node_name = "onnx.Abs_2"}
// CHECK:         "onnx.Ceil"(%{{.*}}) {onnx_node_name = "onnx.Abs_1"}
// CHECK:         onnx.Constant dense
// CHECK:         "onnx.Floor"(%{{.*}}) {onnx_node_name = "onnx.Floor_3"}
func.func @operands(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.Relu"(%x) {onnx_node_name = "r"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Neg"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Abs"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "onnx.Ceil"(%2) {onnx_node_name = "onnx.Abs_1"} : (tensor<2xf32>) -> tensor<2xf32>
  %c = onnx.Constant dense<1.0> : tensor<2xf32>
  %4 = "onnx.Floor"(%c) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %3, %4 : tensor<2xf32>, tensor<2xf32>
}

// -----

// A name that would exceed 256 characters is derived from the operator alone.
// CHECK-LABEL: @long
// CHECK:         "onnx.Neg"(%{{.*}}) {onnx_node_name = "onnx.Neg_0"}
func.func @long(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Relu"(%x) {onnx_node_name = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Neg"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %1 : tensor<2xf32>
}
