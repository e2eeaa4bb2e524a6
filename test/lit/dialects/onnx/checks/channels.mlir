// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Numbers of channels, groups and classes, and the letters of an Einsum equation.

func.func @GroupNormalization(%arg0: tensor<1x6x2xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>) {
  // expected-error@+1 {{6 channels are no multiple of 4 groups}}
  %0 = "onnx.GroupNormalization"(%arg0, %arg1, %arg2) <{num_groups = 4 : si64}> : (tensor<1x6x2xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<1x6x2xf32>
  onnx.Return
}

// -----

func.func @scale(%arg0: tensor<1x6x2xf32>, %arg1: tensor<2xf32>, %arg2: tensor<6xf32>) {
  // expected-error@+1 {{scale has the shape [2]; [6] is needed}}
  %0 = "onnx.GroupNormalization"(%arg0, %arg1, %arg2) <{num_groups = 2 : si64}> : (tensor<1x6x2xf32>, tensor<2xf32>, tensor<6xf32>) -> tensor<1x6x2xf32>
  onnx.Return
}

// -----

func.func @GroupNormalizationV18(%arg0: tensor<1x6x2xf32>, %arg1: tensor<6xf32>, %arg2: tensor<2xf32>) {
  // expected-error@+1 {{scale has the shape [6]; [2] is needed}}
  %0 = "onnx.GroupNormalizationV18"(%arg0, %arg1, %arg2) <{num_groups = 2 : si64}> : (tensor<1x6x2xf32>, tensor<6xf32>, tensor<2xf32>) -> tensor<1x6x2xf32>
  onnx.Return
}

// -----

func.func @rank(%arg0: tensor<6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>) {
  // expected-error@+1 {{X has rank 1; it has batches and channels}}
  %0 = "onnx.GroupNormalization"(%arg0, %arg1, %arg2) <{num_groups = 2 : si64}> : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  onnx.Return
}

// -----

func.func @size_of_bias(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) {
  // expected-error@+1 {{Wrong rank for the bias: not one number for each channel}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @size_of_mean(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<2xf32>, %arg4: tensor<3xf32>) {
  // expected-error@+1 {{Wrong rank for the mean: not one number for each channel}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @rank_of_mean(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3x1xf32>, %arg4: tensor<3xf32>) {
  // expected-error@+1 {{Wrong rank for the mean}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @size_of_variance(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<2xf32>) {
  // expected-error@+1 {{Wrong rank for the variance: not one number for each channel}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @rank_of_variance(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3x1xf32>) {
  // expected-error@+1 {{Wrong rank for the variance}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @loss(%arg0: tensor<3x5xf32>, %arg1: tensor<4xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{target has the shape [4]; [3] is needed}}
  %0 = "onnx.NegativeLogLikelihoodLoss"(%arg0, %arg1, %none) : (tensor<3x5xf32>, tensor<4xi64>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @class_weights(%arg0: tensor<3x5xf32>, %arg1: tensor<3xi64>, %arg2: tensor<4xf32>) {
  // expected-error@+1 {{weights has the shape [4]; [5] is needed}}
  %0:2 = "onnx.SoftmaxCrossEntropyLoss"(%arg0, %arg1, %arg2) : (tensor<3x5xf32>, tensor<3xi64>, tensor<4xf32>) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @scores(%arg0: tensor<3xf32>, %arg1: tensor<3xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{scores has rank 1; it has batches and classes}}
  %0:2 = "onnx.SoftmaxCrossEntropyLoss"(%arg0, %arg1, %none) : (tensor<3xf32>, tensor<3xi64>, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @CausalConvWithState(%arg0: tensor<1x2x5xf32>, %arg1: tensor<2x1x3xf32>, %arg2: tensor<3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{bias has the shape [3]; [2] is needed}}
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %arg2, %none) : (tensor<1x2x5xf32>, tensor<2x1x3xf32>, tensor<3xf32>, none) -> (tensor<1x2x5xf32>, tensor<1x2x2xf32>)
  onnx.Return
}

// -----

func.func @state(%arg0: tensor<1x2x5xf32>, %arg1: tensor<2x1x3xf32>, %arg3: tensor<1x2x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{past_state has the shape [1, 2, 3]; [1, 2, 2] is needed}}
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %none, %arg3) : (tensor<1x2x5xf32>, tensor<2x1x3xf32>, none, tensor<1x2x3xf32>) -> (tensor<1x2x5xf32>, tensor<1x2x2xf32>)
  onnx.Return
}

// -----

func.func @taps(%arg0: tensor<1x2x5xf32>, %arg1: tensor<3x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{weight has the shape [3, 1, 3]; [2, 1, 3] is needed}}
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %none, %none) : (tensor<1x2x5xf32>, tensor<3x1x3xf32>, none, none) -> (tensor<1x2x5xf32>, tensor<1x2x2xf32>)
  onnx.Return
}

