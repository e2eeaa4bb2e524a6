// RUN: onnx-opt %s --group-norm-to-conv-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --group-norm-to-conv-onnx=fp16=true --split-input-file | filecheck %s --check-prefix=FP16

// Single channels need no convolution between pooling and product. FP16 has a lowering for them.
// CHECK-LABEL: @instances
// CHECK-NEXT:    %[[M:.*]] = "onnx.GlobalAveragePool"(%arg0) : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[MINUS:.*]] = onnx.Constant dense<-1.000000e+00> : tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[N:.*]] = "onnx.Mul"(%[[M]], %[[MINUS]])
// CHECK-NEXT:    %[[D:.*]] = "onnx.Add"(%arg0, %[[N]]) : (tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT:    %[[Q:.*]] = "onnx.Mul"(%[[D]], %[[D]])
// CHECK-NEXT:    %[[G:.*]] = "onnx.GlobalAveragePool"(%[[Q]])
// CHECK-NEXT:    %[[EPSILON:.*]] = onnx.Constant dense<1.000000e-03> : tensor<f32>
// CHECK-NEXT:    %[[V:.*]] = "onnx.Add"(%[[G]], %[[EPSILON]])
// CHECK-NEXT:    %[[HALF:.*]] = onnx.Constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT:    %[[P:.*]] = "onnx.Pow"(%[[V]], %[[HALF]])
// CHECK-NEXT:    %[[SCALE:.*]] = onnx.Constant dense<{{.*}}1.000000e+00{{.*}}4.000000e+00{{.*}}> : tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Mul"(%[[P]], %[[SCALE]])
// CHECK-NEXT:    %[[R:.*]] = "onnx.Mul"(%[[D]], %[[F]]) : (tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT:    %[[SHIFT:.*]] = onnx.Constant dense<5.000000e-01> : tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Add"(%[[R]], %[[SHIFT]])
// CHECK-NEXT:    onnx.Return %[[Y]]
// FP16-LABEL: @instances
// FP16:         "onnx.InstanceNormalization"
func.func @instances(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %scale = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %shift = onnx.Constant dense<0.5> : tensor<4xf32>
  %y = "onnx.InstanceNormalization"(%x, %scale, %shift) <{epsilon = 1.0e-3 : f32}>
    : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %y : tensor<1x4x6x6xf32>
}

// -----

