// RUN: onnx-opt %s --shape-inference-onnx --split-input-file | filecheck %s

// A loop-carried dimension that grows is dynamic, in the body too; one that stays the same is static.
// CHECK-LABEL: func.func @grows
// CHECK:         "onnx.Loop"
// CHECK-NEXT:    ^bb0({{.*}}: tensor<i64>, {{.*}}: tensor<i1>, {{.*}}: tensor<?x4xf32>, {{.*}}: tensor<2x4xf32>):
// CHECK:           "onnx.Concat"({{.*}}) <{axis = 0 : si64}> : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK:         (tensor<i64>, tensor<i1>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<?x4xf32>, tensor<2x4xf32>, tensor<3x2x4xf32>)
func.func @grows(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %n = onnx.Constant dense<3> : tensor<i64>
  %c = onnx.Constant dense<true> : tensor<i1>
  %0:3 = "onnx.Loop"(%n, %c, %x, %y) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<*xf32>, %b: tensor<*xf32>):
    %1 = "onnx.Concat"(%a, %a) <{axis = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %2 = "onnx.Relu"(%b) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %go, %1, %2, %2 : tensor<i1>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1, %0#2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// A condition may end the loop early: the number of iterations is dynamic.
// CHECK-LABEL: func.func @may_end
// CHECK:         (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
func.func @may_end(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>) {
  %n = onnx.Constant dense<3> : tensor<i64>
  %0:2 = "onnx.Loop"(%n, %c, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<*xf32>):
    %1 = "onnx.Relu"(%a) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %go, %1, %1 : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// The body sees slices; scan outputs have the length of the scan inputs, and its name.
// CHECK-LABEL: func.func @scanned
// CHECK-SAME:    -> (tensor<4xf32>, tensor<?x4xf32> {onnx.dim_params = "0:n"})
// CHECK:         "onnx.Scan"
// CHECK-NEXT:    ^bb0({{.*}}: tensor<4xf32>, {{.*}}: tensor<4xf32>):
// CHECK:           "onnx.Add"({{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @scanned(%s: tensor<4xf32>, %x: tensor<?x4xf32> {onnx.dim_params = "0:n"}) -> (tensor<*xf32>, tensor<*xf32>) {
  %0:2 = "onnx.Scan"(%s, %x) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%a: tensor<*xf32>, %b: tensor<*xf32>):
    %1 = "onnx.Add"(%a, %b) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %1, %1 : tensor<*xf32>, tensor<*xf32>
  }) : (tensor<4xf32>, tensor<?x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// Values of Scan-8 have a batch axis, which is that of the first one of known rank.
// CHECK-LABEL: func.func @batched
// CHECK-SAME:    -> (tensor<?x4xf32>, tensor<?x5x4xf32>)
// CHECK-LABEL: func.func @of_a_batch
// CHECK-SAME:    -> (tensor<2x4xf32>, tensor<2x?x4xf32>)
func.func @batched(%s: tensor<?x4xf32>, %x: tensor<?x5x4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.ScanV8"(%none, %s, %x) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    onnx.Yield %a, %b : tensor<4xf32>, tensor<4xf32>
  }) : (none, tensor<?x4xf32>, tensor<?x5x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}
func.func @of_a_batch(%s: tensor<2x4xf32>, %x: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:3 = "onnx.ScanV8"(%none, %x, %s, %x) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%z: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    onnx.Yield %z, %a, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }) : (none, tensor<*xf32>, tensor<2x4xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#1, %0#2 : tensor<*xf32>, tensor<*xf32>
}

// -----

