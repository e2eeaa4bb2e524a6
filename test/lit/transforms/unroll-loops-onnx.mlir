// RUN: onnx-opt %s --unroll-loops-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --unroll-loops-onnx='max-ops=2' --split-input-file | filecheck %s --check-prefix=SMALL

// The iteration number is a constant in each copy; the rows of a scan output are concatenated.

// CHECK-LABEL: @counted
// CHECK-NOT:     "onnx.Loop"
// CHECK-DAG:     %[[I0:.*]] = onnx.Constant dense<0> : tensor<i64>
// CHECK-DAG:     %[[I1:.*]] = onnx.Constant dense<1> : tensor<i64>
// CHECK:         %[[V0:.*]] = "onnx.Add"(%arg0, %[[I0]])
// CHECK:         %[[V1:.*]] = "onnx.Add"(%[[V0]], %[[I1]])
// CHECK:         %[[R0:.*]] = "onnx.Unsqueeze"(%[[V0]]
// CHECK:         %[[R1:.*]] = "onnx.Unsqueeze"(%[[V1]]
// CHECK:         %[[R:.*]] = "onnx.Concat"(%[[R0]], %[[R1]]) <{axis = 0 : si64}>
// CHECK:         onnx.Return %[[V1]], %[[R]]
// SMALL-LABEL: @counted
// SMALL-NOT:     "onnx.Loop"
func.func @counted(%x: tensor<3xi64>) -> (tensor<3xi64>, tensor<2x3xi64>) {
  %most = onnx.Constant dense<2> : tensor<i64>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %r:2 = "onnx.Loop"(%most, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xi64>):
    %0 = "onnx.Add"(%v, %i) : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
    onnx.Yield %go, %0, %0 : tensor<i1>, tensor<3xi64>, tensor<3xi64>
  }) : (tensor<i64>, none, tensor<3xi64>) -> (tensor<3xi64>, tensor<2x3xi64>)
  onnx.Return %r#0, %r#1 : tensor<3xi64>, tensor<2x3xi64>
}

// -----

// A loop that becomes too many ops stays.

// CHECK-LABEL: @many
// CHECK-NOT:     "onnx.Loop"
// SMALL-LABEL: @many
// SMALL:         "onnx.Loop"
func.func @many(%x: tensor<3xf32>) -> tensor<3xf32> {
  %most = onnx.Constant dense<3> : tensor<i64>
  %yes = onnx.Constant dense<true> : tensor<i1>
  %r = "onnx.Loop"(%most, %yes, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf32>):
    %0 = "onnx.Mul"(%v, %v) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %yes, %0 : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %r : tensor<3xf32>
}

// -----

// A condition that is false at first, and a trip count of 0: the initial values.

// CHECK-LABEL: @none
// CHECK-NOT:     "onnx.Loop"
// CHECK:         onnx.Return %arg0, %arg0
func.func @none(%x: tensor<3xf32>, %most: tensor<i64>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = onnx.Constant dense<0> : tensor<i64>
  %no = onnx.Constant dense<false> : tensor<i1>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %a = "onnx.Loop"(%most, %no, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf32>):
    %0 = "onnx.Mul"(%v, %v) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %go, %0 : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> tensor<3xf32>
  %b = "onnx.Loop"(%zero, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf32>):
    %0 = "onnx.Mul"(%v, %v) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %go, %0 : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// -----

// A trip count or a condition of unknown value.

// CHECK-LABEL: @unknown
// CHECK-COUNT-3: "onnx.Loop"
// CHECK-NOT:     "onnx.Loop"
func.func @unknown(%x: tensor<3xf32>, %most: tensor<i64>, %c: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %two = onnx.Constant dense<2> : tensor<i64>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %a = "onnx.Loop"(%most, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf32>):
    onnx.Yield %go, %v : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32>
  %b = "onnx.Loop"(%two, %c, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf32>):
    onnx.Yield %go, %v : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> tensor<3xf32>
  %d = "onnx.Loop"(%two, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf32>):
    onnx.Yield %c, %v : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %a, %b, %d : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
