// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @conv2d
func.func @conv2d(%a: tensor<1x8x8x3xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // CHECK-NEXT: "tosa.conv2d"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x4xf32>
  return
}

// CHECK-LABEL: @integers
func.func @integers(%a: tensor<1x8x8x3xi8>, %b: tensor<4x3x3x3xi8>, %c: tensor<1xi32>, %d: tensor<1xi8>, %e: tensor<1xi8>) {
  // CHECK-NEXT: "tosa.conv2d"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xi8>, tensor<4x3x3x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x6x6x4xi32>
  %y = "tosa.conv2d"(%a, %b, %c, %d, %e) <{acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}> : (tensor<1x8x8x3xi8>, tensor<4x3x3x3xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x6x6x4xi32>
  return
}

// CHECK-LABEL: @depthwise
func.func @depthwise(%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x3x2xf32>, %c: tensor<6xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // CHECK-NEXT: "tosa.depthwise_conv2d"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x6xf32>
  %y = "tosa.depthwise_conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x2xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x6xf32>
  return
}

// CHECK-LABEL: @transposed
func.func @transposed(%a: tensor<1x8x8x3xf32>, %b: tensor<5x3x3x3xf32>, %c: tensor<5xf32>, %d: tensor<1xf32>, %e: tensor<1xf32>) {
  // CHECK-NEXT: "tosa.transpose_conv2d"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{acc_type = f32, out_pad = array<i64: -1, -1, -1, 0>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x15x16x5xf32>
  %y = "tosa.transpose_conv2d"(%a, %b, %c, %d, %e) <{acc_type = f32, out_pad = array<i64: -1, -1, -1, 0>, stride = array<i64: 2, 2>}> : (tensor<1x8x8x3xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x15x16x5xf32>
  return
}

// CHECK-LABEL: @matmul
func.func @matmul(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<1xf32>, %d: tensor<1xf32>) {
  // CHECK-NEXT: "tosa.matmul"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  %y = "tosa.matmul"(%a, %b, %c, %d) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  return
}

// CHECK-LABEL: @matmul_of_integers
func.func @matmul_of_integers(%a: tensor<2x3x4xi8>, %b: tensor<2x4x5xi8>, %c: tensor<1xi8>, %d: tensor<1xi8>) {
  // CHECK-NEXT: "tosa.matmul"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x3x4xi8>, tensor<2x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3x5xi32>
  %y = "tosa.matmul"(%a, %b, %c, %d) : (tensor<2x3x4xi8>, tensor<2x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<2x3x5xi32>
  return
}
