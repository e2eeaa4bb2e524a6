// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Kernel shapes, strides, dilations and pads of convolutions and pools.

func.func @Conv(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'onnx.Conv' op group must be strictly positive}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{group = 0 : si64}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @ranks(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Input and filter rank mismatch}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) : (tensor<1x4x8x8xf32>, tensor<6x4x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @no_space(%arg0: tensor<1x4xf32>, %arg1: tensor<6x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Spatial rank must be strictly positive}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) : (tensor<1x4xf32>, tensor<6x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @channels_out(%arg0: tensor<1x4x8xf32>, %arg1: tensor<6x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Channel Out (M) must be a multiple of the number of groups}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{group = 4 : si64}> : (tensor<1x4x8xf32>, tensor<6x1x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @channels_in(%arg0: tensor<1x4x8xf32>, %arg1: tensor<6x1x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Channel In (C) must be a multiple of the number of groups}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{group = 3 : si64}> : (tensor<1x4x8xf32>, tensor<6x1x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @weights(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Channel In (C) of input must be equal 2nd dim of weights times g}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) : (tensor<1x3x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @bias_rank(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>, %arg2: tensor<6x1xf32>) {
  // expected-error@+1 {{Bias should have a rank of one}}
  %0 = "onnx.Conv"(%arg0, %arg1, %arg2) : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6x1xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @bias_size(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>, %arg2: tensor<4xf32>) {
  // expected-error@+1 {{Bias should have same dimension as first dimension of weights}}
  %0 = "onnx.Conv"(%arg0, %arg1, %arg2) : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @kernel_length(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{kernel_shape length incompatible with spatial dimensions}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{kernel_shape = [3]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @kernel(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad kernel_shape value: does not match filter sizes}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{kernel_shape = [5, 3]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @kernel_zero(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad kernel_shape value: must be strictly positive}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{kernel_shape = [0, 3]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @strides_length(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{strides length incompatible with spatial dimensions}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{strides = [1]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @stride(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad stride value: must be strictly positive}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{strides = [1, 0]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @dilations_length(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{dilations length incompatible with spatial dimensions}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{dilations = [1, 1, 1]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @dilation(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad dilation value: must be strictly positive}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{dilations = [-1, 1]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @pads_length(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{pads length incompatible with spatial dimensions}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{pads = [1, 1]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @pad(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad pad value: must be nonnegative}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{pads = [1, 1, -1, 0]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @both_pads(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad pad value: nonzero pad value only allowed with NOTSET option}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{auto_pad = "SAME_UPPER", pads = [1, 1, 1, 1]}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @auto_pad(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x4x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Unknown auto pad option SAME; it is one of NOTSET, SAME_UPPER, SAME_LOWER, VALID}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) <{auto_pad = "SAME"}> : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @grouped(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<6x2x3x3xf32>, %arg2: tensor<6xf32>) {
  %0 = "onnx.Conv"(%arg0, %arg1, %arg2) <{group = 2 : si64}> : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @unranked(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @ConvTranspose(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<3x6x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Channel In (C) of input must be equal 1st dim of weights}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) : (tensor<1x4x8x8xf32>, tensor<3x6x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @bias_of_transposed(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<4x6x3x3xf32>, %arg2: tensor<6xf32>) {
  // expected-error@+1 {{Bias should have same dimension as second dimension of weights times g}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %arg2) <{group = 2 : si64}> : (tensor<1x4x8x8xf32>, tensor<4x6x3x3xf32>, tensor<6xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @output_shape(%arg0: tensor<1x4x8x8xf32>, %arg1: tensor<4x6x3x3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{output shape length incompatible with spatial dimensions}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) <{output_shape = [9]}> : (tensor<1x4x8x8xf32>, tensor<4x6x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @ConvInteger(%arg0: tensor<1x3x8x8xui8>, %arg1: tensor<6x4x3x3xui8>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Channel In (C) of input must be equal 2nd dim of weights times g}}
  %0 = "onnx.ConvInteger"(%arg0, %arg1, %none, %none) : (tensor<1x3x8x8xui8>, tensor<6x4x3x3xui8>, none, none) -> tensor<*xi32>
  onnx.Return
}

// -----

func.func @MaxPool(%arg0: tensor<1x4x8x8xf32>) {
  // expected-error@+1 {{kernel_shape is a mandatory attribute}}
  %0:2 = "onnx.MaxPool"(%arg0) <{kernel_shape = []}> : (tensor<1x4x8x8xf32>) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @AveragePool(%arg0: tensor<1x4x8x8xf32>) {
  // expected-error@+1 {{Input and kernel shape rank mismatch}}
  %0 = "onnx.AveragePool"(%arg0) <{kernel_shape = [2]}> : (tensor<1x4x8x8xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @no_space(%arg0: tensor<1x4xf32>) {
  // expected-error@+1 {{Spatial rank must be strictly positive}}
  %0 = "onnx.AveragePool"(%arg0) <{kernel_shape = [2]}> : (tensor<1x4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @MaxUnpool(%arg0: tensor<1x1x2x2xf32>, %arg1: tensor<1x1x2x2xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Bad stride value: must be strictly positive}}
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) <{kernel_shape = [2, 2], strides = [0, 1]}> : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xi64>, none) -> tensor<*xf32>
  onnx.Return
}
