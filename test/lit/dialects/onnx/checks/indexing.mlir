// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Indices and updates: shapes that must agree.

func.func @GatherElements(%arg0: tensor<2x3xf32>, %arg1: tensor<3x3xi64>) {
  // expected-error@+1 {{indices has 3 elements along axis 0, data has 2}}
  %0 = "onnx.GatherElements"(%arg0, %arg1) <{axis = 1 : si64}> : (tensor<2x3xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  onnx.Return
}

// -----

func.func @ScatterElements(%arg0: tensor<2x3xf32>, %arg1: tensor<1x2xi64>, %arg2: tensor<1x3xf32>) {
  // expected-error@+1 {{indices has the shape [1, 2], updates has [1, 3]; they must be the same}}
  %0 = "onnx.ScatterElements"(%arg0, %arg1, %arg2) <{axis = 1 : si64}> : (tensor<2x3xf32>, tensor<1x2xi64>, tensor<1x3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @GatherND(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xi64>) {
  // expected-error@+1 {{has dimension at index 1 with value 3, value should be <= 2}}
  %0 = "onnx.GatherND"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @batch_dims(%arg0: tensor<2x3xf32>, %arg1: tensor<2x1xi64>) {
  // expected-error@+1 {{onnx.GatherND: 'batch_dims' value is 2, accepted range is [0, 1]}}
  %0 = "onnx.GatherND"(%arg0, %arg1) <{batch_dims = 2 : si64}> : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @batches(%arg0: tensor<2x3xf32>, %arg1: tensor<3x1xi64>) {
  // expected-error@+1 {{has dimension at index 0 with value 3, value should be 2}}
  %0 = "onnx.GatherND"(%arg0, %arg1) <{batch_dims = 1 : si64}> : (tensor<2x3xf32>, tensor<3x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @ScatterND(%arg0: tensor<4x3xf32>, %arg1: tensor<2x1xi64>, %arg2: tensor<1x3xf32>) {
  // expected-error@+1 {{has dimension at index 0 with value 1, value should be 2}}
  %0 = "onnx.ScatterND"(%arg0, %arg1, %arg2) : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<1x3xf32>) -> tensor<4x3xf32>
  onnx.Return
}

// -----

func.func @TensorScatter(%arg0: tensor<2x4x3xf32>, %arg1: tensor<2x5x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{update has 5 elements along axis 1, past_cache holds 4}}
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %none) : (tensor<2x4x3xf32>, tensor<2x5x3xf32>, none) -> tensor<2x4x3xf32>
  onnx.Return
}

// -----

func.func @cache(%arg0: tensor<2x4x3xf32>, %arg1: tensor<2x1x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{update has 2 elements along axis 2, past_cache has 3}}
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %none) : (tensor<2x4x3xf32>, tensor<2x1x2xf32>, none) -> tensor<2x4x3xf32>
  onnx.Return
}

// -----

func.func @cache_axis(%arg0: tensor<2x4x3xf32>, %arg1: tensor<2x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{axis is -3; it is one of 3 axes, but not the first, of batches}}
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %none) <{axis = -3 : si64}> : (tensor<2x4x3xf32>, tensor<2x1x3xf32>, none) -> tensor<2x4x3xf32>
  onnx.Return
}

// -----

func.func @write_indices(%arg0: tensor<2x4x3xf32>, %arg1: tensor<2x1x3xf32>, %arg2: tensor<3xi64>) {
  // expected-error@+1 {{write_indices has 3 elements for 2 batches}}
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %arg2) : (tensor<2x4x3xf32>, tensor<2x1x3xf32>, tensor<3xi64>) -> tensor<2x4x3xf32>
  onnx.Return
}

// -----

func.func @write_mode(%arg0: tensor<2x4x3xf32>, %arg1: tensor<2x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{mode is "ring"; it is one of linear, circular}}
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %none) <{mode = "ring"}> : (tensor<2x4x3xf32>, tensor<2x1x3xf32>, none) -> tensor<2x4x3xf32>
  onnx.Return
}

// -----

func.func @ReverseSequence(%arg0: tensor<2x3xf32>, %arg1: tensor<2xi64>) {
  // expected-error@+1 {{batch_axis is 1 and time_axis 1; one is 0, the other 1}}
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) <{time_axis = 1 : si64}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @sequence_lens(%arg0: tensor<2x3xf32>, %arg1: tensor<2xi64>) {
  // expected-error@+1 {{Length of sequence_lens should match the sizeof  batch axis of the input: 2 for 3}}
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @NonMaxSuppression(%arg0: tensor<1x6x4xf32>, %arg1: tensor<1x1x5xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{boxes has 6 boxes, scores has 5}}
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<1x6x4xf32>, tensor<1x1x5xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @images(%arg0: tensor<2x6x4xf32>, %arg1: tensor<1x1x6xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{boxes has 2 batches, scores has 1}}
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<2x6x4xf32>, tensor<1x1x6xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @RoiAlign(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<2x5xf32>, %arg2: tensor<2xi64>) {
  // expected-error@+1 {{rois has the shape [2, 5]; each is 4 numbers}}
  %0 = "onnx.RoiAlign"(%arg0, %arg1, %arg2) : (tensor<1x1x4x4xf32>, tensor<2x5xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @batch_indices(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<3xi64>) {
  // expected-error@+1 {{batch_indices has 3 elements for 2 rois}}
  %0 = "onnx.RoiAlign"(%arg0, %arg1, %arg2) : (tensor<1x1x4x4xf32>, tensor<2x4xf32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @MaxRoiPool(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<2x4xf32>) {
  // expected-error@+1 {{rois has the shape [2, 4]; each is 5 numbers}}
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) <{pooled_shape = [2, 2]}> : (tensor<1x1x4x4xf32>, tensor<2x4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @pooled_shape(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<2x5xf32>) {
  // expected-error@+1 {{pooled_shape is [2]; two sizes of at least 1 are needed}}
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) <{pooled_shape = [2]}> : (tensor<1x1x4x4xf32>, tensor<2x5xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @pooled_rank(%arg0: tensor<1x4x4xf32>, %arg1: tensor<2x5xf32>) {
  // expected-error@+1 {{X has rank 3; it has rank 4}}
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) <{pooled_shape = [2, 2]}> : (tensor<1x4x4xf32>, tensor<2x5xf32>) -> tensor<*xf32>
  onnx.Return
}
