// RUN: onnx-opt %s --shape-inference --split-input-file | filecheck %s

// Dynamic dimensions derived from named ones get symbolic names: sums, products and floor divisions of them.

// A key-value cache grows by one: past + 1.
// CHECK-LABEL: @grown
// CHECK-SAME:    -> (tensor<?x?x64xf32> {onnx.dim_params = "0:batch,1:past + 1"})
func.func @grown(%cache: tensor<?x?x64xf32> {onnx.dim_params = "0:batch,1:past"}, %new: tensor<?x1x64xf32> {onnx.dim_params = "0:batch"}) -> tensor<*xf32> {
  %0 = "onnx.Concat"(%cache, %new) <{axis = 1 : si64}> : (tensor<?x?x64xf32>, tensor<?x1x64xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// [batch, seq, 4] reshaped to rows of 4: batch * seq rows, which Shape restores.
// CHECK-LABEL: @flat_and_back
// CHECK-SAME:    -> (tensor<?x4xf32> {onnx.dim_params = "0:batch*seq"}, tensor<?x?x4xf32> {onnx.dim_params = "0:batch,1:seq"})
func.func @flat_and_back(%x: tensor<?x?x4xf32> {onnx.dim_params = "0:batch,1:seq"}) -> (tensor<*xf32>, tensor<*xf32>) {
  %rows = onnx.Constant dense<[-1, 4]> : tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %rows) <{allowzero = 0 : si64}> : (tensor<?x?x4xf32>, tensor<2xi64>) -> tensor<*xf32>
  %shape = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<?x?x4xf32>) -> tensor<*xi64>
  %1 = "onnx.Reshape"(%0, %shape) <{allowzero = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// Two strides of 2 combine: floor((floor((h + 1)/2) + 1)/2) = floor((h + 3)/4).
// CHECK-LABEL: @strides
// CHECK-SAME:    -> (tensor<?x4x?x8xf32> {onnx.dim_params = "0:batch,2:floor((h + 3)/4)"})
func.func @strides(%x: tensor<?x3x?x32xf32> {onnx.dim_params = "0:batch,2:h"}, %w: tensor<4x3x3x3xf32>, %v: tensor<4x4x3x3xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) <{auto_pad = "NOTSET", pads = [1, 1, 1, 1], strides = [2, 2], group = 1 : si64}> : (tensor<?x3x?x32xf32>, tensor<4x3x3x3xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Conv"(%0, %v, %none) <{auto_pad = "NOTSET", pads = [1, 1, 1, 1], strides = [2, 2], group = 1 : si64}> : (tensor<*xf32>, tensor<4x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// Downsampled and upsampled by 2, then concatenated with the input: both keep their names, h and 2 floor(h / 2).
// CHECK-LABEL: @down_and_up
// CHECK-SAME:    -> (tensor<1x4x?x4xf32> {onnx.dim_params = "2:2*floor(h/2)"}, tensor<1x8x?x4xf32> {onnx.dim_params = "2:h"})
func.func @down_and_up(%x: tensor<1x4x?x4xf32> {onnx.dim_params = "2:h"}, %w: tensor<4x4x2x2xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.MaxPoolSingleOut"(%x) <{auto_pad = "NOTSET", kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 0 : si64, storage_order = 0 : si64}> : (tensor<1x4x?x4xf32>) -> tensor<*xf32>
  %1 = "onnx.ConvTranspose"(%0, %w, %none) <{auto_pad = "NOTSET", strides = [2, 2], group = 1 : si64}> : (tensor<*xf32>, tensor<4x4x2x2xf32>, none) -> tensor<*xf32>
  %2 = "onnx.Concat"(%x, %1) <{axis = 1 : si64}> : (tensor<1x4x?x4xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %1, %2 : tensor<*xf32>, tensor<*xf32>
}

// -----

// A declared name of a result stays; a data-dependent dimension has no name.
// CHECK-LABEL: @said_and_unknown
// CHECK-SAME:    -> (tensor<?xf32> {onnx.dim_params = "0:length", onnx.name = "y"}, tensor<1x?xi64>)
func.func @said_and_unknown(%x: tensor<?xf32> {onnx.dim_params = "0:n"}) -> (tensor<?xf32> {onnx.name = "y", onnx.dim_params = "0:length"}, tensor<*xi64>) {
  %0 = "onnx.Relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "onnx.NonZero"(%x) : (tensor<?xf32>) -> tensor<*xi64>
  onnx.Return %0, %1 : tensor<?xf32>, tensor<*xi64>
}
