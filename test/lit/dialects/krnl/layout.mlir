// RUN: onnx-opt %s --split-input-file | filecheck %s
// RUN: onnx-opt %s --split-input-file | onnx-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func @relayout
// CHECK:         "krnl.relayout"(%arg0) : (tensor<1x20x4x4xf32>) -> tensor<1x20x4x4xf32, #krnl.layout<nchw16c, halo = [1, 2, 0, 3]>>
// CHECK-NEXT:    "krnl.relayout"(%0) : (tensor<1x20x4x4xf32, #krnl.layout<nchw16c, halo = [1, 2, 0, 3]>>) -> tensor<1x20x4x4xf32>
func.func @relayout(%x: tensor<1x20x4x4xf32>) -> tensor<1x20x4x4xf32> {
  %0 = "krnl.relayout"(%x) : (tensor<1x20x4x4xf32>) -> tensor<1x20x4x4xf32, #krnl.layout<nchw16c, halo = [1, 2, 0, 3]>>
  %1 = "krnl.relayout"(%0) : (tensor<1x20x4x4xf32, #krnl.layout<nchw16c, halo = [1, 2, 0, 3]>>) -> tensor<1x20x4x4xf32>
  return %1 : tensor<1x20x4x4xf32>
}

// -----

// A halo of zeros is not printed.

// CHECK-LABEL: func.func @no_halo
// CHECK-SAME:    tensor<?x8x4x4xf32, #krnl.layout<nchw8c>>
func.func @no_halo(%x: tensor<?x8x4x4xf32, #krnl.layout<nchw8c, halo = [0, 0, 0, 0]>>) {
  return
}

// -----

// CHECK-LABEL: func.func @pixels
// CHECK-SAME:    tensor<1x3x4x4xui8, #krnl.layout<nhwc4, halo = [1, 1, 1, 1]>>
func.func @pixels(%x: tensor<1x3x4x4xui8, #krnl.layout<nhwc4, halo = [1, 1, 1, 1]>>) {
  return
}
