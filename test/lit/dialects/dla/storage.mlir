// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK:       "dla.memory"() <{lower_bound = 4000 : i64, role = "activations", size = 4096 : i64, sym_name = "activations"}>
// CHECK-LABEL: @views
// CHECK:         "dla.constant"() <{layout = "per_kernel", value = dense<0.000000e+00> : tensor<16xf32>}> : () -> tensor<16xf16>
// CHECK:         "dla.slice"(%arg0) <{offsets = array<i64: 16, 4, 0>}> : (tensor<1x32x8x8xf16>) -> tensor<1x16x4x8xf16>
// CHECK:         "dla.concat"({{%.+}}, {{%.+}}) <{axis = 1 : i64}> : (tensor<1x16x4x8xf16>, tensor<1x16x4x8xf16>) -> tensor<1x32x4x8xf16>
// CHECK:         "dla.reshape"({{%.+}}) : (tensor<1x32x4x8xf16>) -> tensor<1x32x1x32xf16>
"dla.memory"() <{lower_bound = 4000 : i64, role = "activations", size = 4096 : i64, sym_name = "activations"}> : () -> ()
func.func @views(%x: tensor<1x32x8x8xf16>) -> tensor<1x32x1x32xf16> {
  %b = "dla.constant"() <{layout = "per_kernel", value = dense<0.0> : tensor<16xf32>}> : () -> tensor<16xf16>
  %r = "dla.slice"(%x) <{offsets = array<i64: 16, 4, 0>}> : (tensor<1x32x8x8xf16>) -> tensor<1x16x4x8xf16>
  %c = "dla.concat"(%r, %r) <{axis = 1 : i64}> : (tensor<1x16x4x8xf16>, tensor<1x16x4x8xf16>) -> tensor<1x32x4x8xf16>
  %s = "dla.reshape"(%c) : (tensor<1x32x4x8xf16>) -> tensor<1x32x1x32xf16>
  func.return %s : tensor<1x32x1x32xf16>
}

// CHECK-LABEL: @rows_in_turns
// CHECK:         "dla.concat"({{%.+}}, {{%.+}}) <{axis = 2 : i64, is_interleaved}>
func.func @rows_in_turns(%a: tensor<1x8x2x3xf16>, %b: tensor<1x8x2x3xf16>) -> tensor<1x8x4x3xf16> {
  %c = "dla.concat"(%a, %b) <{axis = 2 : i64, is_interleaved}> : (tensor<1x8x2x3xf16>, tensor<1x8x2x3xf16>) -> tensor<1x8x4x3xf16>
  func.return %c : tensor<1x8x4x3xf16>
}

// -----

// CHECK-LABEL: @aligned
// CHECK:         "dla.concat"({{%.+}}, {{%.+}}) <{alignment = 8 : i64, axis = 1 : i64}> : (tensor<1x5x2x3xi8>, tensor<1x5x2x3xi8>) -> tensor<1x13x2x3xi8>
func.func @aligned(%a: tensor<1x5x2x3xi8>, %b: tensor<1x5x2x3xi8>) -> tensor<1x13x2x3xi8> {
  %c = "dla.concat"(%a, %b) <{alignment = 8 : i64, axis = 1 : i64}> : (tensor<1x5x2x3xi8>, tensor<1x5x2x3xi8>) -> tensor<1x13x2x3xi8>
  func.return %c : tensor<1x13x2x3xi8>
}

// -----

// CHECK-LABEL: @computed_weights
// CHECK:         "dla.kernels"(%arg0) : (tensor<1x16x3x8xi8>) -> tensor<24x16x1x1xi8>
func.func @computed_weights(%x: tensor<1x16x3x8xi8>) -> tensor<24x16x1x1xi8> {
  %k = "dla.kernels"(%x) : (tensor<1x16x3x8xi8>) -> tensor<24x16x1x1xi8>
  func.return %k : tensor<24x16x1x1xi8>
}
