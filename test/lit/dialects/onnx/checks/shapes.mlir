// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Ranks and dimensions that must agree; a dynamic dimension agrees with any.

func.func @Add(%arg0: tensor<2x3xf32>, %arg1: tensor<4xf32>) {
  // expected-error@+1 {{'onnx.Add' op Broadcast op with incompatible shapes: 2x3, 4}}
  %0 = "onnx.Add"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @dynamic(%arg0: tensor<2x3xf32>, %arg1: tensor<?xf32>) {
  %0 = "onnx.Add"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<?xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @Max(%arg0: tensor<2x3xf32>, %arg1: tensor<1x3xf32>, %arg2: tensor<4x1xf32>) {
  // expected-error@+1 {{Broadcast op with incompatible shapes: 2x3, 1x3, 4x1}}
  %0 = "onnx.Max"(%arg0, %arg1, %arg2) : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<4x1xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Where(%arg0: tensor<2xi1>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) {
  // expected-error@+1 {{Broadcast op with incompatible shapes: 2, 3, scalar}}
  %0 = "onnx.Where"(%arg0, %arg1, %arg2) : (tensor<2xi1>, tensor<3xf32>, tensor<f32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @PRelu(%arg0: tensor<3xf32>, %arg1: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.PRelu' op Slope tensor has a wrong shape}}
  %0 = "onnx.PRelu"(%arg0, %arg1) : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  onnx.Return
}

// -----

func.func @MatMul(%arg0: tensor<2x3xf32>, %arg1: tensor<4x5xf32>) {
  // expected-error@+1 {{'onnx.MatMul' op reduction dimension must be the same}}
  %0 = "onnx.MatMul"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  onnx.Return
}

// -----

func.func @scalar(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) {
  // expected-error@+1 {{the product of matrices takes no scalars}}
  %0 = "onnx.MatMul"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @batches(%arg0: tensor<2x4x3xf32>, %arg1: tensor<5x3x4xf32>) {
  // expected-error@+1 {{Incompatible size detected: stacks of [2] and [5] matrices}}
  %0 = "onnx.MatMul"(%arg0, %arg1) : (tensor<2x4x3xf32>, tensor<5x3x4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @vectors(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) {
  %0 = "onnx.MatMul"(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @Gemm(%arg0: tensor<2x3x1xf32>, %arg1: tensor<3x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Gemm with A should be a 2D tensor}}
  %0 = "onnx.Gemm"(%arg0, %arg1, %none) : (tensor<2x3x1xf32>, tensor<3x4xf32>, none) -> tensor<2x4xf32>
  onnx.Return
}

// -----

func.func @sizes(%arg0: tensor<2x3xf32>, %arg1: tensor<4x5xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Gemm 2nd dim of A is different than 1st dim of B}}
  %0 = "onnx.Gemm"(%arg0, %arg1, %none) : (tensor<2x3xf32>, tensor<4x5xf32>, none) -> tensor<2x5xf32>
  onnx.Return
}

// -----

func.func @transposed(%arg0: tensor<2x3xf32>, %arg1: tensor<5x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Gemm"(%arg0, %arg1, %none) <{transB = 1 : si64}> : (tensor<2x3xf32>, tensor<5x3xf32>, none) -> tensor<2x5xf32>
  onnx.Return
}

// -----

func.func @bias(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<1x2x4xf32>) {
  // expected-error@+1 {{Gemm with C should be a 1D or 2D tensor}}
  %0 = "onnx.Gemm"(%arg0, %arg1, %arg2) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<1x2x4xf32>) -> tensor<2x4xf32>
  onnx.Return
}

// -----

func.func @Concat(%arg0: tensor<2x3xf32>, %arg1: tensor<2x4xf32>) {
  // expected-error@+1 {{at index: 1' has dimension at index 1 with value 4, value should be 3}}
  %0 = "onnx.Concat"(%arg0, %arg1) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @ranks(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  // expected-error@+1 {{at index: 1' has rank 1, rank should be 2}}
  %0 = "onnx.Concat"(%arg0, %arg1) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @none_at_all() {
  // expected-error@+1 {{operand 'inputs' expected at position 0 does not verify}}
  %0 = "onnx.Concat"() <{axis = 0 : si64}> : () -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Split(%arg0: tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Split size not equal to the number of results}}
  %0:2 = "onnx.Split"(%arg0, %none) <{num_outputs = 3 : si64}> : (tensor<4xf32>, none) -> (tensor<2xf32>, tensor<2xf32>)
  onnx.Return
}

// -----

func.func @Reshape(%arg0: tensor<4xf32>, %arg1: tensor<1x1xi64>) {
  // expected-error@+1 {{'onnx.Reshape' op Shape tensor must have rank one}}
  %0 = "onnx.Reshape"(%arg0, %arg1) : (tensor<4xf32>, tensor<1x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @TopK(%arg0: tensor<4xf32>, %arg1: tensor<1x1xi64>) {
  // expected-error@+1 {{operand '<block argument> of type 'tensor<1x1xi64>' at index: 1' has rank 2, rank should be < 2}}
  %0:2 = "onnx.TopK"(%arg0, %arg1) : (tensor<4xf32>, tensor<1x1xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  onnx.Return
}

// -----

func.func @GatherElements(%arg0: tensor<2x3xf32>, %arg1: tensor<3xi64>) {
  // expected-error@+1 {{operand '<block argument> of type 'tensor<3xi64>' at index: 1' has rank 1, rank should be 2}}
  %0 = "onnx.GatherElements"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @GatherND(%arg0: tensor<f32>, %arg1: tensor<3xi64>) {
  // expected-error@+1 {{operand '<block argument> of type 'tensor<f32>' at index: 0' has rank 0, rank should be > 0}}
  %0 = "onnx.GatherND"(%arg0, %arg1) : (tensor<f32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @DepthToSpace(%arg0: tensor<1x6x2x2xf32>) {
  // expected-error@+1 {{The input tensor depth must be divisible by the (blocksize * blocksize)}}
  %0 = "onnx.DepthToSpace"(%arg0) <{blocksize = 2 : si64}> : (tensor<1x6x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @rank(%arg0: tensor<1x6x2xf32>) {
  // expected-error@+1 {{Input should have a rank of four}}
  %0 = "onnx.DepthToSpace"(%arg0) <{blocksize = 2 : si64}> : (tensor<1x6x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @SpaceToDepth(%arg0: tensor<1x1x3x2xf32>) {
  // expected-error@+1 {{The input tensor height must be divisible by the block size}}
  %0 = "onnx.SpaceToDepth"(%arg0) <{blocksize = 2 : si64}> : (tensor<1x1x3x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @width(%arg0: tensor<1x1x2x3xf32>) {
  // expected-error@+1 {{The input tensor width must be divisible by the block size}}
  %0 = "onnx.SpaceToDepth"(%arg0) <{blocksize = 2 : si64}> : (tensor<1x1x2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @OneHot(%arg0: tensor<2xi64>, %arg1: tensor<2xi64>, %arg2: tensor<2xf32>) {
  // expected-error@+1 {{OneHot depth can be 1D tensor with 1 elements}}
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) : (tensor<2xi64>, tensor<2xi64>, tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @values(%arg0: tensor<2xi64>, %arg1: tensor<i64>, %arg2: tensor<3xf32>) {
  // expected-error@+1 {{OneHot values must be 1D tensor with 2 elements}}
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) : (tensor<2xi64>, tensor<i64>, tensor<3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @GridSample(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<2x2x2x2xf32>) {
  // expected-error@+1 {{Input and grid must have the same batch value.}}
  %0 = "onnx.GridSample"(%arg0, %arg1) : (tensor<1x1x4x4xf32>, tensor<2x2x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @InstanceNormalization(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xf32>) {
  // expected-error@+1 {{Bias should have same dimension as the second dimension of input}}
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<1x3x4xf32>
  onnx.Return
}

// -----

func.func @LayerNormalization(%arg0: tensor<2x3x4xf32>, %arg1: tensor<5xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{LayerNormalization op with incompatible scale shapes (unidirectional broadcast)}}
  %0:3 = "onnx.LayerNormalization"(%arg0, %arg1, %none) : (tensor<2x3x4xf32>, tensor<5xf32>, none) -> (tensor<2x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @BatchNormalization(%arg0: tensor<1x3x4xf32>, %arg1: tensor<2xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) {
  // expected-error@+1 {{Wrong rank for the scale}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @NonMaxSuppression(%arg0: tensor<1x2x5xf32>, %arg1: tensor<1x1x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{The last dim of Boxes should be four}}
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<1x2x5xf32>, tensor<1x1x2xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @LSTM(%arg0: tensor<5x3xf32>, %arg1: tensor<1x16x3xf32>, %arg2: tensor<1x16x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{The first input tensor must have rank 3}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) : (tensor<5x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<*xf32>, none, none)
  onnx.Return
}

// -----

func.func @GlobalAveragePool(%arg0: tensor<1x3xf32>) {
  // expected-error@+1 {{Data input shape must be at least (NxCxD1)}}
  %0 = "onnx.GlobalAveragePool"(%arg0) : (tensor<1x3xf32>) -> tensor<*xf32>
  onnx.Return
}
