// RUN: onnx-opt %s --fuse-onnx --assign-layout --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-onnx --assign-layout --assign-layout --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-onnx --assign-layout="processor=avx2" --split-input-file | filecheck %s --check-prefix=AVX2

// The input of a convolution is converted to NCHWc, with its pads as a halo; the result is converted back.

// CHECK-LABEL: func.func @convolution
// CHECK:         %[[X:.*]] = "krnl.relayout"(%arg0) : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c, halo = [1, 1, 1, 1]>>
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%[[X]], {{.*}} -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c>>
// CHECK-NEXT:    %[[Z:.*]] = "krnl.relayout"(%[[Y]])
// CHECK-NEXT:    onnx.Return %[[Z]]
// AVX2-LABEL:  func.func @convolution
// AVX2:          #krnl.layout<nchw8c, halo = [1, 1, 1, 1]>
func.func @convolution(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x3x3xf32>
  %0 = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x32x8x8xf32>, tensor<32x32x3x3xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %0 : tensor<1x32x8x8xf32>
}

// -----

// A tensor with one spatial axis is images of one row: the halo has columns only.

// CHECK-LABEL: func.func @one_row
// CHECK:         %[[X:.*]] = "krnl.relayout"(%arg0) : (tensor<1x32x100xf32>) -> tensor<1x32x100xf32, #krnl.layout<nchw16c, halo = [0, 4, 0, 4]>>
// CHECK:         "onnx.Conv"(%[[X]],
// CHECK:         "onnx.Relu"({{.*}} -> tensor<1x32x100xf32, #krnl.layout<nchw16c, halo = [0, 0, 0, 1]>>
// CHECK:         "onnx.Conv"({{.*}} -> tensor<1x16x100xf32, #krnl.layout<nchw16c>>
func.func @one_row(%x: tensor<1x32x100xf32>) -> tensor<1x16x100xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x9xf32>
  %v = onnx.Constant dense<0.5> : tensor<16x32x2xf32>
  %0 = "onnx.Conv"(%x, %w, %n) <{pads = [4, 4]}> : (tensor<1x32x100xf32>, tensor<32x32x9xf32>, none) -> tensor<1x32x100xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x32x100xf32>) -> tensor<1x32x100xf32>
  %2 = "onnx.Conv"(%1, %v, %n) <{pads = [0, 1]}> : (tensor<1x32x100xf32>, tensor<16x32x2xf32>, none) -> tensor<1x16x100xf32>
  onnx.Return %2 : tensor<1x16x100xf32>
}

// -----

// [32, 1] is one factor per channel, [32, 1, 1] one per image, with which the product is row-major.

// CHECK-LABEL: func.func @factors_of_rows
// CHECK:         "onnx.Mul"({{.*}} -> tensor<32x32x20xf32, #krnl.layout<nchw16c>>
// CHECK:         "onnx.Mul"({{.*}} -> tensor<32x32x20xf32>
func.func @factors_of_rows(%x: tensor<32x32x20xf32>) -> (tensor<32x32x20xf32>, tensor<32x32x20xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x32x1xf32>
  %c = onnx.Constant dense<0.5> : tensor<32x1xf32>
  %i = onnx.Constant dense<0.5> : tensor<32x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<32x32x20xf32>, tensor<32x32x1xf32>, none) -> tensor<32x32x20xf32>
  %1 = "onnx.Mul"(%0, %c) : (tensor<32x32x20xf32>, tensor<32x1xf32>) -> tensor<32x32x20xf32>
  %2 = "onnx.Mul"(%0, %i) : (tensor<32x32x20xf32>, tensor<32x1x1xf32>) -> tensor<32x32x20xf32>
  onnx.Return %1, %2 : tensor<32x32x20xf32>, tensor<32x32x20xf32>
}

// -----

// Inputs of few channels are read in NCHW.

// CHECK-LABEL: func.func @few_channels
// CHECK:         "onnx.Conv"(%arg0, {{.*}} -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c>>
func.func @few_channels(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<32x3x3x3xf32>
  %0 = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x3x8x8xf32>, tensor<32x3x3x3xf32>, none) -> tensor<1x32x8x8xf32>
  onnx.Return %0 : tensor<1x32x8x8xf32>
}

// -----

// Few output channels: NCHWc would have more padding than channels.

