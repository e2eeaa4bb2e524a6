// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{role is one of input, output, constants, activations, on_chip, found cache}}
"dla.memory"() <{role = "cache", size = 4096 : i64, sym_name = "m"}> : () -> ()

// -----

// expected-error @+1 {{size is at least 1 byte, found 0}}
"dla.memory"() <{role = "input", size = 0 : i64, sym_name = "m"}> : () -> ()

// -----

func.func @layout() {
  // expected-error @+1 {{layout is kernels, compressed_kernels, winograd_kernels, per_kernel, cube, found rows}}
  %b = "dla.constant"() <{layout = "rows", value = dense<0.0> : tensor<16xf32>}> : () -> tensor<16xf16>
  func.return
}

// -----

func.func @nonzero() {
  // expected-error @+1 {{nonzero is for compressed kernels; the layout is kernels}}
  %b = "dla.constant"() <{layout = "kernels", nonzero = 3 : i64, value = dense<0.0> : tensor<16x8x1x1xf32>}> : () -> tensor<16x8x1x1xf16>
  func.return
}

// -----

func.func @compressed() {
  // expected-error @+1 {{nonzero is for compressed kernels; the layout is compressed_kernels}}
  %b = "dla.constant"() <{layout = "compressed_kernels", value = dense<0.0> : tensor<16x8x1x1xf32>}> : () -> tensor<16x8x1x1xf16>
  func.return
}

// -----

func.func @rank() {
  // expected-error @+1 {{rank 1 does not go with layout kernels}}
  %b = "dla.constant"() <{layout = "kernels", value = dense<0.0> : tensor<16xf32>}> : () -> tensor<16xf16>
  func.return
}

// -----

func.func @outside(%x: tensor<1x32x8x8xf16>) {
  // expected-error @+1 {{height 6 to 10 lie outside the source's 8}}
  %r = "dla.slice"(%x) <{offsets = array<i64: 0, 6, 0>}> : (tensor<1x32x8x8xf16>) -> tensor<1x32x4x8xf16>
  func.return
}

// -----

func.func @axis(%x: tensor<1x32x8x8xf16>) {
  // expected-error @+1 {{concat takes sources along axis 1, 2 or 3, found 1 along 0}}
  %r = "dla.concat"(%x) <{axis = 0 : i64}> : (tensor<1x32x8x8xf16>) -> tensor<1x32x8x8xf16>
  func.return
}

// -----

func.func @sum(%x: tensor<1x32x8x8xf16>) {
  // expected-error @+1 {{the result is 1x64x8x8, found 1x32x8x8}}
  %r = "dla.concat"(%x, %x) <{axis = 1 : i64}> : (tensor<1x32x8x8xf16>, tensor<1x32x8x8xf16>) -> tensor<1x32x8x8xf16>
  func.return
}

// -----

func.func @turns(%x: tensor<1x32x8x8xf16>) {
  // expected-error @+1 {{interleaving takes rows of sources of one shape, found 1 along axis 1}}
  %r = "dla.concat"(%x, %x) <{axis = 1 : i64, is_interleaved}> : (tensor<1x32x8x8xf16>, tensor<1x32x8x8xf16>) -> tensor<1x64x8x8xf16>
  func.return
}

// -----

func.func @channels_move(%x: tensor<1x32x8x8xf16>) {
  // expected-error @+1 {{reshape keeps channels and positions, found (32, 8, 8) to (64, 4, 8)}}
  %r = "dla.reshape"(%x) : (tensor<1x32x8x8xf16>) -> tensor<1x64x4x8xf16>
  func.return
}

// -----

func.func @element_type(%x: tensor<1x32x8x8xf16>) {
  // expected-error @+1 {{reshape keeps the element type}}
  %r = "dla.reshape"(%x) : (tensor<1x32x8x8xf16>) -> tensor<1x32x4x16xf32>
  func.return
}

// -----

// expected-error @+1 {{an offset or size cannot be negative: -32}}
func.func @surface(%x: !dla.surface<tensor<1x8x1x1xf16>, "m" at -32, line 32, surface 32>) { func.return }

// -----

// expected-error @+1 {{an offset or size cannot be negative: -1}}
func.func @packed(%x: !dla.packed<tensor<8xf16>, "m" at 0, size -1>) { func.return }

// -----

// expected-error @+1 {{data_banks missing}}
func.func @banks() attributes {plan = #dla.banks<weight_banks = 3>} { func.return }

// -----

func.func @payload() {
  // expected-error @+1 {{the value is 16, found 8}}
  %b = "dla.constant"() <{layout = "per_kernel", value = dense<0.0> : tensor<8xf32>}> : () -> tensor<16xf16>
  func.return
}

// -----

func.func @no_payload() {
  // expected-error @+1 {{the value holds no elements: "weights"}}
  %b = "dla.constant"() <{layout = "per_kernel", value = "weights"}> : () -> tensor<16xf16>
  func.return
}

// -----

func.func @aligned_rows(%x: tensor<1x8x2x2xi8>) {
  // expected-error @+1 {{channels are aligned to 1 or more, found 8 along axis 2}}
  %c = "dla.concat"(%x, %x) <{axis = 2 : i64, alignment = 8 : i64}> : (tensor<1x8x2x2xi8>, tensor<1x8x2x2xi8>) -> tensor<1x8x4x2xi8>
  func.return
}

// -----

func.func @aligned_channels(%x: tensor<1x5x2x2xi8>) {
  // expected-error @+1 {{the result is 1x13x2x2, found 1x10x2x2}}
  %c = "dla.concat"(%x, %x) <{axis = 1 : i64, alignment = 8 : i64}> : (tensor<1x5x2x2xi8>, tensor<1x5x2x2xi8>) -> tensor<1x10x2x2xi8>
  func.return
}

// -----

func.func @direct_convolution(%x: tensor<1x16x8x8xf16>) {
  // expected-error @+1 {{layout winograd_kernels is for convolutions with is_winograd; the layout is winograd_kernels, the reader dla.conv}}
  %w = "dla.constant"() <{layout = "winograd_kernels", value = dense<0.5> : tensor<32x16x3x3xf16>}> : () -> tensor<32x16x3x3xf16>
  %a = "dla.conv"(%x, %w) <{dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}>
     : (tensor<1x16x8x8xf16>, tensor<32x16x3x3xf16>) -> !dla.flow<tensor<1x32x8x8xf32>>
  %y = "dla.sdp"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!dla.flow<tensor<1x32x8x8xf32>>) -> tensor<1x32x8x8xf16>
  func.return
}

// -----

func.func @kernels_of_other_sizes(%x: tensor<1x16x3x8xi8>) {
  // expected-error @+1 {{the result is 24x16x1x1, found 16x24x1x1}}
  %k = "dla.kernels"(%x) : (tensor<1x16x3x8xi8>) -> tensor<16x24x1x1xi8>
  func.return
}

// -----

func.func @kernels_of_another_type(%x: tensor<1x16x3x8xi8>) {
  // expected-error @+1 {{kernels keep the element type}}
  %k = "dla.kernels"(%x) : (tensor<1x16x3x8xi8>) -> tensor<24x16x1x1xf16>
  func.return
}

// -----

func.func @kernels_that_are_read_as_a_cube_too(%x: tensor<1x16x3x8xi8>) -> tensor<1x16x3x8xi8> {
  // expected-error @+1 {{nothing else reads the source of kernels, which is stored as weights are}}
  %k = "dla.kernels"(%x) : (tensor<1x16x3x8xi8>) -> tensor<24x16x1x1xi8>
  func.return %x : tensor<1x16x3x8xi8>
}
