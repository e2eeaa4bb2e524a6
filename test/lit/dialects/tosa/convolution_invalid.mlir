// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x5xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: kernels of 5 channels for an image tensor<1x8x8x3xf32>}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x5xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<3xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: 4 biases expected, found tensor<3xf32>}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xi8>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: a zero point is a tensor<1xf32>, found tensor<1xi8>}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xi8>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: the image has 4 dimensions, found [8, 8, 3]}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x27xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: the kernel has 4 dimensions, found [4, 27]}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x27xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: pad holds 4 values of at least 0, found [1, 1, -1, 1]}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, -1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: stride holds 2 values of at least 1, found [1, 1, 1]}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: dilation holds 2 values of at least 1, found [0, 1]}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 0, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: stride [2, 2] leaves 1 rows or columns of tensor<1x8x8x3xf32> over; pad or slice it}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.conv2d: the result has shape [1, 8, 8, 4], found [1, 8, 7, 4]}}
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x7x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x4x2xf32>, %c: tensor<8xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.depthwise_conv2d: kernels of 4 channels for an image tensor<1x8x8x3xf32>}}
  %y = "tosa.depthwise_conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x4x2xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x8xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x3x2xf32>, %c: tensor<6xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.depthwise_conv2d: the result has shape [1, 8, 8, 6], found [1, 8, 8, 3]}}
  %y = "tosa.depthwise_conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x3xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<5x3x3x3xf32>, %c: tensor<5xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.transpose_conv2d: out_pad holds 4 values of at least -2, found [-3, 0, 0, 0]}}
  %y = "tosa.transpose_conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, out_pad = array<i64: -3, 0, 0, 0>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x15x16x5xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3xf32>, %b: tensor<5x3x3x3xf32>, %c: tensor<5xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // expected-error @+1 {{tosa.transpose_conv2d: the result has shape [1, 15, 16, 5], found [1, 16, 16, 5]}}
  %y = "tosa.transpose_conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, out_pad = array<i64: -1, -1, -1, 0>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x16x16x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>) {
  // expected-error @+1 {{tosa.matmul: the left operand has 3 dimensions, found [3, 4]}}
  %y = "tosa.matmul"(%a, %b, %c, %d) : (tensor<3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<2x3x5xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>) {
  // expected-error @+1 {{tosa.matmul: tensor<2x3x4xf32> cannot be multiplied by tensor<2x3x5xf32>}}
  %y = "tosa.matmul"(%a, %b, %c, %d) : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<2xf32>, %d: tensor<1xf32>) {
  // expected-error @+1 {{tosa.matmul: a zero point is a tensor<1xf32>, found tensor<2xf32>}}
  %y = "tosa.matmul"(%a, %b, %c, %d) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>) {
  // expected-error @+1 {{tosa.matmul: the result has shape [2, 3, 5], found [2, 3, 4]}}
  %y = "tosa.matmul"(%a, %b, %c, %d) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x4xf32>
  return
}
