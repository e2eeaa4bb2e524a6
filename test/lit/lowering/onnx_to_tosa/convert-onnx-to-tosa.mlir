// RUN: onnx-opt %s --convert-onnx-to-tosa --split-input-file | filecheck %s
// RUN: onnx-opt %s --convert-onnx-to-tosa --split-input-file --mlir-print-op-generic | filecheck %s --check-prefix GENERIC

// Images are NHWC, kernels OHWC; of the pads below and to the right one is not used by a stride of 2.
// CHECK-LABEL: @conv
// CHECK:         %[[W:.*]] = "tosa.const"() <{values = dense<1.000000e+00> : tensor<4x3x3x3xf32>}>
// CHECK:         %[[X:.*]] = "tosa.transpose"(%arg0) <{perms = array<i32: 0, 2, 3, 1>}>
// CHECK-NEXT:    %[[Y:.*]] = "tosa.conv2d"(%[[X]], %[[W]], {{.*}}) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}>
// CHECK-NEXT:    %[[Z:.*]] = "tosa.transpose"(%[[Y]]) <{perms = array<i32: 0, 3, 1, 2>}>
// CHECK-NEXT:    return %[[Z]] : tensor<1x4x4x4xf32>
func.func @conv(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<1.0> : tensor<4x3x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %none) <{auto_pad = "NOTSET", group = 1 : si64, pads = [1, 1, 1, 1], strides = [2, 2]}> : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x4x4xf32>
  onnx.Return %y : tensor<1x4x4x4xf32>
}

// -----

// CHECK-LABEL: @relu
// CHECK:         tosa.clamp %arg0 {{.*}}max_val = 0x7F800000 : f32
// GENERIC-LABEL: "relu"
// GENERIC:       "tosa.clamp"(%arg0) <{max_val = 0x7F800000 : f32, min_val = 0.000000e+00 : f32}>
func.func @relu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %y : tensor<2x3xf32>
}

// -----

// Operands get one rank; a product has no shift.
// CHECK-LABEL: @broadcast
// CHECK:         %[[C:.*]] = "tosa.reshape"(%arg1, {{.*}}) : (tensor<3xf32>, !tosa.shape<2>) -> tensor<1x3xf32>
// CHECK-NEXT:    tosa.mul %arg0, %[[C]], {{.*}} : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<1xi8>) -> tensor<2x3xf32>
func.func @broadcast(%x: tensor<2x3xf32>, %c: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = "onnx.Mul"(%x, %c) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  onnx.Return %y : tensor<2x3xf32>
}

// -----

// A quantized network computes in integers: the sum of products is rescaled, the activation a clamp.
// CHECK-LABEL: @quantized
// CHECK-NOT:     tosa.cast
// CHECK:         %[[S:.*]] = "tosa.conv2d"({{.*}}) <{acc_type = i32, {{.*}}}> : (tensor<1x4x4x1xi8>, tensor<2x1x1x1xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x2xi32>
// CHECK:         tosa.rescale %[[S]]{{.*}} -> tensor<1x4x4x2xi8>
// CHECK:         tosa.clamp {{.*}}min_val = -3 : i8
// CHECK-NEXT:    return
func.func @quantized(%x: tensor<1x1x4x4xi8>) -> tensor<1x2x4x4xi8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %sx = onnx.Constant dense<0.5> : tensor<f32>
  %zx = onnx.Constant dense<1> : tensor<i8>
  %qw = onnx.Constant dense<[[[[3]]], [[[-4]]]]> : tensor<2x1x1x1xi8>
  %sw = onnx.Constant dense<0.25> : tensor<f32>
  %zw = onnx.Constant dense<0> : tensor<i8>
  %zy = onnx.Constant dense<-3> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %sx, %zx) : (tensor<1x1x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x4x4xf32>
  %1 = "onnx.DequantizeLinear"(%qw, %sw, %zw) : (tensor<2x1x1x1xi8>, tensor<f32>, tensor<i8>) -> tensor<2x1x1x1xf32>
  %2 = "onnx.Conv"(%0, %1, %none) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x4x4xf32>
  %3 = "onnx.Relu"(%2) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = "onnx.QuantizeLinear"(%3, %sx, %zy) : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
  onnx.Return %4 : tensor<1x2x4x4xi8>
}
