// RUN: onnx-opt %s --legalize-onnx --split-input-file | filecheck %s

// The `axis` of an old broadcast becomes trailing axes of size 1.
// CHECK-LABEL: @add_from_axis
// CHECK:         %[[B:.*]] = "onnx.Reshape"(%arg1, %{{.*}}) {{.*}} -> tensor<3x1x1xf32>
// CHECK-NEXT:    "onnx.Add"(%arg0, %[[B]])
func.func @add_from_axis(%x: tensor<2x3x4x5xf32>, %b: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %y = "onnx.AddV6"(%x, %b) <{axis = 1 : si64, broadcast = 1 : si64}> : (tensor<2x3x4x5xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %y : tensor<2x3x4x5xf32>
}

// -----

// DFT matrix of four real elements and three complex results: rows 1, e^(-2πi k / 4), e^(-4πi k / 4), e^(-6πi k / 4).
// CHECK-LABEL: @dft_onesided
// CHECK:         %[[W:.*]] = onnx.Constant dense<{{\[\[}}1.000000e+00, -0.000000e+00, 1.000000e+00, -0.000000e+00, 1.000000e+00, -0.000000e+00], [1.000000e+00, -0.000000e+00, 0.000000e+00, -1.000000e+00, -1.000000e+00, -0.000000e+00], [
// CHECK:         %[[X:.*]] = "onnx.Reshape"(%arg0, %{{.*}}) {{.*}} -> tensor<?x4xf32>
// CHECK:         %[[Y:.*]] = "onnx.MatMul"(%[[X]], %[[W]]) {{.*}} -> tensor<?x6xf32>
// CHECK:         "onnx.Reshape"(%[[Y]], %{{.*}}) {{.*}} -> tensor<?x3x2xf32>
func.func @dft_onesided(%x: tensor<?x4x1xf32>) -> tensor<?x3x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.DFT"(%x, %none, %none) <{onesided = 1 : si64}> : (tensor<?x4x1xf32>, none, none) -> tensor<?x3x2xf32>
  onnx.Return %y : tensor<?x3x2xf32>
}

// -----

// The transformed axis is transposed to before the axis of real and imaginary parts, and back.
// CHECK-LABEL: @dft_along_first_axis
// CHECK:         "onnx.Transpose"(%arg0) <{perm = [1, 0, 2]}>
// CHECK:         "onnx.MatMul"
// CHECK:         "onnx.Transpose"(%{{.*}}) <{perm = [1, 0, 2]}>
func.func @dft_along_first_axis(%x: tensor<4x3x2xf32>) -> tensor<4x3x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %axis = onnx.Constant dense<0> : tensor<i64>
  %y = "onnx.DFT"(%x, %none, %axis) : (tensor<4x3x2xf32>, none, tensor<i64>) -> tensor<4x3x2xf32>
  onnx.Return %y : tensor<4x3x2xf32>
}

// -----

// Cooley-Tukey: 2048 = 32 · 64, two matrix products with twiddle factors e^(-2πi n₂ k₁ / 2048) between them.
// CHECK-LABEL: @long_dft
// CHECK:         "onnx.MatMul"(%{{.*}}) : (tensor<1x64x64xf32>, tensor<64x64xf32>)
// CHECK:         "onnx.Mul"
// CHECK:         "onnx.MatMul"(%{{.*}}) : (tensor<1x32x128xf32>, tensor<128x128xf32>)
func.func @long_dft(%x: tensor<1x2048x2xf32>) -> tensor<1x2048x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.DFT"(%x, %none, %none) : (tensor<1x2048x2xf32>, none, none) -> tensor<1x2048x2xf32>
  onnx.Return %y : tensor<1x2048x2xf32>
}

// -----

