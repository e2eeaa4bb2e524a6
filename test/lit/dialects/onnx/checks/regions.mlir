// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Regions of branches and loops: number and types of their arguments and results.

func.func @if_results(%arg0: tensor<i1>, %arg1: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.If' op else branch #results=2 differ from if #results=1}}
  %0 = "onnx.If"(%arg0) ({
    onnx.Yield %arg1 : tensor<2xf32>
  }, {
    onnx.Yield %arg1, %arg1 : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @if_types(%arg0: tensor<i1>, %arg1: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.If' op then branch disagrees on result type #1 of 1}}
  %0 = "onnx.If"(%arg0) ({
    onnx.Yield %arg1 : tensor<2xf32>
  }, {
    onnx.Yield %arg1 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  onnx.Return
}

// -----

// Branches of different shapes give a result of unknown shape.
func.func @if_shapes(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<3xf32>) {
  %0 = "onnx.If"(%arg0) ({
    onnx.Yield %arg1 : tensor<2xf32>
  }, {
    onnx.Yield %arg2 : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  onnx.Return
}

// -----

// The condition is a single element of any rank.
func.func @if_rank_2(%arg0: tensor<1x1xi1>, %arg1: tensor<2xf32>) {
  %0 = "onnx.If"(%arg0) ({
    onnx.Yield %arg1 : tensor<2xf32>
  }, {
    onnx.Yield %arg1 : tensor<2xf32>
  }) : (tensor<1x1xi1>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @if_two_conditions(%arg0: tensor<1x2xi1>, %arg1: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.If' op cond has the shape [1, 2]; a single element is needed}}
  %0 = "onnx.If"(%arg0) ({
    onnx.Yield %arg1 : tensor<2xf32>
  }, {
    onnx.Yield %arg1 : tensor<2xf32>
  }) : (tensor<1x2xi1>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @no_yield(%arg0: tensor<i1>, %arg1: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.If' op then_branch must terminate with onnx.Yield}}
  %0 = "onnx.If"(%arg0) ({
    // expected-error@+1 {{is not a terminator}}
    %1 = "onnx.Relu"(%arg1) : (tensor<2xf32>) -> tensor<2xf32>
  }, {
    onnx.Yield %arg1 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @loop_arguments(%arg0: tensor<i64>, %arg1: tensor<f32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'onnx.Loop' op body takes 2 values; it needs 3: an iteration number, a condition and the carried values}}
  %0 = "onnx.Loop"(%arg0, %none, %arg1) ({
  ^bb0(%i: tensor<i64>, %going: tensor<i1>):
    onnx.Yield %going, %arg1 : tensor<i1>, tensor<f32>
  }) : (tensor<i64>, none, tensor<f32>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @loop_results(%arg0: tensor<i64>, %arg1: tensor<f32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'onnx.Loop' op body yields 1 values; it needs 2: a condition and the results}}
  %0 = "onnx.Loop"(%arg0, %none, %arg1) ({
  ^bb0(%i: tensor<i64>, %going: tensor<i1>, %state: tensor<f32>):
    onnx.Yield %going : tensor<i1>
  }) : (tensor<i64>, none, tensor<f32>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @scan_inputs(%arg0: tensor<3xf32>) {
  // expected-error@+1 {{'onnx.Scan' op num_scan_inputs is 2, of 1 inputs}}
  %0 = "onnx.Scan"(%arg0) <{num_scan_inputs = 2 : si64}> ({
  ^bb0(%slice: tensor<f32>):
    onnx.Yield %slice : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  onnx.Return
}

// -----

func.func @sequence_map(%arg0: !onnx.Seq<tensor<3xf32>>) {
  // expected-error@+1 {{'onnx.SequenceMap' op body takes 2 values; it needs 1: elements of the inputs}}
  %0 = "onnx.SequenceMap"(%arg0) ({
  ^bb0(%element: tensor<3xf32>, %other: tensor<3xf32>):
    onnx.Yield %element : tensor<3xf32>
  }) : (!onnx.Seq<tensor<3xf32>>) -> !onnx.Seq<tensor<3xf32>>
  onnx.Return
}
