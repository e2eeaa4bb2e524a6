// RUN: onnx-opt %s --onnx-cse-with-node-name --split-input-file | filecheck %s
// RUN: onnx-opt %s --onnx-cse-with-node-name --onnx-cse-with-node-name --split-input-file | filecheck %s

// The first of two equal nodes stays and keeps its name.
// CHECK-LABEL: @names
// CHECK:         %[[A:.*]] = "onnx.Add"(%{{.*}}, %{{.*}}) {onnx_node_name = "first"}
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Mul"(%[[A]], %[[A]]) {onnx_node_name = "product"}
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @names(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Add"(%x, %y) {onnx_node_name = "first"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Add"(%x, %y) {onnx_node_name = "second"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Mul"(%0, %1) {onnx_node_name = "product"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %2 : tensor<2xf32>
}

// -----

// Constants are compared by bits: 0.0 and -0.0 differ, a NaN equals itself.
// CHECK-LABEL: @constants
// CHECK-COUNT-3: onnx.Constant
// CHECK-NOT:     onnx.Constant
// CHECK:         onnx.Return %[[N:.*]], %[[N]], %[[Z:.*]], %{{.*}}, %[[Z]]
func.func @constants() -> (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = onnx.Constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %1 = onnx.Constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %2 = onnx.Constant dense<0.0> : tensor<f32>
  %3 = onnx.Constant dense<-0.0> : tensor<f32>
  %4 = onnx.Constant dense<0.0> : tensor<f32>
  onnx.Return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Nodes with different attributes are not equal.
// CHECK-LABEL: @attributes
// CHECK-COUNT-2: "onnx.LeakyRelu"
// CHECK-NOT:     "onnx.LeakyRelu"
func.func @attributes(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.LeakyRelu"(%x) <{alpha = 0.1 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.LeakyRelu"(%x) <{alpha = 0.2 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.LeakyRelu"(%x) <{alpha = 0.1 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Nondeterministic operators are never merged.
// CHECK-LABEL: @chance
// CHECK-COUNT-2: "onnx.RandomNormal"
// CHECK-COUNT-2: "onnx.Custom"(%{{.*}}) <{function_name = "Noise"}> : (tensor<2xf32>)
func.func @chance(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.RandomNormal"() <{dtype = 1 : si64, shape = [2]}> : () -> tensor<2xf32>
  %1 = "onnx.RandomNormal"() <{dtype = 1 : si64, shape = [2]}> : () -> tensor<2xf32>
  %2 = "onnx.Custom"(%x) <{function_name = "Noise"}> : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "onnx.Custom"(%x) <{function_name = "Noise"}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// A branch reuses values around it; sibling branches do not reuse each other's.
// CHECK-LABEL: @branches
// CHECK:         %[[N:.*]] = "onnx.Neg"
// CHECK:         "onnx.If"
// CHECK-NEXT:      %[[A:.*]] = "onnx.Abs"(%[[N]])
// CHECK:           %[[B:.*]] = "onnx.Abs"(%[[N]])
// CHECK-NOT:     "onnx.Neg"
func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %n = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "onnx.Abs"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %2 : tensor<2xf32>
  }, {
    %3 = "onnx.Abs"(%n) : (tensor<2xf32>) -> tensor<2xf32>
    %4 = "onnx.Mul"(%3, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %4 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  onnx.Return %0, %n : tensor<2xf32>, tensor<2xf32>
}

// -----

// Operands that become dead are erased with their users.
// CHECK-LABEL: @dead
// CHECK-NEXT:    "onnx.Relu"(%arg0)
// CHECK-NEXT:    onnx.Return
func.func @dead(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Abs"(%0) {onnx_node_name = "abs"} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Exp"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %3 : tensor<2xf32>
}

// -----

// Float attributes are compared by bits too.
// CHECK-LABEL: @signs
// CHECK-COUNT-2: "onnx.LeakyRelu"
// CHECK-COUNT-4: onnx.Constant
// CHECK-NOT:     onnx.Constant
func.func @signs(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0 = "onnx.LeakyRelu"(%x) <{alpha = 0.0 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.LeakyRelu"(%x) <{alpha = -0.0 : f32}> : (tensor<2xf32>) -> tensor<2xf32>
  %2 = onnx.Constant {value_float = 0.0 : f32} : tensor<f32>
  %3 = onnx.Constant {value_float = -0.0 : f32} : tensor<f32>
  %4 = onnx.Constant {value_float = 0.0 : f32} : tensor<f32>
  %5 = onnx.Constant {value_floats = [0.0 : f32]} : tensor<1xf32>
  %6 = onnx.Constant {value_floats = [-0.0 : f32]} : tensor<1xf32>
  %7 = onnx.Constant {value_floats = [0.0 : f32]} : tensor<1xf32>
  onnx.Return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// -----

// Regions are compared without node names; one with random operators is never merged.
// CHECK-LABEL: @bodies
// CHECK-COUNT-3: "onnx.If"
// CHECK-NOT:     "onnx.If"
// CHECK:         onnx.Return %[[A:.*]], %[[A]], %{{.*}}, %{{.*}}
func.func @bodies(%c: tensor<i1>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = "onnx.If"(%c) ({
    %a = "onnx.Abs"(%x) {onnx_node_name = "here"} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %a : tensor<2xf32>
  }, {
    onnx.Yield %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %1 = "onnx.If"(%c) ({
    %b = "onnx.Abs"(%x) {onnx_node_name = "there"} : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %b : tensor<2xf32>
  }, {
    onnx.Yield %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %2 = "onnx.If"(%c) ({
    %d = "onnx.RandomNormal"() <{dtype = 1 : si64, shape = [2]}> : () -> tensor<2xf32>
    onnx.Yield %d : tensor<2xf32>
  }, {
    onnx.Yield %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %3 = "onnx.If"(%c) ({
    %e = "onnx.RandomNormal"() <{dtype = 1 : si64, shape = [2]}> : () -> tensor<2xf32>
    onnx.Yield %e : tensor<2xf32>
  }, {
    onnx.Yield %x : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  onnx.Return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Two of each kind, which differ in one attribute.
// CHECK-LABEL: @kinds
// CHECK-COUNT-2: "onnx.Softmax"
// CHECK-NOT:     "onnx.Softmax"
// CHECK:         onnx.Return %[[A:.*]], %[[B:.*]], %[[A]], %[[B]]
func.func @kinds(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = "onnx.Softmax"(%x) <{axis = 0 : si64}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = "onnx.Softmax"(%x) <{axis = 1 : si64}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = "onnx.Softmax"(%x) <{axis = 0 : si64}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = "onnx.Softmax"(%x) <{axis = 1 : si64}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
