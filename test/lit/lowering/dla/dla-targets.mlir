// RUN: not onnx-opt %s --convert-onnx-to-dla='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-allocate='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-compress-weights='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-fuse='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-order-branches='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-place-in-cvsram='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-resolve-views='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-schedule='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-split='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-split-kernels='target=nv_smal' 2>&1 | filecheck %s
// RUN: not onnx-opt %s --dla-use-winograd='target=nv_smal' 2>&1 | filecheck %s

// Each pass of the back end takes the target as an option.

// CHECK: error: no target 'nv_smal'; did you mean 'nv_small'? There are nv_full, nv_full_cvsram, nv_large
func.func @nothing() {
  func.return
}
