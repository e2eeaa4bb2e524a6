// RUN: onnx-opt %s --fuse-onnx --assign-layout --convert-onnx-to-krnl --parallelize-krnl --split-input-file | filecheck %s

// Depthwise convolution: the window is unrolled, pixels of a row are vectorised.
// CHECK-LABEL: func.func @depthwise
// CHECK:         "krnl.call"({{.*}}) <{funcName = "halo_0", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "block_1", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "depthwise_2", iterations = 16 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "unblock_3"
// CHECK:         krnl.conv
// CHECK-SAME:    kernel = array<i64: 3, 3>
// CHECK-SAME:    tile = array<i64: 8, 1>
func.func @depthwise(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x1x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 32 : si64, pads = [1, 1, 1, 1]}> : (tensor<1x32x8x8xf32>, tensor<32x1x3x3xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %y : tensor<1x32x8x8xf32>
}

// -----

// Depthwise convolution with a large window, channel-blocked too.
// CHECK-LABEL: func.func @large_depthwise
// CHECK:         krnl.conv
// CHECK-SAME:    depthwise
// CHECK-SAME:    kernel = array<i64: 31, 31>
func.func @large_depthwise(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x1x31x31xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 32 : si64, pads = [15, 15, 15, 15]}> : (tensor<1x32x8x8xf32>, tensor<32x1x31x31xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %y : tensor<1x32x8x8xf32>
}

// -----

// Two filters of each channel: row-major, in one kernel.
// CHECK-LABEL: func.func @filters_of_channels
// CHECK:         "krnl.call"({{.*}}) <{funcName = "depthwise_0", iterations = 8 : i64{{.*}}}>
// CHECK:         arith.divsi
func.func @filters_of_channels(%x: tensor<1x4x8x8xf32>) -> tensor<1x8x6x6xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<8x1x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 4 : si64}> : (tensor<1x4x8x8xf32>, tensor<8x1x3x3xf32>, none) -> tensor<1x8x6x6xf32>
  onnx.Return %y : tensor<1x8x6x6xf32>
}

// -----

// Strides apply to the source; the halo is at the top and at the left only, like the pads.
// CHECK-LABEL: func.func @strided
// CHECK:         "krnl.call"({{.*}}) <{funcName = "halo_0", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "block_1", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_2", iterations = 4 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "unblock_3"
// CHECK:         krnl.conv
// CHECK-SAME:    kernel = array<i64: 3, 3>
// CHECK-SAME:    strides = array<i64: 2, 2>
// CHECK-SAME:    tile = array<i64: 4, 2>
func.func @strided(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 0, 0], strides = [2, 2]}> : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>, none) -> tensor<1x32x4x4xf32>
  onnx.Return %y : tensor<1x32x4x4xf32>
}

// -----

// Dilated window.
// CHECK-LABEL: func.func @dilated
// CHECK:         "krnl.call"({{.*}}) <{funcName = "block_0", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_1", iterations = 4 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "unblock_2"
// CHECK:         krnl.conv
// CHECK-SAME:    dilations = array<i64: 2, 2>
// CHECK-SAME:    kernel = array<i64: 3, 3>
// CHECK-SAME:    tile = array<i64: 4, 2>
func.func @dilated(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{dilations = [2, 2]}> : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>, none) -> tensor<1x32x4x4xf32>
  onnx.Return %y : tensor<1x32x4x4xf32>
}

// -----

// A transposed convolution of stride 2 is four sub-pixel convolutions, one for each output row and column modulo 2.
// CHECK-LABEL: func.func @transposed
// CHECK:         "krnl.call"({{.*}}) <{funcName = "block_0", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_1", iterations = 4 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_2", iterations = 4 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_3", iterations = 4 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_4", iterations = 4 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "unblock_5"
// CHECK:         krnl.conv
// CHECK-SAME:    out_strides = array<i64: 2, 2>
// CHECK-SAME:    tile = array<i64: 4, 2>
// CHECK:         krnl.conv
// CHECK-SAME:    out_strides = array<i64: 2, 2>
// CHECK-SAME:    tile = array<i64: 4, 2>
// CHECK:         krnl.conv
// CHECK-SAME:    out_strides = array<i64: 2, 2>
// CHECK-SAME:    tile = array<i64: 4, 2>
// CHECK:         krnl.conv
// CHECK-SAME:    out_strides = array<i64: 2, 2>
// CHECK-SAME:    tile = array<i64: 4, 2>
func.func @transposed(%x: tensor<1x32x4x4xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x2x2xf32>
  %y = "onnx.ConvTranspose"(%x, %w, %n) <{strides = [2, 2]}> : (tensor<1x32x4x4xf32>, tensor<32x32x2x2xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %y : tensor<1x32x8x8xf32>
}

// -----

// Grouped convolution of whole blocks: the second half of the blocks is computed from the second half of the input.
// CHECK-LABEL: func.func @groups
// CHECK:         krnl.conv
// CHECK-SAME:    depth = 16 : i64
// CHECK-SAME:    groups = 2 : i64
// CHECK-SAME:    (memref<1x6x4x4x16xf32>, memref<1x2x4x4x16xf32>, memref<1536xf32>
func.func @groups(%x: tensor<1x32x4x4xf32>) -> tensor<1x96x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<96x16x1x1xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 2 : si64}> : (tensor<1x32x4x4xf32>, tensor<96x16x1x1xf32>, none) -> tensor<1x96x4x4xf32>
  onnx.Return %y : tensor<1x96x4x4xf32>
}