// CHECK-LABEL: func.func @few_results
// CHECK-NOT:     krnl.layout
// AVX2-LABEL:  func.func @few_results
// AVX2:          #krnl.layout<nchw8c
func.func @few_results(%x: tensor<1x32x8x8xf32>) -> tensor<1x7x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<7x32x1x1xf32>
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x32x8x8xf32>, tensor<7x32x1x1xf32>, none) -> tensor<1x7x8x8xf32>
  onnx.Return %0 : tensor<1x7x8x8xf32>
}

// -----

// Few output channels of larger windows are blocked all the same, as im2col takes longer than multiplying the padding; not
// if there are few input channels too.

// CHECK-LABEL: func.func @few_results_of_windows
// CHECK:         "onnx.Conv"({{.*}} -> tensor<1x3x8x8xf32, #krnl.layout<nchw16c>>
// CHECK-LABEL: func.func @few_results_of_few
// CHECK-NOT:     krnl.layout
func.func @few_results_of_windows(%x: tensor<1x32x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<3x32x3x3xf32>
  %0 = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x32x8x8xf32>, tensor<3x32x3x3xf32>, none) -> tensor<1x3x8x8xf32>
  onnx.Return %0 : tensor<1x3x8x8xf32>
}
func.func @few_results_of_few(%x: tensor<1x5x8x8xf32>) -> tensor<1x3x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<3x5x3x3xf32>
  %0 = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x5x8x8xf32>, tensor<3x5x3x3xf32>, none) -> tensor<1x3x8x8xf32>
  onnx.Return %0 : tensor<1x3x8x8xf32>
}

// -----

// Convolution, pool, elementwise group and convolution all stay in NCHWc; the widest pads determine the halo.

// CHECK-LABEL: func.func @chain
// CHECK:         "onnx.Conv"(%arg0, {{.*}} -> tensor<1x16x8x8xf32, #krnl.layout<nchw16c>>
// CHECK:         "onnx.MaxPoolSingleOut"({{.*}} -> tensor<1x16x4x4xf32, #krnl.layout<nchw16c>>
// CHECK:         "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK:         }) : () -> tensor<1x16x4x4xf32, #krnl.layout<nchw16c, halo = [2, 2, 2, 2]>>
// CHECK-NOT:     krnl.relayout
// CHECK:         "onnx.Conv"
// CHECK:         "onnx.Conv"
func.func @chain(%x: tensor<1x3x8x8xf32>) -> (tensor<1x16x1x1xf32>, tensor<1x16x1x1xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %w = onnx.Constant dense<0.5> : tensor<16x16x3x3xf32>
  %u = onnx.Constant dense<0.5> : tensor<16x16x5x5xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %1 = "onnx.MaxPoolSingleOut"(%0) <{kernel_shape = [2, 2], strides = [2, 2]}> : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  %2 = "onnx.Exp"(%1) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %4 = "onnx.Conv"(%3, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x16x4x4xf32>, tensor<16x16x3x3xf32>, none) -> tensor<1x16x4x4xf32>
  %5 = "onnx.Conv"(%3, %u, %n) <{pads = [2, 2, 2, 2]}> : (tensor<1x16x4x4xf32>, tensor<16x16x5x5xf32>, none) -> tensor<1x16x4x4xf32>
  %6 = "onnx.GlobalAveragePool"(%4) : (tensor<1x16x4x4xf32>) -> tensor<1x16x1x1xf32>
  %7 = "onnx.GlobalAveragePool"(%5) : (tensor<1x16x4x4xf32>) -> tensor<1x16x1x1xf32>
  onnx.Return %6, %7 : tensor<1x16x1x1xf32>, tensor<1x16x1x1xf32>
}

// -----

// A residual operand is read in NCHWc; a per-channel operand broadcasts over it.

