// RUN: onnx-opt %s --convert-onnx-to-dla=target=nv_small --dla-split=target=nv_small --dla-allocate=target=nv_small --split-input-file | filecheck %s

// Pixels 0 to 1 with scale 1/255: the converter subtracts 128, so the pad value is -128, which stands for 0. A row of
// 8 pixels takes 32 bytes; the kernel's 3 columns become 3 channels.
// CHECK-LABEL: func.func @bytes
// CHECK-SAME:    %arg0: !dla.surface<!dla.image<R8, tensor<1x1x8x8xi8>>, "input_0" at 0, line 32, surface 256>
// CHECK-SAME:    dla.image = {format = "R8", mean = [0.000000e+00], std = [2.550000e+02]}
// CHECK:         "dla.conv"(%arg0, %{{.*}}) <{
// CHECK-SAME:      in_cvt = #dla.converter<offset = 128>
// CHECK-SAME:      pad_value = -128 : i64
// CHECK-SAME:      !dla.packed<tensor<8x3x3x1xi8>
func.func @bytes(%x: tensor<1x1x8x8xf32> {dla.image = {format = "R8", mean = [0.0 : f64], std = [255.0 : f64]}}) -> tensor<1x8x8x8xi8> {
  %s = onnx.Constant dense<0.00392156886> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<ui8>
  %t = onnx.Constant dense<0.05> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %w = onnx.Constant dense<0.1> : tensor<8x1x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %q = "onnx.QuantizeLinear"(%x, %s, %z) : (tensor<1x1x8x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x8x8xui8>
  %d = "onnx.DequantizeLinear"(%q, %s, %z) : (tensor<1x1x8x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x8x8xf32>
  %c = "onnx.Conv"(%d, %w, %none) {pads = [1, 1, 1, 1]} : (tensor<1x1x8x8xf32>, tensor<8x1x3x3xf32>, none) -> tensor<1x8x8x8xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x8x8x8xf32>, tensor<f32>, tensor<i8>) -> tensor<1x8x8x8xi8>
  onnx.Return %y : tensor<1x8x8x8xi8>
}

// -----

// Rows that exceed the buffer are split into passes, each from the address of its first line: 2048 pixels of 4 bytes.
// CHECK-LABEL: func.func @pieces
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}>
// CHECK-SAME:      -> !dla.surface<!dla.image<A8B8G8R8, tensor<1x4x{{[0-9]+}}x2048xi8>>, "input_0" at 0, line 8192
// CHECK:         "dla.conv"(%{{.*}} in_cvt = #dla.converter<offset = 128>, pad_value = -128 : i64, pads = array<i64: 1, 1, 0, 1>
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 0, 2, 0>}>
// CHECK-SAME:      -> !dla.surface<!dla.image<A8B8G8R8, tensor<1x4x7x2048xi8>>, "input_0" at 16384, line 8192
// CHECK:         "dla.conv"(%{{.*}} in_cvt = #dla.converter<offset = 128>, pad_value = -128 : i64, pads = array<i64: 0, 1, 0, 1>
func.func @pieces(%x: tensor<1x3x32x2048xf32> {dla.image = {format = "A8B8G8R8", mean = [0.0 : f64], std = [1.0 : f64]}}) -> tensor<1x8x32x2048xi8> {
  %s = onnx.Constant dense<1.0> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<ui8>
  %t = onnx.Constant dense<8.0> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %w = onnx.Constant dense<0.1> : tensor<8x3x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %q = "onnx.QuantizeLinear"(%x, %s, %z) : (tensor<1x3x32x2048xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x3x32x2048xui8>
  %d = "onnx.DequantizeLinear"(%q, %s, %z) : (tensor<1x3x32x2048xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x3x32x2048xf32>
  %c = "onnx.Conv"(%d, %w, %none) {pads = [1, 1, 1, 1]} : (tensor<1x3x32x2048xf32>, tensor<8x3x3x3xf32>, none) -> tensor<1x8x32x2048xf32>
  %y = "onnx.QuantizeLinear"(%c, %t, %n) : (tensor<1x8x32x2048xf32>, tensor<f32>, tensor<i8>) -> tensor<1x8x32x2048xi8>
  onnx.Return %y : tensor<1x8x32x2048xi8>
}