// -----

// Of four groups in a block: panels of one block.
// CHECK-LABEL: func.func @groups_in_blocks
// CHECK:         krnl.conv
// CHECK-SAME:    depth = 4 : i64
// CHECK-SAME:    groups = 8 : i64
// CHECK-SAME:    tile = array<i64: 8, 1>
func.func @groups_in_blocks(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x4x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 8 : si64, pads = [1, 1, 1, 1]}> : (tensor<1x32x8x8xf32>, tensor<32x4x3x3xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %y : tensor<1x32x8x8xf32>
}

// -----

// Other groups: matrix products of NCHW rows.
// CHECK-LABEL: func.func @groups_across_blocks
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_0", iterations = 2 : i64{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    batch_a = array<i64: 0, 576>
// CHECK-SAME:    batch_b = array<i64: 0, 384>
// CHECK-SAME:    k = 24 : i64
// CHECK-SAME:    m = 24 : i64
// CHECK-SAME:    n = 16 : i64
func.func @groups_across_blocks(%x: tensor<1x48x4x4xf32>) -> tensor<1x48x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<48x24x1x1xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 2 : si64}> : (tensor<1x48x4x4xf32>, tensor<48x24x1x1xf32>, none) -> tensor<1x48x4x4xf32>
  onnx.Return %y : tensor<1x48x4x4xf32>
}

// -----

// 1-D convolution: of an image of one row.
// CHECK-LABEL: func.func @one_dimension
// CHECK:         krnl.conv
// CHECK-SAME:    kernel = array<i64: 1, 3>
// CHECK-SAME:    out = array<i64: 1, 18>
// CHECK-SAME:    (memref<1x2x1x18x16xf32>, memref<1x2x1x20x16xf32>, memref<3072xf32>
func.func @one_dimension(%x: tensor<1x32x20xf32>) -> tensor<1x32x18xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{}> : (tensor<1x32x20xf32>, tensor<32x32x3xf32>, none) -> tensor<1x32x18xf32>
  onnx.Return %y : tensor<1x32x18xf32>
}

// -----

// Groups of other numbers of channels: two rows of pixels are a panel of the product, nothing is packed.
// CHECK-LABEL: func.func @panels_of_rows
// CHECK:         memref.alloc() : memref<3x14x216x56xf32>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "im2col_2"{{.*}}}>
// CHECK-NEXT:    memref.alloc() : memref<1x72x28x28xf32>
// CHECK-NEXT:    "krnl.call"({{.*}}) <{funcName = "gemm_3"{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    packed
// CHECK-SAME:    tile = array<i64: 6, 56>
func.func @panels_of_rows(%x: tensor<1x72x28x28xf32>) -> tensor<1x72x28x28xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<72x24x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{group = 3 : si64, pads = [1, 1, 1, 1]}> : (tensor<1x72x28x28xf32>, tensor<72x24x3x3xf32>, none) -> tensor<1x72x28x28xf32>
  onnx.Return %y : tensor<1x72x28x28xf32>
}

// -----

// Of few channels: im2col, then a matrix product.
// CHECK-LABEL: func.func @few_channels_of_one_dimension
// CHECK:         "krnl.call"({{.*}}) <{funcName = "im2col_0", iterations = 8 : i64{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 24 : i64
// CHECK-SAME:    m = 4 : i64
// CHECK-SAME:    n = 18 : i64
func.func @few_channels_of_one_dimension(%x: tensor<1x8x20xf32>) -> tensor<1x4x18xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<4x8x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{}> : (tensor<1x8x20xf32>, tensor<4x8x3xf32>, none) -> tensor<1x4x18xf32>
  onnx.Return %y : tensor<1x4x18xf32>
}

// -----

// Weights that are inputs: a matrix product with the pixels, in NCHW.
// CHECK-LABEL: func.func @unknown_weights
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_0", iterations = 1 : i64{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 16 : i64
// CHECK-SAME:    m = 16 : i64
// CHECK-SAME:    n = 16 : i64
// CHECK-SAME:    tile = array<i64: 24, 16>
func.func @unknown_weights(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Conv"(%x, %w, %n) : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>, none) -> tensor<1x16x4x4xf32>
  onnx.Return %y : tensor<1x16x4x4xf32>
}

// -----

// Max pool in NCHW: a row for each channel is padded with the smallest value.
// CHECK-LABEL: func.func @max_pool
// CHECK:         "krnl.call"({{.*}}) <{funcName = "maxpool_0", iterations = 3 : i64{{.*}}}>
func.func @max_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  %y = "onnx.MaxPoolSingleOut"(%x) <{kernel_shape = [3, 3], pads = [1, 1, 0, 0], strides = [2, 2]}> : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  onnx.Return %y : tensor<1x3x4x4xf32>
}

