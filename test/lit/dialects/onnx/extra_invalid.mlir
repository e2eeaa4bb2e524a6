// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Invalid uses of ops that are not ONNX operators.

func.func @batch_norm(%x: tensor<1x2x4xf32>, %c: tensor<2xi32>) {
  // expected-error@+1 {{operand 'scale' at position 1 does not verify}}
  %0 = "onnx.BatchNormalizationInferenceMode"(%x, %c, %c, %c, %c) : (tensor<1x2x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2x4xf32>
  onnx.Return
}

// -----

func.func @max_pool(%x: tensor<1x2x4xf32>) {
  // expected-error@+1 {{Input and kernel shape rank mismatch}}
  %0 = "onnx.MaxPoolSingleOut"(%x) <{kernel_shape = [2, 2]}> : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  onnx.Return
}

// -----

func.func @max_pool_order(%x: tensor<1x2x4xf32>) {
  // expected-error@+1 {{'storage_order' value is 2, accepted range is [0, 1]}}
  %0 = "onnx.MaxPoolSingleOut"(%x) <{kernel_shape = [2], storage_order = 2 : si64}> : (tensor<1x2x4xf32>) -> tensor<1x2x3xf32>
  onnx.Return
}

// -----

func.func @rms_axis(%x: tensor<1x2x4xf32>, %s: tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{axis must be in [-r, r) range]: 3 is not in [-3, 2]}}
  %0:2 = "onnx.RMSLayerNormalization"(%x, %s, %none) <{axis = 3 : si64}> : (tensor<1x2x4xf32>, tensor<4xf32>, none) -> (tensor<1x2x4xf32>, none)
  onnx.Return
}

// -----

func.func @concat(%m: tensor<2x3xf32>, %n: tensor<2x4xf32>) {
  // expected-error@+1 {{at index: 1' has dimension at index 1 with value 4, value should be 3}}
  %0:2 = "onnx.ConcatShapeTranspose"(%m, %n) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> (tensor<2xi64>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @symbols(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.ShapeTransform' op Does not support affine_map with symbols}}
  %0 = "onnx.ShapeTransform"(%m) <{index_map = affine_map<(d0, d1)[s0] -> (d1, d0 + s0)>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return
}

// -----

func.func @dynamic(%m: tensor<?x3xf32>) {
  // expected-error@+1 {{'onnx.ShapeTransform' op Does not support input with dynamic shape}}
  %0 = "onnx.ShapeTransform"(%m) <{index_map = affine_map<(d0, d1) -> (d1, d0)>}> : (tensor<?x3xf32>) -> tensor<3x?xf32>
  onnx.Return
}

// -----

func.func @rank(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.ShapeTransform' op has an index_map of 3 dimensions and an input of rank 2}}
  %0 = "onnx.ShapeTransform"(%m) <{index_map = affine_map<(d0, d1, d2) -> (d1, d0)>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return
}

// -----

func.func @elements(%m: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.ShapeTransform' op The number of elements in the input and output mismatched}}
  %0 = "onnx.ShapeTransform"(%m) <{index_map = affine_map<(d0, d1) -> (d1, d0)>}> : (tensor<2x3xf32>) -> tensor<3x3xf32>
  onnx.Return
}

// -----

func.func @layout(%x: tensor<1x8x4x4xf32>) {
  // expected-error@+1 {{'onnx.LayoutTransform' op Input and output tensors must have the same shape}}
  %0 = "onnx.LayoutTransform"(%x) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x2xf32>
  onnx.Return
}

// -----

// expected-error@+1 {{unexpected data layout attribute value: NHWC}}
func.func @layout_name(%x: tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NHWC"}>>) {
  onnx.Return
}

// -----

// expected-error@+1 {{unexpected key: layout}}
func.func @layout_key(%x: tensor<1x8x4x4xf32, #onnx.layout<{layout = "NCHW4C"}>>) {
  onnx.Return
}

// -----

// expected-error@+1 {{expected a string value for data layout}}
func.func @layout_value(%x: tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = 4}>>) {
  onnx.Return
}

// -----

func.func @strides(%m: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.UpsampleAndPad' op strides dimensions (2) cannot exceed input rank (1)}}
  %0 = "onnx.UpsampleAndPad"(%m) <{strides = [2, 2]}> : (tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @stride(%m: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.UpsampleAndPad' op stride[0] = 0 must be positive}}
  %0 = "onnx.UpsampleAndPad"(%m) <{strides = [0]}> : (tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @pads(%m: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.UpsampleAndPad' op pads size (1) must be exactly 2 * strides size (2)}}
  %0 = "onnx.UpsampleAndPad"(%m) <{strides = [2], pads = [1]}> : (tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @im2col(%x: tensor<1x8x4x4xf32>) {
  // expected-error@+1 {{'onnx.Im2Col' op kernel_shape attribute is required and must not be empty}}
  %0 = "onnx.Im2Col"(%x) <{kernel_shape = []}> : (tensor<1x8x4x4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @fused_results(%x: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.Fused' op yield operand count (2) must match result count (1)}}
  %0 = "onnx.Fused"(%x) <{kind = "k"}> ({
  ^bb0(%y: tensor<2xf32>):
    onnx.Yield %y, %y : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @fused_inputs(%x: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.Fused' op body block argument count (1) must match inputs count (2)}}
  %0 = "onnx.Fused"(%x, %x) <{kind = "k"}> ({
  ^bb0(%y: tensor<2xf32>):
    onnx.Yield %y : tensor<2xf32>
  }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @fused_types(%x: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.Fused' op body block argument 0 type tensor<3xf32> does not match input type tensor<2xf32>}}
  %0 = "onnx.Fused"(%x) <{kind = "k"}> ({
  ^bb0(%y: tensor<3xf32>):
    onnx.Yield %y : tensor<3xf32>
  }) : (tensor<2xf32>) -> tensor<3xf32>
  onnx.Return
}

// -----

func.func @fused_end(%x: tensor<2xf32>) {
  // expected-error@+1 {{'onnx.Fused' op body must terminate with onnx.Yield}}
  %0 = "onnx.Fused"(%x) <{kind = "k"}> ({
  ^bb0(%y: tensor<2xf32>):
  }) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}
