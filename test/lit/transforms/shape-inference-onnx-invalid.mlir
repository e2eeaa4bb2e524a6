// RUN: onnx-opt %s --shape-inference --split-input-file --verify-diagnostics

func.func @declared_otherwise(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{declared: Transpose: the result is declared tensor<2x4xf32>, but its operands give tensor<3x2xf32>}}
  %0 = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<2x4xf32> loc("declared")
  onnx.Return %0 : tensor<2x4xf32>
}

// -----

func.func @no_broadcast(%x: tensor<?x3xf32> {onnx.name = "x"}, %y: tensor<2x4xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%y) : (tensor<2x4xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  // expected-error @+1 {{sum: Add: A 'x' [?, 3] and B 'n' [2, 4] do not broadcast}}
  %0 = "onnx.Add"(%x, %n) : (tensor<?x3xf32>, tensor<*xf32>) -> tensor<*xf32> loc("sum")
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @window_too_large(%x: tensor<1x3x2x2xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error @+1 {{conv1: Conv: a window of 3 does not fit into axis 2 of 2 with pads 0, 0}}
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x2x2xf32>, tensor<4x3x3x3xf32>, none) -> tensor<*xf32> loc("conv1")
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @not_a_reshape(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Constant dense<[4, -1]> : tensor<2xi64>
  // expected-error @+1 {{6 elements of data [2, 3] do not reshape to [4, -1]}}
  %1 = "onnx.Reshape"(%x, %0) <{allowzero = 0 : si64}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @rows_and_columns(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%b) : (tensor<4x5xf32>) -> tensor<*xf32>
  // expected-error @+1 {{A [2, 3] times B [4, 5]: 3 columns for 4 rows}}
  %0 = "onnx.MatMul"(%a, %n) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Among more than two operands, the message names the two that conflict.
func.func @one_of_three(%a: tensor<2x1xf32>, %b: tensor<1x3xf32>, %c: tensor<2x4xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%c) : (tensor<2x4xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  // expected-error @+1 {{onnx.Max: Max: data_0[1] [1, 3] and data_0[2] 'n' [2, 4] do not broadcast}}
  %0 = "onnx.Max"(%a, %b, %n) : (tensor<2x1xf32>, tensor<1x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @no_expansion(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Constant dense<[2, 4]> : tensor<2xi64>
  // expected-error @+1 {{Expand: input [2, 3] and shape [2, 4] do not broadcast}}
  %1 = "onnx.Expand"(%x, %0) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @stacks(%a: tensor<2x4x3xf32>, %b: tensor<5x3x4xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%b) : (tensor<5x3x4xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  // expected-error @+1 {{MatMul: A [2, 4, 3] and B 'n' [5, 3, 4] do not broadcast}}
  %0 = "onnx.MatMul"(%a, %n) : (tensor<2x4x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @bias(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<5xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{bias add has bad dimension on second dim: C has 5, the product 4}}
  %0 = "onnx.Gemm"(%a, %b, %c) <{alpha = 1.0 : f32, beta = 1.0 : f32, transA = 0 : si64, transB = 0 : si64}> : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<5xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @turned(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%b) : (tensor<3x4xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error @+1 {{Gemm: A [2, 3] times B 'n' [3, 4]: 2 columns for 3 rows after transposing}}
  %0 = "onnx.Gemm"(%a, %n, %none) <{alpha = 1.0 : f32, beta = 1.0 : f32, transA = 1 : si64, transB = 0 : si64}> : (tensor<2x3xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @no_matrix(%a: tensor<2x3x1xf32>, %b: tensor<3x4xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%a) : (tensor<2x3x1xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error @+1 {{Gemm: A 'n' [2, 3, 1] and B [3, 4] are not both matrices}}
  %0 = "onnx.Gemm"(%n, %b, %none) <{alpha = 1.0 : f32, beta = 1.0 : f32, transA = 0 : si64, transB = 0 : si64}> : (tensor<*xf32>, tensor<3x4xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ranks(%a: tensor<2x3xf32>, %c: tensor<4xf32>) -> tensor<*xf32> {
  %0 = "onnx.Relu"(%c) : (tensor<4xf32>) -> tensor<*xf32> loc(fused<["r"]>["rectified"])
  // expected-error @+1 {{joined: Concat: inputs[0] [2, 3] and inputs[1] 'r' [4] have different ranks}}
  %1 = "onnx.Concat"(%a, %0) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32> loc("joined")
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @sides(%a: tensor<?x?xf32>, %b: tensor<2x3xf32>, %c: tensor<2x4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{Concat: inputs[1] [2, 3] and inputs[2] [2, 4] differ in axis 1}}
  %1 = "onnx.Concat"(%a, %b, %c) <{axis = 0 : si64}> : (tensor<?x?xf32>, tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @filters(%x: tensor<1x4x5x5xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%w) : (tensor<8x3x3x3xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error @+1 {{conv1: Conv: 4 channels are not 3 of each filter times 1 groups: X [1, 4, 5, 5] and W 'n' [8, 3, 3, 3]}}
  %0 = "onnx.Conv"(%x, %n, %none) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x4x5x5xf32>, tensor<*xf32>, none) -> tensor<*xf32> loc("conv1")
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @filters_of_another_rank(%x: tensor<1x4x5x5xf32>, %v: tensor<8x3x3xf32>) -> tensor<*xf32> {
  %n = "onnx.Neg"(%v) : (tensor<8x3x3xf32>) -> tensor<*xf32> loc(fused<["n"]>["negative"])
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error @+1 {{Conv: X [1, 4, 5, 5] and W 'n' [8, 3, 3] need one rank, at least 3}}
  %1 = "onnx.Conv"(%x, %n, %none) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x4x5x5xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @other_count(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %0 = onnx.Constant dense<[4, 2]> : tensor<2xi64>
  // expected-error @+1 {{Reshape: data [2, 3] does not reshape to [4, 2]}}
  %1 = "onnx.Reshape"(%x, %0) <{allowzero = 0 : si64}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

func.func @no_such_input(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{Custom: inputs_for_infer [1] must select some of the 1 inputs}}
  %0 = "onnx.Custom"(%x) {function_name = "F", shape_infer_pattern = "SameAs", inputs_for_infer = [1]} : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @two_results(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{Custom: Shape inference pattern for multiple outputs NOT supported: 2}}
  %0, %1 = "onnx.Custom"(%x) {function_name = "F", shape_infer_pattern = "SameAs"} : (tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @no_broadcast(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{inputs[0] [2, 3] and inputs[1] [4] do not broadcast}}
  %0 = "onnx.Custom"(%x, %y) {function_name = "F", shape_infer_pattern = "MDBroadcast"} : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @folded_map(%a: tensor<4x4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{ShapeTransform: index_map takes the input [4, 4] to [2, 4]: it is not one-to-one}}
  %0 = "onnx.ShapeTransform"(%a) <{index_map = affine_map<(d0, d1) -> (d0 floordiv 2, d1)>}> : (tensor<4x4xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @pads_of_more_axes(%a: tensor<4xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{UpsampleAndPad: pads [1, 1, 2, 2] do not fit 1 axes and strides [1, 1]}}
  %0 = "onnx.UpsampleAndPad"(%a) <{pads = [1, 1, 2, 2]}> : (tensor<4xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A Slice of this many elements has no shape.
func.func @pads_below_zero(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %pads = onnx.Constant dense<[0, -3, 0, -1]> : tensor<4xi64>
  %one = onnx.Constant dense<1> : tensor<1xi64>
  // expected-error @+1 {{a result of shape [2, -1] is requested; sizes must be 0 or more}}
  %0 = "onnx.Pad"(%x, %pads, %none, %none) <{mode = "constant"}> : (tensor<2x3xf32>, tensor<4xi64>, none, none) -> tensor<*xf32>
  %1 = "onnx.Slice"(%0, %one, %one, %one, %one) : (tensor<*xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}