// The body of SequenceMap is inferred for the element type of the sequence.
// CHECK-LABEL: func.func @mapped
// CHECK-SAME:    -> !onnx.Seq<tensor<4x2xf32>>
func.func @mapped(%x: !onnx.Seq<tensor<2x4xf32>>) -> !onnx.Seq<tensor<*xf32>> {
  %0 = "onnx.SequenceMap"(%x) ({
  ^bb0(%a: tensor<*xf32>):
    %1 = "onnx.Transpose"(%a) <{perm = [1, 0]}> : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }) : (!onnx.Seq<tensor<2x4xf32>>) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// -----

// Dimensions on which both branches agree, named ones too.
// CHECK-LABEL: func.func @branched
// CHECK-SAME:    -> (tensor<?x?xf32> {onnx.dim_params = "0:n"})
func.func @branched(%c: tensor<i1>, %x: tensor<?x4xf32> {onnx.dim_params = "0:n"}) -> tensor<*xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Relu"(%x) : (tensor<?x4xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }, {
    %2 = "onnx.Concat"(%x, %x) <{axis = 1 : si64}> : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<*xf32>
    onnx.Yield %2 : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A call has the result types of its function.
// CHECK-LABEL: func.func @called
// CHECK:         call @doubled(%{{.*}}) : (tensor<2x3xf32>) -> tensor<4x3xf32>
func.func @called(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = func.call @doubled(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
  %1 = "onnx.Relu"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}
func.func @doubled(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = "onnx.Concat"(%x, %x) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A body may declare iteration number and condition as tensors of shape [1]; then they keep that shape.
// CHECK-LABEL: func.func @counts_in_vectors
// CHECK:         "onnx.Loop"
// CHECK-NEXT:    ^bb0({{.*}}: tensor<1xi64>, {{.*}}: tensor<1xi1>, {{.*}}: tensor<4xf32>):
// CHECK-NEXT:      onnx.Yield {{.*}} : tensor<1xi1>, tensor<4xf32>, tensor<1xi64>
// CHECK:         (tensor<1xi64>, tensor<1xi1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x1xi64>)
func.func @counts_in_vectors(%n: tensor<1xi64>, %c: tensor<1xi1>, %x: tensor<4xf32>) -> (tensor<*xf32>, tensor<*xi64>) {
  %0:2 = "onnx.Loop"(%n, %c, %x) ({
  ^bb0(%i: tensor<1xi64>, %go: tensor<1xi1>, %a: tensor<*xf32>):
    onnx.Yield %go, %a, %i : tensor<1xi1>, tensor<*xf32>, tensor<1xi64>
  }) : (tensor<1xi64>, tensor<1xi1>, tensor<4xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xi64>
}

// -----

// An unranked condition has the type of the outer one; an unranked iteration number is a scalar.
// CHECK-LABEL: func.func @counts_as_outside
// CHECK:         "onnx.Loop"
// CHECK-NEXT:    ^bb0({{.*}}: tensor<i64>, {{.*}}: tensor<1xi1>):
func.func @counts_as_outside(%n: tensor<1xi64>, %c: tensor<1xi1>) -> tensor<*xi64> {
  %0 = "onnx.Loop"(%n, %c) ({
  ^bb0(%i: tensor<*xi64>, %go: tensor<*xi1>):
    onnx.Yield %go, %i : tensor<*xi1>, tensor<*xi64>
  }) : (tensor<1xi64>, tensor<1xi1>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

// A branch of another rank than the declared one: the inferred type replaces it, as for other operators.
// CHECK-LABEL: func.func @declared
// CHECK:         }) : (tensor<i1>) -> tensor<*xf32>
func.func @declared(%c: tensor<i1>, %x: tensor<?x8x?xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<2> : tensor<1xi64>
  %0 = "onnx.Identity"(%x) : (tensor<?x8x?xf32>) -> tensor<*xf32>
  %1 = "onnx.If"(%c) ({
    %2 = "onnx.Squeeze"(%x, %axes) : (tensor<?x8x?xf32>, tensor<1xi64>) -> tensor<?x8xf32>
    onnx.Yield %2 : tensor<?x8xf32>
  }, {
    onnx.Yield %0 : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<?x8xf32>
  onnx.Return %1 : tensor<?x8xf32>
}

// -----

// A carried scalar becomes a vector: nothing in the body, branches included, keeps the rank of the first iteration.
// CHECK-LABEL: func.func @rank_grows
// CHECK:         ^bb0({{.*}}: tensor<i64>, {{.*}}: tensor<i1>, {{.*}}: tensor<*xi1>):
// CHECK:           "onnx.Cast"({{.*}}) {{.*}} : (tensor<*xi1>) -> tensor<*xi64>
// CHECK:         }) : (tensor<i64>, tensor<i1>, tensor<i1>) -> tensor<*xi1>
func.func @rank_grows(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<i1>) -> tensor<*xi1> {
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.Loop"(%n, %c, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<*xi1>):
    %1 = "onnx.If"(%c) ({
      onnx.Yield %c : tensor<i1>
    }, {
      %2 = "onnx.Cast"(%a) <{to = i64}> : (tensor<*xi1>) -> tensor<*xi64>
      %3 = "onnx.Add"(%2, %zero) : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
      %4 = "onnx.Cast"(%3) <{to = i1}> : (tensor<*xi64>) -> tensor<*xi1>
      onnx.Yield %4 : tensor<*xi1>
    }) : (tensor<i1>) -> tensor<*xi1>
    onnx.Yield %go, %1 : tensor<i1>, tensor<*xi1>
  }) : (tensor<i64>, tensor<i1>, tensor<i1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

// A loop that has a first iteration returns values of the body: the initial one may have another rank.
// CHECK-LABEL: func.func @runs
// CHECK:         "onnx.Loop"
// CHECK:         }) : {{.*}} -> tensor<3x4xf32>
func.func @runs(%x: tensor<3x4xf32>) -> tensor<*xf32> {
  %m = onnx.Constant dense<5> : tensor<i64>
  %c = onnx.Constant dense<true> : tensor<i1>
  %s = onnx.Constant dense<0.0> : tensor<f32>
  %0 = "onnx.Loop"(%m, %c, %s) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %unread: tensor<*xf32>):
    %y = "onnx.Relu"(%x) : (tensor<3x4xf32>) -> tensor<*xf32>
    onnx.Yield %go, %y : tensor<i1>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<f32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Without iterations the initial value is returned; the number is not known, or 0.
// CHECK-LABEL: func.func @may_not_run
// CHECK-COUNT-2: }) : {{.*}} -> tensor<*xf32>
func.func @may_not_run(%x: tensor<3x4xf32>, %c: tensor<i1>) -> (tensor<*xf32>, tensor<*xf32>) {
  %m = onnx.Constant dense<5> : tensor<i64>
  %zero = onnx.Constant dense<0> : tensor<i64>
  %true = onnx.Constant dense<true> : tensor<i1>
  %s = onnx.Constant dense<0.0> : tensor<f32>
  %0 = "onnx.Loop"(%m, %c, %s) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %unread: tensor<*xf32>):
    %y = "onnx.Relu"(%x) : (tensor<3x4xf32>) -> tensor<*xf32>
    onnx.Yield %go, %y : tensor<i1>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<f32>) -> tensor<*xf32>
  %1 = "onnx.Loop"(%zero, %true, %s) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %unread: tensor<*xf32>):
    %y = "onnx.Relu"(%x) : (tensor<3x4xf32>) -> tensor<*xf32>
    onnx.Yield %go, %y : tensor<i1>, tensor<*xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<f32>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}
