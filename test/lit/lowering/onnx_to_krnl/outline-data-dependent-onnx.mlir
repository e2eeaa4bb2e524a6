// RUN: onnx-opt %s --outline-data-dependent-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --outline-data-dependent-onnx="processor=avx2" --convert-onnx-to-krnl="processor=avx2" --split-input-file | filecheck %s --check-prefix=KRNL

// The number of nonzero elements is data-dependent; users of the result are outlined to a function of dynamic shapes.
// CHECK-LABEL: func.func @places
// CHECK:         %[[FOUND:.*]] = "onnx.NonZero"
// CHECK-NEXT:    %[[Y:.*]] = "krnl.deferred_call"(%[[FOUND]]) <{callee = @found_0}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
// CHECK-NEXT:    onnx.Return %[[Y]]
// CHECK:       func.func private @found_0(%{{.*}}: tensor<2x?xi64> {onnx.dim_params = "1:d0"})
// CHECK-SAME:    -> (tensor<2x?xf32> {onnx.dim_params = "1:d0"}) attributes {krnl.deferred}
// CHECK:         "onnx.Cast"
// CHECK:         "onnx.Relu"
// KRNL-LABEL:  func.func @places
// KRNL-NOT:      krnl.no_kernel
func.func @places(%x: tensor<2x3xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.NonZero"(%x) : (tensor<2x3xf32>) -> tensor<2x?xi64>
  %1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
  %2 = "onnx.Relu"(%1) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  onnx.Return %2 : tensor<2x?xf32>
}

// -----

// An operator without a kernel for dynamic shapes is not outlined; its users move to a function that takes its result.
// CHECK-LABEL: func.func @hardmax
// CHECK:         "onnx.NonZero"
// CHECK-NEXT:    %[[Y:.*]] = "krnl.deferred_call"({{.*}}) <{callee = @found_0}>
// CHECK-NEXT:    %[[Z:.*]] = "onnx.Hardmax"(%[[Y]])
// CHECK-NEXT:    "krnl.deferred_call"(%[[Z]]) <{callee = @found_1}>
// CHECK-NEXT:    onnx.Return
// CHECK:       func.func private @found_0
// CHECK:         "onnx.Cast"
// CHECK:       func.func private @found_1
// CHECK:         "onnx.Relu"
// KRNL-LABEL:  func.func @hardmax
// KRNL:          "onnx.Hardmax"({{.*}}krnl.no_kernel = 
func.func @hardmax(%x: tensor<2x3xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.NonZero"(%x) : (tensor<2x3xf32>) -> tensor<2x?xi64>
  %1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
  %2 = "onnx.Hardmax"(%1) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %3 = "onnx.Relu"(%2) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  onnx.Return %3 : tensor<2x?xf32>
}

// -----