// Not decomposed: 1031 is prime, the second one's axis is dynamic; both have DFT kernels.
// CHECK-LABEL: @kept
// CHECK:         "onnx.DFT"(%arg0
// CHECK:         "onnx.DFT"(%arg1
func.func @kept(%x: tensor<1x1031x2xf32>, %z: tensor<1x?x2xf32>) -> (tensor<1x1031x2xf32>, tensor<1x?x2xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.DFT"(%x, %none, %none) : (tensor<1x1031x2xf32>, none, none) -> tensor<1x1031x2xf32>
  %w = "onnx.DFT"(%z, %none, %none) : (tensor<1x?x2xf32>, none, none) -> tensor<1x?x2xf32>
  onnx.Return %y, %w : tensor<1x1031x2xf32>, tensor<1x?x2xf32>
}

// -----

// STFT with frames of 4 and a hop of 2 is a convolution; a signal of rank 2, as exporters write it, is real.
// CHECK-LABEL: @stft
// CHECK:         %[[X:.*]] = "onnx.Reshape"(%arg0, %{{.*}}) {{.*}} -> tensor<?x1x?xf32>
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%[[X]], %{{.*}}, %{{.*}}) <{{{.*}}strides = [2]}> : (tensor<?x1x?xf32>, tensor<6x1x4xf32>, none) -> tensor<?x6x?xf32>
// CHECK:         %[[T:.*]] = "onnx.Transpose"(%[[Y]]) <{perm = [0, 2, 1]}>
// CHECK:         "onnx.Reshape"(%[[T]], %{{.*}}) {{.*}} -> tensor<?x?x3x2xf32>
func.func @stft(%x: tensor<?x?xf32>) -> tensor<?x?x3x2xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %step = onnx.Constant dense<2> : tensor<i64>
  %window = onnx.Constant dense<[0.5, 1.0, 1.0, 0.5]> : tensor<4xf32>
  %y = "onnx.STFT"(%x, %step, %window, %none) <{onesided = 1 : si64}> : (tensor<?x?xf32>, tensor<i64>, tensor<4xf32>, none) -> tensor<?x?x3x2xf32>
  onnx.Return %y : tensor<?x?x3x2xf32>
}

// -----

// A large pool is separable: one pool for each axis, the last first, with the pads and strides of that axis.
// CHECK-LABEL: @large_pool
// CHECK:         %[[C:.*]] = "onnx.MaxPoolSingleOut"(%arg0) <{{{.*}}dilations = [1, 1], kernel_shape = [1, 7], pads = [0, 3, 0, 2], {{.*}}strides = [1, 1]}> : (tensor<1x3x20x20xf32>) -> tensor<1x3x20x19xf32>
// CHECK:         "onnx.MaxPoolSingleOut"(%[[C]]) <{{{.*}}dilations = [1, 1], kernel_shape = [5, 1], pads = [1, 0, 2, 0], {{.*}}strides = [2, 1]}> : (tensor<1x3x20x19xf32>) -> tensor<1x3x10x19xf32>
func.func @large_pool(%x: tensor<1x3x20x20xf32>) -> tensor<1x3x10x19xf32> {
  %y, %i = "onnx.MaxPool"(%x) <{kernel_shape = [5, 7], pads = [1, 3, 2, 2], strides = [2, 1]}> : (tensor<1x3x20x20xf32>) -> (tensor<1x3x10x19xf32>, none)
  onnx.Return %y : tensor<1x3x10x19xf32>
}

// -----

// A small pool is not decomposed, nor is one whose indices are used.
// CHECK-LABEL: @other_pools
// CHECK-COUNT-2: "onnx.MaxPool"
// CHECK-NOT:     "onnx.MaxPool"
func.func @other_pools(%x: tensor<1x3x20x20xf32>) -> (tensor<1x3x18x18xf32>, tensor<1x3x16x16xi64>) {
  %y, %i = "onnx.MaxPool"(%x) <{kernel_shape = [3, 3]}> : (tensor<1x3x20x20xf32>) -> (tensor<1x3x18x18xf32>, none)
  %z, %j = "onnx.MaxPool"(%x) <{kernel_shape = [5, 5]}> : (tensor<1x3x20x20xf32>) -> (tensor<1x3x16x16xf32>, tensor<1x3x16x16xi64>)
  onnx.Return %y, %j : tensor<1x3x18x18xf32>, tensor<1x3x16x16xi64>
}

