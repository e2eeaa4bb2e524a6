// RUN: onnx-opt %s --verify-diagnostics --split-input-file

// expected-error @+1 {{a layout is written as nchw16c or nhwc16}}
func.func @f(%x: tensor<1x8x4x4xf32, #krnl.layout<nhwc>>) { return }

// -----

// expected-error @+1 {{a block has one channel at least, found 0}}
func.func @f(%x: tensor<1x8x4x4xf32, #krnl.layout<nchw0c>>) { return }

// -----

// expected-error @+1 {{a halo is four numbers from 0 on, found [1, 1]}}
func.func @f(%x: tensor<1x8x4x4xf32, #krnl.layout<nchw8c, halo = [1, 1]>>) { return }

// -----

// expected-error @+1 {{a halo is four numbers from 0 on, found [1, 1, -1, 1]}}
func.func @f(%x: tensor<1x8x4x4xf32, #krnl.layout<nchw8c, halo = [1, 1, -1, 1]>>) { return }

// -----

func.func @f(%x: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{krnl.relayout: either the source or the result lies in rows}}
  %0 = "krnl.relayout"(%x) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{has other sizes or elements than tensor<1x8x4x4xf32>}}
  %0 = "krnl.relayout"(%x) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x5xf32, #krnl.layout<nchw8c>>
  return
}