// Operators with static shapes are not outlined.
// CHECK-LABEL: func.func @known
// CHECK-NOT:     krnl.deferred
func.func @known(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

// What follows a loop over results of the first function is a second one.
// CHECK-LABEL: func.func @loop
// CHECK:         "onnx.NonZero"
// CHECK-NEXT:    "krnl.deferred_call"({{.*}}) <{callee = @[[FIRST:.*]]}>
// CHECK-NEXT:    "onnx.Loop"
// CHECK:         onnx.Yield
// CHECK-NEXT:    }) : (tensor<i64>
// CHECK-NEXT:    "krnl.deferred_call"({{.*}}) <{callee = @[[SECOND:.*]]}>
// CHECK:       func.func private @[[FIRST]](
// CHECK:         "onnx.Cast"
// CHECK:       func.func private @[[SECOND]](
// CHECK:         "onnx.Relu"
func.func @loop(%x: tensor<2x3xf32>) -> tensor<2x?xf32> {
  %n = onnx.Constant dense<2> : tensor<i64>
  %c = onnx.Constant dense<true> : tensor<i1>
  %0 = "onnx.NonZero"(%x) : (tensor<2x3xf32>) -> tensor<2x?xi64>
  %1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
  %2 = "onnx.Loop"(%n, %c, %1) ({
  ^bb0(%i: tensor<i64>, %d: tensor<i1>, %a: tensor<2x?xf32>):
    %3 = "onnx.Add"(%a, %a) : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
    onnx.Yield %d, %3 : tensor<i1>, tensor<2x?xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<2x?xf32>) -> tensor<2x?xf32>
  %4 = "onnx.Relu"(%2) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  onnx.Return %4 : tensor<2x?xf32>
}

// -----

// A Slice of one axis whose bounds are computed from data is computed at full size and cut.
// CHECK-LABEL: func.func @slice
// CHECK:         %[[PART:.*]] = "onnx.Slice"({{.*}}) {krnl.cut}
// CHECK-NEXT:    "krnl.deferred_call"(%[[PART]])
// CHECK-NEXT:    onnx.Return
// KRNL-LABEL:  func.func @slice
// KRNL:          "krnl.call"({{.*}}) <{funcName = "slicecount_{{[0-9]+}}"
// KRNL:          "krnl.call"({{.*}}) <{funcName = "slice_dynamic_{{[0-9]+}}"
// KRNL:          krnl.keep
// KRNL-NOT:      krnl.no_kernel
func.func @slice(%x: tensor<3x7xf32>) -> tensor<3x?xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %end = "onnx.Cast"(%x) <{to = i64}> : (tensor<3x7xf32>) -> tensor<3x7xi64>
  %most = "onnx.ReduceMaxV13"(%end) <{axes = [0, 1], keepdims = 0 : si64}> : (tensor<3x7xi64>) -> tensor<i64>
  %bound = "onnx.Reshape"(%most, %one) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
  %0 = "onnx.Slice"(%x, %zero, %bound, %one, %one) : (tensor<3x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x?xf32>
  %1 = "onnx.Relu"(%0) : (tensor<3x?xf32>) -> tensor<3x?xf32>
  onnx.Return %1 : tensor<3x?xf32>
}

// -----

// Bounds that are inputs, or sizes of inputs, are none of data: programs are compiled for them.
// CHECK-LABEL: func.func @slice_by_input
// CHECK-NOT:     krnl.cut
// CHECK-NOT:     krnl.deferred_call
// KRNL-LABEL:  func.func @slice_by_input
// KRNL:          krnl.no_kernel
func.func @slice_by_input(%x: tensor<3x7xf32>, %bound: tensor<1xi64>) -> tensor<3x?xf32> {
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.Slice"(%x, %zero, %bound, %one, %one) : (tensor<3x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x?xf32>
  %1 = "onnx.Relu"(%0) : (tensor<3x?xf32>) -> tensor<3x?xf32>
  onnx.Return %1 : tensor<3x?xf32>
}

// -----

// What reads a size that a function finds is in a function of its own. Dimensions that are equal have one name.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[FOUND:.*]] = "onnx.NonZero"
// CHECK-NEXT:    %[[FIRST:.*]]:2 = "krnl.deferred_call"(%[[FOUND]], %{{.*}}) <{callee = @found_0}>
// CHECK-NEXT:    %[[SECOND:.*]] = "krnl.deferred_call"(%[[FIRST]]#1, %[[FIRST]]#0) <{callee = @found_1}>
// CHECK-NEXT:    onnx.Return %[[SECOND]]
// CHECK:       func.func private @found_0(%{{.*}}: tensor<1x?xi64> {onnx.dim_params = "1:d0"}, %{{.*}}: tensor<9xf32>)
// CHECK-SAME:    -> (tensor<?xf32> {onnx.dim_params = "0:d0"}, tensor<1x?xi64> {onnx.dim_params = "1:d1"})
// CHECK:         "onnx.NonZero"
// CHECK-NEXT:    onnx.Return
// CHECK:       func.func private @found_1(
// CHECK:         "onnx.GatherND"
// KRNL-LABEL:  func.func @chain
// KRNL-NOT:      krnl.no_kernel
func.func @chain(%x: tensor<9xf32>) -> tensor<?xf32> {
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.NonZero"(%x) : (tensor<9xf32>) -> tensor<1x?xi64>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<1x?xi64>) -> tensor<?x1xi64>
  %2 = "onnx.GatherND"(%x, %1) : (tensor<9xf32>, tensor<?x1xi64>) -> tensor<?xf32>
  %3 = "onnx.Greater"(%2, %half) : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %4 = "onnx.NonZero"(%3) : (tensor<?xi1>) -> tensor<1x?xi64>
  %5 = "onnx.Transpose"(%4) <{perm = [1, 0]}> : (tensor<1x?xi64>) -> tensor<?x1xi64>
  %6 = "onnx.GatherND"(%2, %5) : (tensor<?xf32>, tensor<?x1xi64>) -> tensor<?xf32>
  onnx.Return %6 : tensor<?xf32>
}

// -----

// A function computes the sizes that it reads again, so that shapes follow from them.
// CHECK-LABEL: func.func @size
// CHECK:         "onnx.NonZero"
// CHECK-NEXT:    %[[FIRST:.*]]:2 = "krnl.deferred_call"({{.*}}) <{callee = @found_0}>
// CHECK-NEXT:    "krnl.deferred_call"({{.*}}) <{callee = @found_1}>
// CHECK-NEXT:    onnx.Return
// CHECK:       func.func private @found_0(
// CHECK:         "onnx.NonZero"
// CHECK:       func.func private @found_1(
// CHECK:         "onnx.Shape"
// CHECK:         "onnx.Expand"
// KRNL-LABEL:  func.func @size
// KRNL-NOT:      krnl.no_kernel
func.func @size(%x: tensor<9xf32>, %y: tensor<1x1xi64>) -> (tensor<?x?xi64>, tensor<?x1xi64>) {
  %0 = "onnx.NonZero"(%x) : (tensor<9xf32>) -> tensor<1x?xi64>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<1x?xi64>) -> tensor<?x1xi64>
  %2 = "onnx.Shape"(%1) <{start = 0 : si64}> : (tensor<?x1xi64>) -> tensor<2xi64>
  %3 = "onnx.GatherND"(%x, %1) : (tensor<9xf32>, tensor<?x1xi64>) -> tensor<?xf32>
  %4 = "onnx.NonZero"(%3) : (tensor<?xf32>) -> tensor<1x?xi64>
  %5 = "onnx.Transpose"(%4) <{perm = [1, 0]}> : (tensor<1x?xi64>) -> tensor<?x1xi64>
  %most = "onnx.ReduceMaxV13"(%5) <{axes = [0, 1], keepdims = 1 : si64}> : (tensor<?x1xi64>) -> tensor<1x1xi64>
  %6 = "onnx.Expand"(%most, %2) : (tensor<1x1xi64>, tensor<2xi64>) -> tensor<?x?xi64>
  %7 = "onnx.Mul"(%5, %y) : (tensor<?x1xi64>, tensor<1x1xi64>) -> tensor<?x1xi64>
  onnx.Return %6, %7 : tensor<?x?xi64>, tensor<?x1xi64>
}

// -----

// A function whose sizes are equal only for certain values of its inputs is not made; others are.
// CHECK-LABEL: func.func @refused
// CHECK:         "onnx.Loop"
// CHECK:           "onnx.Slice"
// CHECK:           "onnx.Concat"
// CHECK:           onnx.Yield
// CHECK:         "krnl.deferred_call"({{.*}}) <{callee = @found_1}>
// CHECK-NEXT:    onnx.Return
// CHECK:       func.func private @found_0(
// CHECK:         "onnx.Cast"
// CHECK:       func.func private @found_1(
// CHECK:         "onnx.Relu"
// KRNL-LABEL:  func.func @refused
// KRNL:          "onnx.Slice"({{.*}}krnl.no_kernel = 
// KRNL:        func.func private @found_1(
// KRNL-NOT:      krnl.no_kernel
func.func @refused(%x: tensor<1x9xf32>, %rows: tensor<?x4xf32>, %bound: tensor<2xi64>) -> tensor<?x4xf32> {
  %n = onnx.Constant dense<2> : tensor<i64>
  %c = onnx.Constant dense<true> : tensor<i1>
  %zero = onnx.Constant dense<0> : tensor<2xi64>
  %one = onnx.Constant dense<1> : tensor<2xi64>
  %axes = onnx.Constant dense<[0, 1]> : tensor<2xi64>
  %0 = "onnx.NonZero"(%x) : (tensor<1x9xf32>) -> tensor<2x?xi64>
  %1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
  %2:2 = "onnx.Loop"(%n, %c, %rows, %bound) ({
  ^bb0(%i: tensor<i64>, %d: tensor<i1>, %a: tensor<?x4xf32>, %b: tensor<2xi64>):
    %3 = "onnx.Slice"(%1, %zero, %b, %axes, %one) : (tensor<2x?xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %4 = "onnx.Concat"(%3, %a) <{axis = 0 : si64}> : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %5 = "onnx.Add"(%b, %one) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    onnx.Yield %d, %4, %5 : tensor<i1>, tensor<?x4xf32>, tensor<2xi64>
  }) : (tensor<i64>, tensor<i1>, tensor<?x4xf32>, tensor<2xi64>) -> (tensor<?x4xf32>, tensor<2xi64>)
  %6 = "onnx.Relu"(%2#0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  onnx.Return %6 : tensor<?x4xf32>
}

// -----

// A size that is computed from data: what follows the operator that has it, which the host runs.
// CHECK-LABEL: func.func @sized_by_values
// CHECK:         %[[R:.*]] = "onnx.Range"
// CHECK-NEXT:    "krnl.deferred_call"(%[[R]])
// CHECK-NEXT:    onnx.Return
// KRNL-LABEL:  func.func @sized_by_values
func.func @sized_by_values(%x: tensor<3x7xi64>) -> tensor<?xi64> {
  %one = onnx.Constant dense<1> : tensor<i64>
  %most = "onnx.ReduceMaxV13"(%x) <{axes = [0, 1], keepdims = 0 : si64}> : (tensor<3x7xi64>) -> tensor<i64>
  %0 = "onnx.Range"(%one, %most, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %1 = "onnx.Neg"(%0) : (tensor<?xi64>) -> tensor<?xi64>
  onnx.Return %1 : tensor<?xi64>
}

// -----

// A size that an operator reads before the function is called stays, though it is a result too.
// CHECK-LABEL: func.func @size_before
// CHECK:         %[[N:.*]] = "onnx.Shape"
// CHECK-NEXT:    "onnx.SequenceConstruct"(%[[N]])
// CHECK-NEXT:    "krnl.deferred_call"
func.func @size_before(%x: tensor<9xf32>) -> (!onnx.Seq<tensor<1xi64>>, tensor<1xi64>, tensor<1x?xi64>) {
  %0 = "onnx.NonZero"(%x) : (tensor<9xf32>) -> tensor<1x?xi64>
  %1 = "onnx.Shape"(%0) <{start = 1 : si64}> : (tensor<1x?xi64>) -> tensor<1xi64>
  %2 = "onnx.SequenceConstruct"(%1) : (tensor<1xi64>) -> !onnx.Seq<tensor<1xi64>>
  %3 = "onnx.Neg"(%0) : (tensor<1x?xi64>) -> tensor<1x?xi64>
  onnx.Return %2, %1, %3 : !onnx.Seq<tensor<1xi64>>, tensor<1xi64>, tensor<1x?xi64>
}
