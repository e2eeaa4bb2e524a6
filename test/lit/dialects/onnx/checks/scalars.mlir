// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Operands that must be a scalar, or have one element for each axis.

func.func @Clip(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{min tensor of rank one must have size one, not 2}}
  %0 = "onnx.Clip"(%arg0, %arg1, %none) : (tensor<2xf32>, tensor<2xf32>, none) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @TopK(%arg0: tensor<4xf32>, %arg1: tensor<2xi64>) {
  // expected-error@+1 {{K tensor of rank one must have size one, not 2}}
  %0:2 = "onnx.TopK"(%arg0, %arg1) : (tensor<4xf32>, tensor<2xi64>) -> (tensor<*xf32>, tensor<*xi64>)
  onnx.Return
}

// -----

func.func @CumSum(%arg0: tensor<4xf32>, %arg1: tensor<1x1xi64>) {
  // expected-error@+1 {{axis tensor must have rank zero or one, not 2}}
  %0 = "onnx.CumSum"(%arg0, %arg1) : (tensor<4xf32>, tensor<1x1xi64>) -> tensor<4xf32>
  onnx.Return
}

// -----

func.func @Tile(%arg0: tensor<2x3xf32>, %arg1: tensor<3xi64>) {
  // expected-error@+1 {{repeats holds 3 numbers; 2 are needed for 2 axes}}
  %0 = "onnx.Tile"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Pad(%arg0: tensor<2x3xf32>, %arg1: tensor<3xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{pads holds 3 numbers; 4 are needed for 2 axes}}
  %0 = "onnx.Pad"(%arg0, %arg1, %none, %none) : (tensor<2x3xf32>, tensor<3xi64>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @some_axes(%arg0: tensor<2x3xf32>, %arg1: tensor<4xi64>, %arg3: tensor<1xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{pads holds 4 numbers; 2 are needed for 1 axes}}
  %0 = "onnx.Pad"(%arg0, %arg1, %none, %arg3) : (tensor<2x3xf32>, tensor<4xi64>, none, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @PadV13(%arg0: tensor<2x3xf32>, %arg1: tensor<3xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{pads holds 3 numbers; 4 are needed for 2 axes}}
  %0 = "onnx.PadV13"(%arg0, %arg1, %none) : (tensor<2x3xf32>, tensor<3xi64>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @PadV2(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{pads has 3 values; 4 are needed for 2 axes}}
  %0 = "onnx.PadV2"(%arg0) <{pads = [0, 1, 2]}> : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Slice(%arg0: tensor<2x3xf32>, %arg1: tensor<1xi64>, %arg2: tensor<1xi64>, %arg3: tensor<2xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{starts has the shape [1], axes has [2]; they must be the same}}
  %0 = "onnx.Slice"(%arg0, %arg1, %arg2, %arg3, %none) : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<2xi64>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @SliceV1(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{lists that belong together have different lengths: starts 1, ends 2}}
  %0 = "onnx.SliceV1"(%arg0) <{starts = [0], ends = [1, 2]}> : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Resize(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{scales holds 3 numbers; 4 are needed for 4 axes}}
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %none) : (tensor<1x1x2x2xf32>, none, tensor<3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @resize_axes(%arg0: tensor<1x1x2x2xf32>, %arg3: tensor<3xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{sizes holds 3 numbers; 2 are needed for 2 axes}}
  %0 = "onnx.Resize"(%arg0, %none, %none, %arg3) <{axes = [2, 3]}> : (tensor<1x1x2x2xf32>, none, none, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @resize_axis(%arg0: tensor<1x1x2x2xf32>, %arg3: tensor<1xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'axes' value is 4, accepted range is [-4, 3]}}
  %0 = "onnx.Resize"(%arg0, %none, %none, %arg3) <{axes = [4]}> : (tensor<1x1x2x2xf32>, none, none, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @CenterCropPad(%arg0: tensor<2x3xf32>, %arg1: tensor<1xi64>) {
  // expected-error@+1 {{shape holds 1 numbers; 2 are needed for 2 axes}}
  %0 = "onnx.CenterCropPad"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @SplitV11(%arg0: tensor<6xf32>) {
  // expected-error@+1 {{split adds up to 5; axis 0 has 6 elements}}
  %0:2 = "onnx.SplitV11"(%arg0) <{axis = 0 : si64, split = [2, 3]}> : (tensor<6xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @negative(%arg0: tensor<6xf32>) {
  // expected-error@+1 {{split has -1; each is at least 0}}
  %0:2 = "onnx.SplitV11"(%arg0) <{axis = 0 : si64, split = [7, -1]}> : (tensor<6xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @parts(%arg0: tensor<6xf32>) {
  // expected-error@+1 {{Split size not equal to the number of results}}
  %0:2 = "onnx.SplitV11"(%arg0) <{axis = 0 : si64, split = [6]}> : (tensor<6xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @Squeeze(%arg0: tensor<1x3xf32>, %arg1: tensor<1x1xi64>) {
  // expected-error@+1 {{at index: 1' has rank 2, rank should be 0 or 1}}
  %0 = "onnx.Squeeze"(%arg0, %arg1) : (tensor<1x3xf32>, tensor<1x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Compress(%arg0: tensor<3xf32>, %arg1: tensor<3x1xi1>) {
  // expected-error@+1 {{'condition' value is 2, accepted range is [1, 1]}}
  %0 = "onnx.Compress"(%arg0, %arg1) <{axis = 0 : si64}> : (tensor<3xf32>, tensor<3x1xi1>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @AffineGrid(%arg0: tensor<1x2x3xf32>, %arg1: tensor<3xi64>) {
  // expected-error@+1 {{size holds 3 numbers; 4 or 5 are needed}}
  %0 = "onnx.AffineGrid"(%arg0, %arg1) : (tensor<1x2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @space(%arg0: tensor<1x2x3xf32>, %arg1: tensor<5xi64>) {
  // expected-error@+1 {{theta has the shape [1, 2, 3]; maps of the plane are 2 by 3, of space 3 by 4}}
  %0 = "onnx.AffineGrid"(%arg0, %arg1) : (tensor<1x2x3xf32>, tensor<5xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @GridSample(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x2x2x3xf32>) {
  // expected-error@+1 {{Grid last dim must have been '2' instead of '3'.}}
  %0 = "onnx.GridSample"(%arg0, %arg1) : (tensor<1x1x4x4xf32>, tensor<1x2x2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @flat(%arg0: tensor<1x4xf32>, %arg1: tensor<1x1xf32>) {
  // expected-error@+1 {{X has rank 2; it has batch, channels and at least one axis}}
  %0 = "onnx.GridSample"(%arg0, %arg1) : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Det(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{X holds matrices of 2 rows and 3 columns; they must be square}}
  %0 = "onnx.Det"(%arg0) : (tensor<2x3xf32>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @SwiGLU(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  // expected-error@+1 {{A has the shape [2, 3], B has [3]; they must be the same}}
  %0 = "onnx.SwiGLU"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @BitCast(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{elements of input have 32 bits, those of output have 64}}
  %0 = "onnx.BitCast"(%arg0) <{to = 7 : si64}> : (tensor<2xf32>) -> tensor<2xi64>
  onnx.Return
}

// -----

func.func @complex(%arg0: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{elements of input have 64 bits, those of output have 32}}
  %0 = "onnx.BitCast"(%arg0) <{to = 6 : si64}> : (tensor<2xcomplex<f32>>) -> tensor<2xi32>
  onnx.Return
}