// -----

// Float16 convolutions accumulate in float32.
// CHECK-LABEL: @half_convolution
// CHECK:         %[[X:.*]] = "onnx.Cast"(%arg0) <{{{.*}}to = f32}>
// CHECK-NEXT:    %[[W:.*]] = "onnx.Cast"(%arg1) <{{{.*}}to = f32}>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Conv"(%[[X]], %[[W]], {{.*}} -> tensor<1x4x4x4xf32>
// CHECK-NEXT:    "onnx.Cast"(%[[Y]]) <{{{.*}}to = f16}>
func.func @half_convolution(%x: tensor<1x4x4x4xf16>, %w: tensor<4x4x1x1xf16>) -> tensor<1x4x4x4xf16> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x4x4x4xf16>, tensor<4x4x1x1xf16>, none) -> tensor<1x4x4x4xf16>
  onnx.Return %0 : tensor<1x4x4x4xf16>
}

// -----

// Float16 products too, of any sizes; what two of them read is cast once, and constant weights are float32.
// CHECK-LABEL: @half_products
// CHECK:         %[[W:.*]] = onnx.Constant dense<5.000000e-01> : tensor<4x4xf32>
// CHECK:         %[[X:.*]] = "onnx.Cast"(%arg0) <{{{.*}}to = f32}> : (tensor<?x4xf16>) -> tensor<?x4xf32>
// CHECK-NEXT:    %[[A:.*]] = "onnx.MatMul"(%[[X]], %[[W]]) : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %[[B:.*]] = "onnx.Cast"(%[[A]]) <{{{.*}}to = f16}> : (tensor<?x4xf32>) -> tensor<?x4xf16>
// CHECK:         "onnx.Gemm"(%[[X]], %[[W]], {{.*}} -> tensor<?x4xf32>
func.func @half_products(%x: tensor<?x4xf16>) -> (tensor<?x4xf16>, tensor<?x4xf16>) {
  %w = onnx.Constant dense<5.000000e-01> : tensor<4x4xf16>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x4xf16>, tensor<4x4xf16>) -> tensor<?x4xf16>
  %1 = "onnx.Gemm"(%x, %w, %n) : (tensor<?x4xf16>, tensor<4x4xf16>, none) -> tensor<?x4xf16>
  onnx.Return %0, %1 : tensor<?x4xf16>, tensor<?x4xf16>
}

// -----

// What follows a product stays float32; a Concat with a value of float16, Floor and the result read float16.
// CHECK-LABEL: @half_network
// CHECK:         %[[C:.*]] = onnx.Constant dense<2.000000e+00> : tensor<4xf32>
// CHECK:         %[[Y:.*]] = "onnx.MatMul"({{.*}} -> tensor<?x4xf32>
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"(%[[Y]]) : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %[[A:.*]] = "onnx.Add"(%[[R]], %[[C]]) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %[[H:.*]] = "onnx.Cast"(%[[A]]) <{{{.*}}to = f16}>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Floor"(%[[H]]) : (tensor<?x4xf16>) -> tensor<?x4xf16>
// CHECK-NEXT:    %[[G:.*]] = "onnx.Concat"(%[[H]], %arg0) {{.*}} -> tensor<?x8xf16>
// CHECK-NEXT:    onnx.Return %[[F]], %[[G]], %[[A]], %[[H]]
func.func @half_network(%x: tensor<?x4xf16>) -> (tensor<?x4xf16>, tensor<?x8xf16>, tensor<?x4xf32>, tensor<?x4xf16>) {
  %w = onnx.Constant dense<5.000000e-01> : tensor<4x4xf16>
  %c = onnx.Constant dense<2.000000e+00> : tensor<4xf16>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x4xf16>, tensor<4x4xf16>) -> tensor<?x4xf16>
  %1 = "onnx.Relu"(%0) : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %2 = "onnx.Add"(%1, %c) : (tensor<?x4xf16>, tensor<4xf16>) -> tensor<?x4xf16>
  %3 = "onnx.Floor"(%2) : (tensor<?x4xf16>) -> tensor<?x4xf16>
  %4 = "onnx.Concat"(%2, %x) {axis = 1 : si64} : (tensor<?x4xf16>, tensor<?x4xf16>) -> tensor<?x8xf16>
  %5 = "onnx.Cast"(%2) {to = f32} : (tensor<?x4xf16>) -> tensor<?x4xf32>
  onnx.Return %3, %4, %5, %2 : tensor<?x4xf16>, tensor<?x8xf16>, tensor<?x4xf32>, tensor<?x4xf16>
}