// -----

// Global average pool.
// CHECK-LABEL: func.func @global_pool
// CHECK:         "krnl.call"({{.*}}) <{funcName = "globalaveragepool_0", iterations = 3 : i64{{.*}}}>
func.func @global_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32> {
  %y = "onnx.GlobalAveragePool"(%x) : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
  onnx.Return %y : tensor<1x3x1x1xf32>
}

// -----

// Gemm with a transposed constant: prepacked in panels at compile time; accumulators start with the bias.
// CHECK-LABEL: func.func @gemm
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_0", iterations = 1 : i64{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 32 : i64
// CHECK-SAME:    m = 8 : i64
// CHECK-SAME:    n = 48 : i64
// CHECK-SAME:    tile = array<i64: 8, 48>
func.func @gemm(%x: tensor<8x32xf32>) -> tensor<8x48xf32> {
  %w = onnx.Constant dense<0.5> : tensor<48x32xf32>
  %b = onnx.Constant dense<1.0> : tensor<48xf32>
  %y = "onnx.Gemm"(%x, %w, %b) <{transB = 1 : si64}> : (tensor<8x32xf32>, tensor<48x32xf32>, tensor<48xf32>) -> tensor<8x48xf32>
  onnx.Return %y : tensor<8x48xf32>
}

// -----

// Batched matrix product: each matrix is a subview of both operands.
// CHECK-LABEL: func.func @batched
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_0", iterations = 4 : i64{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    batch_a = array<i64: 0, 128, 256, 384>
// CHECK-SAME:    batch_b = array<i64: 0, 512, 1024, 1536>
// CHECK-SAME:    k = 16 : i64
// CHECK-SAME:    m = 8 : i64
// CHECK-SAME:    n = 32 : i64
// CHECK-SAME:    tile = array<i64: 8, 32>
func.func @batched(%x: tensor<4x8x16xf32>, %w: tensor<4x16x32xf32>) -> tensor<4x8x32xf32> {
  %y = "onnx.MatMul"(%x, %w) : (tensor<4x8x16xf32>, tensor<4x16x32xf32>) -> tensor<4x8x32xf32>
  onnx.Return %y : tensor<4x8x32xf32>
}

// -----

// A product of run-time integers: both as floats, register tiles, and the sums as integers. They are exact up to 2^24.
// CHECK-LABEL: func.func @integers
// CHECK:         "krnl.call"({{.*}}) <{funcName = "subtract_zero_point_0"{{.*}}}> : (memref<8x32xf32>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "subtract_zero_point_1"{{.*}}}> : (memref<32x16xf32>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_{{[0-9]+}}"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "sums_{{[0-9]+}}", iterations = 8 : i64{{.*}}}>
func.func @integers(%x: tensor<8x32xui8>, %w: tensor<32x16xi8>) -> tensor<8x16xi32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.MatMulInteger"(%x, %w, %n, %n) : (tensor<8x32xui8>, tensor<32x16xi8>, none, none) -> tensor<8x16xi32>
  onnx.Return %y : tensor<8x16xi32>
}

// -----

// Softmax: the maximum, then the sum of exponentials, for each row.
// CHECK-LABEL: func.func @softmax
// CHECK:         "krnl.call"({{.*}}) <{funcName = "softmax_0", iterations = 6 : i64{{.*}}}>
func.func @softmax(%x: tensor<6x40xf32>) -> tensor<6x40xf32> {
  %y = "onnx.Softmax"(%x) <{axis = 1 : si64}> : (tensor<6x40xf32>) -> tensor<6x40xf32>
  onnx.Return %y : tensor<6x40xf32>
}

// -----

// Layer normalization: mean and variance of a row, then its elements.
// CHECK-LABEL: func.func @layer_norm
// CHECK:         "krnl.call"({{.*}}) <{funcName = "layernormalization_0", iterations = 6 : i64{{.*}}}>
func.func @layer_norm(%x: tensor<6x64xf32>) -> tensor<6x64xf32> {
  %w = onnx.Constant dense<2.0> : tensor<64xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %y, %m, %v = "onnx.LayerNormalization"(%x, %w, %n) : (tensor<6x64xf32>, tensor<64xf32>, none) -> (tensor<6x64xf32>, none, none)
  onnx.Return %y : tensor<6x64xf32>
}

// -----

// Reduction of the last axis: a vector accumulator, then a horizontal sum.
// CHECK-LABEL: func.func @reduce_rows
// CHECK:         "krnl.call"({{.*}}) <{funcName = "reducesum_0", iterations = 6 : i64{{.*}}}>
func.func @reduce_rows(%x: tensor<6x100xf32>) -> tensor<6x1xf32> {
  %a = onnx.Constant dense<1> : tensor<1xi64>
  %y = "onnx.ReduceSum"(%x, %a) : (tensor<6x100xf32>, tensor<1xi64>) -> tensor<6x1xf32>
  onnx.Return %y : tensor<6x1xf32>
}

// -----

