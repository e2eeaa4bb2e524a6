// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @form(%a: memref<8x40xf32>) {
  // expected-error @+1 {{krnl.pack: no form 'rows'; there are gemm_panels, conv, grouped_conv, bf16_panels, bf16_conv, depthwise, winograd, int8_conv, words, zero_points}}
  %0 = krnl.pack %a {form = "rows", sizes = {width = 32 : i64}} : memref<8x40xf32> -> memref<512xf32>
  func.return
}

// -----

func.func @sizes(%a: memref<8x40xf32>) {
  // expected-error @+1 {{krnl.pack: gemm_panels has the positive sizes width}}
  %0 = krnl.pack %a {form = "gemm_panels", sizes = {lanes = 32 : i64}} : memref<8x40xf32> -> memref<512xf32>
  func.return
}

// -----

func.func @zero(%a: memref<8x40xf32>) {
  // expected-error @+1 {{krnl.pack: gemm_panels has the positive sizes width}}
  %0 = krnl.pack %a {form = "gemm_panels", sizes = {width = 0 : i64}} : memref<8x40xf32> -> memref<512xf32>
  func.return
}

// -----

func.func @rank(%a: memref<1x8x40xf32>) {
  // expected-error @+1 {{krnl.pack: gemm_panels packs weights of rank 2, not 3}}
  %0 = krnl.pack %a {form = "gemm_panels", sizes = {width = 32 : i64}} : memref<1x8x40xf32> -> memref<512xf32>
  func.return
}

// -----

func.func @conv_rank(%a: memref<8x40xf32>) {
  // expected-error @+1 {{krnl.pack: conv packs weights of rank at least 3, not 2}}
  %0 = krnl.pack %a {form = "conv", sizes = {lanes = 16 : i64, width = 2 : i64, step = 1 : i64}} : memref<8x40xf32> -> memref<512xf32>
  func.return
}

// -----

func.func @result(%a: memref<8x40xf32>) {
  // expected-error @+1 {{krnl.pack: the result is memref<512xf32>, not memref<320xf32>}}
  %0 = krnl.pack %a {form = "gemm_panels", sizes = {width = 32 : i64}} : memref<8x40xf32> -> memref<320xf32>
  func.return
}

// -----

func.func @negative(%a: memref<8x40xi8>) {
  // expected-error @+1 {{krnl.pack: zero_points has the positive sizes width, offset}}
  %0 = krnl.pack %a {form = "zero_points", sizes = {width = 32 : i64, offset = -1 : i64}} : memref<8x40xi8> -> memref<512xi8>
  func.return
}

// -----

func.func @odd_rows(%a: memref<7x40xf32>) {
  // expected-error @+1 {{krnl.pack: bf16_panels packs pairs along axis 0, whose size is 7}}
  %0 = krnl.pack %a {form = "bf16_panels", sizes = {width = 32 : i64}} : memref<7x40xf32> -> memref<448xi16>
  func.return
}

// -----

func.func @odd_channels(%a: memref<20x3x1x1xf32>) {
  // expected-error @+1 {{krnl.pack: bf16_conv packs pairs along axis 1, whose size is 3}}
  %0 = krnl.pack %a {form = "bf16_conv", sizes = {lanes = 16 : i64, width = 2 : i64, step = 16 : i64}} : memref<20x3x1x1xf32> -> memref<96xi16>
  func.return
}

// -----

func.func @f(%a: memref<32x8x3x3xf32>) {
  // expected-error @+1 {{krnl.pack: grouped_conv packs 3 equal groups along axis 0, whose size is 32}}
  %0 = krnl.pack %a {form = "grouped_conv", sizes = {groups = 3 : i64, lanes = 16 : i64, width = 2 : i64, step = 8 : i64}} : memref<32x8x3x3xf32> -> memref<2304xf32>
  return
}

// -----

func.func @f(%a: memref<32x8x3xf32>) {
  // expected-error @+1 {{krnl.pack: winograd packs weights of rank 4, not 3}}
  %0 = krnl.pack %a {form = "winograd", sizes = {groups = 1 : i64, tile = 4 : i64, width = 32 : i64}} : memref<32x8x3xf32> -> memref<9216xf32>
  return
}

// -----

func.func @f(%a: memref<32x8x5x5xf32>) {
  // expected-error @+1 {{krnl.pack: winograd packs weights of 3x3, for tiles of 2 or 4, not 5x5 for tiles of 4}}
  %0 = krnl.pack %a {form = "winograd", sizes = {groups = 1 : i64, tile = 4 : i64, width = 32 : i64}} : memref<32x8x5x5xf32> -> memref<9216xf32>
  return
}

// -----

func.func @f(%a: memref<32x8x3x3xf32>) {
  // expected-error @+1 {{krnl.pack: winograd packs weights of 3x3, for tiles of 2 or 4, not 3x3 for tiles of 3}}
  %0 = krnl.pack %a {form = "winograd", sizes = {groups = 1 : i64, tile = 3 : i64, width = 32 : i64}} : memref<32x8x3x3xf32> -> memref<6400xf32>
  return
}
