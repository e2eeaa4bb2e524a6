// RUN: onnx-opt %s --decompose-onnx --split-input-file | filecheck %s

// ReduceL1 and ReduceL2 become sums.
// CHECK-LABEL: @norms
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Abs"(%arg0) : (tensor<2x3xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.ReduceSum"(%[[V0]], %arg1) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Mul"(%arg0, %arg0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.ReduceSum"(%[[V2]], %arg1) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Sqrt"(%[[V3]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.ReduceSum"(%arg0, %arg1) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Log"(%[[V5]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V1]], %[[V4]], %[[V6]] : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
func.func @norms(%x: tensor<2x3xf32>, %axes: tensor<1xi64>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.ReduceL1"(%x, %axes) <{keepdims = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  %1 = "onnx.ReduceL2"(%x, %axes) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  %2 = "onnx.ReduceLogSum"(%x, %axes) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// Log-sum-exp: the maximum is subtracted before and added after; it is made finite, as inf - inf is NaN.
// CHECK-LABEL: @log_sum_exp
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.ReduceMax"(%arg0, %arg1) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<-3.40282347E+38> : tensor<f32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<3.40282347E+38> : tensor<f32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Clip"(%[[V0]], %[[V1]], %[[V2]]) : (tensor<*xf32>, tensor<f32>, tensor<f32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Sub"(%arg0, %[[V3]]) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Exp"(%[[V4]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.ReduceSum"(%[[V5]], %arg1) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Log"(%[[V6]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Squeeze"(%[[V3]], %arg1) : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V9:[0-9]+]] = "onnx.Add"(%[[V7]], %[[V8]]) : (tensor<*xf32>, tensor<*xf32>) -> tensor<2xf32>
// CHECK-NEXT:    onnx.Return %[[V9]] : tensor<2xf32>
func.func @log_sum_exp(%x: tensor<2x3xf32>, %axes: tensor<1xi64>) -> tensor<2xf32> {
  %0 = "onnx.ReduceLogSumExp"(%x, %axes) <{keepdims = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}

// -----

// Squeeze takes no axes for all of size 1, so the maximum is reduced again where their number is not known.
// CHECK-LABEL: @log_sum_exp_of_some_axes
// CHECK:         "onnx.ReduceMax"(%arg0, %arg1) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}>
// CHECK:         %[[LOG:[0-9]+]] = "onnx.Log"
// CHECK-NEXT:    %[[M:[0-9]+]] = "onnx.ReduceMax"(%arg0, %arg1) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}>
// CHECK:         %[[C:[0-9]+]] = "onnx.Clip"(%[[M]],
// CHECK-NEXT:    "onnx.Add"(%[[LOG]], %[[C]])
func.func @log_sum_exp_of_some_axes(%x: tensor<2x3xf32>, %axes: tensor<?xi64>) -> tensor<*xf32> {
  %0 = "onnx.ReduceLogSumExp"(%x, %axes) <{keepdims = 0 : si64}> : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Integers: not decomposed, as Sqrt takes floats only.
// CHECK-LABEL: @integers
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.ReduceL2"(%arg0, %arg1) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3xi32>, tensor<1xi64>) -> tensor<*xi32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<*xi32>
func.func @integers(%x: tensor<2x3xi32>, %axes: tensor<1xi64>) -> tensor<*xi32> {
  %0 = "onnx.ReduceL2"(%x, %axes) : (tensor<2x3xi32>, tensor<1xi64>) -> tensor<*xi32>
  onnx.Return %0 : tensor<*xi32>
}

// -----

// Not log(Softmax(x)), which may underflow.
// CHECK-LABEL: @log_softmax
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.ReduceMax"(%arg0, %[[V0]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Sub"(%arg0, %[[V1]]) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Exp"(%[[V2]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.ReduceSum"(%[[V3]], %[[V4]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Log"(%[[V5]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Sub"(%[[V2]], %[[V6]]) : (tensor<*xf32>, tensor<*xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    onnx.Return %[[V7]] : tensor<2x3xf32>
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.LogSoftmax"(%x) <{axis = 1 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

// The attribute `axes` becomes an operand, absent if it was.
// CHECK-LABEL: @reduction_13
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Abs"(%arg0) : (tensor<2x3xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.ReduceSum"(%[[V1]], %[[V0]]) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Abs"(%arg0) : (tensor<2x3xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.ReduceSum"(%[[V4]], %[[V3]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V2]], %[[V5]] : tensor<*xf32>, tensor<*xf32>
func.func @reduction_13(%x: tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.ReduceL1V13"(%x) <{axes = [1], keepdims = 0 : si64}> : (tensor<2x3xf32>) -> tensor<*xf32>
  %1 = "onnx.ReduceL1V13"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// The same for the newest opset.
// CHECK-LABEL: @reduction_18
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.ReduceMax"(%arg0, %arg1) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.ReduceMin"(%[[V0]], %arg1) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V1]] : tensor<*xf32>
func.func @reduction_18(%x: tensor<2x3xf32>, %axes: tensor<1xi64>) -> tensor<*xf32> {
  %0 = "onnx.ReduceMaxV18"(%x, %axes) <{keepdims = 0 : si64}> : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  %1 = "onnx.ReduceMinV18"(%0, %axes) <{keepdims = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// The bounds become operands of the data's element type.
// CHECK-LABEL: @clip_6
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<f16>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<6.000000e+00> : tensor<f16>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Clip"(%arg0, %[[V0]], %[[V1]]) : (tensor<2xf16>, tensor<f16>, tensor<f16>) -> tensor<2xf16>
// CHECK-NEXT:    onnx.Return %[[V2]] : tensor<2xf16>
func.func @clip_6(%x: tensor<2xf16>) -> tensor<2xf16> {
  %0 = "onnx.ClipV6"(%x) <{max = 6.0 : f32, min = 0.0 : f32}> : (tensor<2xf16>) -> tensor<2xf16>
  onnx.Return %0 : tensor<2xf16>
}

// -----

// The attribute `axis` becomes an operand.
// CHECK-LABEL: @dft
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<1> : tensor<i64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.DFT"(%arg0, %[[V0]], %[[V1]]) <{inverse = 0 : si64, onesided = 0 : si64}> : (tensor<2x5x1xf32>, none, tensor<i64>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V2]] : tensor<*xf32>
func.func @dft(%x: tensor<2x5x1xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DFTV17"(%x, %none) <{axis = 1 : si64}> : (tensor<2x5x1xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Opset 20 renamed the modes.
// CHECK-LABEL: @grid_sample
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.GridSample"(%arg0, %arg1) <{align_corners = 0 : si64, mode = "cubic", padding_mode = "zeros"}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<1x1x2x2xf32>
func.func @grid_sample(%x: tensor<1x1x4x4xf32>, %grid: tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %0 = "onnx.GridSampleV16"(%x, %grid) <{mode = "bicubic"}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  onnx.Return %0 : tensor<1x1x2x2xf32>
}

// -----

// The pads and the value become operands.
// CHECK-LABEL: @pads
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<[0, 1, 2, 3]> : tensor<4xi64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<1.500000e+00> : tensor<1xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Pad"(%arg0, %[[V0]], %[[V1]], %[[V2]]) <{mode = "constant"}> : (tensor<2x3xf32>, tensor<4xi64>, tensor<1xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Pad"(%arg0, %arg1, %arg2, %[[V4]]) <{mode = "constant"}> : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>, none) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V3]], %[[V5]] : tensor<*xf32>, tensor<*xf32>
func.func @pads(%x: tensor<2x3xf32>, %pads: tensor<4xi64>, %c: tensor<f32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.PadV2"(%x) <{pads = [0, 1, 2, 3], value = 1.5 : f32}> : (tensor<2x3xf32>) -> tensor<*xf32>
  %1 = "onnx.PadV13"(%x, %pads, %c) <{mode = "constant"}> : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// Resize's default transformation (half_pixel) equals Upsample for integer scales only; otherwise asymmetric.
// CHECK-LABEL: @resizes
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<[1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Resize"(%arg0, %[[V0]], %[[V1]], %[[V2]]) <{antialias = 0 : si64, coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, keep_aspect_ratio_policy = "stretch", mode = "nearest", nearest_mode = "round_prefer_floor"}> : (tensor<1x1x4x4xf32>, none, tensor<4xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Resize"(%arg0, %[[V4]], %arg1, %[[V5]]) <{antialias = 0 : si64, coordinate_transformation_mode = "asymmetric", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, keep_aspect_ratio_policy = "stretch", mode = "linear", nearest_mode = "floor"}> : (tensor<1x1x4x4xf32>, none, tensor<4xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V3]], %[[V6]] : tensor<*xf32>, tensor<*xf32>
func.func @resizes(%x: tensor<1x1x4x4xf32>, %scales: tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.UpsampleV7"(%x) <{mode = "nearest", scales = [1.0 : f32, 1.0 : f32, 2.0 : f32, 2.0 : f32]}> : (tensor<1x1x4x4xf32>) -> tensor<*xf32>
  %1 = "onnx.Upsample"(%x, %scales) <{mode = "linear"}> : (tensor<1x1x4x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// The newest Resize supports all coordinate transformations but one.
// CHECK-LABEL: @resize_11
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Resize"(%arg0, %arg1, %arg2, %[[V0]]) <{antialias = 0 : si64, coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, keep_aspect_ratio_policy = "stretch", mode = "cubic", nearest_mode = "round_prefer_floor"}> : (tensor<1x1x4x4xf32>, tensor<8xf32>, tensor<4xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.ResizeV11"(%arg0, %arg1, %arg2, %[[V0]]) <{coordinate_transformation_mode = "tf_half_pixel_for_nn", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, mode = "nearest", nearest_mode = "round_prefer_floor"}> : (tensor<1x1x4x4xf32>, tensor<8xf32>, tensor<4xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V1]], %[[V2]] : tensor<*xf32>, tensor<*xf32>
func.func @resize_11(%x: tensor<1x1x4x4xf32>, %roi: tensor<8xf32>, %scales: tensor<4xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ResizeV11"(%x, %roi, %scales, %none) <{mode = "cubic"}> : (tensor<1x1x4x4xf32>, tensor<8xf32>, tensor<4xf32>, none) -> tensor<*xf32>
  %1 = "onnx.ResizeV11"(%x, %roi, %scales, %none) <{coordinate_transformation_mode = "tf_half_pixel_for_nn"}> : (tensor<1x1x4x4xf32>, tensor<8xf32>, tensor<4xf32>, none) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// Renamed only.
// CHECK-LABEL: @scatter
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.ScatterElements"(%arg0, %arg1, %arg2) <{axis = 1 : si64, reduction = "none"}> : (tensor<3x4xf32>, tensor<1x2xi64>, tensor<1x2xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<3x4xf32>
func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<1x2xi64>, %u: tensor<1x2xf32>) -> tensor<3x4xf32> {
  %0 = "onnx.Scatter"(%x, %i, %u) <{axis = 1 : si64}> : (tensor<3x4xf32>, tensor<1x2xi64>, tensor<1x2xf32>) -> tensor<3x4xf32>
  onnx.Return %0 : tensor<3x4xf32>
}

// -----

// The attribute `split` becomes an operand; if absent, the number of outputs is given.
// CHECK-LABEL: @splits
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]]:2 = "onnx.Split"(%arg0, %[[V0]]) <{axis = 1 : si64, num_outputs = 2 : si64}> : (tensor<2x6xf32>, none) -> (tensor<2x3xf32>, tensor<2x3xf32>)
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<[2, 4]> : tensor<2xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]]:2 = "onnx.Split"(%arg0, %[[V2]]) <{axis = 1 : si64}> : (tensor<2x6xf32>, tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
// CHECK-NEXT:    onnx.Return %[[V1]]#1, %[[V3]]#0 : tensor<2x3xf32>, tensor<2x2xf32>
func.func @splits(%x: tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x2xf32>) {
  %0:2 = "onnx.SplitV11"(%x) <{axis = 1 : si64}> : (tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %1:2 = "onnx.SplitV11"(%x) <{axis = 1 : si64, split = [2, 4]}> : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
  onnx.Return %0#1, %1#0 : tensor<2x3xf32>, tensor<2x2xf32>
}

// -----

// The attribute `axes` becomes an operand, absent if it was.
// CHECK-LABEL: @squeezes
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Squeeze"(%arg0, %[[V0]]) : (tensor<1x3xf32>, none) -> tensor<*xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Squeeze"(%arg0, %[[V2]]) : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<[0, 3]> : tensor<2xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Unsqueeze"(%arg0, %[[V4]]) : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V1]], %[[V3]], %[[V5]] : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
func.func @squeezes(%x: tensor<1x3xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.SqueezeV11"(%x) : (tensor<1x3xf32>) -> tensor<*xf32>
  %1 = "onnx.SqueezeV11"(%x) <{axes = [0]}> : (tensor<1x3xf32>) -> tensor<*xf32>
  %2 = "onnx.UnsqueezeV11"(%x) <{axes = [0, 3]}> : (tensor<1x3xf32>) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// All value attributes of Constant become a tensor.
// CHECK-LABEL: @constants
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<2.500000e+00> : tensor<f32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<-3> : tensor<i64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<["a", "b"]> : tensor<2x!onnx.String>
// CHECK-NEXT:    onnx.Return %[[V0]], %[[V1]], %[[V2]], %[[V3]] : tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2x!onnx.String>
func.func @constants() -> (tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2x!onnx.String>) {
  %0 = onnx.Constant {value_float = 2.5 : f32} : tensor<f32>
  %1 = onnx.Constant {value_int = -3 : si64} : tensor<i64>
  %2 = onnx.Constant {value_floats = [1.0 : f32, 2.0 : f32]} : tensor<2xf32>
  %3 = onnx.Constant {value_strings = ["a", "b"]} : tensor<2x!onnx.String>
  onnx.Return %0, %1, %2, %3 : tensor<f32>, tensor<i64>, tensor<2xf32>, tensor<2x!onnx.String>
}

// -----

// One element, and Expand.
// CHECK-LABEL: @constant_of_shape
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Expand"(%[[V0]], %arg0) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<7> : tensor<i32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Expand"(%[[V2]], %arg0) : (tensor<i32>, tensor<2xi64>) -> tensor<?x?xi32>
// CHECK-NEXT:    onnx.Return %[[V1]], %[[V3]] : tensor<?x?xf32>, tensor<?x?xi32>
func.func @constant_of_shape(%s: tensor<2xi64>) -> (tensor<?x?xf32>, tensor<?x?xi32>) {
  %0 = "onnx.ConstantOfShape"(%s) : (tensor<2xi64>) -> tensor<?x?xf32>
  %1 = "onnx.ConstantOfShape"(%s) <{value = dense<7> : tensor<1xi32>}> : (tensor<2xi64>) -> tensor<?x?xi32>
  onnx.Return %0, %1 : tensor<?x?xf32>, tensor<?x?xi32>
}

// -----

// Subtract, then multiply, in float32.
// CHECK-LABEL: @scalers
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Cast"(%arg1) <{saturate = 1 : si64, to = f32}> : (tensor<2x2xi32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Sub"(%[[V0]], %[[V1]]) : (tensor<*xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Sub"(%arg0, %[[V3]]) : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = onnx.Constant dense<4.000000e+00> : tensor<1xf32>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Mul"(%[[V4]], %[[V5]]) : (tensor<2x2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    onnx.Return %arg0, %[[V2]], %[[V6]] : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
func.func @scalers(%x: tensor<2x2xf32>, %i: tensor<2x2xi32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = "onnx.Scaler"(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = "onnx.Scaler"(%i) <{offset = [1.0 : f32, 2.0 : f32]}> : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %2 = "onnx.Scaler"(%x) <{offset = [1.0 : f32, 2.0 : f32], scale = [4.0 : f32]}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %0, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// CastLike becomes Cast to the element type of its second operand.
// CHECK-LABEL: @cast_like
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Cast"(%arg0) <{saturate = 0 : si64, to = i32}> : (tensor<2xf32>) -> tensor<2xi32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<2xi32>
func.func @cast_like(%x: tensor<2xf32>, %y: tensor<?xi32>) -> tensor<2xi32> {
  %0 = "onnx.CastLike"(%x, %y) <{saturate = 0 : si64}> : (tensor<2xf32>, tensor<?xi32>) -> tensor<2xi32>
  onnx.Return %0 : tensor<2xi32>
}

// -----

// Sum as a chain of Add, with casts if the declared result type differs.
// CHECK-LABEL: @sums
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Add"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Add"(%[[V0]], %arg1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Add"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Cast"(%[[V2]]) <{saturate = 1 : si64, to = f32}> : (tensor<2x3xf32>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %arg0, %[[V1]], %[[V3]] : tensor<2x3xf32>, tensor<2x3xf32>, tensor<*xf32>
func.func @sums(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<?xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<*xf32>) {
  %0 = "onnx.Sum"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "onnx.Sum"(%a, %b, %b) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = "onnx.Sum"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<*xf32>
}

// -----

// A SequenceConstruct is one SequenceInsert for each element.
// CHECK-LABEL: @sequences
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.SequenceEmpty"() <{dtype = 1 : si64}> : () -> !onnx.Seq<tensor<2xf32>>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.SequenceInsert"(%[[V0]], %arg0, %[[V1]]) : (!onnx.Seq<tensor<2xf32>>, tensor<2xf32>, none) -> !onnx.Seq<tensor<2xf32>>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.SequenceInsert"(%[[V2]], %arg1, %[[V1]]) : (!onnx.Seq<tensor<2xf32>>, tensor<2xf32>, none) -> !onnx.Seq<tensor<2xf32>>
// CHECK-NEXT:    onnx.Return %[[V3]] : !onnx.Seq<tensor<2xf32>>
func.func @sequences(%a: tensor<2xf32>, %b: tensor<2xf32>) -> !onnx.Seq<tensor<2xf32>> {
  %0 = "onnx.SequenceConstruct"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> !onnx.Seq<tensor<2xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<2xf32>>
}

// -----

// SequenceAt with the last of three elements: a result of Split.
// CHECK-LABEL: @part_of_split
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<2> : tensor<i64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<-1> : tensor<i64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.SplitToSequence"(%arg0, %[[V0]]) <{axis = 1 : si64, keepdims = 1 : si64}> : (tensor<2x6xf32>, tensor<i64>) -> !onnx.Seq<tensor<2x2xf32>>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<2> : tensor<3xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]]:3 = "onnx.Split"(%arg0, %[[V3]]) <{axis = 1 : si64}> : (tensor<2x6xf32>, tensor<3xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
// CHECK-NEXT:    onnx.Return %[[V4]]#2 : tensor<2x2xf32>
func.func @part_of_split(%x: tensor<2x6xf32>) -> tensor<2x2xf32> {
  %split = onnx.Constant dense<2> : tensor<i64>
  %place = onnx.Constant dense<-1> : tensor<i64>
  %0 = "onnx.SplitToSequence"(%x, %split) <{axis = 1 : si64, keepdims = 1 : si64}> : (tensor<2x6xf32>, tensor<i64>) -> !onnx.Seq<tensor<2x2xf32>>
  %1 = "onnx.SequenceAt"(%0, %place) : (!onnx.Seq<tensor<2x2xf32>>, tensor<i64>) -> tensor<2x2xf32>
  onnx.Return %1 : tensor<2x2xf32>
}

// -----

// An element of size 1 is squeezed.
// CHECK-LABEL: @squeezed_part
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<1> : tensor<i64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.SplitToSequence"(%arg0, %[[V0]]) <{axis = 1 : si64, keepdims = 0 : si64}> : (tensor<2x3xf32>, tensor<i64>) -> !onnx.Seq<tensor<2xf32>>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<1> : tensor<3xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]]:3 = "onnx.Split"(%arg0, %[[V2]]) <{axis = 1 : si64}> : (tensor<2x3xf32>, tensor<3xi64>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Squeeze"(%[[V3]]#1, %[[V4]]) : (tensor<2x1xf32>, tensor<1xi64>) -> tensor<2xf32>
// CHECK-NEXT:    onnx.Return %[[V5]] : tensor<2xf32>
func.func @squeezed_part(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %one = onnx.Constant dense<1> : tensor<i64>
  %0 = "onnx.SplitToSequence"(%x, %one) <{axis = 1 : si64, keepdims = 0 : si64}> : (tensor<2x3xf32>, tensor<i64>) -> !onnx.Seq<tensor<2xf32>>
  %1 = "onnx.SequenceAt"(%0, %one) : (!onnx.Seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  onnx.Return %1 : tensor<2xf32>
}

// -----

// The last element would be smaller: not decomposed.
// CHECK-LABEL: @uneven_parts
// CHECK-NEXT:    %[[V0:[0-9]+]] = onnx.Constant dense<2> : tensor<i64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.SplitToSequence"(%arg0, %[[V0]]) <{axis = 1 : si64, keepdims = 1 : si64}> : (tensor<2x5xf32>, tensor<i64>) -> !onnx.Seq<tensor<2x?xf32>>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.SequenceAt"(%[[V1]], %[[V0]]) : (!onnx.Seq<tensor<2x?xf32>>, tensor<i64>) -> tensor<2x2xf32>
// CHECK-NEXT:    onnx.Return %[[V2]] : tensor<2x2xf32>
func.func @uneven_parts(%x: tensor<2x5xf32>) -> tensor<2x2xf32> {
  %split = onnx.Constant dense<2> : tensor<i64>
  %0 = "onnx.SplitToSequence"(%x, %split) <{axis = 1 : si64, keepdims = 1 : si64}> : (tensor<2x5xf32>, tensor<i64>) -> !onnx.Seq<tensor<2x?xf32>>
  %1 = "onnx.SequenceAt"(%0, %split) : (!onnx.Seq<tensor<2x?xf32>>, tensor<i64>) -> tensor<2x2xf32>
  onnx.Return %1 : tensor<2x2xf32>
}

// -----

// Only Shape and Transpose use the concatenation.
// CHECK-LABEL: @concat_fuse
// CHECK-NEXT:    %[[V0:.*]], %[[V1:.*]] = "onnx.ConcatShapeTranspose"(%arg0, %arg1) <{axis = 0 : si64, perm = [1, 0], start = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2xi64>, tensor<3x4xf32>)
// CHECK-NEXT:    onnx.Return %[[V0]], %[[V1]] : tensor<2xi64>, tensor<3x4xf32>
func.func @concat_fuse(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2xi64>, tensor<3x4xf32>) {
  %0 = "onnx.Concat"(%a, %b) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %2 = "onnx.Shape"(%0) <{start = 0 : si64}> : (tensor<4x3xf32>) -> tensor<2xi64>
  onnx.Return %2, %1 : tensor<2xi64>, tensor<3x4xf32>
}

// -----

// The concatenation has another use.
// CHECK-LABEL: @concat_stays
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Concat"(%arg0, %arg1) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Transpose"(%[[V0]]) <{perm = [1, 0]}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Shape"(%[[V0]]) <{start = 0 : si64}> : (tensor<4x3xf32>) -> tensor<2xi64>
// CHECK-NEXT:    onnx.Return %[[V0]], %[[V2]], %[[V1]] : tensor<4x3xf32>, tensor<2xi64>, tensor<3x4xf32>
func.func @concat_stays(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<4x3xf32>, tensor<2xi64>, tensor<3x4xf32>) {
  %0 = "onnx.Concat"(%a, %b) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %2 = "onnx.Shape"(%0) <{start = 0 : si64}> : (tensor<4x3xf32>) -> tensor<2xi64>
  onnx.Return %0, %2, %1 : tensor<4x3xf32>, tensor<2xi64>, tensor<3x4xf32>
}

// -----

// Cross-entropy as gathered log-softmax, which is decomposed in turn.
// CHECK-LABEL: @loss
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.OneHot"(%arg1, %[[V2]], %[[V3]]) <{axis = 1 : si64}> : (tensor<?xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<?x3xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Cast"(%[[V4]]) <{saturate = 1 : si64, to = i1}> : (tensor<?x3xi64>) -> tensor<?x3xi1>
// CHECK-NEXT:    %[[V6:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.ReduceMax"(%arg0, %[[V6]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<?x3xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Sub"(%arg0, %[[V7]]) : (tensor<?x3xf32>, tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V9:[0-9]+]] = "onnx.Exp"(%[[V8]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V10:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V11:[0-9]+]] = "onnx.ReduceSum"(%[[V9]], %[[V10]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V12:[0-9]+]] = "onnx.Log"(%[[V11]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V13:[0-9]+]] = "onnx.Sub"(%[[V8]], %[[V12]]) : (tensor<*xf32>, tensor<*xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    %[[V14:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[V15:[0-9]+]] = "onnx.Where"(%[[V5]], %[[V13]], %[[V14]]) : (tensor<?x3xi1>, tensor<?x3xf32>, tensor<f32>) -> tensor<?x3xf32>
// CHECK-NEXT:    %[[V16:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V17:[0-9]+]] = "onnx.ReduceSum"(%[[V15]], %[[V16]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<?x3xf32>, tensor<1xi64>) -> tensor<?x1xf32>
// CHECK-NEXT:    %[[V18:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V19:[0-9]+]] = "onnx.ReduceMean"(%[[V17]], %[[V18]]) <{keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<?x1xf32>, none) -> tensor<f32>
// CHECK-NEXT:    %[[V20:[0-9]+]] = "onnx.Neg"(%[[V19]]) : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    onnx.Return %[[V20]], %[[V13]] : tensor<f32>, tensor<?x3xf32>
func.func @loss(%s: tensor<?x3xf32>, %l: tensor<?xi64>) -> (tensor<f32>, tensor<?x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.SoftmaxCrossEntropyLoss"(%s, %l, %none) <{reduction = "mean"}> : (tensor<?x3xf32>, tensor<?xi64>, none) -> (tensor<f32>, tensor<?x3xf32>)
  onnx.Return %0#0, %0#1 : tensor<f32>, tensor<?x3xf32>
}

// -----

// The number of classes is dynamic (onnx.Dim); ignore_index is -1.
// CHECK-LABEL: @weighted_loss
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 1 : si64}> : (tensor<2x?x4xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.OneHot"(%arg1, %[[V1]], %[[V2]]) <{axis = 1 : si64}> : (tensor<2x4xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<2x?x4xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.Cast"(%[[V3]]) <{saturate = 1 : si64, to = i1}> : (tensor<2x?x4xi64>) -> tensor<2x?x4xi1>
// CHECK-NEXT:    %[[V5:[0-9]+]] = onnx.Constant dense<-1> : tensor<i64>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Equal"(%arg1, %[[V5]]) : (tensor<2x4xi64>, tensor<i64>) -> tensor<2x4xi1>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Not"(%[[V6]]) : (tensor<2x4xi1>) -> tensor<2x4xi1>
// CHECK-NEXT:    %[[V8:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V9:[0-9]+]] = "onnx.Unsqueeze"(%[[V7]], %[[V8]]) : (tensor<2x4xi1>, tensor<1xi64>) -> tensor<2x1x4xi1>
// CHECK-NEXT:    %[[V10:[0-9]+]] = "onnx.And"(%[[V4]], %[[V9]]) : (tensor<2x?x4xi1>, tensor<2x1x4xi1>) -> tensor<2x?x4xi1>
// CHECK-NEXT:    %[[V11:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V12:[0-9]+]] = "onnx.ReduceMax"(%arg0, %[[V11]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x?x4xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V13:[0-9]+]] = "onnx.Sub"(%arg0, %[[V12]]) : (tensor<2x?x4xf32>, tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V14:[0-9]+]] = "onnx.Exp"(%[[V13]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V15:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V16:[0-9]+]] = "onnx.ReduceSum"(%[[V14]], %[[V15]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V17:[0-9]+]] = "onnx.Log"(%[[V16]]) : (tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V18:[0-9]+]] = "onnx.Sub"(%[[V13]], %[[V17]]) : (tensor<*xf32>, tensor<*xf32>) -> tensor<2x?x4xf32>
// CHECK-NEXT:    %[[V19:[0-9]+]] = onnx.Constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[V20:[0-9]+]] = "onnx.Where"(%[[V10]], %[[V18]], %[[V19]]) : (tensor<2x?x4xi1>, tensor<2x?x4xf32>, tensor<f32>) -> tensor<2x?x4xf32>
// CHECK-NEXT:    %[[V21:[0-9]+]] = onnx.Constant dense<[0, 2]> : tensor<2xi64>
// CHECK-NEXT:    %[[V22:[0-9]+]] = "onnx.Unsqueeze"(%arg2, %[[V21]]) : (tensor<?xf32>, tensor<2xi64>) -> tensor<1x?x1xf32>
// CHECK-NEXT:    %[[V23:[0-9]+]] = "onnx.Mul"(%[[V20]], %[[V22]]) : (tensor<2x?x4xf32>, tensor<1x?x1xf32>) -> tensor<2x?x4xf32>
// CHECK-NEXT:    %[[V24:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V25:[0-9]+]] = "onnx.ReduceSum"(%[[V23]], %[[V24]]) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<2x?x4xf32>, tensor<1xi64>) -> tensor<2x1x4xf32>
// CHECK-NEXT:    %[[V26:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V27:[0-9]+]] = "onnx.Squeeze"(%[[V25]], %[[V26]]) : (tensor<2x1x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
// CHECK-NEXT:    %[[V28:[0-9]+]] = "onnx.Neg"(%[[V27]]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT:    onnx.Return %[[V28]] : tensor<2x4xf32>
func.func @weighted_loss(%s: tensor<2x?x4xf32>, %l: tensor<2x4xi64>, %w: tensor<?xf32>) -> tensor<2x4xf32> {
  %0:2 = "onnx.SoftmaxCrossEntropyLoss"(%s, %l, %w) <{ignore_index = -1 : si64, reduction = "none"}> : (tensor<2x?x4xf32>, tensor<2x4xi64>, tensor<?xf32>) -> (tensor<2x4xf32>, none)
  onnx.Return %0#0 : tensor<2x4xf32>
}

// -----

// The first operand is transposed, the product is scaled.
// CHECK-LABEL: @fused_matmul
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Transpose"(%arg0) <{perm = [0, 2, 1]}> : (tensor<?x3x2xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<1.250000e-01> : tensor<1xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.MatMul"(%[[V0]], %arg1) : (tensor<*xf32>, tensor<?x3x4xf32>) -> tensor<*xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Mul"(%[[V1]], %[[V2]]) : (tensor<1xf32>, tensor<*xf32>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V3]] : tensor<*xf32>
func.func @fused_matmul(%a: tensor<?x3x2xf32>, %b: tensor<?x3x4xf32>) -> tensor<*xf32> {
  %0 = "onnx.Custom"(%a, %b) <{function_name = "FusedMatMul"}> {domain_name = "com.microsoft", alpha = 0.125 : f32, transA = 1 : si64, transB = 0 : si64} : (tensor<?x3x2xf32>, tensor<?x3x4xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Unknown rank, so the last two axes are unknown: not decomposed.
// CHECK-LABEL: @unknown_rank
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Custom"(%arg0, %arg1) <{function_name = "FusedMatMul"}> {alpha = 1.250000e-01 : f32, domain_name = "com.microsoft", transA = 1 : si64, transB = 0 : si64} : (tensor<*xf32>, tensor<3x4xf32>) -> tensor<*xf32>
// CHECK-NEXT:    onnx.Return %[[V0]] : tensor<*xf32>
func.func @unknown_rank(%a: tensor<*xf32>, %b: tensor<3x4xf32>) -> tensor<*xf32> {
  %0 = "onnx.Custom"(%a, %b) <{function_name = "FusedMatMul"}> {domain_name = "com.microsoft", alpha = 0.125 : f32, transA = 1 : si64, transB = 0 : si64} : (tensor<*xf32>, tensor<3x4xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Transposed convolution: zeros inserted and padded, kernels flipped.
// CHECK-LABEL: @conv_transpose
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.UpsampleAndPad"(%arg0) <{pads = [1, 1, 2, 2], strides = [2, 2]}> : (tensor<?x4x3x3xf32>) -> tensor<?x4x8x8xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<[2, 2, 3, 2, 3]> : tensor<5xi64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = "onnx.Reshape"(%arg1, %[[V1]]) <{allowzero = 0 : si64}> : (tensor<4x3x2x3xf32>, tensor<5xi64>) -> tensor<2x2x3x2x3xf32>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<9223372036854775807> : tensor<2xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<-9223372036854775808> : tensor<2xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = onnx.Constant dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT:    %[[V6:[0-9]+]] = onnx.Constant dense<-1> : tensor<2xi64>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Slice"(%[[V2]], %[[V3]], %[[V4]], %[[V5]], %[[V6]]) : (tensor<2x2x3x2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x3x2x3xf32>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Transpose"(%[[V7]]) <{perm = [0, 2, 1, 3, 4]}> : (tensor<2x2x3x2x3xf32>) -> tensor<2x3x2x2x3xf32>
// CHECK-NEXT:    %[[V9:[0-9]+]] = onnx.Constant dense<[6, 2, 2, 3]> : tensor<4xi64>
// CHECK-NEXT:    %[[V10:[0-9]+]] = "onnx.Reshape"(%[[V8]], %[[V9]]) <{allowzero = 0 : si64}> : (tensor<2x3x2x2x3xf32>, tensor<4xi64>) -> tensor<6x2x2x3xf32>
// CHECK-NEXT:    %[[V11:[0-9]+]] = "onnx.Conv"(%[[V0]], %[[V10]], %arg2) <{auto_pad = "VALID", dilations = [1, 1], group = 2 : si64, kernel_shape = [2, 3], pads = [0, 0, 0, 0], strides = [1, 1]}> : (tensor<?x4x8x8xf32>, tensor<6x2x2x3xf32>, tensor<6xf32>) -> tensor<?x6x7x6xf32>
// CHECK-NEXT:    onnx.Return %[[V11]] : tensor<?x6x7x6xf32>
func.func @conv_transpose(%x: tensor<?x4x3x3xf32>, %w: tensor<4x3x2x3xf32>, %b: tensor<6xf32>) -> tensor<?x6x7x6xf32> {
  %0 = "onnx.ConvTranspose"(%x, %w, %b) <{auto_pad = "NOTSET", group = 2 : si64, output_padding = [1, 1], pads = [0, 1, 0, 1], strides = [2, 2]}> : (tensor<?x4x3x3xf32>, tensor<4x3x2x3xf32>, tensor<6xf32>) -> tensor<?x6x7x6xf32>
  onnx.Return %0 : tensor<?x6x7x6xf32>
}

// -----

// Unknown amount of padding: not decomposed.
// CHECK-LABEL: @conv_transpose_of_any_size
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.ConvTranspose"(%arg0, %arg1, %[[V0]]) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x4x?xf32>, tensor<4x3x2xf32>, none) -> tensor<1x3x?xf32>
// CHECK-NEXT:    onnx.Return %[[V1]] : tensor<1x3x?xf32>
func.func @conv_transpose_of_any_size(%x: tensor<1x4x?xf32>, %w: tensor<4x3x2xf32>) -> tensor<1x3x?xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ConvTranspose"(%x, %w, %none) : (tensor<1x4x?xf32>, tensor<4x3x2xf32>, none) -> tensor<1x3x?xf32>
  onnx.Return %0 : tensor<1x3x?xf32>
}
