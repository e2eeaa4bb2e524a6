// RUN: onnx-opt %s --matmul-to-conv-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --matmul-to-conv-onnx=transposed-only=true --split-input-file | filecheck %s --check-prefix=TRANSPOSED

// The bias is that of the convolution.
// TRANSPOSED-LABEL: @with_bias
// TRANSPOSED:     "onnx.MatMul"
// CHECK-LABEL: @with_bias
// CHECK-NOT:     tensor<256x256xf32>
// CHECK:         %[[X:.*]] = "onnx.Transpose"(%arg0) <{perm = [0, 2, 1]}> : (tensor<1x70x256xf32>) -> tensor<1x256x70xf32>
// CHECK:         %[[W:.*]] = onnx.Constant {{.*}} : tensor<256x256x1xf32>
// CHECK:         %[[B:.*]] = onnx.Constant {{.*}} : tensor<256xf32>
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%[[X]], %[[W]], %[[B]]) {{.*}} -> tensor<1x256x70xf32>
// CHECK:         %[[R:.*]] = "onnx.Transpose"(%[[Y]]) <{perm = [0, 2, 1]}> : (tensor<1x256x70xf32>) -> tensor<1x70x256xf32>
// CHECK-NOT:     "onnx.Add"
// CHECK:         onnx.Return %[[R]]
func.func @with_bias(%x: tensor<1x70x256xf32>) -> tensor<1x70x256xf32> {
  %w = onnx.Constant dense<0.5> : tensor<256x256xf32>
  %b = onnx.Constant dense<2.0> : tensor<256xf32>
  %m = "onnx.MatMul"(%x, %w) : (tensor<1x70x256xf32>, tensor<256x256xf32>) -> tensor<1x70x256xf32>
  %y = "onnx.Add"(%b, %m) : (tensor<256xf32>, tensor<1x70x256xf32>) -> tensor<1x70x256xf32>
  onnx.Return %y : tensor<1x70x256xf32>
}

// -----

// Columns that were transposed to rows are taken as they are, whatever the work.
// TRANSPOSED-LABEL: @transposed
// TRANSPOSED:     "onnx.Conv"(%arg0, {{.*}} -> tensor<1x256x70xf32>
// TRANSPOSED:     "onnx.Conv"({{.*}} -> tensor<1x3x70xf32>
// CHECK-LABEL: @transposed
// CHECK:         "onnx.Conv"(%arg0, {{.*}} -> tensor<1x256x70xf32>
// CHECK-NEXT:    %[[R:.*]] = "onnx.Transpose"
// CHECK:         %[[N:.*]] = "onnx.Conv"({{.*}} -> tensor<1x3x70xf32>
// CHECK-NEXT:    %[[S:.*]] = "onnx.Transpose"(%[[N]])
// CHECK-NEXT:    onnx.Return %[[R]], %[[S]]
func.func @transposed(%x: tensor<1x256x70xf32>, %z: tensor<1x4x70xf32>) -> (tensor<1x70x256xf32>, tensor<1x70x3xf32>) {
  %w = onnx.Constant dense<0.5> : tensor<256x256xf32>
  %t = "onnx.Transpose"(%x) <{perm = [0, 2, 1]}> : (tensor<1x256x70xf32>) -> tensor<1x70x256xf32>
  %y = "onnx.MatMul"(%t, %w) : (tensor<1x70x256xf32>, tensor<256x256xf32>) -> tensor<1x70x256xf32>
  %v = onnx.Constant dense<0.5> : tensor<4x3xf32>
  %s = "onnx.Transpose"(%z) <{perm = [0, 2, 1]}> : (tensor<1x4x70xf32>) -> tensor<1x70x4xf32>
  %n = "onnx.MatMul"(%s, %v) : (tensor<1x70x4xf32>, tensor<4x3xf32>) -> tensor<1x70x3xf32>
  onnx.Return %y, %n : tensor<1x70x256xf32>, tensor<1x70x3xf32>
}

// -----

// A cube has at most 8192 channels.
// CHECK-LABEL: @many_outputs
// CHECK:         "onnx.Conv"({{.*}} -> tensor<1x6000x20xf32>
// CHECK:         "onnx.Conv"({{.*}} -> tensor<1x6000x20xf32>
// CHECK:         %[[R:.*]] = "onnx.Concat"({{.*}}) <{axis = 2 : si64}> : (tensor<1x20x6000xf32>, tensor<1x20x6000xf32>) -> tensor<1x20x12000xf32>
// CHECK:         onnx.Return %[[R]]
func.func @many_outputs(%x: tensor<1x20x40xf32>) -> tensor<1x20x12000xf32> {
  %w = onnx.Constant dense<0.5> : tensor<40x12000xf32>
  %y = "onnx.MatMul"(%x, %w) : (tensor<1x20x40xf32>, tensor<40x12000xf32>) -> tensor<1x20x12000xf32>
  onnx.Return %y : tensor<1x20x12000xf32>
}

