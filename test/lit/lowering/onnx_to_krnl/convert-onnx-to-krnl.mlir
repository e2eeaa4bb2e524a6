// RUN: onnx-opt %s --legalize-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl --parallelize-krnl --split-input-file | filecheck %s
// RUN: onnx-opt %s --legalize-onnx --fuse-onnx="processor=avx2" --assign-layout="processor=avx2" --convert-onnx-to-krnl="processor=avx2" --parallelize-krnl --split-input-file | filecheck %s --check-prefix=AVX2
// RUN: onnx-opt %s --legalize-onnx --fuse-onnx="processor=avx2 portable=true" --assign-layout="processor=avx2 portable=true" --convert-onnx-to-krnl="processor=avx2 portable=true" --parallelize-krnl --split-input-file | filecheck %s --check-prefix=PORTABLE
// RUN: onnx-opt %s --legalize-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl="unsafe=true" --parallelize-krnl --split-input-file | filecheck %s --check-prefix=UNSAFE

// A fused elementwise group becomes one kernel; the axis without broadcasts is a loop of its own,
// whose iterations may be split into ranges.
// CHECK-LABEL: @chain
// CHECK:         %[[Y:.*]] = memref.alloc() : memref<4x8xf32>
// CHECK-NEXT:    "krnl.call"(%[[Y]], {{.*}}) <{funcName = "relu_fused_0"
// CHECK-SAME:    iterations = 4
// CHECK-NOT:     "onnx.
// CHECK:         func.func private @relu_fused_0(%[[OUT:.*]]: memref<4x8xf32>, %[[X:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<1x8xf32>, %[[FIRST:.*]]: index, %[[END:.*]]: index)
// CHECK:         krnl.iterate({{.*}}) with ({{.*}} -> %[[I:.*]] = %[[FIRST]] to %[[END]], {{.*}} -> %[[J:.*]] = 0 to 8) {
// CHECK-NEXT:      %[[A:.*]] = krnl.load %[[X]][%[[I]], %[[J]]] : memref<4x8xf32>
// CHECK-NEXT:      %[[C:.*]] = krnl.load %[[B]][%{{.*}}, %[[J]]] : memref<1x8xf32>
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[A]], %[[C]] : f32
// CHECK-NEXT:      %[[R:.*]] = arith.maximumf %[[S]], %{{.*}} : f32
// CHECK-NEXT:      krnl.store %[[R]], %[[OUT]][%[[I]], %[[J]]] : memref<4x8xf32>
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "onnx.Add"(%x, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %1 : tensor<4x8xf32>
}

// -----

// The Relu after a matrix product is its epilogue; the tile depends on the processor.
// CHECK-LABEL: @product
// CHECK:         krnl.gemm
// CHECK-SAME:    activation = "relu"
// CHECK-SAME:    tile = array<i64: 8, 48>
// AVX2:          tile = array<i64: 4, 24>
func.func @product(%a: tensor<16x8xf32>, %b: tensor<8x96xf32>) -> tensor<16x96xf32> {
  %0 = "onnx.MatMul"(%a, %b) : (tensor<16x8xf32>, tensor<8x96xf32>) -> tensor<16x96xf32>
  %1 = "onnx.Relu"(%0) : (tensor<16x96xf32>) -> tensor<16x96xf32>
  onnx.Return %1 : tensor<16x96xf32>
}

// -----

// Vector times matrix: weights larger than the first-level cache are split in two panels, smaller ones are not.
// CHECK-LABEL: @row
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 512
// CHECK-SAME:    tile = array<i64: 1, 64>
// CHECK:         krnl.gemm
// CHECK-SAME:    k = 128
// CHECK-SAME:    tile = array<i64: 1, 128>
func.func @row(%a: tensor<1x512xf32>, %b: tensor<512x128xf32>, %c: tensor<128x128xf32>) -> tensor<1x128xf32> {
  %0 = "onnx.MatMul"(%a, %b) : (tensor<1x512xf32>, tensor<512x128xf32>) -> tensor<1x128xf32>
  %1 = "onnx.MatMul"(%0, %c) : (tensor<1x128xf32>, tensor<128x128xf32>) -> tensor<1x128xf32>
  onnx.Return %1 : tensor<1x128xf32>
}

// -----

// A long loop is split in two; threads run ranges of the outer one.
// CHECK-LABEL: @long
// CHECK:         "krnl.call"({{.*}}funcName = "relu
// CHECK-SAME:    iterations = 10
// CHECK:         func.func private @relu_{{[0-9]+}}(%{{.*}}: memref<10x1200xf32>
func.func @long(%x: tensor<120x100xf32>) -> tensor<120x100xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<120x100xf32>) -> tensor<120x100xf32>
  onnx.Return %0 : tensor<120x100xf32>
}

// -----

// Reduction of a leading axis: rows are accumulated, 256 columns at a time.
// CHECK-LABEL: @columns
// CHECK:         "krnl.call"({{.*}}funcName = "reducemax
// CHECK-SAME:    iterations = 3
// CHECK:         func.func private @reducemax_{{[0-9]+}}(%{{.*}}: memref<3x256xf32>, %{{.*}}: memref<5x3x256xf32>
func.func @columns(%x: tensor<5x768xf32>) -> tensor<1x768xf32> {
  %axes = onnx.Constant dense<0> : tensor<1xi64>
  %0 = "onnx.ReduceMax"(%x, %axes) : (tensor<5x768xf32>, tensor<1xi64>) -> tensor<1x768xf32>
  onnx.Return %0 : tensor<1x768xf32>
}

