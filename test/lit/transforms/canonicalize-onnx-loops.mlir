// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// Batch-first data (layout = 1) are transposed, and so are the results that are present.
// CHECK-LABEL: @lstm_layout
// CHECK:         %[[X:.*]] = "onnx.Transpose"(%{{.*}}) <{perm = [1, 0, 2]}> : (tensor<3x5x2xf32>) -> tensor<5x3x2xf32>
// CHECK-NEXT:    %[[H:.*]] = "onnx.Transpose"(%{{.*}}) <{perm = [1, 0, 2]}> : (tensor<3x1x4xf32>) -> tensor<1x3x4xf32>
// CHECK-NEXT:    %[[Y:.*]], %[[YH:.*]], %{{.*}} = "onnx.LSTM"(%[[X]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[H]], %{{.*}}, %{{.*}}) {{.*}}layout = 0 : si64{{.*}} -> (tensor<5x1x3x4xf32>, tensor<1x3x4xf32>, none)
// CHECK-NEXT:    %[[A:.*]] = "onnx.Transpose"(%[[Y]]) <{perm = [2, 0, 1, 3]}> : (tensor<5x1x3x4xf32>) -> tensor<3x5x1x4xf32>
// CHECK-NEXT:    %[[B:.*]] = "onnx.Transpose"(%[[YH]]) <{perm = [1, 0, 2]}> : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
// CHECK-NEXT:    onnx.Return %[[A]], %[[B]]
func.func @lstm_layout(%x: tensor<3x5x2xf32>, %w: tensor<1x16x2xf32>, %r: tensor<1x16x4xf32>, %h: tensor<3x1x4xf32>) -> (tensor<3x5x1x4xf32>, tensor<3x1x4xf32>) {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0:3 = "onnx.LSTM"(%x, %w, %r, %n, %n, %h, %n, %n) <{hidden_size = 4 : si64, layout = 1 : si64}>
    : (tensor<3x5x2xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, tensor<3x1x4xf32>, none, none) -> (tensor<3x5x1x4xf32>, tensor<3x1x4xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<3x5x1x4xf32>, tensor<3x1x4xf32>
}

// -----

// CHECK-LABEL: @gru_layout
// CHECK:         "onnx.GRU"{{.*}}layout = 0 : si64{{.*}} -> (none, tensor<1x3x4xf32>)
// CHECK-NEXT:    "onnx.Transpose"(%{{.*}}) <{perm = [1, 0, 2]}> : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
func.func @gru_layout(%x: tensor<3x5x2xf32>, %w: tensor<1x12x2xf32>, %r: tensor<1x12x4xf32>) -> tensor<3x1x4xf32> {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.GRU"(%x, %w, %r, %n, %n, %n) <{hidden_size = 4 : si64, layout = 1 : si64}>
    : (tensor<3x5x2xf32>, tensor<1x12x2xf32>, tensor<1x12x4xf32>, none, none, none) -> (none, tensor<3x1x4xf32>)
  onnx.Return %0#1 : tensor<3x1x4xf32>
}

// -----

// CHECK-LABEL: @rnn_layout
// CHECK:         "onnx.RNN"{{.*}}layout = 0 : si64{{.*}} -> (tensor<?x1x?x4xf32>, none)
// CHECK-NEXT:    "onnx.Transpose"(%{{.*}}) <{perm = [2, 0, 1, 3]}> : (tensor<?x1x?x4xf32>) -> tensor<?x?x1x4xf32>
func.func @rnn_layout(%x: tensor<?x?x2xf32>, %w: tensor<1x4x2xf32>, %r: tensor<1x4x4xf32>) -> tensor<?x?x1x4xf32> {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.RNN"(%x, %w, %r, %n, %n, %n) <{hidden_size = 4 : si64, layout = 1 : si64}>
    : (tensor<?x?x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, none) -> (tensor<?x?x1x4xf32>, none)
  onnx.Return %0#0 : tensor<?x?x1x4xf32>
}

// -----

// Sequence lengths that all equal the data's length are dropped; in the other function one is shorter.
// CHECK-LABEL: @full_lengths
// CHECK-NOT:     onnx.Constant
// CHECK:         "onnx.RNN"{{.*}} : (tensor<5x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, none)
// CHECK-LABEL: @short_length
// CHECK:         "onnx.RNN"{{.*}} : (tensor<5x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, tensor<1xi32>, none)
func.func @full_lengths(%x: tensor<5x1x2xf32>, %w: tensor<1x4x2xf32>, %r: tensor<1x4x4xf32>) -> tensor<5x1x1x4xf32> {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %l = onnx.Constant dense<5> : tensor<1xi32>
  %0:2 = "onnx.RNN"(%x, %w, %r, %n, %l, %n) <{hidden_size = 4 : si64}>
    : (tensor<5x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, tensor<1xi32>, none) -> (tensor<5x1x1x4xf32>, none)
  onnx.Return %0#0 : tensor<5x1x1x4xf32>
}
func.func @short_length(%x: tensor<5x1x2xf32>, %w: tensor<1x4x2xf32>, %r: tensor<1x4x4xf32>) -> tensor<5x1x1x4xf32> {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %l = onnx.Constant dense<3> : tensor<1xi32>
  %0:2 = "onnx.RNN"(%x, %w, %r, %n, %l, %n) <{hidden_size = 4 : si64}>
    : (tensor<5x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, tensor<1xi32>, none) -> (tensor<5x1x1x4xf32>, none)
  onnx.Return %0#0 : tensor<5x1x1x4xf32>
}

// -----

// Range from 0 by 3 up to 10: four iterations.
// CHECK-LABEL: @counted_loop
// CHECK:         %[[MOST:.*]] = onnx.Constant dense<4> : tensor<i64>
// CHECK:         "onnx.Loop"(%[[MOST]],
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: tensor<i64>, %[[COND:.*]]: tensor<i1>, %[[N:.*]]: tensor<i32>):
// CHECK-NEXT:      %[[NEXT:.*]] = "onnx.Add"(%[[N]], %{{.*}})
// CHECK-NEXT:      onnx.Yield %[[COND]], %[[NEXT]] : tensor<i1>, tensor<i32>
func.func @counted_loop() -> tensor<i32> {
  %most = onnx.Constant dense<9223372036854775807> : tensor<i64>
  %true = onnx.Constant dense<true> : tensor<i1>
  %start = onnx.Constant dense<0> : tensor<i32>
  %0 = "onnx.Loop"(%most, %true, %start) ({
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %n: tensor<i32>):
    %step = onnx.Constant dense<3> : tensor<i32>
    %limit = onnx.Constant dense<10> : tensor<i32>
    %next = "onnx.Add"(%n, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %again = "onnx.Less"(%next, %limit) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    onnx.Yield %again, %next : tensor<i1>, tensor<i32>
  }) : (tensor<i64>, tensor<i1>, tensor<i32>) -> tensor<i32>
  onnx.Return %0 : tensor<i32>
}