// -----

// Rows of images with channels last, as after the layer normalization of ConvNeXt.
// CHECK-LABEL: @channels_last
// CHECK:         %[[X:.*]] = "onnx.Transpose"(%arg0) <{perm = [0, 3, 1, 2]}> : (tensor<1x14x14x96xf32>) -> tensor<1x96x14x14xf32>
// CHECK:         %[[W:.*]] = onnx.Constant {{.*}} : tensor<384x96x1x1xf32>
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%[[X]], %[[W]], {{.*}} -> tensor<1x384x14x14xf32>
// CHECK:         %[[R:.*]] = "onnx.Transpose"(%[[Y]]) <{perm = [0, 2, 3, 1]}> : (tensor<1x384x14x14xf32>) -> tensor<1x14x14x384xf32>
// CHECK:         onnx.Return %[[R]]
func.func @channels_last(%x: tensor<1x14x14x96xf32>) -> tensor<1x14x14x384xf32> {
  %w = onnx.Constant dense<0.5> : tensor<96x384xf32>
  %y = "onnx.MatMul"(%x, %w) : (tensor<1x14x14x96xf32>, tensor<96x384xf32>) -> tensor<1x14x14x384xf32>
  onnx.Return %y : tensor<1x14x14x384xf32>
}

// -----

// Too little work; a kernel that the core takes; computed weights; a bias of each row; dynamic rows.
// CHECK-LABEL: @others
// CHECK-COUNT-5: "onnx.MatMul"
// CHECK-NOT:     "onnx.Conv"
func.func @others(%x: tensor<1x20x40xf32>, %z: tensor<1x9000x32xf32>, %v: tensor<256x256xf32>,
                  %d: tensor<1x?x256xf32>, %e: tensor<2x70x256xf32>)
    -> (tensor<1x20x30xf32>, tensor<1x9000x32xf32>, tensor<1x?x256xf32>, tensor<1x?x256xf32>, tensor<2x70x256xf32>) {
  %small = onnx.Constant dense<0.5> : tensor<40x30xf32>
  %narrow = onnx.Constant dense<0.5> : tensor<32x32xf32>
  %w = onnx.Constant dense<0.5> : tensor<256x256xf32>
  %0 = "onnx.MatMul"(%x, %small) : (tensor<1x20x40xf32>, tensor<40x30xf32>) -> tensor<1x20x30xf32>
  %1 = "onnx.MatMul"(%z, %narrow) : (tensor<1x9000x32xf32>, tensor<32x32xf32>) -> tensor<1x9000x32xf32>
  %2 = "onnx.MatMul"(%d, %v) : (tensor<1x?x256xf32>, tensor<256x256xf32>) -> tensor<1x?x256xf32>
  %3 = "onnx.MatMul"(%d, %w) : (tensor<1x?x256xf32>, tensor<256x256xf32>) -> tensor<1x?x256xf32>
  %4 = "onnx.MatMul"(%e, %w) : (tensor<2x70x256xf32>, tensor<256x256xf32>) -> tensor<2x70x256xf32>
  onnx.Return %0, %1, %2, %3, %4 : tensor<1x20x30xf32>, tensor<1x9000x32xf32>, tensor<1x?x256xf32>, tensor<1x?x256xf32>, tensor<2x70x256xf32>
}

// -----

// An addend of each row is no bias.
// CHECK-LABEL: @rows
// CHECK:         %[[R:.*]] = "onnx.Transpose"(%{{.*}}) <{perm = [0, 2, 1]}> : (tensor<1x256x70xf32>) -> tensor<1x70x256xf32>
// CHECK:         "onnx.Add"(%[[R]]
func.func @rows(%x: tensor<1x70x256xf32>) -> tensor<1x70x256xf32> {
  %w = onnx.Constant dense<0.5> : tensor<256x256xf32>
  %b = onnx.Constant dense<2.0> : tensor<70x1xf32>
  %m = "onnx.MatMul"(%x, %w) : (tensor<1x70x256xf32>, tensor<256x256xf32>) -> tensor<1x70x256xf32>
  %y = "onnx.Add"(%m, %b) : (tensor<1x70x256xf32>, tensor<70x1xf32>) -> tensor<1x70x256xf32>
  onnx.Return %y : tensor<1x70x256xf32>
}
