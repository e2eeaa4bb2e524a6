// RUN: onnx-opt %s --plugin %S/../../../../examples/plugins/soft_gate.py --fuse-onnx --assign-layout --split-input-file | filecheck %s

// The operator prefers NCHWc for 32 channels: its input is converted, not its result.

// CHECK-LABEL: func.func @blocked
// CHECK:         %[[X:.*]] = "krnl.relayout"(%arg0) : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c
// CHECK:         "soft.SoftGate"(%[[X]]) {{.*}} -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c
func.func @blocked(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x1x1xf32>
  %0 = "soft.SoftGate"(%x) <{steepness = 1.0 : f32}> : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %1 = "onnx.Conv"(%0, %w, %n) : (tensor<1x32x8x8xf32>, tensor<32x32x1x1xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %1 : tensor<1x32x8x8xf32>
}

// -----

// It prefers NCHW for 24 channels: the result of the convolution is converted before it.

// CHECK-LABEL: func.func @row_major
// CHECK:         %[[C:.*]] = "onnx.Conv"
// CHECK-NEXT:    %[[R:.*]] = "krnl.relayout"(%[[C]])
// CHECK:         "soft.SoftGate"(%[[R]]) {{.*}} -> tensor<1x24x8x8xf32>
func.func @row_major(%x: tensor<1x32x8x8xf32>) -> tensor<1x24x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<24x32x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x32x8x8xf32>, tensor<24x32x1x1xf32>, none) -> tensor<1x24x8x8xf32>
  %1 = "soft.SoftGate"(%0) <{steepness = 1.0 : f32}> : (tensor<1x24x8x8xf32>) -> tensor<1x24x8x8xf32>
  onnx.Return %1 : tensor<1x24x8x8xf32>
}

// -----

// A dynamic number of channels cannot be blocked, whatever the operator prefers; a group is computed in one layout.

// CHECK-LABEL: func.func @group
// CHECK:         %[[X:.*]] = "krnl.relayout"(%arg0)
// CHECK:         "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK:         }) : () -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c
func.func @group(%x: tensor<1x32x8x8xf32>, %d: tensor<1x?x8x8xf32>) -> (tensor<1x32x8x8xf32>, tensor<1x?x8x8xf32>) {
  %0 = "onnx.Relu"(%x) : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %1 = "soft.SoftGate"(%0) <{steepness = 1.0 : f32}> : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %2 = "soft.SoftGate"(%d) <{steepness = 1.0 : f32}> : (tensor<1x?x8x8xf32>) -> tensor<1x?x8x8xf32>
  onnx.Return %1, %2 : tensor<1x32x8x8xf32>, tensor<1x?x8x8xf32>
}