// -----

// If all operators have kernels for dynamic shapes, dimensions are arguments of the kernels.
// CHECK-LABEL: @dynamic
// CHECK:         %[[N:.*]] = tensor.dim
// CHECK:         "krnl.call"({{.*}}, %[[N]]) <{funcName = "relu
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  onnx.Return %0 : tensor<?xf32>
}

// -----

// An operator without a kernel stays, with the reason as an attribute.
// CHECK-LABEL: @unranked
// CHECK:         "onnx.Relu"(%{{.*}}) {krnl.no_kernel = "'input_0' is tensor<*xf32>, whose rank is known only at run time: give the shapes of the inputs, or Reshape it"}
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// An int8 matrix product with its epilogue is one kernel, from int8 to int8. AVX2 has no int8 dot products, so that
// weights are int16; portable C source has a function that takes int8.
// CHECK-LABEL: func.func @bytes
// CHECK:         "krnl.call"({{.*}}funcName = "int8_gemm
// CHECK:         krnl.int8_conv
// CHECK-SAME:    lanes = 16
// AVX2:          memref<256xi16>
// PORTABLE-LABEL: func.func @bytes
// PORTABLE-NOT:  memref<256xi16>
// PORTABLE:      krnl.int8_conv
func.func @bytes(%x: tensor<2x16xui8>) -> tensor<2x16xui8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<7> : tensor<ui8>
  %w = onnx.Constant dense<3> : tensor<16x16xi8>
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<2x16xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x16xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %n) : (tensor<16x16xi8>, tensor<f32>, none) -> tensor<16x16xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
  %3 = "onnx.Relu"(%2) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  %4 = "onnx.QuantizeLinear"(%3, %s, %z) : (tensor<2x16xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x16xui8>
  onnx.Return %4 : tensor<2x16xui8>
}

// -----

// Weights that their zero point takes beyond 8 bits are shifted by an offset per output channel: the sums of a kernel are
// corrected before the epilogue. 0 - 151 is below -128, 200 - 151 is not above 127.
// CHECK-LABEL: func.func @wide_weights
// CHECK:         funcName = "int8_gemm
// CHECK:         funcName = "channel_sums
// CHECK:         funcName = "window_sums
// CHECK:         funcName = "weight_offsets
func.func @wide_weights(%x: tensor<2x2xui8>) -> tensor<2x2xui8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<7> : tensor<ui8>
  %w = onnx.Constant dense<[[0, 200], [9, 3]]> : tensor<2x2xui8>
  %wz = onnx.Constant dense<151> : tensor<ui8>
  %0 = "onnx.QLinearMatMul"(%x, %s, %z, %w, %s, %wz, %s, %z)
    : (tensor<2x2xui8>, tensor<f32>, tensor<ui8>, tensor<2x2xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<2x2xui8>
  onnx.Return %0 : tensor<2x2xui8>
}

// -----

// Data-dependent shape: the buffer has the maximum size, and the session slices it.
// CHECK-LABEL: @found
func.func @found(%x: tensor<2x3xf32>) -> tensor<2x?xi64> {
  // CHECK:       funcName = "nonzero_indices_0"
  // CHECK:       funcName = "nonzero_1"
  // CHECK-NEXT:  %[[MOST:.*]] = builtin.unrealized_conversion_cast %{{.*}} : memref<2x6xi64> to tensor<2x6xi64>
  // CHECK-NEXT:  %[[Y:.*]] = "krnl.keep"(%[[MOST]], %{{.*}}) <{axis = 1 : i64}> : (tensor<2x6xi64>, memref<2xi64>) -> tensor<2x?xi64>
  // CHECK-NEXT:  return %[[Y]]
  %y = "onnx.NonZero"(%x) : (tensor<2x3xf32>) -> tensor<2x?xi64>
  return %y : tensor<2x?xi64>
}

// -----

// Indices are checked by a kernel of its own, which makes the run fail; not in unsafe mode.
// CHECK-LABEL:  func.func @looked_up
// CHECK:         memref.alloc() {krnl.check = {least = -5 : i64, message = "onnx.Gather: index {} is out of range: axis 0 has 5 elements", most = 4 : i64}}
// CHECK:         funcName = "bounds_0"
// CHECK:         funcName = "gather_1"
// UNSAFE-LABEL: func.func @looked_up
// UNSAFE-NOT:    bounds
// UNSAFE:        funcName = "gather_0"
func.func @looked_up(%x: tensor<5xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %y = "onnx.Gather"(%x, %i) {axis = 0 : si64} : (tensor<5xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// Elementwise functions of the results of a convolution are its epilogue.
// CHECK-LABEL: func.func @hardswish
// CHECK-NOT:     onnx.HardSwish
// CHECK:         "krnl.conv"
// CHECK:         ^{{.*}}(%[[V:.*]]: f32):
// CHECK:           arith.mulf
// CHECK:           krnl.yield
func.func @hardswish(%x: tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32> {
  %w = onnx.Constant dense<0.5> : tensor<16x16x1x1xf32>
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>, none) -> tensor<1x16x6x6xf32>
  %1 = "onnx.HardSwish"(%0) : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  onnx.Return %1 : tensor<1x16x6x6xf32>
}