// Two groups of two channels; the copies to channels are multiplied by their scales.
// CHECK-LABEL: @groups
// CHECK:         %[[MEAN:.*]] = onnx.Constant dense<5.000000e-01> : tensor<2x2x1x1xf32>
// CHECK-NEXT:    %[[G:.*]] = "onnx.Conv"({{.*}}, %[[MEAN]], {{.*}} group = 2 : si64{{.*}} -> tensor<1x2x1x1xf32>
// CHECK:         "onnx.Conv"(%[[G]], {{.*}} -> tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[D:.*]] = "onnx.Add"(%arg0,
// CHECK-NEXT:    "onnx.Mul"(%[[D]], %[[D]])
// CHECK:         %[[P:.*]] = "onnx.Pow"({{.*}} -> tensor<1x2x1x1xf32>
// CHECK:         %[[SCALES:.*]] = onnx.Constant dense<{{.*}}1.000000e+00{{.*}}2.000000e+00{{.*}}> : tensor<4x1x1x1xf32>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Conv"(%[[P]], %[[SCALES]], {{.*}} -> tensor<1x4x1x1xf32>
// CHECK-NEXT:    "onnx.Mul"(%[[D]], %[[F]])
// FP16-LABEL: @groups
// FP16:         %[[D:.*]] = "onnx.Add"(%arg0,
// FP16-NEXT:    %[[QUARTER:.*]] = onnx.Constant dense<2.500000e-01> : tensor<f32>
// FP16-NEXT:    %[[E:.*]] = "onnx.Mul"(%[[D]], %[[QUARTER]])
// FP16-NEXT:    "onnx.Mul"(%[[E]], %[[E]])
// FP16:         onnx.Constant dense<6.250000e-05> : tensor<2xf32>
func.func @groups(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %scale = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %shift = onnx.Constant dense<0.0> : tensor<4xf32>
  %y = "onnx.GroupNormalization"(%x, %scale, %shift) <{epsilon = 1.0e-3 : f32, num_groups = 2 : si64}>
    : (tensor<1x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %y : tensor<1x4x6x6xf32>
}

// -----

// As torch writes groups of channels: reshaped to single ones, back, and multiplied and shifted after that.
// CHECK-LABEL: @reshaped
// CHECK-NEXT:    "onnx.GlobalAveragePool"(%arg0) : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
// CHECK-NOT:     "onnx.Reshape"
// CHECK:         onnx.Constant dense<{{.*}}7.000000e+00{{.*}}1.000000e+01{{.*}}> : tensor<4x1x1x1xf32>
// CHECK:         %[[R:.*]] = "onnx.Mul"(
// CHECK-NEXT:    %[[SHIFT:.*]] = onnx.Constant dense<5.000000e-01> : tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Add"(%[[R]], %[[SHIFT]])
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @reshaped(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %one = onnx.Constant dense<1.0> : tensor<1xf32>
  %zero = onnx.Constant dense<0.0> : tensor<1xf32>
  %single = onnx.Constant dense<[0, 1, -1]> : tensor<3xi64>
  %whole = onnx.Constant dense<[1, 4, 6, 6]> : tensor<4xi64>
  %scale = onnx.Constant dense<[[[7.0]], [[8.0]], [[9.0]], [[10.0]]]> : tensor<4x1x1xf32>
  %shift = onnx.Constant dense<[[[0.5]], [[0.5]], [[0.5]], [[0.5]]]> : tensor<4x1x1xf32>
  %a = "onnx.Reshape"(%x, %single) : (tensor<1x4x6x6xf32>, tensor<3xi64>) -> tensor<1x1x144xf32>
  %b = "onnx.InstanceNormalization"(%a, %one, %zero) : (tensor<1x1x144xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x144xf32>
  %c = "onnx.Reshape"(%b, %whole) : (tensor<1x1x144xf32>, tensor<4xi64>) -> tensor<1x4x6x6xf32>
  %d = "onnx.Mul"(%c, %scale) : (tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %e = "onnx.Add"(%d, %shift) : (tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %e : tensor<1x4x6x6xf32>
}

// -----

// What is read elsewhere, or differs between positions, stays behind.
// CHECK-LABEL: @affine_that_stays
// CHECK:         %[[SHIFT:.*]] = onnx.Constant {{.*}} : tensor<1x1x6x6xf32>
// CHECK:         "onnx.Pow"
// CHECK:         %[[R:.*]] = "onnx.Mul"({{.*}} : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>)
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Add"(%[[R]], %[[SHIFT]])
// CHECK-NEXT:    "onnx.Mul"(%[[Y]], {{.*}}) : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>)
// CHECK-NEXT:    onnx.Return
func.func @affine_that_stays(%x: tensor<1x2x6x6xf32>) -> (tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>) {
  %one = onnx.Constant dense<1.0> : tensor<2xf32>
  %zero = onnx.Constant dense<0.0> : tensor<2xf32>
  %factor = onnx.Constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %shift = onnx.Constant dense<[[[[0., 1., 2., 3., 4., 5.], [0., 1., 2., 3., 4., 5.], [0., 1., 2., 3., 4., 5.],
    [0., 1., 2., 3., 4., 5.], [0., 1., 2., 3., 4., 5.], [0., 1., 2., 3., 4., 5.]]]]> : tensor<1x1x6x6xf32>
  %y = "onnx.InstanceNormalization"(%x, %one, %zero) : (tensor<1x2x6x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  %z = "onnx.Add"(%y, %shift) : (tensor<1x2x6x6xf32>, tensor<1x1x6x6xf32>) -> tensor<1x2x6x6xf32>
  %w = "onnx.Mul"(%z, %factor) : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %z, %w : tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>
}

// -----

// Several images; a computed scale; volumes; one position; dynamic sizes.
// CHECK-LABEL: @others
// CHECK-COUNT-6: "onnx.InstanceNormalization"
// CHECK-NOT:     "onnx.GlobalAveragePool"
func.func @others(%b: tensor<2x2x6x6xf32>, %x: tensor<1x2x6x6xf32>, %s: tensor<2xf32>, %v: tensor<1x2x3x3x3xf32>, %p: tensor<1x2x1x1xf32>, %d: tensor<1x2x?x6xf32>)
    -> (tensor<2x2x6x6xf32>, tensor<1x2x6x6xf32>, tensor<1x2x3x3x3xf32>, tensor<1x2x1x1xf32>, tensor<1x2x?x6xf32>, tensor<1x1x72xf32>) {
  %one = onnx.Constant dense<1.0> : tensor<2xf32>
  %row = onnx.Constant dense<1.0> : tensor<1xf32>
  %single = onnx.Constant dense<[1, 1, 72]> : tensor<3xi64>
  %0 = "onnx.InstanceNormalization"(%b, %one, %one) : (tensor<2x2x6x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x6x6xf32>
  %1 = "onnx.InstanceNormalization"(%x, %s, %one) : (tensor<1x2x6x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  %2 = "onnx.InstanceNormalization"(%v, %one, %one) : (tensor<1x2x3x3x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x3x3xf32>
  %3 = "onnx.InstanceNormalization"(%p, %one, %one) : (tensor<1x2x1x1xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x1x1xf32>
  %4 = "onnx.InstanceNormalization"(%d, %one, %one) : (tensor<1x2x?x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x?x6xf32>
  %5 = "onnx.Reshape"(%b, %single) : (tensor<2x2x6x6xf32>, tensor<3xi64>) -> tensor<1x1x72xf32>
  %6 = "onnx.InstanceNormalization"(%4, %s, %one) : (tensor<1x2x?x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x?x6xf32>
  onnx.Return %0, %1, %2, %3, %6, %5 : tensor<2x2x6x6xf32>, tensor<1x2x6x6xf32>, tensor<1x2x3x3x3xf32>, tensor<1x2x1x1xf32>, tensor<1x2x?x6xf32>, tensor<1x1x72xf32>
}

// -----

// What is divided by the standard deviation of groups, as EvoNorm does: the power of the variance is copied to channels.
// CHECK-LABEL: @deviation
// CHECK:         %[[P:.*]] = "onnx.Pow"({{.*}} -> tensor<1x2x1x1xf32>
// CHECK:         %[[F:.*]] = "onnx.Conv"(%[[P]], {{.*}} -> tensor<1x4x1x1xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Mul"(%arg1, %[[F]])
// CHECK-NEXT:    onnx.Return %[[Y]]
// FP16-LABEL: @deviation
// FP16:         onnx.Constant dense<2.500000e-01> : tensor<4x1x1x1xf32>
// FP16:         "onnx.Mul"(%arg1,
func.func @deviation(%x: tensor<1x4x6x6xf32>, %d: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %grouped = onnx.Constant dense<[1, 2, 2, 6, 6]> : tensor<5xi64>
  %shape = onnx.Constant dense<[1, 4, 6, 6]> : tensor<4xi64>
  %axes = onnx.Constant dense<[2, 3, 4]> : tensor<3xi64>
  %epsilon = onnx.Constant dense<1.0e-3> : tensor<f32>
  %r = "onnx.Reshape"(%x, %grouped) : (tensor<1x4x6x6xf32>, tensor<5xi64>) -> tensor<1x2x2x6x6xf32>
  %m = "onnx.ReduceMean"(%r, %axes) : (tensor<1x2x2x6x6xf32>, tensor<3xi64>) -> tensor<1x2x1x1x1xf32>
  %c = "onnx.Sub"(%r, %m) : (tensor<1x2x2x6x6xf32>, tensor<1x2x1x1x1xf32>) -> tensor<1x2x2x6x6xf32>
  %q = "onnx.Mul"(%c, %c) : (tensor<1x2x2x6x6xf32>, tensor<1x2x2x6x6xf32>) -> tensor<1x2x2x6x6xf32>
  %v = "onnx.ReduceMean"(%q, %axes) : (tensor<1x2x2x6x6xf32>, tensor<3xi64>) -> tensor<1x2x1x1x1xf32>
  %e = "onnx.Add"(%v, %epsilon) : (tensor<1x2x1x1x1xf32>, tensor<f32>) -> tensor<1x2x1x1x1xf32>
  %s = "onnx.Sqrt"(%e) : (tensor<1x2x1x1x1xf32>) -> tensor<1x2x1x1x1xf32>
  %w = "onnx.Expand"(%s, %grouped) : (tensor<1x2x1x1x1xf32>, tensor<5xi64>) -> tensor<1x2x2x6x6xf32>
  %b = "onnx.Reshape"(%w, %shape) : (tensor<1x2x2x6x6xf32>, tensor<4xi64>) -> tensor<1x4x6x6xf32>
  %y = "onnx.Div"(%d, %b) : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  onnx.Return %y : tensor<1x4x6x6xf32>
}
