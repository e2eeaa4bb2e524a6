// RUN: onnx-opt %s --response-norm-to-conv-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --response-norm-to-conv-onnx=fp16=true --split-input-file | filecheck %s --check-prefix=FP16

// As ConvNeXt-v2 normalizes: `x + x * quotient * w` is a product of `x` and one factor per channel. Epsilon is that
// of norms, divided by the square root of 36.
// CHECK-LABEL: @channels_first
// CHECK-NOT:     "onnx.ReduceL2"
// CHECK:         %[[S:.*]] = "onnx.Mul"(%arg0, %arg0)
// CHECK-NEXT:    %[[G:.*]] = "onnx.GlobalAveragePool"(%[[S]]) : (tensor<1x2x6x6xf32>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT:    %[[HALF:.*]] = onnx.Constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT:    %[[N:.*]] = "onnx.Pow"(%[[G]], %[[HALF]])
// CHECK-NEXT:    %[[EPSILON:.*]] = onnx.Constant dense<1.000000e-01> : tensor<1xf32>
// CHECK-NEXT:    %[[MEAN:.*]] = onnx.Constant dense<5.000000e-01> : tensor<1x2x1x1xf32>
// CHECK-NEXT:    %[[M:.*]] = "onnx.Conv"(%[[N]], %[[MEAN]], %[[EPSILON]]) {{.*}} -> tensor<1x1x1x1xf32>
// CHECK-NEXT:    %[[MINUS:.*]] = onnx.Constant dense<-1.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[R:.*]] = "onnx.Pow"(%[[M]], %[[MINUS]])
// CHECK-NEXT:    %[[W:.*]] = onnx.Constant dense<{{.*}}2.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK:         %[[C:.*]] = "onnx.Conv"(%[[R]], %[[W]], {{.*}} -> tensor<1x2x1x1xf32>
// CHECK-NEXT:    %[[Q:.*]] = "onnx.Mul"(%[[N]], %[[C]])
// CHECK-NEXT:    %[[ONE:.*]] = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Add"(%[[Q]], %[[ONE]])
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Mul"(%arg0, %[[F]]) : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x6x6xf32>
// CHECK-NEXT:    onnx.Return %[[Y]]
// FP16-LABEL: @channels_first
// FP16:         onnx.Constant dense<2.500000e-01> : tensor<f32>
// FP16-NEXT:    %[[P:.*]] = "onnx.Mul"(%arg0,
// FP16-NEXT:    "onnx.Mul"(%[[P]], %[[P]])
// FP16:         onnx.Constant dense<2.500000e-02> : tensor<1xf32>
func.func @channels_first(%x: tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32> {
  %epsilon = onnx.Constant dense<0.6> : tensor<f32>
  %w = onnx.Constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %n = "onnx.ReduceL2V13"(%x) <{axes = [2, 3]}> : (tensor<1x2x6x6xf32>) -> tensor<1x2x1x1xf32>
  %m = "onnx.ReduceMeanV13"(%n) <{axes = [1]}> : (tensor<1x2x1x1xf32>) -> tensor<1x1x1x1xf32>
  %d = "onnx.Add"(%m, %epsilon) : (tensor<1x1x1x1xf32>, tensor<f32>) -> tensor<1x1x1x1xf32>
  %q = "onnx.Div"(%n, %d) : (tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x1x1xf32>
  %p = "onnx.Mul"(%x, %q) : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  %s = "onnx.Mul"(%p, %w) : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  %y = "onnx.Add"(%x, %s) : (tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %y : tensor<1x2x6x6xf32>
}

// -----

// Channels last: the transpose moves after it.
// CHECK-LABEL: @channels_last
// CHECK-NOT:     "onnx.Transpose"
// CHECK:         "onnx.GlobalAveragePool"({{.*}}) : (tensor<1x2x6x6xf32>) -> tensor<1x2x1x1xf32>
// CHECK:         onnx.Constant dense<{{.*}}2.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK:         %[[Y:.*]] = "onnx.Mul"(%arg0, {{.*}} -> tensor<1x2x6x6xf32>
// CHECK-NEXT:    %[[T:.*]] = "onnx.Transpose"(%[[Y]]) <{perm = [0, 2, 3, 1]}> : (tensor<1x2x6x6xf32>) -> tensor<1x6x6x2xf32>
// CHECK-NEXT:    onnx.Return %[[T]]
func.func @channels_last(%x: tensor<1x2x6x6xf32>) -> tensor<1x6x6x2xf32> {
  %spatial = onnx.Constant dense<[1, 2]> : tensor<2xi64>
  %last = onnx.Constant dense<[-1]> : tensor<1xi64>
  %w = onnx.Constant dense<[2.0, 3.0]> : tensor<2xf32>
  %t = "onnx.Transpose"(%x) <{perm = [0, 2, 3, 1]}> : (tensor<1x2x6x6xf32>) -> tensor<1x6x6x2xf32>
  %n = "onnx.ReduceL2"(%t, %spatial) : (tensor<1x6x6x2xf32>, tensor<2xi64>) -> tensor<1x1x1x2xf32>
  %m = "onnx.ReduceMean"(%n, %last) : (tensor<1x1x1x2xf32>, tensor<1xi64>) -> tensor<1x1x1x1xf32>
  %q = "onnx.Div"(%n, %m) : (tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x2xf32>
  %s = "onnx.Mul"(%q, %w) : (tensor<1x1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x1x2xf32>
  %p = "onnx.Mul"(%s, %t) : (tensor<1x1x1x2xf32>, tensor<1x6x6x2xf32>) -> tensor<1x6x6x2xf32>
  %y = "onnx.Add"(%p, %t) : (tensor<1x6x6x2xf32>, tensor<1x6x6x2xf32>) -> tensor<1x6x6x2xf32>
  onnx.Return %y : tensor<1x6x6x2xf32>
}

// -----

// The quotient alone, which others read too.
// CHECK-LABEL: @quotient
// CHECK:         %[[Q:.*]] = "onnx.Mul"({{.*}} -> tensor<1x2x1x1xf32>
// CHECK-NEXT:    %[[P:.*]] = "onnx.Mul"(%arg0, %[[Q]])
// CHECK-NEXT:    onnx.Return %[[Q]], %[[P]]
func.func @quotient(%x: tensor<1x2x6x6xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x2x6x6xf32>) {
  %n = "onnx.ReduceL2V13"(%x) <{axes = [2, 3]}> : (tensor<1x2x6x6xf32>) -> tensor<1x2x1x1xf32>
  %m = "onnx.ReduceMeanV13"(%n) <{axes = [1]}> : (tensor<1x2x1x1xf32>) -> tensor<1x1x1x1xf32>
  %q = "onnx.Div"(%n, %m) : (tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x1x1xf32>
  %p = "onnx.Mul"(%x, %q) : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  onnx.Return %q, %p : tensor<1x2x1x1xf32>, tensor<1x2x6x6xf32>
}

// -----

// Several images; the mean of other norms; norms of rows; channels last without a transpose; a computed addend.
// CHECK-LABEL: @others
// CHECK-COUNT-5: "onnx.Div"
// CHECK-NOT:     "onnx.GlobalAveragePool"
func.func @others(%b: tensor<2x2x6x6xf32>, %x: tensor<1x2x6x6xf32>, %z: tensor<1x2x6x6xf32>, %e: tensor<f32>)
    -> (tensor<2x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x6x1xf32>, tensor<1x1x1x6xf32>, tensor<1x2x1x1xf32>) {
  %n0 = "onnx.ReduceL2V13"(%b) <{axes = [2, 3]}> : (tensor<2x2x6x6xf32>) -> tensor<2x2x1x1xf32>
  %m0 = "onnx.ReduceMeanV13"(%n0) <{axes = [1]}> : (tensor<2x2x1x1xf32>) -> tensor<2x1x1x1xf32>
  %0 = "onnx.Div"(%n0, %m0) : (tensor<2x2x1x1xf32>, tensor<2x1x1x1xf32>) -> tensor<2x2x1x1xf32>
  %n1 = "onnx.ReduceL2V13"(%x) <{axes = [2, 3]}> : (tensor<1x2x6x6xf32>) -> tensor<1x2x1x1xf32>
  %o1 = "onnx.ReduceL2V13"(%z) <{axes = [2, 3]}> : (tensor<1x2x6x6xf32>) -> tensor<1x2x1x1xf32>
  %m1 = "onnx.ReduceMeanV13"(%o1) <{axes = [1]}> : (tensor<1x2x1x1xf32>) -> tensor<1x1x1x1xf32>
  %1 = "onnx.Div"(%n1, %m1) : (tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x1x1xf32>
  %n2 = "onnx.ReduceL2V13"(%x) <{axes = [3]}> : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x1xf32>
  %m2 = "onnx.ReduceMeanV13"(%n2) <{axes = [1, 2]}> : (tensor<1x2x6x1xf32>) -> tensor<1x1x1x1xf32>
  %2 = "onnx.Div"(%n2, %m2) : (tensor<1x2x6x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x6x1xf32>
  %n3 = "onnx.ReduceL2V13"(%x) <{axes = [1, 2]}> : (tensor<1x2x6x6xf32>) -> tensor<1x1x1x6xf32>
  %m3 = "onnx.ReduceMeanV13"(%n3) <{axes = [3]}> : (tensor<1x1x1x6xf32>) -> tensor<1x1x1x1xf32>
  %3 = "onnx.Div"(%n3, %m3) : (tensor<1x1x1x6xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x6xf32>
  %m4 = "onnx.ReduceMeanV13"(%n1) <{axes = [1]}> : (tensor<1x2x1x1xf32>) -> tensor<1x1x1x1xf32>
  %d4 = "onnx.Add"(%m4, %e) : (tensor<1x1x1x1xf32>, tensor<f32>) -> tensor<1x1x1x1xf32>
  %4 = "onnx.Div"(%n1, %d4) : (tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x1x1xf32>
  onnx.Return %0, %1, %2, %3, %4 : tensor<2x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x6x1xf32>, tensor<1x1x1x6xf32>, tensor<1x2x1x1xf32>
}
