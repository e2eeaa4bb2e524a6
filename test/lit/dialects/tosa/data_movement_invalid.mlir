// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f() {
  // expected-error @+1 {{tosa.const_shape: 2 values for !tosa.shape<3>}}
  %y = "tosa.const_shape"() <{values = dense<[1, 8]> : tensor<2xindex>}> : () -> !tosa.shape<3>
  return
}

// -----

func.func @f(%a0: tensor<1x8xf32>, %a2: tensor<1xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[1, 1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.pad: padding holds 4 values, found !tosa.shape<2>}}
  %y = "tosa.pad"(%a0, %s1, %a2) : (tensor<1x8xf32>, !tosa.shape<2>, tensor<1xf32>) -> tensor<1x10xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x8xf32>, %a2: tensor<1xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[0, 0, 1, 1]> : tensor<4xindex>}> : () -> !tosa.shape<4>
  // expected-error @+1 {{tosa.pad: the result has shape [1, 10], found [1, 9]}}
  %y = "tosa.pad"(%a0, %s1, %a2) : (tensor<1x8xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<1x9xf32>
  return
}

// -----

func.func @f(%a0: tensor<8xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[3, 3]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.reshape: tensor<8xf32> and tensor<3x3xf32> differ in their number of elements}}
  %y = "tosa.reshape"(%a0, %s1) : (tensor<8xf32>, !tosa.shape<2>) -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<8xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[4, 2]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.reshape: the result has shape [4, 2], found [2, 4]}}
  %y = "tosa.reshape"(%a0, %s1) : (tensor<8xf32>, !tosa.shape<2>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x8x8x3xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[0, 1, 1, 1]> : tensor<4xindex>}> : () -> !tosa.shape<4>
  %s2 = "tosa.const_shape"() <{values = dense<[0, 0]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %s3 = "tosa.const_shape"() <{values = dense<[0, 0]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.resize: scale is positive, found [0, 1, 1, 1]}}
  %y = "tosa.resize"(%a0, %s1, %s2, %s3) <{mode = #tosa.resize_mode<BILINEAR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x8x8x3xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[4, 3, 1, 1]> : tensor<4xindex>}> : () -> !tosa.shape<4>
  %s2 = "tosa.const_shape"() <{values = dense<[0, 0]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %s3 = "tosa.const_shape"() <{values = dense<[0, 0]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.resize: scale [4, 3, 1, 1], offset [0, 0] and border [0, 0] give no whole size of tensor<1x8x8x3xf32>}}
  %y = "tosa.resize"(%a0, %s1, %s2, %s3) <{mode = #tosa.resize_mode<BILINEAR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x8x8x3xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[4, 2, 4, 2]> : tensor<4xindex>}> : () -> !tosa.shape<4>
  %s2 = "tosa.const_shape"() <{values = dense<[-1, -1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %s3 = "tosa.const_shape"() <{values = dense<[1, 1]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.resize: the result has shape [1, 16, 16, 3], found [1, 16, 15, 3]}}
  %y = "tosa.resize"(%a0, %s1, %s2, %s3) <{mode = #tosa.resize_mode<BILINEAR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x15x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[0, 5]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %s2 = "tosa.const_shape"() <{values = dense<[2, 4]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.slice: [2, 4] elements from [0, 5] on are not within tensor<2x8xf32>}}
  %y = "tosa.slice"(%a0, %s1, %s2) : (tensor<2x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[0, 5]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %s2 = "tosa.const_shape"() <{values = dense<[2, 3]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.slice: the result has shape [2, 3], found [2, 4]}}
  %y = "tosa.slice"(%a0, %s1, %s2) : (tensor<2x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8xf32>) {
  %s1 = "tosa.const_shape"() <{values = dense<[1, 2]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  // expected-error @+1 {{tosa.tile: the result has shape [2, 16], found [4, 8]}}
  %y = "tosa.tile"(%a0, %s1) : (tensor<2x8xf32>, !tosa.shape<2>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a0: tensor<9x3xf32>, %a1: tensor<1x2xi32>) {
  // expected-error @+1 {{tosa.gather: the operand has 3 dimensions, found [9, 3]}}
  %y = "tosa.gather"(%a0, %a1) : (tensor<9x3xf32>, tensor<1x2xi32>) -> tensor<1x2x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x9x3xf32>, %a1: tensor<1x2xi8>) {
  // expected-error @+1 {{tosa.gather: indices are i32, found i8}}
  %y = "tosa.gather"(%a0, %a1) : (tensor<1x9x3xf32>, tensor<1x2xi8>) -> tensor<1x2x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<1x9x3xf32>, %a1: tensor<1x2xi32>) {
  // expected-error @+1 {{tosa.gather: the result has shape [1, 2, 3], found [1, 3, 3]}}
  %y = "tosa.gather"(%a0, %a1) : (tensor<1x9x3xf32>, tensor<1x2xi32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8xf32>) {
  // expected-error @+1 {{tosa.reverse: axis is 0 to 1, found 2}}
  %y = "tosa.reverse"(%a0) <{axis = 2 : i32}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8xf32>) {
  // expected-error @+1 {{tosa.transpose: perms holds each dimension of tensor<2x8xf32> once, found [0, 0]}}
  %y = "tosa.transpose"(%a0) <{perms = array<i32: 0, 0>}> : (tensor<2x8xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8xf32>) {
  // expected-error @+1 {{tosa.transpose: the result has shape [8, 2], found [2, 8]}}
  %y = "tosa.transpose"(%a0) <{perms = array<i32: 1, 0>}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}
