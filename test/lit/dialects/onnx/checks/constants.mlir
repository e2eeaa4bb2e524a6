// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Operands whose values are constants.

func.func @axis(%arg0: tensor<2x3xf32>) {
  %0 = onnx.Constant dense<2> : tensor<i64>
  // expected-error@+1 {{'axis' value is 2, accepted range is [-2, 1]}}
  %1 = "onnx.CumSum"(%arg0, %0) : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @repeats(%arg0: tensor<2x3xf32>) {
  %0 = onnx.Constant dense<[1, -1]> : tensor<2xi64>
  // expected-error@+1 {{'onnx.Tile' op repeats has -1; it is at least 0}}
  %1 = "onnx.Tile"(%arg0, %0) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @images(%arg0: tensor<2x2x3xf32>) {
  %0 = onnx.Constant dense<[3, 1, 4, 4]> : tensor<4xi64>
  // expected-error@+1 {{'onnx.AffineGrid' op theta has 2 maps for 3 images}}
  %1 = "onnx.AffineGrid"(%arg0, %0) : (tensor<2x2x3xf32>, tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @columns(%arg0: tensor<1x4x5xf32>) {
  %0 = onnx.Constant dense<3> : tensor<2xi64>
  %1 = onnx.Constant dense<2> : tensor<2xi64>
  // expected-error@+1 {{'onnx.Col2Im' op input has 5 columns; the block has 4 positions in the image}}
  %2 = "onnx.Col2Im"(%arg0, %0, %1) : (tensor<1x4x5xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @rows(%arg0: tensor<1x3x4xf32>) {
  %0 = onnx.Constant dense<3> : tensor<2xi64>
  %1 = onnx.Constant dense<2> : tensor<2xi64>
  // expected-error@+1 {{'onnx.Col2Im' op input has 3 rows, no multiple of the 4 numbers of a block}}
  %2 = "onnx.Col2Im"(%arg0, %0, %1) : (tensor<1x3x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Col2Im_without_axes(%arg0: tensor<1x4x4xf32>) {
  %0 = onnx.Constant dense<> : tensor<0xi64>
  // expected-error@+1 {{'onnx.Col2Im' op image_shape has no axes; it has at least 1}}
  %1 = "onnx.Col2Im"(%arg0, %0, %0) : (tensor<1x4x4xf32>, tensor<0xi64>, tensor<0xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

// An elided constant has no values to check.
func.func @elided(%arg0: tensor<2x3xf32>) {
  %0 = onnx.Constant dense_resource<__elided__> : tensor<2xi64>
  %1 = "onnx.Tile"(%arg0, %0) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @variance(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xf32>) {
  // expected-error@+1 {{Wrong rank for the variance: not one number for each channel}}
  %0 = "onnx.BatchNormalizationInferenceMode"(%arg0, %arg1, %arg1, %arg1, %arg2) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<1x3x4xf32>
  onnx.Return
}