// ArgMax: the first index of the maximum, by two loops that can be vectorized.
// CHECK-LABEL: func.func @arg_max
// CHECK:         "krnl.call"({{.*}}) <{funcName = "argmax_0", iterations = 6 : i64{{.*}}}>
// CHECK      : func.func private @argmax_0
// CHECK:         arith.maximumf %{{.*}}, %{{.*}} fastmath<nnan> : f32
// CHECK:         arith.cmpf oeq
// CHECK:         arith.index_cast %{{.*}} : index to i32
// CHECK:         arith.minsi %{{.*}} : i32
func.func @arg_max(%x: tensor<6x100xf32>) -> tensor<6x1xi64> {
  %y = "onnx.ArgMax"(%x) <{axis = 1 : si64}> : (tensor<6x100xf32>) -> tensor<6x1xi64>
  onnx.Return %y : tensor<6x1xi64>
}

// -----

// Transpose of square tiles in registers.
// CHECK-LABEL: func.func @transpose
// CHECK:         "krnl.call"({{.*}}) <{funcName = "transpose_0", iterations = 4 : i64{{.*}}}>
func.func @transpose(%x: tensor<32x64xf32>) -> tensor<64x32xf32> {
  %y = "onnx.Transpose"(%x) <{perm = [1, 0]}> : (tensor<32x64xf32>) -> tensor<64x32xf32>
  onnx.Return %y : tensor<64x32xf32>
}

// -----

// Transpose that keeps the last axis: rows are copied.
// CHECK-LABEL: func.func @transpose_outer
// CHECK:         "krnl.call"({{.*}}) <{funcName = "transpose_0", iterations = 6 : i64{{.*}}}>
func.func @transpose_outer(%x: tensor<4x6x64xf32>) -> tensor<6x4x64xf32> {
  %y = "onnx.Transpose"(%x) <{perm = [1, 0, 2]}> : (tensor<4x6x64xf32>) -> tensor<6x4x64xf32>
  onnx.Return %y : tensor<6x4x64xf32>
}

// -----

// No kernel: the result is a view of the same buffer.
// CHECK-LABEL: func.func @reshape
// CHECK-NOT:     krnl.call
// CHECK:         builtin.unrealized_conversion_cast %{{.*}} : memref<4x6xf32> to memref<24xf32>
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %s = onnx.Constant dense<24> : tensor<1xi64>
  %y = "onnx.Reshape"(%x, %s) : (tensor<4x6xf32>, tensor<1xi64>) -> tensor<24xf32>
  onnx.Return %y : tensor<24xf32>
}

// -----

