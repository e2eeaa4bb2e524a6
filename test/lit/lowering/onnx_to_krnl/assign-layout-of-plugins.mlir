// RUN: onnx-opt %s --plugin %S/../../../../examples/plugins/row_major.py --fuse-onnx --assign-layout --split-input-file | filecheck %s

// The plug-in prefers NCHW for up to 16 channels: neither the convolution nor the pool is blocked.

// CHECK-LABEL: func.func @few_channels
// CHECK-NOT:     krnl.relayout
// CHECK:         "onnx.Conv"{{.*}} -> tensor<1x16x8x8xf32>
// CHECK-NOT:     krnl.relayout
// CHECK:         onnx.Return
func.func @few_channels(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<16x16x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %1 = "onnx.MaxPoolSingleOut"(%0) <{kernel_shape = [2, 2], strides = [2, 2]}> : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  onnx.Return %1 : tensor<1x16x4x4xf32>
}

// -----

// It has no preference for more.

// CHECK-LABEL: func.func @many_channels
// CHECK:         "onnx.Conv"{{.*}} -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c
func.func @many_channels(%x: tensor<1x16x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x16x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x16x8x8xf32>, tensor<32x16x1x1xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %0 : tensor<1x32x8x8xf32>
}