// CHECK-LABEL: func.func @residual
// CHECK-NOT:     krnl.relayout
// CHECK:         "onnx.Add"
// CHECK:         }) : () -> tensor<1x16x8x8xf32, #krnl.layout<nchw16c>>
// CHECK-NEXT:    "onnx.Mul"({{.*}} -> tensor<1x16x8x8xf32, #krnl.layout<nchw16c>>
func.func @residual(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %w = onnx.Constant dense<0.5> : tensor<16x16x1x1xf32>
  %c = onnx.Constant dense<[[[0.5]], [[1.0]], [[2.0]], [[3.0]], [[0.5]], [[1.0]], [[2.0]], [[3.0]], [[0.5]], [[1.0]], [[2.0]], [[3.0]], [[0.5]], [[1.0]], [[2.0]], [[3.0]]]> : tensor<16x1x1xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %1 = "onnx.Conv"(%0, %w, %n) : (tensor<1x16x8x8xf32>, tensor<16x16x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %2 = "onnx.Add"(%1, %0) : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %3 = "onnx.Mul"(%2, %c) : (tensor<1x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<1x16x8x8xf32>
  onnx.Return %3 : tensor<1x16x8x8xf32>
}

// -----

// One value per channel of each image, which a network computes (squeeze and excitation), broadcasts over NCHWc too; one
// of channels that do not fill their blocks does not.

// CHECK-LABEL: func.func @channel_gate
// CHECK:         "onnx.Conv"({{.*}} -> tensor<2x16x8x8xf32, #krnl.layout<nchw16c>>
// CHECK-NOT:     krnl.relayout
// CHECK:         "onnx.Mul"({{.*}} -> tensor<2x16x8x8xf32, #krnl.layout<nchw16c>>
// CHECK:         "onnx.Conv"({{.*}} -> tensor<2x24x8x8xf32, #krnl.layout<nchw16c>>
// CHECK:         krnl.relayout
// CHECK:         "onnx.Mul"({{.*}} -> tensor<2x24x8x8xf32>
func.func @channel_gate(%x: tensor<2x3x8x8xf32>, %g: tensor<2x24x1x1xf32>) -> (tensor<2x16x1x1xf32>, tensor<2x24x8x8xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %u = onnx.Constant dense<0.5> : tensor<24x3x1x1xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<2x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<2x16x8x8xf32>
  %1 = "onnx.GlobalAveragePool"(%0) : (tensor<2x16x8x8xf32>) -> tensor<2x16x1x1xf32>
  %2 = "onnx.Sigmoid"(%1) : (tensor<2x16x1x1xf32>) -> tensor<2x16x1x1xf32>
  %3 = "onnx.Mul"(%0, %2) : (tensor<2x16x8x8xf32>, tensor<2x16x1x1xf32>) -> tensor<2x16x8x8xf32>
  %4 = "onnx.GlobalAveragePool"(%3) : (tensor<2x16x8x8xf32>) -> tensor<2x16x1x1xf32>
  %5 = "onnx.Conv"(%x, %u, %n) : (tensor<2x3x8x8xf32>, tensor<24x3x1x1xf32>, none) -> tensor<2x24x8x8xf32>
  %6 = "onnx.Mul"(%5, %g) : (tensor<2x24x8x8xf32>, tensor<2x24x1x1xf32>) -> tensor<2x24x8x8xf32>
  onnx.Return %4, %6 : tensor<2x16x1x1xf32>, tensor<2x24x8x8xf32>
}

// -----

// Operands of a Concat along channels are stored directly in its result, with one halo for all, if each fills whole
// channel blocks.

// CHECK-LABEL: func.func @concat
// CHECK:         "onnx.Conv"({{.*}} -> tensor<1x16x8x8xf32, #krnl.layout<nchw16c, halo = [1, 1, 1, 1]>>
// CHECK:         "onnx.Conv"({{.*}} -> tensor<1x32x8x8xf32, #krnl.layout<nchw16c, halo = [1, 1, 1, 1]>>
// CHECK:         "onnx.Concat"({{.*}}) <{axis = 1 : si64}> {krnl.in_place = array<i64: 1, 1>} : {{.*}} -> tensor<1x48x8x8xf32, #krnl.layout<nchw16c, halo = [1, 1, 1, 1]>>
func.func @concat(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %u = onnx.Constant dense<0.5> : tensor<32x3x1x1xf32>
  %w = onnx.Constant dense<0.5> : tensor<16x48x3x3xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %1 = "onnx.Conv"(%x, %u, %n) : (tensor<1x3x8x8xf32>, tensor<32x3x1x1xf32>, none) -> tensor<1x32x8x8xf32>
  %2 = "onnx.Concat"(%0, %1) <{axis = 1 : si64}> : (tensor<1x16x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x48x8x8xf32>
  %3 = "onnx.Conv"(%2, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x48x8x8xf32>, tensor<16x48x3x3xf32>, none) -> tensor<1x16x8x8xf32>
  onnx.Return %3 : tensor<1x16x8x8xf32>
}

// -----

// The same operand twice is stored in the result once, and copied for the second time.

// CHECK-LABEL: func.func @concat_twice
// CHECK:         krnl.in_place = array<i64: 1, 0>
func.func @concat_twice(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x1x1xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %1 = "onnx.Concat"(%0, %0) <{axis = 1 : si64}> : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x32x8x8xf32>
  %2 = "onnx.GlobalAveragePool"(%1) : (tensor<1x32x8x8xf32>) -> tensor<1x32x1x1xf32>
  onnx.Return %2 : tensor<1x32x1x1xf32>
}

// -----

// Parts of a Split along channels stay channel-blocked if each is whole blocks; a Concat has them stored in its result.

// CHECK-LABEL: func.func @split
// CHECK:         %[[Y:.*]] = "onnx.Conv"({{.*}} -> tensor<1x48x8x8xf32, #krnl.layout<nchw16c>>
// CHECK:         %[[P:.*]]:2 = "onnx.SplitV13"(%[[Y]], {{.*}} -> (tensor<1x16x8x8xf32, #krnl.layout<nchw16c>>, tensor<1x32x8x8xf32, #krnl.layout<nchw16c>>)
// CHECK:         "onnx.Concat"(%[[P]]#1, %[[P]]#0) <{axis = 1 : si64}> {krnl.in_place = array<i64: 1, 1>}
func.func @split(%x: tensor<1x3x8x8xf32>) -> tensor<1x48x1x1xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<48x3x1x1xf32>
  %s = onnx.Constant dense<[16, 32]> : tensor<2xi64>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<48x3x1x1xf32>, none) -> tensor<1x48x8x8xf32>
  %1:2 = "onnx.SplitV13"(%0, %s) <{axis = 1 : si64}> : (tensor<1x48x8x8xf32>, tensor<2xi64>) -> (tensor<1x16x8x8xf32>, tensor<1x32x8x8xf32>)
  %2 = "onnx.Concat"(%1#1, %1#0) <{axis = 1 : si64}> : (tensor<1x32x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x48x8x8xf32>
  %3 = "onnx.GlobalAveragePool"(%2) : (tensor<1x48x8x8xf32>) -> tensor<1x48x1x1xf32>
  onnx.Return %3 : tensor<1x48x1x1xf32>
}

// -----

// Parts of 8 and 24 channels are no whole blocks.

// CHECK-LABEL: func.func @split_in_a_block
// CHECK:         "krnl.relayout"
// CHECK:         "onnx.SplitV13"({{.*}} -> (tensor<1x8x8x8xf32>, tensor<1x24x8x8xf32>)
func.func @split_in_a_block(%x: tensor<1x3x8x8xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x24x8x8xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<32x3x1x1xf32>
  %s = onnx.Constant dense<[8, 24]> : tensor<2xi64>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<32x3x1x1xf32>, none) -> tensor<1x32x8x8xf32>
  %1:2 = "onnx.SplitV13"(%0, %s) <{axis = 1 : si64}> : (tensor<1x32x8x8xf32>, tensor<2xi64>) -> (tensor<1x8x8x8xf32>, tensor<1x24x8x8xf32>)
  onnx.Return %1#0, %1#1 : tensor<1x8x8x8xf32>, tensor<1x24x8x8xf32>
}

// -----

// Users that need NCHW share one converted copy.

// CHECK-LABEL: func.func @rows
// CHECK:         %[[Y:.*]] = "onnx.Conv"
// CHECK-NEXT:    %[[R:.*]] = "krnl.relayout"(%[[Y]])
// CHECK-NOT:     krnl.relayout
// CHECK:         "onnx.Softmax"(%[[R]])
// CHECK:         "onnx.Flatten"(%[[R]])
func.func @rows(%x: tensor<1x3x8x8xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x1024xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<1x16x8x8xf32>
  %1 = "onnx.Softmax"(%0) <{axis = 3 : si64}> : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %2 = "onnx.Flatten"(%0) <{axis = 1 : si64}> : (tensor<1x16x8x8xf32>) -> tensor<1x1024xf32>
  onnx.Return %1, %2 : tensor<1x16x8x8xf32>, tensor<1x1024xf32>
}

// -----

// A dynamic batch dimension.

// CHECK-LABEL: func.func @dynamic
// CHECK:         "onnx.Conv"({{.*}} -> tensor<?x16x8x8xf32, #krnl.layout<nchw16c>>
func.func @dynamic(%x: tensor<?x3x8x8xf32>) -> tensor<?x16x8x8xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %v = onnx.Constant dense<0.5> : tensor<16x3x1x1xf32>
  %0 = "onnx.Conv"(%x, %v, %n) : (tensor<?x3x8x8xf32>, tensor<16x3x1x1xf32>, none) -> tensor<?x16x8x8xf32>
  onnx.Return %0 : tensor<?x16x8x8xf32>
}

