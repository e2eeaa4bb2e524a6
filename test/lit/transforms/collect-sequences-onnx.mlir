// RUN: onnx-opt %s --collect-sequences-onnx --split-input-file | filecheck %s

// A sequence that a loop appends to becomes a scan output; its length is static if the trip count is.
// CHECK-LABEL: @stacked
// CHECK-NOT:     "onnx.SequenceEmpty"
// CHECK:         %[[L:.*]]:2 = "onnx.Loop"(%{{.*}}, %{{.*}}, %arg0) ({
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[B:.*]]: tensor<3xf32>):
// CHECK:           %[[A:.*]] = "onnx.Relu"(%[[B]])
// CHECK-NEXT:      onnx.Yield %[[GO]], %[[A]], %[[A]] : tensor<i1>, tensor<3xf32>, tensor<3xf32>
// CHECK:         }) : (tensor<i64>, none, tensor<3xf32>) -> (tensor<3xf32>, tensor<4x3xf32>)
// CHECK:         onnx.Return %[[L]]#0, %[[L]]#1 : tensor<3xf32>, tensor<4x3xf32>
func.func @stacked(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<4x3xf32>) {
  %m = onnx.Constant dense<4> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %s = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
  %0, %1 = "onnx.Loop"(%m, %none, %s, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %list: !onnx.Seq<tensor<*xf32>>, %before: tensor<3xf32>):
    %2 = "onnx.Relu"(%before) : (tensor<3xf32>) -> tensor<3xf32>
    %3 = "onnx.SequenceInsert"(%list, %2, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<3xf32>, none) -> !onnx.Seq<tensor<*xf32>>
    onnx.Yield %go, %3, %2 : tensor<i1>, !onnx.Seq<tensor<*xf32>>, tensor<3xf32>
  }) : (tensor<i64>, none, !onnx.Seq<tensor<*xf32>>, tensor<3xf32>) -> (!onnx.Seq<tensor<*xf32>>, tensor<3xf32>)
  %4 = "onnx.ConcatFromSequence"(%0) {axis = 0 : si64, new_axis = 1 : si64} : (!onnx.Seq<tensor<*xf32>>) -> tensor<4x3xf32>
  onnx.Return %1, %4 : tensor<3xf32>, tensor<4x3xf32>
}

// -----

// Concatenation along the second axis: [4, 2, 3] to [2, 4, 3], reshaped to [2, 12].
// CHECK-LABEL: @joined
// CHECK:         %[[L:.*]] = "onnx.Loop"
// CHECK:         %[[T:.*]] = "onnx.Transpose"(%[[L]]) <{perm = [1, 0, 2]}> : (tensor<?x2x3xf32>) -> tensor<2x?x3xf32>
// CHECK:         "onnx.Reshape"(%[[T]], %{{.*}}) {{.*}} -> tensor<2x?xf32>
func.func @joined(%m: tensor<i64>, %x: tensor<2x3xf32>) -> tensor<2x?xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %s = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
  %0 = "onnx.Loop"(%m, %none, %s) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %list: !onnx.Seq<tensor<*xf32>>):
    %3 = "onnx.SequenceInsert"(%list, %x, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<2x3xf32>, none) -> !onnx.Seq<tensor<*xf32>>
    onnx.Yield %go, %3 : tensor<i1>, !onnx.Seq<tensor<*xf32>>
  }) : (tensor<i64>, none, !onnx.Seq<tensor<*xf32>>) -> !onnx.Seq<tensor<*xf32>>
  %4 = "onnx.ConcatFromSequence"(%0) {axis = -1 : si64, new_axis = 0 : si64} : (!onnx.Seq<tensor<*xf32>>) -> tensor<2x?xf32>
  onnx.Return %4 : tensor<2x?xf32>
}

// -----

// No match: insertion not at the end, elements of unknown shape, or a sequence with other uses.
// CHECK-LABEL: @stays
// CHECK:         "onnx.ConcatFromSequence"
// CHECK:         "onnx.ConcatFromSequence"
// CHECK:         "onnx.ConcatFromSequence"
func.func @stays(%m: tensor<i64>, %x: tensor<2xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<i64>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %first = onnx.Constant dense<0> : tensor<i64>
  %s = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
  %0, %1, %2 = "onnx.Loop"(%m, %none, %s, %s, %s) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: !onnx.Seq<tensor<*xf32>>, %b: !onnx.Seq<tensor<*xf32>>, %c: !onnx.Seq<tensor<*xf32>>):
    %3 = "onnx.SequenceInsert"(%a, %x, %first) : (!onnx.Seq<tensor<*xf32>>, tensor<2xf32>, tensor<i64>) -> !onnx.Seq<tensor<*xf32>>
    %4 = "onnx.SequenceInsert"(%b, %y, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<?xf32>, none) -> !onnx.Seq<tensor<*xf32>>
    %5 = "onnx.SequenceInsert"(%c, %x, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<2xf32>, none) -> !onnx.Seq<tensor<*xf32>>
    onnx.Yield %go, %3, %4, %5 : tensor<i1>, !onnx.Seq<tensor<*xf32>>, !onnx.Seq<tensor<*xf32>>, !onnx.Seq<tensor<*xf32>>
  }) : (tensor<i64>, none, !onnx.Seq<tensor<*xf32>>, !onnx.Seq<tensor<*xf32>>, !onnx.Seq<tensor<*xf32>>) -> (!onnx.Seq<tensor<*xf32>>, !onnx.Seq<tensor<*xf32>>, !onnx.Seq<tensor<*xf32>>)
  %6 = "onnx.ConcatFromSequence"(%0) {axis = 0 : si64, new_axis = 0 : si64} : (!onnx.Seq<tensor<*xf32>>) -> tensor<?xf32>
  %7 = "onnx.ConcatFromSequence"(%1) {axis = 0 : si64, new_axis = 0 : si64} : (!onnx.Seq<tensor<*xf32>>) -> tensor<?xf32>
  %8 = "onnx.ConcatFromSequence"(%2) {axis = 0 : si64, new_axis = 0 : si64} : (!onnx.Seq<tensor<*xf32>>) -> tensor<?xf32>
  %9 = "onnx.SequenceLength"(%2) : (!onnx.Seq<tensor<*xf32>>) -> tensor<i64>
  onnx.Return %6, %7, %8, %9 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<i64>
}