// -----

// TensorFlow's loops have no limit, and compare in floats: four iterations. The limit, carried unchanged, is
// read from outside.
// CHECK-LABEL: @counts_in_floats
// CHECK:         %[[MOST:.*]] = onnx.Constant dense<4> : tensor<i64>
// CHECK:         "onnx.Loop"(%[[MOST]], %{{.*}}, %{{.*}}) ({
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: tensor<i64>, %[[COND:.*]]: tensor<i1>, %[[N:.*]]: tensor<i32>):
// CHECK-NEXT:      %[[NEXT:.*]] = "onnx.Add"(%[[N]], %{{.*}})
// CHECK-NEXT:      onnx.Yield %[[COND]], %[[NEXT]] : tensor<i1>, tensor<i32>
func.func @counts_in_floats() -> tensor<i32> {
  %most = "onnx.NoValue"() <{value}> : () -> none
  %true = onnx.Constant dense<true> : tensor<i1>
  %start = onnx.Constant dense<0> : tensor<i32>
  %limit = onnx.Constant dense<4> : tensor<i32>
  %step = onnx.Constant dense<1> : tensor<i32>
  %0:2 = "onnx.Loop"(%most, %true, %start, %limit) ({
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %n: tensor<i32>, %end: tensor<i32>):
    %next = "onnx.Add"(%n, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %a = "onnx.Cast"(%next) <{to = f32}> : (tensor<i32>) -> tensor<f32>
    %b = "onnx.Cast"(%end) <{to = f32}> : (tensor<i32>) -> tensor<f32>
    %again = "onnx.Less"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    onnx.Yield %again, %next, %end : tensor<i1>, tensor<i32>, tensor<i32>
  }) : (none, tensor<i1>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  onnx.Return %0#0 : tensor<i32>
}

// -----

// A value that the body passes on unchanged is read from outside, in the body and after it.
// CHECK-LABEL: @passed_on
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<3x3xf32>, %[[TRIPS:.*]]: tensor<i64>)
// CHECK:         %[[R:.*]] = "onnx.Loop"(%[[TRIPS]], %{{.*}}, %[[X]]) ({
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: tensor<i64>, %[[COND:.*]]: tensor<i1>, %[[H:.*]]: tensor<2x3xf32>):
// CHECK-NEXT:      %[[NEXT:.*]] = "onnx.MatMul"(%[[H]], %[[W]])
// CHECK-NEXT:      onnx.Yield %[[COND]], %[[NEXT]] : tensor<i1>, tensor<2x3xf32>
// CHECK:         onnx.Return %[[R]], %[[W]]
func.func @passed_on(%x: tensor<2x3xf32>, %w: tensor<3x3xf32>, %trips: tensor<i64>) -> (tensor<2x3xf32>, tensor<3x3xf32>) {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.Loop"(%trips, %n, %w, %x) ({
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %v: tensor<3x3xf32>, %h: tensor<2x3xf32>):
    %1 = "onnx.MatMul"(%h, %v) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    onnx.Yield %cond, %v, %1 : tensor<i1>, tensor<3x3xf32>, tensor<2x3xf32>
  }) : (tensor<i64>, none, tensor<3x3xf32>, tensor<2x3xf32>) -> (tensor<3x3xf32>, tensor<2x3xf32>)
  onnx.Return %0#1, %0#0 : tensor<2x3xf32>, tensor<3x3xf32>
}

// -----

// Before opset 11 a loop carries at least one value: the only one stays, though it does not change.

// CHECK-LABEL: @carries_one
// CHECK:         "onnx.Loop"(%{{.*}}, %{{.*}}, %arg1)
module attributes {onnx.opset_imports = {"" = 10 : i64}} {
  func.func @carries_one(%most: tensor<i64>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
    %true = onnx.Constant dense<true> : tensor<i1>
    %0, %1 = "onnx.Loop"(%most, %true, %x) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<2xf32>):
      %2 = "onnx.Relu"(%v) : (tensor<2xf32>) -> tensor<2xf32>
      onnx.Yield %c, %v, %2 : tensor<i1>, tensor<2xf32>, tensor<2xf32>
    }) : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
    onnx.Return %0, %1 : tensor<2xf32>, tensor<?x2xf32>
  }
}
