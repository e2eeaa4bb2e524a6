// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Axes and permutations; axes of an unranked operand are not checked.

func.func @Softmax(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{'axis' value is 2, accepted range is [-2, 1]}}
  %0 = "onnx.Softmax"(%arg0) <{axis = 2 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @lowest_axis(%arg0: tensor<2x3xf32>) {
  %0 = "onnx.Softmax"(%arg0) <{axis = -2 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @unranked(%arg0: tensor<*xf32>) {
  %0 = "onnx.Softmax"(%arg0) <{axis = 7 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Flatten(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{'axis' value is 3, accepted range is [-2, 2]}}
  %0 = "onnx.Flatten"(%arg0) <{axis = 3 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @flatten_all(%arg0: tensor<2x3xf32>) {
  %0 = "onnx.Flatten"(%arg0) <{axis = 2 : si64}> : (tensor<2x3xf32>) -> tensor<6x1xf32>
  onnx.Return
}

// -----

func.func @OneHot(%arg0: tensor<2xi64>, %arg1: tensor<i64>, %arg2: tensor<2xf32>) {
  // expected-error@+1 {{OneHot axis value is out of range: 2 is not in [-2, 1]}}
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) <{axis = 2 : si64}> : (tensor<2xi64>, tensor<i64>, tensor<2xf32>) -> tensor<2x?xf32>
  onnx.Return
}

// -----

func.func @ReverseSequence(%arg0: tensor<2x3xf32>, %arg1: tensor<3xi64>) {
  // expected-error@+1 {{'batch_axis' value is 2, accepted range is [-2, 1]}}
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) <{batch_axis = 2 : si64, time_axis = 0 : si64}> : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @ReduceMeanV13(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.ReduceMeanV13' op reduction axis is out of bound: 3 is not in [-2, 1]}}
  %0 = "onnx.ReduceMeanV13"(%arg0) <{axes = [0, 3]}> : (tensor<2x3xf32>) -> tensor<1x1xf32>
  onnx.Return
}

// -----

func.func @twice(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.ReduceMeanV13' op axes names an axis twice: [1, -1]}}
  %0 = "onnx.ReduceMeanV13"(%arg0) <{axes = [1, -1]}> : (tensor<2x3xf32>) -> tensor<2x1xf32>
  onnx.Return
}

// -----

func.func @MeanVarianceNormalization(%arg0: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{'axes' value is 4, accepted range is [-4, 3]}}
  %0 = "onnx.MeanVarianceNormalization"(%arg0) <{axes = [0, 4]}> : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  onnx.Return
}

// -----

func.func @UnsqueezeV11(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.UnsqueezeV11' op Duplicated axes}}
  %0 = "onnx.UnsqueezeV11"(%arg0) <{axes = [0, 0]}> : (tensor<2xf32>) -> tensor<1x1x2xf32>
  onnx.Return
}

// -----

func.func @Transpose(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{Transpose op with too high a permute value (2 at index 1)}}
  %0 = "onnx.Transpose"(%arg0) <{perm = [0, 2]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return
}

// -----

func.func @too_low(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{Transpose op with too low a permute value (-1 at index 0)}}
  %0 = "onnx.Transpose"(%arg0) <{perm = [-1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return
}

// -----

func.func @twice(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{perm is [0, 0], which is no permutation of 2 axes}}
  %0 = "onnx.Transpose"(%arg0) <{perm = [0, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return
}

// -----

func.func @too_short(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{perm is [0], which is no permutation of 2 axes}}
  %0 = "onnx.Transpose"(%arg0) <{perm = [0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return
}

// -----

func.func @Concat(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) {
  // expected-error@+1 {{'axis' value is 2, accepted range is [-2, 1]}}
  %0 = "onnx.Concat"(%arg0, %arg1) <{axis = 2 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}
