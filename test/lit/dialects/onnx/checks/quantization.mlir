// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Scales and zero points: per tensor, per axis and blocked.

func.func @few_scales(%arg0: tensor<3x4xi8>, %arg1: tensor<2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{x_scale and x_zero_point 1-D tensor length must match the input axis dim size: 2 for 4}}
  %0 = "onnx.DequantizeLinear"(%arg0, %arg1, %none) <{axis = 1 : si64}> : (tensor<3x4xi8>, tensor<2xf32>, none) -> tensor<3x4xf32>
  onnx.Return
}

// -----

func.func @axis(%arg0: tensor<3x4xi8>, %arg1: tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{onnx.DequantizeLinear: 'axis' value is 7, accepted range is [-2, 1]}}
  %0 = "onnx.DequantizeLinear"(%arg0, %arg1, %none) <{axis = 7 : si64}> : (tensor<3x4xi8>, tensor<4xf32>, none) -> tensor<3x4xf32>
  onnx.Return
}

// -----

func.func @scale_rank(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{y_scale must be a scalar or 1-D tensor without blocks; it has rank 2}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) : (tensor<3x4xf32>, tensor<3x4xf32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @zero_point(%arg0: tensor<3x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<3xui8>) {
  // expected-error@+1 {{y_scale and y_zero_point must have the same shape, not [4] and [3]}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %arg2) : (tensor<3x4xf32>, tensor<4xf32>, tensor<3xui8>) -> tensor<3x4xui8>
  onnx.Return
}

// -----

// A zero point of one axis whose size is unknown may be one number, as the scale is.
func.func @unknown_zero_point(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>, %arg2: tensor<?xui8>) {
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %arg2) : (tensor<3x4xf32>, tensor<f32>, tensor<?xui8>) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @block_size(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{block_size is -2; it is at least 0}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) <{block_size = -2 : si64}> : (tensor<3x4xf32>, tensor<3x2xf32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @block_rank(%arg0: tensor<3x4xf32>, %arg1: tensor<2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{y_scale has rank 1; for blocks it has the rank of the data, 2}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) <{block_size = 2 : si64}> : (tensor<3x4xf32>, tensor<2xf32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @blocks(%arg0: tensor<3x4xf32>, %arg1: tensor<3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{y_scale has 3 elements along axis 1; 2 are needed}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) <{block_size = 2 : si64}> : (tensor<3x4xf32>, tensor<3x3xf32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @output_dtype(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{output_dtype is 3, i8; the result is ui8}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) <{output_dtype = 3 : si64}> : (tensor<3x4xf32>, tensor<f32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @computed_as(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{precision is 7; it is 0, 1 (f32), 10 (f16) or 16 (bf16)}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) <{precision = 7 : si64}> : (tensor<3x4xf32>, tensor<f32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @saturate(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'saturate' value is 2, accepted range is [0, 1]}}
  %0 = "onnx.QuantizeLinear"(%arg0, %arg1, %none) <{saturate = 2 : si64}> : (tensor<3x4xf32>, tensor<f32>, none) -> tensor<3x4xui8>
  onnx.Return
}

// -----

func.func @MatMulInteger(%arg0: tensor<2x3xui8>, %arg1: tensor<3x4xui8>, %arg2: tensor<3xui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{a_zero_point has 3 elements; A has 2 along axis -2}}
  %0 = "onnx.MatMulInteger"(%arg0, %arg1, %arg2, %none) : (tensor<2x3xui8>, tensor<3x4xui8>, tensor<3xui8>, none) -> tensor<2x4xi32>
  onnx.Return
}

// -----

func.func @right(%arg0: tensor<2x3xui8>, %arg1: tensor<3x4xui8>, %arg3: tensor<3xui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{b_zero_point has 3 elements; B has 4 along axis -1}}
  %0 = "onnx.MatMulInteger"(%arg0, %arg1, %none, %arg3) : (tensor<2x3xui8>, tensor<3x4xui8>, none, tensor<3xui8>) -> tensor<2x4xi32>
  onnx.Return
}

// -----

func.func @stack(%arg0: tensor<2x3xui8>, %arg1: tensor<1x1x5xf32>, %arg2: tensor<ui8>, %arg3: tensor<3x4xui8>, %arg4: tensor<f32>, %arg5: tensor<ui8>, %arg6: tensor<f32>, %arg7: tensor<ui8>) {
  // expected-error@+1 {{a_scale has the shape [1, 1, 5], which fits no axis of a [2, 3]}}
  %0 = "onnx.QLinearMatMul"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<2x3xui8>, tensor<1x1x5xf32>, tensor<ui8>, tensor<3x4xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  onnx.Return
}

// -----

func.func @ConvInteger(%arg0: tensor<1x1x4x4xui8>, %arg1: tensor<1x1x2x2xui8>, %arg2: tensor<2xui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{x_zero_point tensor of rank one must have size one, not 2}}
  %0 = "onnx.ConvInteger"(%arg0, %arg1, %arg2, %none) : (tensor<1x1x4x4xui8>, tensor<1x1x2x2xui8>, tensor<2xui8>, none) -> tensor<1x1x3x3xi32>
  onnx.Return
}

// -----

func.func @QLinearConv(%arg0: tensor<1x1x4x4xui8>, %arg1: tensor<f32>, %arg2: tensor<ui8>, %arg3: tensor<3x1x2x2xui8>, %arg4: tensor<2xf32>, %arg5: tensor<ui8>, %arg6: tensor<f32>, %arg7: tensor<ui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{w_scale has 2 elements; w has 3 along axis 0}}
  %0 = "onnx.QLinearConv"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %none) : (tensor<1x1x4x4xui8>, tensor<f32>, tensor<ui8>, tensor<3x1x2x2xui8>, tensor<2xf32>, tensor<ui8>, tensor<f32>, tensor<ui8>, none) -> tensor<1x3x3x3xui8>
  onnx.Return
}

