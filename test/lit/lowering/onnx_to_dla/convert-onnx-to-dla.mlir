// RUN: onnx-opt %s --convert-onnx-to-dla --split-input-file | filecheck %s

// The SDP adds the bias to the accumulators of a convolution; a ReLU is a separate pass until dla-fuse.
// CHECK-LABEL: @conv(%arg0: tensor<1x3x8x8xf16>) -> tensor<1x16x4x4xf16>
// CHECK:         %[[W:.*]] = "dla.constant"() <{layout = "kernels"{{.*}} -> tensor<16x3x3x3xf16>
// CHECK:         %[[A:.*]] = "dla.conv"(%arg0, %[[W]])
// CHECK-SAME:      pads = array<i64: 1, 1, 0, 0>, strides = array<i64: 2, 2>
// CHECK:         %[[B:.*]] = "dla.constant"() <{layout = "per_kernel"{{.*}} -> tensor<16xf16>
// CHECK:         %[[S:.*]] = "dla.sdp"(%[[A]], %[[B]]) {{.*}}x1_stage = #dla.stage<type = alu, mode = per_kernel>
// CHECK:         %[[R:.*]] = "dla.sdp"(%[[S]]) {{.*}}x1_stage = #dla.stage<act = relu>
// CHECK:         return %[[R]]
func.func @conv(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x4x4xf32> {
  %w = onnx.Constant dense<0.5> : tensor<16x3x3x3xf32>
  %b = onnx.Constant dense<1.0> : tensor<16xf32>
  %c = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1], strides = [2, 2]}> : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32>
  %r = "onnx.Relu"(%c) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  onnx.Return %r : tensor<1x16x4x4xf32>
}

// -----

// Two large groups are convolutions of slices, concatenated: a dense kernel would double the weights to read.
// CHECK-LABEL: @groups
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}>
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 64, 0, 0>}>
// CHECK:         "dla.concat"({{%.+}}, {{%.+}}) <{axis = 1 : i64}>
func.func @groups(%x: tensor<1x128x4x4xf32>) -> tensor<1x64x2x2xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<0.5> : tensor<64x64x3x3xf32>
  %c = "onnx.Conv"(%x, %w, %none) <{group = 2 : si64}> : (tensor<1x128x4x4xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x2x2xf32>
  onnx.Return %c : tensor<1x64x2x2xf32>
}

// -----

// Depthwise: one dense convolution with zeros outside of the groups.
// CHECK-LABEL: @depthwise
// CHECK:         "dla.conv"(%arg0, {{%.+}}) {{.*}} : (tensor<1x8x4x4xf16>, tensor<8x8x3x3xf16>)
func.func @depthwise(%x: tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<0.5> : tensor<8x1x3x3xf32>
  %c = "onnx.Conv"(%x, %w, %none) <{group = 8 : si64}> : (tensor<1x8x4x4xf32>, tensor<8x1x3x3xf32>, none) -> tensor<1x8x2x2xf32>
  onnx.Return %c : tensor<1x8x2x2xf32>
}

// -----

// A fully connected layer after Flatten: a kernel as large as the image, and no data movement.
// CHECK-LABEL: @fully_connected
// CHECK:         "dla.conv"(%arg0, {{%.+}}) {{.*}} : (tensor<1x4x2x2xf16>, tensor<10x4x2x2xf16>) -> !dla.flow<tensor<1x10x1x1xf32>>
// CHECK:         "dla.softmax"({{%.+}}) <{{.*}}> : (tensor<1x10x1x1xf16>)
func.func @fully_connected(%x: tensor<1x4x2x2xf32>) -> tensor<1x10xf32> {
  %w = onnx.Constant dense<0.5> : tensor<10x16xf32>
  %b = onnx.Constant dense<1.0> : tensor<10xf32>
  %f = "onnx.Flatten"(%x) : (tensor<1x4x2x2xf32>) -> tensor<1x16xf32>
  %g = "onnx.Gemm"(%f, %w, %b) <{transB = 1 : si64}> : (tensor<1x16xf32>, tensor<10x16xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  %s = "onnx.Softmax"(%g) : (tensor<1x10xf32>) -> tensor<1x10xf32>
  onnx.Return %s : tensor<1x10xf32>
}

// -----

// The PDP divides by 9 everywhere; where the window covers 4 or 6 elements, the SDP multiplies by 9/4 and 9/6.
// CHECK-LABEL: @padded_average
// CHECK:         %[[P:.*]] = "dla.pdp"(%arg0) {{.*}}mode = "average"
// CHECK:         %[[F:.*]] = "dla.constant"() <{layout = "cube", value = dense<{{\[\[\[\[}}2.250000e+00, 1.500000e+00, 2.250000e+00], [1.500000e+00, 1.000000e+00, 1.500000e+00]
// CHECK:         "dla.sdp"(%[[P]], %[[F]]) {{.*}}x1_stage = #dla.stage<type = mul, mode = per_point>
func.func @padded_average(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32> {
  %p = "onnx.AveragePool"(%x) <{kernel_shape = [3, 3], pads = [1, 1, 1, 1]}> : (tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32>
  onnx.Return %p : tensor<1x1x3x3xf32>
}

// -----

// 13 = 7 x 2 - 1: two poolings with zero padding at the end, then times 14 x 14 / (13 x 13).
// CHECK-LABEL: @global_average
// CHECK:         "dla.pdp"(%arg0) <{kernel = array<i64: 7, 7>, mode = "average", pad_value = 0 : i64, pads = array<i64: 0, 0, 1, 1>{{.*}} -> tensor<1x16x2x2xf16>
// CHECK:         "dla.pdp"({{%.+}}) <{kernel = array<i64: 2, 2>{{.*}} -> tensor<1x16x1x1xf16>
// CHECK:         x1_stage = #dla.stage<type = mul, mul_operand = 1.15976
func.func @global_average(%x: tensor<1x16x13x13xf32>) -> tensor<1x16x1x1xf32> {
  %p = "onnx.GlobalAveragePool"(%x) : (tensor<1x16x13x13xf32>) -> tensor<1x16x1x1xf32>
  onnx.Return %p : tensor<1x16x1x1xf32>
}

// -----

// The first fully connected layer of VGG: 16 kernels of 512x7x7 exceed the buffer, so channels are split in two.
// CHECK-LABEL: @parts
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x512x7x7xf16>) -> tensor<1x256x7x7xf16>
// CHECK:         %[[FIRST:.*]] = "dla.sdp"(
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 256, 0, 0>}>
// CHECK:         "dla.sdp"({{%.+}}, %[[FIRST]]) {{.*}}x1_stage = #dla.stage<type = alu, mode = per_point>
func.func @parts(%x: tensor<1x512x7x7xf32>) -> tensor<1x32x1x1xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x512x7x7xf32>
  %c = "onnx.Conv"(%x, %w, %none) : (tensor<1x512x7x7xf32>, tensor<32x512x7x7xf32>, none) -> tensor<1x32x1x1xf32>
  onnx.Return %c : tensor<1x32x1x1xf32>
}

// -----

// A 1x1 cube times a cube: the operand of a PER_KERNEL stage may be a computed cube.
// CHECK-LABEL: @squeeze_and_excite
// CHECK:         "dla.sdp"(%arg0, %arg1) {{.*}}x1_stage = #dla.stage<type = mul, mode = per_kernel>
func.func @squeeze_and_excite(%x: tensor<1x16x4x4xf32>, %s: tensor<1x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %y = "onnx.Mul"(%x, %s) : (tensor<1x16x4x4xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  onnx.Return %y : tensor<1x16x4x4xf32>
}