// Slice: a strided copy.
// CHECK-LABEL: func.func @slice
// CHECK:         "krnl.call"({{.*}}) <{funcName = "slice_0", iterations = 4 : i64{{.*}}}>
func.func @slice(%x: tensor<10x8xf32>) -> tensor<4x8xf32> {
  %s = onnx.Constant dense<1> : tensor<1xi64>
  %e = onnx.Constant dense<9> : tensor<1xi64>
  %a = onnx.Constant dense<0> : tensor<1xi64>
  %t = onnx.Constant dense<2> : tensor<1xi64>
  %y = "onnx.Slice"(%x, %s, %e, %a, %t) : (tensor<10x8xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x8xf32>
  onnx.Return %y : tensor<4x8xf32>
}

// -----

// Concatenation: one copy for each operand.
// CHECK-LABEL: func.func @concat
// CHECK:         "krnl.call"({{.*}}) <{funcName = "concat_0", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "concat_1", iterations = 3 : i64{{.*}}}>
func.func @concat(%x: tensor<2x8xf32>, %z: tensor<3x8xf32>) -> tensor<5x8xf32> {
  %y = "onnx.Concat"(%x, %z) <{axis = 0 : si64}> : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  onnx.Return %y : tensor<5x8xf32>
}

// -----

// Split: one copy for each result.
// CHECK-LABEL: func.func @split
// CHECK:         "krnl.call"({{.*}}) <{funcName = "split_0", iterations = 2 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "split_1", iterations = 4 : i64{{.*}}}>
func.func @split(%x: tensor<6x8xf32>) -> tensor<2x8xf32> {
  %s = onnx.Constant dense<[2, 4]> : tensor<2xi64>
  %y, %z = "onnx.Split"(%x, %s) <{axis = 0 : si64}> : (tensor<6x8xf32>, tensor<2xi64>) -> (tensor<2x8xf32>, tensor<4x8xf32>)
  onnx.Return %y : tensor<2x8xf32>
}

// -----

// Gather: indices are checked before rows are copied.
// CHECK-LABEL: func.func @gather
// CHECK:         "krnl.call"({{.*}}) <{funcName = "bounds_0"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gather_1", iterations = 3 : i64{{.*}}}>
func.func @gather(%x: tensor<10x8xf32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  %y = "onnx.Gather"(%x, %i) <{axis = 0 : si64}> : (tensor<10x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  onnx.Return %y : tensor<3x8xf32>
}

// -----

// Scatter: the data is copied, then the updates are stored at their indices.
// CHECK-LABEL: func.func @scatter
// CHECK:         "krnl.call"({{.*}}) <{funcName = "copy_0"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "bounds_1"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "scatterelements_2"
func.func @scatter(%x: tensor<10xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) -> tensor<10xf32> {
  %y = "onnx.ScatterElements"(%x, %i, %u) <{axis = 0 : si64}> : (tensor<10xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<10xf32>
  onnx.Return %y : tensor<10xf32>
}

// -----

// TopK: the largest elements in order, with their indices.
// CHECK-LABEL: func.func @top_k
// CHECK:         "krnl.call"({{.*}}) <{funcName = "topk_insertion_0", iterations = 4 : i64, numOfOutput = 2 : si64}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "topk_1", iterations = 4 : i64, numOfOutput = 2 : si64}>
func.func @top_k(%x: tensor<4x20xf32>) -> tensor<4x3xf32> {
  %k = onnx.Constant dense<3> : tensor<1xi64>
  %y, %i = "onnx.TopK"(%x, %k) : (tensor<4x20xf32>, tensor<1xi64>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
  onnx.Return %y : tensor<4x3xf32>
}

// -----

// CumSum: prefix sums along an axis.
// CHECK-LABEL: func.func @cum_sum
// CHECK:         "krnl.call"({{.*}}) <{funcName = "cumsum_0", iterations = 4 : i64{{.*}}}>
func.func @cum_sum(%x: tensor<4x20xf32>) -> tensor<4x20xf32> {
  %a = onnx.Constant dense<1> : tensor<i64>
  %y = "onnx.CumSum"(%x, %a) : (tensor<4x20xf32>, tensor<i64>) -> tensor<4x20xf32>
  onnx.Return %y : tensor<4x20xf32>
}

// -----

// Pad: the result is filled with the constant, then the data is copied.
// CHECK-LABEL: func.func @pad
// CHECK:         "krnl.call"({{.*}}) <{funcName = "fill_0"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "pad_1", iterations = 4 : i64{{.*}}}>
func.func @pad(%x: tensor<4x6xf32>) -> tensor<5x8xf32> {
  %p = onnx.Constant dense<[0, 1, 1, 1]> : tensor<4xi64>
  %n = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.Pad"(%x, %p, %n, %n) : (tensor<4x6xf32>, tensor<4xi64>, none, none) -> tensor<5x8xf32>
  onnx.Return %y : tensor<5x8xf32>
}

// -----

// Expand: elements along an axis of size 1 are read repeatedly.
// CHECK-LABEL: func.func @expand
// CHECK:         "krnl.call"({{.*}}) <{funcName = "expand_0", iterations = 5 : i64{{.*}}}>
func.func @expand(%x: tensor<1x6xf32>) -> tensor<5x6xf32> {
  %s = onnx.Constant dense<[5, 6]> : tensor<2xi64>
  %y = "onnx.Expand"(%x, %s) : (tensor<1x6xf32>, tensor<2xi64>) -> tensor<5x6xf32>
  onnx.Return %y : tensor<5x6xf32>
}

// -----

// Where: elementwise with three operands, one of them broadcast.
// CHECK-LABEL: func.func @where
// CHECK:         "krnl.call"({{.*}}) <{funcName = "where_0"
func.func @where(%c: tensor<4x6xi1>, %x: tensor<4x6xf32>, %z: tensor<f32>) -> tensor<4x6xf32> {
  %y = "onnx.Where"(%c, %x, %z) : (tensor<4x6xi1>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  onnx.Return %y : tensor<4x6xf32>
}

// -----

// Cast between element types, including NaN and out-of-range values.
// CHECK-LABEL: func.func @cast
// CHECK:         "krnl.call"({{.*}}) <{funcName = "cast_0"
func.func @cast(%x: tensor<4x6xf32>) -> tensor<4x6xui8> {
  %y = "onnx.Cast"(%x) <{to = ui8}> : (tensor<4x6xf32>) -> tensor<4x6xui8>
  onnx.Return %y : tensor<4x6xui8>
}

// -----

// Float16 is computed in float32 and rounded at the end.
// CHECK-LABEL: func.func @half
// CHECK:         "krnl.call"({{.*}}) <{funcName = "exp_0"
func.func @half(%x: tensor<4x6xf16>) -> tensor<4x6xf16> {
  %y = "onnx.Exp"(%x) : (tensor<4x6xf16>) -> tensor<4x6xf16>
  onnx.Return %y : tensor<4x6xf16>
}

// -----

// Resize to nearest pixels.
// CHECK-LABEL: func.func @resize
// CHECK:         "krnl.call"({{.*}}) <{funcName = "resize_0", iterations = 2 : i64{{.*}}}>
func.func @resize(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
  %y = "onnx.Resize"(%x, %n, %s, %n) <{coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor"}> : (tensor<1x2x4x4xf32>, none, tensor<4xf32>, none) -> tensor<1x2x8x8xf32>
  onnx.Return %y : tensor<1x2x8x8xf32>
}

// -----

// LSTM: the product of all inputs with the weights first, then the recurrence step by step. The steps share kernels.
// CHECK-LABEL: func.func @lstm
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_0", iterations = 1 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "fill_1"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "fill_1"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_2", iterations = 1 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "lstm_cell_3", numOfOutput = 2 : si64
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_4", iterations = 1 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "lstm_cell_3", numOfOutput = 2 : si64
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_4", iterations = 1 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "lstm_cell_3", numOfOutput = 2 : si64
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_4", iterations = 1 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "lstm_cell_3", numOfOutput = 2 : si64
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_4", iterations = 1 : i64{{.*}}}>
// CHECK:         "krnl.call"({{.*}}) <{funcName = "lstm_cell_3", numOfOutput = 2 : si64
// CHECK:         "krnl.call"({{.*}}) <{funcName = "state_5", iterations = 5 : i64{{.*}}}>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 8 : i64
// CHECK-SAME:    m = 5 : i64
// CHECK-SAME:    n = 64 : i64
// CHECK-SAME:    tile = array<i64: 6, 64>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 16 : i64
// CHECK-SAME:    m = 1 : i64
// CHECK-SAME:    n = 64 : i64
// CHECK-SAME:    tile = array<i64: 1, 64>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 16 : i64
// CHECK-SAME:    m = 1 : i64
// CHECK-SAME:    n = 64 : i64
// CHECK-SAME:    tile = array<i64: 1, 64>
// CHECK-NOT:     krnl.gemm
func.func @lstm(%x: tensor<5x1x8xf32>) -> tensor<5x1x1x16xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<1x64x8xf32>
  %r = onnx.Constant dense<0.5> : tensor<1x64x16xf32>
  %y, %h, %c = "onnx.LSTM"(%x, %w, %r, %n, %n, %n, %n, %n) <{hidden_size = 16 : si64}> : (tensor<5x1x8xf32>, tensor<1x64x8xf32>, tensor<1x64x16xf32>, none, none, none, none, none) -> (tensor<5x1x1x16xf32>, none, none)
  onnx.Return %y : tensor<5x1x1x16xf32>
}

// -----

// Constant peepholes: a row of weights that the kernel of a step reads for all sequences.
// CHECK-LABEL: func.func @lstm_with_peepholes
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_{{[0-9]+}}", {{.*}}}> : (memref<1x2x64xf32>,
// CHECK:         "krnl.call"({{.*}}) <{funcName = "lstm_cell_{{[0-9]+}}", {{.*}}}> : ({{.*}}, memref<1x48xf32>) -> ()
func.func @lstm_with_peepholes(%x: tensor<1x2x8xf32>) -> tensor<1x1x2x16xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<1x64x8xf32>
  %r = onnx.Constant dense<0.5> : tensor<1x64x16xf32>
  %p = onnx.Constant dense<0.5> : tensor<1x48xf32>
  %y, %h, %c = "onnx.LSTM"(%x, %w, %r, %n, %n, %n, %n, %p) <{hidden_size = 16 : si64}> : (tensor<1x2x8xf32>, tensor<1x64x8xf32>, tensor<1x64x16xf32>, none, none, none, none, tensor<1x48xf32>) -> (tensor<1x1x2x16xf32>, none, none)
  onnx.Return %y : tensor<1x1x2x16xf32>
}

// -----

// GRU: the new gate multiplies the state that the reset gate leaves, so that a step has two products.
// CHECK-LABEL: func.func @gru
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_0", {{.*}}}> : (memref<1x2x12xf32>,
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_2", {{.*}}}> : (memref<2x8xf32>, memref<2x4xf32>,
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gru_reset_3"
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_4", {{.*}}}> : (memref<2x4xf32>, memref<2x4xf32>,
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gru_cell_5"
func.func @gru(%x: tensor<1x2x3xf32>) -> tensor<1x1x2x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<1x12x3xf32>
  %r = onnx.Constant dense<0.5> : tensor<1x12x4xf32>
  %y, %h = "onnx.GRU"(%x, %w, %r, %n, %n, %n) <{hidden_size = 4 : si64}> : (tensor<1x2x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, none, none, none) -> (tensor<1x1x2x4xf32>, none)
  onnx.Return %y : tensor<1x1x2x4xf32>
}

// -----

// With `linear_before_reset`, the reset gate multiplies the product: one of all gates, with the bias inside.
// CHECK-LABEL: func.func @linear_gru
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_2", {{.*}}}> : (memref<2x12xf32>, memref<2x4xf32>, memref<{{[0-9]+}}xf32>, memref<12xf32>) -> ()
// CHECK-NEXT:    "krnl.call"({{.*}}) <{funcName = "gru_cell_3"
func.func @linear_gru(%x: tensor<1x2x3xf32>) -> tensor<1x1x2x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<1x12x3xf32>
  %r = onnx.Constant dense<0.5> : tensor<1x12x4xf32>
  %b = onnx.Constant dense<0.5> : tensor<1x24xf32>
  %y, %h = "onnx.GRU"(%x, %w, %r, %b, %n, %n) <{hidden_size = 4 : si64, linear_before_reset = 1 : si64}> : (tensor<1x2x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, tensor<1x24xf32>, none, none) -> (tensor<1x1x2x4xf32>, none)
  onnx.Return %y : tensor<1x1x2x4xf32>
}

// -----

// RNN: one product and one activation a step.
// CHECK-LABEL: func.func @rnn
// CHECK:         "krnl.call"({{.*}}) <{funcName = "gemm_2", {{.*}}}> : (memref<2x4xf32>, memref<2x4xf32>,
// CHECK-NEXT:    "krnl.call"({{.*}}) <{funcName = "rnn_cell_3"
func.func @rnn(%x: tensor<1x2x3xf32>) -> tensor<1x1x2x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<1x4x3xf32>
  %r = onnx.Constant dense<0.5> : tensor<1x4x4xf32>
  %y, %h = "onnx.RNN"(%x, %w, %r, %n, %n, %n) <{hidden_size = 4 : si64}> : (tensor<1x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>, none, none, none) -> (tensor<1x1x2x4xf32>, none)
  onnx.Return %y : tensor<1x1x2x4xf32>
}

// -----

// Quantized weights stay packed, 4 of 8 bits in a word: the words of a panel of 16 columns, of which 4 are used.
// CHECK-LABEL: func.func @quantized_weights
// CHECK-DAG:     krnl.pack %{{.*}} {form = "words", {{.*}}} : memref<16x4xi8> -> memref<64xi32>
// CHECK-DAG:     krnl.pack %{{.*}} {form = "gemm_panels", {{.*}}} : memref<2x4xf32> -> memref<32xf32>
// CHECK:         krnl.dequantize_gemm
// CHECK-SAME:    bits = 8 : i64, block = 8 : i64, k = 16 : i64, m = 1 : i64, n = 4 : i64
// CHECK-SAME:    tile = array<i64: 8, 16>, zero_point = 128 : i64
func.func @quantized_weights(%x: tensor<1x16xf32>) -> tensor<1x4xf32> {
  %w = onnx.Constant dense<3> : tensor<16x4xi8>
  %s = onnx.Constant dense<0.5> : tensor<2x4xf32>
  %y = "krnl.fused"() <{kind = "matmul"}> ({
    %n = "onnx.NoValue"() {value} : () -> none
    %0 = "onnx.DequantizeLinear"(%w, %s, %n) <{axis = 0 : si64, block_size = 8 : si64}> : (tensor<16x4xi8>, tensor<2x4xf32>, none) -> tensor<16x4xf32>
    %1 = "onnx.MatMul"(%x, %0) : (tensor<1x16xf32>, tensor<16x4xf32>) -> tensor<1x4xf32>
    krnl.yield %1 : tensor<1x4xf32>
  }) : () -> tensor<1x4xf32>
  onnx.Return %y : tensor<1x4xf32>
}

// -----

// From 24 rows on, the panel is unpacked on the stack, 16 rows of weights at a time.
// CHECK-LABEL: func.func @unpacked_weights
// CHECK:         krnl.dequantize_gemm
// CHECK-SAME:    unpack = array<i64: 24, 16, 6>
func.func @unpacked_weights(%x: tensor<24x16xf32>) -> tensor<24x4xf32> {
  %w = onnx.Constant dense<3> : tensor<16x4xi8>
  %s = onnx.Constant dense<0.5> : tensor<2x4xf32>
  %y = "krnl.fused"() <{kind = "matmul"}> ({
    %n = "onnx.NoValue"() {value} : () -> none
    %0 = "onnx.DequantizeLinear"(%w, %s, %n) <{axis = 0 : si64, block_size = 8 : si64}> : (tensor<16x4xi8>, tensor<2x4xf32>, none) -> tensor<16x4xf32>
    %1 = "onnx.MatMul"(%x, %0) : (tensor<24x16xf32>, tensor<16x4xf32>) -> tensor<24x4xf32>
    krnl.yield %1 : tensor<24x4xf32>
  }) : () -> tensor<24x4xf32>
  onnx.Return %y : tensor<24x4xf32>
}

// -----

// Attention over a cache: an iteration is a key-value head, whose two queries share the rows of keys.
// CHECK-LABEL: func.func @attention
// CHECK:         "krnl.call"({{.*}}) <{funcName = "attention_0", iterations = 3 : i64, numOfOutput = 3 : si64}>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = -9223372036854775808 : i64, m = 2 : i64, n = 16 : i64
func.func @attention(%q: tensor<1x6x1x8xf32>, %k: tensor<1x3x9x8xf32>, %v: tensor<1x3x9x16xf32>, %n: tensor<1xi64>) -> tensor<1x6x1x16xf32> {
  %0 = "onnx.NoValue"() {value} : () -> none
  %y, %a, %b, %c = "onnx.Attention"(%q, %k, %v, %0, %0, %0, %n) <{is_causal = 1 : si64}> : (tensor<1x6x1x8xf32>, tensor<1x3x9x8xf32>, tensor<1x3x9x16xf32>, none, none, none, tensor<1xi64>) -> (tensor<1x6x1x16xf32>, none, none, none)
  onnx.Return %y : tensor<1x6x1x16xf32>
}

// -----

// An operator without a kernel stays, with the reason as an attribute.
// CHECK-LABEL: func.func @no_kernel
// CHECK:         krnl.no_kernel = "the session runs it"
func.func @no_kernel(%x: tensor<4x!onnx.String>) -> tensor<4x!onnx.String> {
  %y = "onnx.StringNormalizer"(%x) <{case_change_action = "UPPER"}> : (tensor<4x!onnx.String>) -> tensor<4x!onnx.String>
  onnx.Return %y : tensor<4x!onnx.String>
}

// -----

// Weights that bfloat16 holds, for a few rows: half the memory is read, and each vector is widened.
// CHECK-LABEL: func.func @narrow_weights
// CHECK:         krnl.pack %{{.*}} {form = "gemm_panels"{{.*}}} : memref<512x512xi16> -> memref<262144xi16>
// CHECK:         krnl.gemm
// CHECK-NOT:     unpack
func.func @narrow_weights(%x: tensor<1x512xf32>) -> tensor<1x512xf32> {
  %w = onnx.Constant dense<0.5> : tensor<512x512xf32>
  %y = "onnx.MatMul"(%x, %w) : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
  onnx.Return %y : tensor<1x512xf32>
}

// -----

// Float16 holds these, and the number of rows is dynamic: many rows share pieces of widened panels.
// CHECK-LABEL: func.func @narrow_weights_of_any_rows
// CHECK:         krnl.pack %{{.*}} {form = "gemm_panels"{{.*}}} : memref<512x512xf16> -> memref<270336xf16>
// CHECK:         krnl.gemm
// CHECK-SAME:    unpack = array<i64: 24, 512>
func.func @narrow_weights_of_any_rows(%x: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %w = onnx.Constant dense<1.0009765625> : tensor<512x512xf32>
  %y = "onnx.MatMul"(%x, %w) : (tensor<?x512xf32>, tensor<512x512xf32>) -> tensor<?x512xf32>
  onnx.Return %y : tensor<?x512xf32>
}

// -----

// A convolution of volumes: four padded planes, of which each image is three, one plane apart; no im2col.
// CHECK-LABEL: func.func @volumes
// CHECK:         "krnl.call"({{.*}}) <{funcName = "fill_
// CHECK:         "krnl.call"({{.*}}) <{funcName = "planes_
// CHECK:         "krnl.call"({{.*}}) <{funcName = "conv_
// CHECK:         "krnl.call"({{.*}}) <{funcName = "unblock_
// CHECK:         "krnl.conv"({{.*}}) <{depth = 48 : i64{{.*}}plane_step = 1 : i64{{.*}}}> : (memref<2x1x5x6x16xf32>, memref<4x1x7x8x16xf32>, memref<6912xf32>
func.func @volumes(%x: tensor<1x16x2x5x6xf32>) -> tensor<1x16x2x5x6xf32> {
  %w = onnx.Constant dense<0.5> : tensor<16x16x3x3x3xf32>
  %none = "onnx.NoValue"() <{value}> : () -> none
  %y = "onnx.Conv"(%x, %w, %none) <{pads = [1, 1, 1, 1, 1, 1]}> : (tensor<1x16x2x5x6xf32>, tensor<16x16x3x3x3xf32>, none) -> tensor<1x16x2x5x6xf32>
  onnx.Return %y : tensor<1x16x2x5x6xf32>
}

// -----

// Weights of 1024 channels do not fit their part of L2: all pixels are multiplied by those of 208 channels, then
// by the next ones.
// CHECK-LABEL: func.func @deep
// CHECK:         krnl.conv
// CHECK-SAME:    depth = 1024 : i64, depth_piece = 208 : i64
func.func @deep(%x: tensor<1x1024x8x8xf32>) -> tensor<1x64x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<64x1024x3x3xf32>
  %y = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x1024x8x8xf32>, tensor<64x1024x3x3xf32>, none) -> tensor<1x64x8x8xf32>
  onnx.Return %y : tensor<1x64x8x8xf32>
}

// -----

// A panel of 8192 rows of weights does not fit its part of L2 either, where several tiles of rows read it.
// CHECK-LABEL: func.func @deep_product
// CHECK:         krnl.gemm
// CHECK-SAME:    depth_piece = {{[1-9][0-9]*}} : i64, k = 8192 : i64
// CHECK:         krnl.gemm
// CHECK-NOT:     depth_piece
func.func @deep_product(%x: tensor<64x8192xf32>, %r: tensor<1x8192xf32>) -> (tensor<64x96xf32>, tensor<1x96xf32>) {
  %w = onnx.Constant dense<0.5> : tensor<8192x96xf32>
  %y = "onnx.MatMul"(%x, %w) : (tensor<64x8192xf32>, tensor<8192x96xf32>) -> tensor<64x96xf32>
  %z = "onnx.MatMul"(%r, %w) : (tensor<1x8192xf32>, tensor<8192x96xf32>) -> tensor<1x96xf32>
  onnx.Return %y, %z : tensor<64x96xf32>, tensor<1x96xf32>
}