// -----

// Int8 images are NHWC; few channels are padded to four, those of results to a whole vector. The halo holds the zero
// point of the image.

// CHECK-LABEL: func.func @bytes
// CHECK:         %[[X:.*]] = "krnl.relayout"(%arg0) : (tensor<1x3x8x8xui8>) -> tensor<1x3x8x8xui8, #krnl.layout<nhwc4, halo = [1, 1, 1, 1]>>
// CHECK:         %[[Y:.*]] = "krnl.fused"() <{kind = "int8"}> ({
// CHECK-NEXT:      "onnx.DequantizeLinear"(%[[X]]
// CHECK:         }) : () -> tensor<1x20x8x8xui8, #krnl.layout<nhwc16>>
// CHECK-NEXT:    %[[P:.*]] = "onnx.MaxPoolSingleOut"(%[[Y]]) {{.*}} -> tensor<1x20x4x4xui8, #krnl.layout<nhwc16>>
// CHECK-NEXT:    %[[R:.*]] = "krnl.relayout"(%[[P]])
// CHECK-NEXT:    onnx.Return %[[R]]
func.func @bytes(%x: tensor<1x3x8x8xui8>) -> tensor<1x20x4x4xui8> {
  %n = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<128> : tensor<ui8>
  %c = onnx.Constant dense<0> : tensor<i8>
  %w = onnx.Constant dense<3> : tensor<20x3x3x3xi8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x3x8x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x3x8x8xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %c) : (tensor<20x3x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<20x3x3x3xf32>
  %2 = "onnx.Conv"(%0, %1, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x3x8x8xf32>, tensor<20x3x3x3xf32>, none) -> tensor<1x20x8x8xf32>
  %3 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<1x20x8x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x20x8x8xui8>
  %4 = "onnx.MaxPoolSingleOut"(%3) <{kernel_shape = [2, 2], strides = [2, 2]}> : (tensor<1x20x8x8xui8>) -> tensor<1x20x4x4xui8>
  onnx.Return %4 : tensor<1x20x4x4xui8>
}