// -----

// Batch normalization with constant statistics is a multiplication and an addition.
// CHECK-LABEL: @batch_norm
// CHECK:         %[[A:.*]] = onnx.Constant dense<1.000000e+00> : tensor<2x1xf32>
// CHECK-NEXT:    %[[B:.*]] = onnx.Constant dense<{{\[\[}}5.000000e-01], [-1.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Mul"(%arg0, %[[A]])
// CHECK-NEXT:    "onnx.Add"(%[[Y]], %[[B]])
func.func @batch_norm(%x: tensor<2x2x3xf32>) -> tensor<2x2x3xf32> {
  %s = onnx.Constant dense<[2.0, 4.0]> : tensor<2xf32>
  %b = onnx.Constant dense<[1.0, 0.0]> : tensor<2xf32>
  %m = onnx.Constant dense<[0.5, 1.0]> : tensor<2xf32>
  %v = onnx.Constant dense<[4.0, 16.0]> : tensor<2xf32>
  %0 = "onnx.BatchNormalizationInferenceMode"(%x, %s, %b, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<2x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x3xf32>
  onnx.Return %0 : tensor<2x2x3xf32>
}

// -----

// So is one whose scale and offset are quantized constants, as onnxruntime's quantization leaves it.
// CHECK-LABEL: @quantized_batch_norm
// CHECK:         %[[A:.*]] = onnx.Constant dense<{{\[\[}}1.500000e+00], [2.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:    %[[B:.*]] = onnx.Constant dense<{{\[\[}}7.500000e-01], [0.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Mul"(%arg0, %[[A]])
// CHECK-NEXT:    "onnx.Add"(%[[Y]], %[[B]])
func.func @quantized_batch_norm(%x: tensor<2x2x3xf32>) -> tensor<2x2x3xf32> {
  %i = onnx.Constant dense<[7, 9]> : tensor<2xui8>
  %j = onnx.Constant dense<[3, 4]> : tensor<2xi8>
  %z = onnx.Constant dense<1> : tensor<ui8>
  %t = onnx.Constant dense<0.5> : tensor<f32>
  %u = onnx.Constant dense<[0.5, 0.5]> : tensor<2xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %s = "onnx.DequantizeLinear"(%i, %t, %z) : (tensor<2xui8>, tensor<f32>, tensor<ui8>) -> tensor<2xf32>
  %b = "onnx.DequantizeLinear"(%j, %u, %n) <{axis = 0 : si64}> : (tensor<2xi8>, tensor<2xf32>, none) -> tensor<2xf32>
  %m = onnx.Constant dense<[0.5, 1.0]> : tensor<2xf32>
  %v = onnx.Constant dense<[4.0, 4.0]> : tensor<2xf32>
  %0 = "onnx.BatchNormalizationInferenceMode"(%x, %s, %b, %m, %v) <{epsilon = 0.0 : f32}> : (tensor<2x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x3xf32>
  onnx.Return %0 : tensor<2x2x3xf32>
}

// -----

// Batch normalization with statistics that are inputs stays.
// CHECK-LABEL: @unknown_statistics
// CHECK:         "onnx.BatchNormalizationInferenceMode"
func.func @unknown_statistics(%x: tensor<2x2x3xf32>, %s: tensor<2xf32>) -> tensor<2x2x3xf32> {
  %0 = "onnx.BatchNormalizationInferenceMode"(%x, %s, %s, %s, %s) : (tensor<2x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x3xf32>
  onnx.Return %0 : tensor<2x2x3xf32>
}

// -----

// Reshape-1's `shape` attribute becomes an operand if the shapes of operand and result are static.
// CHECK-LABEL: @reshape_by_property
// CHECK:         "onnx.Reshape"(%arg0, %{{.*}}) {{.*}} : (tensor<6xf32>, tensor<2xi64>) -> tensor<2x3xf32>
// CHECK:         "onnx.ReshapeV1"(%arg1)
func.func @reshape_by_property(%x: tensor<6xf32>, %z: tensor<?xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "onnx.ReshapeV1"(%x) <{shape = [2, 3]}> : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = "onnx.ReshapeV1"(%z) <{shape = [2, 3]}> : (tensor<?xf32>) -> tensor<2x3xf32>
  onnx.Return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Columns of strings with one table: all strings are looked up once, and the columns are those of numbers.
// CHECK-LABEL: @columns_of_one_table
// CHECK:         %[[N:.*]] = "onnx.LabelEncoder"(%arg0) {{.*}} : (tensor<8x2x!onnx.String>) -> tensor<8x2xi64>
// CHECK-NEXT:    %[[A:.*]] = "onnx.ArrayFeatureExtractor"(%[[N]], %{{.*}}) : (tensor<8x2xi64>, tensor<i64>) -> tensor<8x1xi64>
// CHECK-NEXT:    %[[B:.*]] = "onnx.ArrayFeatureExtractor"(%[[N]], %{{.*}}) : (tensor<8x2xi64>, tensor<i64>) -> tensor<8x1xi64>
// CHECK-NEXT:    onnx.Return %[[A]], %[[B]]
func.func @columns_of_one_table(%x: tensor<8x2x!onnx.String>) -> (tensor<8x1xi64>, tensor<8x1xi64>) {
  %0 = onnx.Constant dense<0> : tensor<i64>
  %1 = onnx.Constant dense<1> : tensor<i64>
  %a = "onnx.ArrayFeatureExtractor"(%x, %0) : (tensor<8x2x!onnx.String>, tensor<i64>) -> tensor<8x1x!onnx.String>
  %b = "onnx.ArrayFeatureExtractor"(%x, %1) : (tensor<8x2x!onnx.String>, tensor<i64>) -> tensor<8x1x!onnx.String>
  %y = "onnx.LabelEncoder"(%a) <{keys_strings = ["a", "b"], values_int64s = [1, 2]}> : (tensor<8x1x!onnx.String>) -> tensor<8x1xi64>
  %z = "onnx.LabelEncoder"(%b) <{keys_strings = ["a", "b"], values_int64s = [1, 2]}> : (tensor<8x1x!onnx.String>) -> tensor<8x1xi64>
  onnx.Return %y, %z : tensor<8x1xi64>, tensor<8x1xi64>
}

// -----

// Columns of two tables stay: each would look up all strings. So does what is encoded as strings.
// CHECK-LABEL: @columns_of_two_tables
// CHECK-COUNT-2: "onnx.ArrayFeatureExtractor"(%arg0
// CHECK:         "onnx.Reshape"(%arg0
func.func @columns_of_two_tables(%x: tensor<8x2x!onnx.String>) -> (tensor<8x1xi64>, tensor<8x1xi64>, tensor<16x!onnx.String>) {
  %0 = onnx.Constant dense<0> : tensor<i64>
  %1 = onnx.Constant dense<1> : tensor<i64>
  %row = onnx.Constant dense<16> : tensor<1xi64>
  %a = "onnx.ArrayFeatureExtractor"(%x, %0) : (tensor<8x2x!onnx.String>, tensor<i64>) -> tensor<8x1x!onnx.String>
  %b = "onnx.ArrayFeatureExtractor"(%x, %1) : (tensor<8x2x!onnx.String>, tensor<i64>) -> tensor<8x1x!onnx.String>
  %y = "onnx.LabelEncoder"(%a) <{keys_strings = ["a", "b"], values_int64s = [1, 2]}> : (tensor<8x1x!onnx.String>) -> tensor<8x1xi64>
  %z = "onnx.LabelEncoder"(%b) <{keys_strings = ["a", "b"], values_int64s = [2, 1]}> : (tensor<8x1x!onnx.String>) -> tensor<8x1xi64>
  %c = "onnx.Reshape"(%x, %row) : (tensor<8x2x!onnx.String>, tensor<1xi64>) -> tensor<16x!onnx.String>
  %w = "onnx.LabelEncoder"(%c) <{keys_strings = ["a"], values_strings = ["b"]}> : (tensor<16x!onnx.String>) -> tensor<16x!onnx.String>
  onnx.Return %y, %z, %w : tensor<8x1xi64>, tensor<8x1xi64>, tensor<16x!onnx.String>
}

// -----

// A one-hot encoding of strings is that of their numbers; an unknown string has the number of none.
// CHECK-LABEL: @one_hot_strings
// CHECK:         %[[N:.*]] = "onnx.LabelEncoder"(%arg0) <{{{.*}}default_int64 = 2 : si64{{.*}}keys_strings = ["a", "b"]{{.*}}values_int64s = [0, 1]}>
// CHECK:         %[[G:.*]] = "onnx.Gather"(%[[N]], %{{.*}}) {{.*}} -> tensor<3x1xi64>
// CHECK:         "onnx.OneHot"(%[[G]], %{{.*}}, %{{.*}}) <{axis = -1 : si64}> : (tensor<3x1xi64>, tensor<i64>, tensor<2xf32>) -> tensor<3x1x2xf32>
func.func @one_hot_strings(%x: tensor<3x1x!onnx.String>) -> tensor<3x1x2xf32> {
  %i = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.Gather"(%x, %i) <{axis = 1 : si64}> : (tensor<3x1x!onnx.String>, tensor<1xi64>) -> tensor<3x1x!onnx.String>
  %y = "onnx.OneHotEncoder"(%0) <{cats_strings = ["a", "b"], zeros = 1 : si64}> : (tensor<3x1x!onnx.String>) -> tensor<3x1x2xf32>
  onnx.Return %y : tensor<3x1x2xf32>
}

// -----

// With zeros = 0 an unknown string is an error, which the operator raises.
// CHECK-LABEL: @strict_one_hot
// CHECK:         "onnx.OneHotEncoder"
func.func @strict_one_hot(%x: tensor<3x!onnx.String>) -> tensor<3x2xf32> {
  %y = "onnx.OneHotEncoder"(%x) <{cats_strings = ["a", "b"], zeros = 0 : si64}> : (tensor<3x!onnx.String>) -> tensor<3x2xf32>
  onnx.Return %y : tensor<3x2xf32>
}

// -----

// An Einsum of matrices is a MatMul; what uses each element once has a loop nest.
// CHECK-LABEL: @einsum
// CHECK-NOT: onnx.Einsum
// CHECK: onnx.MatMul
// CHECK: "onnx.Einsum"({{.*}}) <{equation = "ij,ij->i"}>
func.func @einsum(%x: tensor<3x8x64xf32>, %w: tensor<64x16xf32>, %a: tensor<3x8xf32>) -> (tensor<3x8x16xf32>, tensor<3xf32>) {
  %0 = "onnx.Einsum"(%x, %w) <{equation = "abc,cd->abd"}> : (tensor<3x8x64xf32>, tensor<64x16xf32>) -> tensor<3x8x16xf32>
  %1 = "onnx.Einsum"(%a, %a) <{equation = "ij,ij->i"}> : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3xf32>
  onnx.Return %0, %1 : tensor<3x8x16xf32>, tensor<3xf32>
}

// -----

// A mean of a dynamic image that leaves out pads is one that counts them over that of ones, which pads alike.
// CHECK-LABEL: @mean_of_same
// CHECK:         %[[ONES:.*]] = "onnx.Expand"
// CHECK:         %[[SUM:.*]] = "onnx.AveragePool"(%arg0) <{auto_pad = "SAME_UPPER", ceil_mode = 0 : si64, count_include_pad = 1 : si64
// CHECK:         %[[COUNT:.*]] = "onnx.AveragePool"(%[[ONES]]) <{auto_pad = "SAME_UPPER", ceil_mode = 0 : si64, count_include_pad = 1 : si64
// CHECK:         "onnx.Div"(%[[SUM]], %[[COUNT]])
func.func @mean_of_same(%x: tensor<1x4x8x?xf32>) -> tensor<1x4x4x?xf32> {
  %y = "onnx.AveragePool"(%x) <{auto_pad = "SAME_UPPER", ceil_mode = 1 : si64, kernel_shape = [3, 3], strides = [2, 2]}> : (tensor<1x4x8x?xf32>) -> tensor<1x4x4x?xf32>
  onnx.Return %y : tensor<1x4x4x?xf32>
}

// -----

// Windows rounded up have as many pads as they reach at most; a mean that counts pads counts no more than given.
// CHECK-LABEL: @rounded_up
// CHECK:         "onnx.MaxPoolSingleOut"(%arg0) <{{.*}}ceil_mode = 0 : si64, {{.*}}pads = [1, 1, 2, 2]
// CHECK:         %[[P:.*]] = "onnx.Pad"(%arg0, %{{.*}}) <{mode = "constant"}>
// CHECK:         "onnx.AveragePool"(%[[P]]) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, count_include_pad = 1 : si64, {{.*}}pads = [0, 0, 1, 1]
func.func @rounded_up(%x: tensor<1x4x?x?xf32>) -> (tensor<1x4x?x?xf32>, tensor<1x4x?x?xf32>) {
  %y = "onnx.MaxPoolSingleOut"(%x) <{ceil_mode = 1 : si64, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}> : (tensor<1x4x?x?xf32>) -> tensor<1x4x?x?xf32>
  %z = "onnx.AveragePool"(%x) <{ceil_mode = 1 : si64, count_include_pad = 1 : si64, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}> : (tensor<1x4x?x?xf32>) -> tensor<1x4x?x?xf32>
  onnx.Return %y, %z : tensor<1x4x?x?xf32>, tensor<1x4x?x?xf32>
}

// -----

// Kernels know the pads of SAME and of windows that count all pads, for all sizes.
// CHECK-LABEL: @pads_kept
// CHECK-NEXT:    "onnx.MaxPoolSingleOut"({{.*}}auto_pad = "SAME_UPPER"
// CHECK-NEXT:    "onnx.AveragePool"({{.*}}auto_pad = "SAME_LOWER"
// CHECK-NEXT:    onnx.Return
func.func @pads_kept(%x: tensor<1x4x?x?xf32>) -> (tensor<1x4x?x?xf32>, tensor<1x4x?x?xf32>) {
  %y = "onnx.MaxPoolSingleOut"(%x) <{auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]}> : (tensor<1x4x?x?xf32>) -> tensor<1x4x?x?xf32>
  %z = "onnx.AveragePool"(%x) <{auto_pad = "SAME_LOWER", count_include_pad = 1 : si64, kernel_shape = [3, 3], strides = [2, 2]}> : (tensor<1x4x?x?xf32>) -> tensor<1x4x?x?xf32>
  onnx.Return %y, %z : tensor<1x4x?x?xf32>, tensor<1x4x?x?xf32>
}
