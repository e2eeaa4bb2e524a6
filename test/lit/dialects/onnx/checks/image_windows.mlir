// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Window operators on images: col2im, deformable convolution and unpooling.

func.func @MaxUnpool(%arg0: tensor<1x1x2x2xf32>, %arg1: tensor<1x1x2x3xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{I has the shape [1, 1, 2, 3], X has [1, 1, 2, 2]; they must be the same}}
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) <{kernel_shape = [2, 2]}> : (tensor<1x1x2x2xf32>, tensor<1x1x2x3xi64>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @unpool_rank(%arg0: tensor<1x2xf32>, %arg1: tensor<1x2xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Spatial rank must be strictly positive}}
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) <{kernel_shape = [2]}> : (tensor<1x2xf32>, tensor<1x2xi64>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @no_kernel(%arg0: tensor<1x1x2x2xf32>, %arg1: tensor<1x1x2x2xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{kernel_shape is a mandatory attribute}}
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) <{kernel_shape = []}> : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @DeformConv(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: tensor<1x6x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{offset has the shape [1, 6, 2, 2]; 8 channels are needed}}
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %none) : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x6x2x2xf32>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @mask(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: tensor<1x8x2x2xf32>, %arg4: tensor<1x3x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{mask has the shape [1, 3, 2, 2]; 4 channels are needed}}
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %arg4) : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x8x2x2xf32>, none, tensor<1x3x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @offset_batches(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: tensor<2x8x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{offset has 2 batches, X has 1}}
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %none) : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<2x8x2x2xf32>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @offset_group(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: tensor<1x8x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{offset_group is 0; it is at least 1}}
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %none) <{offset_group = 0 : si64}> : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x8x2x2xf32>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @offset_channels(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>, %arg2: tensor<1x16x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{1 channels are no multiple of 2 groups of offsets}}
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %none) <{offset_group = 2 : si64}> : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1x16x2x2xf32>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Col2Im(%arg0: tensor<1x5xf32>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>) {
  // expected-error@+1 {{input has rank 2; it has rank 3}}
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) : (tensor<1x5xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @image_shape(%arg0: tensor<1x5x5xf32>, %arg1: tensor<2x1xi64>, %arg2: tensor<2xi64>) {
  // expected-error@+1 {{image_shape has rank 2; it has rank 1}}
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) : (tensor<1x5x5xf32>, tensor<2x1xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @block_shape(%arg0: tensor<1x5x5xf32>, %arg1: tensor<2xi64>, %arg2: tensor<3xi64>) {
  // expected-error@+1 {{image_shape has 2 axes, block_shape has 3}}
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) : (tensor<1x5x5xf32>, tensor<2xi64>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @col_strides(%arg0: tensor<1x5x5xf32>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>) {
  // expected-error@+1 {{Bad strides value: must be at least 1}}
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) <{strides = [1, 0]}> : (tensor<1x5x5xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @col_pads(%arg0: tensor<1x5x5xf32>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>) {
  // expected-error@+1 {{pads length incompatible with spatial dimensions}}
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) <{pads = [1, 0]}> : (tensor<1x5x5xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @output_padding(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{output_padding length incompatible with spatial dimensions}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) <{output_padding = [1]}> : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @negative_padding(%arg0: tensor<1x1x3x3xf32>, %arg1: tensor<1x1x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad output_padding value: must be nonnegative}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) <{output_padding = [1, -1]}> : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @transposed_groups(%arg0: tensor<1x3x3x3xf32>, %arg1: tensor<3x1x2x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Channel In (C) must be a multiple of the number of groups}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) <{group = 2 : si64}> : (tensor<1x3x3x3xf32>, tensor<3x1x2x2xf32>, none) -> tensor<*xf32>
  onnx.Return
}