// -----

func.func @weights_rank(%arg0: tensor<1x1x4x4xui8>, %arg1: tensor<f32>, %arg2: tensor<ui8>, %arg3: tensor<3x1x2x2xui8>, %arg4: tensor<3x1xf32>, %arg5: tensor<ui8>, %arg6: tensor<f32>, %arg7: tensor<ui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{w_scale has rank 2; it holds one number, or one for each along axis 0}}
  %0 = "onnx.QLinearConv"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %none) : (tensor<1x1x4x4xui8>, tensor<f32>, tensor<ui8>, tensor<3x1x2x2xui8>, tensor<3x1xf32>, tensor<ui8>, tensor<f32>, tensor<ui8>, none) -> tensor<1x3x3x3xui8>
  onnx.Return
}

// -----

// One scale for each row of each matrix of a batch, and one for each row of a single matrix.
func.func @stack_of_rows(%arg0: tensor<2x4x3xui8>, %arg1: tensor<2x4x1xf32>, %arg2: tensor<2x4x1xui8>, %arg3: tensor<3x5xui8>, %arg4: tensor<5xf32>, %arg5: tensor<5xui8>, %arg6: tensor<f32>, %arg7: tensor<ui8>) {
  %0 = "onnx.QLinearMatMul"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<2x4x3xui8>, tensor<2x4x1xf32>, tensor<2x4x1xui8>, tensor<3x5xui8>, tensor<5xf32>, tensor<5xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x4x5xui8>
  onnx.Return
}

// -----

// Nothing is checked against an operand of unknown rank.
func.func @rank_unknown(%arg0: tensor<*xui8>, %arg1: tensor<3x4xui8>, %arg2: tensor<7xui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.MatMulInteger"(%arg0, %arg1, %arg2, %none) : (tensor<*xui8>, tensor<3x4xui8>, tensor<7xui8>, none) -> tensor<*xi32>
  onnx.Return
}