// -----

// A QuantizeLinear before an int8 product writes its input layout; rows of a matrix count as pixels.

// CHECK-LABEL: func.func @matrix
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%arg0, {{.*}} -> tensor<4x32xui8, #krnl.layout<nhwc16>>
// CHECK:         "krnl.fused"() <{kind = "int8"}> ({
// CHECK-NEXT:      "onnx.DequantizeLinear"(%[[Q]]
// CHECK:         %[[R:.*]] = "krnl.relayout"({{.*}}) : (tensor<4x24xui8, #krnl.layout<nhwc16>>) -> tensor<4x24xui8>
// CHECK-NEXT:    "onnx.DequantizeLinear"(%[[R]]
func.func @matrix(%x: tensor<4x32xf32>) -> tensor<4x24xf32> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<128> : tensor<ui8>
  %c = onnx.Constant dense<0> : tensor<i8>
  %w = onnx.Constant dense<3> : tensor<32x24xi8>
  %q = "onnx.QuantizeLinear"(%x, %s, %z) : (tensor<4x32xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x32xui8>
  %0 = "onnx.DequantizeLinear"(%q, %s, %z) : (tensor<4x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x32xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %c) : (tensor<32x24xi8>, tensor<f32>, tensor<i8>) -> tensor<32x24xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<4x32xf32>, tensor<32x24xf32>) -> tensor<4x24xf32>
  %3 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<4x24xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x24xui8>
  %4 = "onnx.DequantizeLinear"(%3, %s, %z) : (tensor<4x24xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x24xf32>
  onnx.Return %4 : tensor<4x24xf32>
}
