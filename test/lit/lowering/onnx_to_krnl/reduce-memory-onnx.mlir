// RUN: onnx-opt %s --fuse-onnx --reduce-memory-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-onnx --reduce-memory-onnx --reduce-memory-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-onnx --reduce-memory-onnx --assign-layout --split-input-file | filecheck %s --check-prefix=LAYOUT
// RUN: onnx-opt %s --fuse-onnx --assign-layout --reduce-memory-onnx --split-input-file | filecheck %s --check-prefix=LATE
// RUN: onnx-opt %s --fuse-onnx="processor=avx2 portable=true" --reduce-memory-onnx="processor=avx2 portable=true" --split-input-file | filecheck %s --check-prefix=AVX2

// A convolution that is pooled and needs the most memory: in two parts, of as many channels as a tile has.

// AVX2-LABEL:  func.func @pooled
// AVX2:          "onnx.MaxPoolSingleOut"({{.*}} -> tensor<1x16x28x28xf32>
// CHECK-LABEL: func.func @pooled
// CHECK-DAG:     onnx.Constant dense<1.000000e+00> : tensor<32x3x7x7xf32>
// CHECK-DAG:     onnx.Constant dense<2.000000e+00> : tensor<32xf32>
// CHECK:         %[[A:.*]] = "krnl.fused"() <{kind = "convolution"}> ({
// CHECK-NEXT:      "onnx.Conv"(%arg0, %{{.*}}, %{{.*}}) {{.*}} -> tensor<1x32x56x56xf32>
// CHECK-NEXT:      "onnx.Relu"
// CHECK:         %[[P:.*]] = "onnx.MaxPoolSingleOut"(%[[A]]) {{.*}} -> tensor<1x32x28x28xf32>
// CHECK:         %[[B:.*]] = "krnl.fused"() <{kind = "convolution"}> ({
// CHECK-NEXT:      "onnx.Conv"(%arg0, %{{.*}}, %{{.*}}) {{.*}} -> tensor<1x32x56x56xf32>
// CHECK-NEXT:      "onnx.Relu"
// CHECK:         %[[Q:.*]] = "onnx.MaxPoolSingleOut"(%[[B]]) {{.*}} -> tensor<1x32x28x28xf32>
// CHECK:         %[[Y:.*]] = "onnx.Concat"(%[[P]], %[[Q]]) <{axis = 1 : si64}>
// CHECK:         "onnx.Conv"(%[[Y]],
// LATE-LABEL:   func.func @pooled
// LATE-NOT:       onnx.Concat
// LAYOUT-LABEL: func.func @pooled
// LAYOUT:         "onnx.Concat"(%{{.*}}, %{{.*}}) <{axis = 1 : si64}> {krnl.in_place = array<i64: 1, 1>}
func.func @pooled(%x: tensor<1x3x112x112xf32>) -> tensor<1x64x28x28xf32> {
  %w = onnx.Constant dense<1.0> : tensor<64x3x7x7xf32>
  %b = onnx.Constant dense<2.0> : tensor<64xf32>
  %v = onnx.Constant dense<1.0> : tensor<64x64x3x3xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [3, 3, 3, 3], strides = [2, 2]}> : (tensor<1x3x112x112xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x56x56xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %2 = "onnx.MaxPoolSingleOut"(%1) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [3, 3], pads = [1, 1, 1, 1], storage_order = 0 : si64, strides = [2, 2]}> : (tensor<1x64x56x56xf32>) -> tensor<1x64x28x28xf32>
  %3 = "onnx.Conv"(%2, %v, %none) <{pads = [1, 1, 1, 1]}> : (tensor<1x64x28x28xf32>, tensor<64x64x3x3xf32>, none) -> tensor<1x64x28x28xf32>
  onnx.Return %3 : tensor<1x64x28x28xf32>
}

// -----

// The peak is elsewhere: the same pair stays.

// CHECK-LABEL: func.func @small
// CHECK-NOT:     onnx.Concat
func.func @small(%x: tensor<1x3x112x112xf32>, %z: tensor<1x1024x1024xf32>) -> (tensor<1x64x28x28xf32>, tensor<1x1x1xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<64x3x7x7xf32>
  %b = onnx.Constant dense<2.0> : tensor<64xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [3, 3, 3, 3], strides = [2, 2]}> : (tensor<1x3x112x112xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<1x64x56x56xf32>
  %1 = "onnx.MaxPoolSingleOut"(%0) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [3, 3], pads = [1, 1, 1, 1], storage_order = 0 : si64, strides = [2, 2]}> : (tensor<1x64x56x56xf32>) -> tensor<1x64x28x28xf32>
  %2 = "onnx.Relu"(%1) : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32>
  %3 = "onnx.MatMul"(%z, %z) : (tensor<1x1024x1024xf32>, tensor<1x1024x1024xf32>) -> tensor<1x1024x1024xf32>
  %4 = "onnx.ReduceSum"(%3, %none) : (tensor<1x1024x1024xf32>, none) -> tensor<1x1x1xf32>
  onnx.Return %2, %4 : tensor<1x64x28x28xf32>, tensor<1x1x1xf32>
}

// -----

// Two images: parts of the result are not contiguous. Channels of one tile, and a pool that keeps the size.

// CHECK-LABEL: func.func @whole
// CHECK-NOT:     onnx.Concat
func.func @whole(%x: tensor<2x3x32x32xf32>, %y: tensor<1x3x32x32xf32>) -> (tensor<2x64x1x1xf32>, tensor<1x32x1x1xf32>, tensor<1x64x1x1xf32>) {
  %w = onnx.Constant dense<1.0> : tensor<64x3x1x1xf32>
  %v = onnx.Constant dense<1.0> : tensor<32x3x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<2x3x32x32xf32>, tensor<64x3x1x1xf32>, none) -> tensor<2x64x32x32xf32>
  %1 = "onnx.MaxPoolSingleOut"(%0) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [2, 2], storage_order = 0 : si64, strides = [2, 2]}> : (tensor<2x64x32x32xf32>) -> tensor<2x64x16x16xf32>
  %2 = "onnx.GlobalAveragePool"(%1) : (tensor<2x64x16x16xf32>) -> tensor<2x64x1x1xf32>
  %3 = "onnx.Conv"(%y, %v, %none) : (tensor<1x3x32x32xf32>, tensor<32x3x1x1xf32>, none) -> tensor<1x32x32x32xf32>
  %4 = "onnx.MaxPoolSingleOut"(%3) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [2, 2], storage_order = 0 : si64, strides = [2, 2]}> : (tensor<1x32x32x32xf32>) -> tensor<1x32x16x16xf32>
  %5 = "onnx.GlobalAveragePool"(%4) : (tensor<1x32x16x16xf32>) -> tensor<1x32x1x1xf32>
  %6 = "onnx.Conv"(%y, %w, %none) : (tensor<1x3x32x32xf32>, tensor<64x3x1x1xf32>, none) -> tensor<1x64x32x32xf32>
  %7 = "onnx.AveragePool"(%6) <{kernel_shape = [3, 3], pads = [1, 1, 1, 1]}> : (tensor<1x64x32x32xf32>) -> tensor<1x64x32x32xf32>
  %8 = "onnx.GlobalAveragePool"(%7) : (tensor<1x64x32x32xf32>) -> tensor<1x64x1x1xf32>
  onnx.Return %2, %5, %8 : tensor<2x64x1x1xf32>, tensor<1x32x1x1xf32>, tensor<1x64x1x1xf32>
}