// -----

func.func @causal_rank(%arg0: tensor<2x5xf32>, %arg1: tensor<2x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{input and weight have rank 3}}
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %none, %none) : (tensor<2x5xf32>, tensor<2x1x3xf32>, none, none) -> (tensor<2x5xf32>, tensor<1x2x2xf32>)
  onnx.Return
}

// -----

func.func @activation(%arg0: tensor<1x2x5xf32>, %arg1: tensor<2x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{activation is "relu"; it is one of none, silu, swish}}
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %none, %none) <{activation = "relu"}> : (tensor<1x2x5xf32>, tensor<2x1x3xf32>, none, none) -> (tensor<1x2x5xf32>, tensor<1x2x2xf32>)
  onnx.Return
}

// -----

func.func @terms(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{equation 'ij,jk->ik': number of equation inputs 2 != number of actual inputs 1}}
  %0 = "onnx.Einsum"(%arg0) <{equation = "ij,jk->ik"}> : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @letters(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{equation 'i1->i': invalid equation syntax: 'i1' has letters and one ...}}
  %0 = "onnx.Einsum"(%arg0) <{equation = "i1->i"}> : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @axes(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{equation 'ijk->i': number of equation input parameter subscripts 3 != input type rank 2}}
  %0 = "onnx.Einsum"(%arg0) <{equation = "ijk->i"}> : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @sizes(%arg0: tensor<2x3xf32>, %arg1: tensor<4x2xf32>) {
  // expected-error@+1 {{subscript 'j' has conflicting dim sizes 3, 4}}
  %0 = "onnx.Einsum"(%arg0, %arg1) <{equation = "ij,jk->ik"}> : (tensor<2x3xf32>, tensor<4x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @result(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{equation 'ij->ik': output subscript k doesn't appear in inputs}}
  %0 = "onnx.Einsum"(%arg0) <{equation = "ij->ik"}> : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @DFT(%arg0: tensor<2x8x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{input has the shape [2, 8, 3]; it has rank 2 or more and ends in 1 or 2}}
  %0 = "onnx.DFT"(%arg0, %none, %none) : (tensor<2x8x3xf32>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @DFTV17(%arg0: tensor<2x8x1xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{axis is 2; the accepted range is [-3, 1]}}
  %0 = "onnx.DFTV17"(%arg0, %none) <{axis = 2 : si64}> : (tensor<2x8x1xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @STFT(%arg0: tensor<2x8x3xf32>, %arg1: tensor<i64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{signal has the shape [2, 8, 3]; it has rank 2 or more and ends in 1 or 2}}
  %0 = "onnx.STFT"(%arg0, %arg1, %none, %none) : (tensor<2x8x3xf32>, tensor<i64>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Resize(%arg0: tensor<1x1x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{scales() and sizes() cannot both be absent}}
  %0 = "onnx.Resize"(%arg0, %none, %none, %none) : (tensor<1x1x2x2xf32>, none, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @both(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{scales() and sizes() cannot both be defined}}
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %arg3) : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @crop(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{coordinate_transformation_mode tf_crop_and_resize needs roi}}
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %none) <{coordinate_transformation_mode = "tf_crop_and_resize"}> : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @coordinates(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{coordinate_transformation_mode is "whole"; it is one of half_pixel}}
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %none) <{coordinate_transformation_mode = "whole"}> : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @nearest_mode(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{nearest_mode is "up"; it is one of round_prefer_floor}}
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %none) <{nearest_mode = "up"}> : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @GridSample(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x2x2x2xf32>) {
  // expected-error@+1 {{since opset 20 linear, nearest or cubic, not bilinear}}
  %0 = "onnx.GridSample"(%arg0, %arg1) <{mode = "bilinear"}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @GridSampleV16(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x2x2x2xf32>) {
  // expected-error@+1 {{before opset 20 bilinear, nearest or bicubic, not linear}}
  %0 = "onnx.GridSampleV16"(%arg0, %arg1) <{mode = "linear"}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

// Opset 28 adds Mod of floats with the sign of the divisor; before it there is only C's fmod.
module attributes {onnx.opset_imports = {"" = 21 : i64}} {
  func.func @Mod(%arg0: tensor<2xf32>) {
    // expected-error@+1 {{fmod must be 1 when the input type is floating point, which is C's fmod; opset 21 has no other}}
    %0 = "onnx.Mod"(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.Return
  }
}

// -----

func.func @unknown(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{unknown attribute 'slope'; the operator's are: alpha}}
  %0 = "onnx.LeakyRelu"(%arg0) {slope = 1.0 : f32} : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}