// -----

// A tensor to which each iteration appends a row: its rows are a scan output, which follows the initial tensor.
// CHECK-LABEL: @growing
// CHECK:         %[[L:.*]]:2 = "onnx.Loop"(%{{.*}}, %{{.*}}, %arg0) ({
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[B:.*]]: tensor<1x3xf32>):
// CHECK:           %[[A:.*]] = "onnx.Relu"(%[[B]])
// CHECK-NEXT:      onnx.Yield %[[GO]], %[[A]], %[[A]] : tensor<i1>, tensor<1x3xf32>, tensor<1x3xf32>
// CHECK:         }) : (tensor<i64>, none, tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<4x1x3xf32>)
// CHECK:         %[[R:.*]] = "onnx.Reshape"(%[[L]]#1, %{{.*}}) {{.*}} -> tensor<4x3xf32>
// CHECK:         %[[C:.*]] = "onnx.Concat"(%arg0, %[[R]]) <{axis = 0 : si64}> : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK:         onnx.Return %[[C]]
func.func @growing(%x: tensor<1x3xf32>) -> tensor<?x3xf32> {
  %m = onnx.Constant dense<4> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1 = "onnx.Loop"(%m, %none, %x, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %before: tensor<1x3xf32>, %all: tensor<?x3xf32>):
    %2 = "onnx.Relu"(%before) : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %3 = "onnx.Concat"(%all, %2) <{axis = 0 : si64}> : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
    onnx.Yield %go, %2, %3 : tensor<i1>, tensor<1x3xf32>, tensor<?x3xf32>
  }) : (tensor<i64>, none, tensor<1x3xf32>, tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<?x3xf32>)
  onnx.Return %1 : tensor<?x3xf32>
}

// -----

// Not a scan output: a tensor that the body reads, one that grows at its beginning, rows of unknown size.
// CHECK-LABEL: @read_while_growing
// CHECK-COUNT-3: "onnx.Concat"
// CHECK-NOT:     "onnx.Concat"
func.func @read_while_growing(%m: tensor<i64>, %x: tensor<1x3xf32>, %z: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1, %2 = "onnx.Loop"(%m, %none, %x, %x, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<?x3xf32>, %b: tensor<?x3xf32>, %c: tensor<?x3xf32>):
    %3 = "onnx.ReduceSumV11"(%a) <{axes = [0], keepdims = 1 : si64}> : (tensor<?x3xf32>) -> tensor<1x3xf32>
    %4 = "onnx.Concat"(%a, %3) <{axis = 0 : si64}> : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
    %5 = "onnx.Concat"(%x, %b) <{axis = 0 : si64}> : (tensor<1x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    %6 = "onnx.Concat"(%c, %z) <{axis = 0 : si64}> : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    onnx.Yield %go, %4, %5, %6 : tensor<i1>, tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
  }) : (tensor<i64>, none, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>)
  onnx.Return %0, %1, %2 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<?x3xf32>
}

// -----

// Tensors of a size that differs: no scan output, but the joined tensor has their rank and their other sizes.
// CHECK-LABEL: @ranked
// CHECK:         "onnx.SequenceInsert"
// CHECK:         "onnx.ConcatFromSequence"(%{{.*}}) <{axis = -1 : si64, new_axis = 0 : si64}> : (!onnx.Seq<tensor<*xf32>>) -> tensor<4x?xf32>
func.func @ranked(%x: tensor<4x?xf32>) -> tensor<*xf32> {
  %m = onnx.Constant dense<4> : tensor<i64>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
  %1 = "onnx.Loop"(%m, %none, %0) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %list: !onnx.Seq<tensor<*xf32>>):
    %2 = "onnx.SequenceInsert"(%list, %x, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<4x?xf32>, none) -> !onnx.Seq<tensor<*xf32>>
    onnx.Yield %go, %2 : tensor<i1>, !onnx.Seq<tensor<*xf32>>
  }) : (tensor<i64>, none, !onnx.Seq<tensor<*xf32>>) -> !onnx.Seq<tensor<*xf32>>
  %3 = "onnx.ConcatFromSequence"(%1) {axis = -1 : si64, new_axis = 0 : si64} : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xf32>
  onnx.Return %3 : tensor<*xf32>
}
