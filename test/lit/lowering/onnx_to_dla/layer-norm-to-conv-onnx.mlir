// RUN: onnx-opt %s --layer-norm-to-conv-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --layer-norm-to-conv-onnx=fp16=true --split-input-file | filecheck %s --check-prefix=FP16

// As torch writes the normalization of a ConvNeXt block: the transpose moves after it.
// CHECK-LABEL: @image
// CHECK-NOT:     "onnx.Transpose"
// CHECK:     %[[MEAN:.*]] = onnx.Constant dense<2.500000e-01> : tensor<1x4x1x1xf32>
// CHECK:         %[[M:.*]] = "onnx.Conv"(%arg0, %[[MEAN]], {{.*}} -> tensor<1x1x6x6xf32>
// CHECK:         %[[MINUS:.*]] = onnx.Constant dense<-1.000000e+00> : tensor<4x1x1x1xf32>
// CHECK:         %[[N:.*]] = "onnx.Conv"(%[[M]], %[[MINUS]], {{.*}} -> tensor<1x4x6x6xf32>
// CHECK-NEXT:    %[[D:.*]] = "onnx.Add"(%arg0, %[[N]])
// CHECK-NEXT:    %[[Q:.*]] = "onnx.Mul"(%[[D]], %[[D]])
// CHECK:         %[[EPSILON:.*]] = onnx.Constant dense<1.000000e-03> : tensor<1xf32>
// CHECK:         %[[V:.*]] = "onnx.Conv"(%[[Q]], {{.*}}, %[[EPSILON]]) {{.*}} -> tensor<1x1x6x6xf32>
// CHECK:         %[[E:.*]] = onnx.Constant dense<-5.000000e-01> : tensor<f32>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Pow"(%[[V]], %[[E]]) : (tensor<1x1x6x6xf32>, tensor<f32>) -> tensor<1x1x6x6xf32>
// CHECK:         %[[S:.*]] = "onnx.Expand"(%[[F]], {{.*}} -> tensor<1x4x6x6xf32>
// CHECK-NEXT:    %[[P:.*]] = "onnx.Mul"(%[[D]], %[[S]])
// CHECK:         %[[B:.*]] = "onnx.BatchNormalizationInferenceMode"(%[[P]],
// CHECK-NEXT:    %[[R:.*]] = "onnx.Transpose"(%[[B]]) <{perm = [0, 2, 3, 1]}> : (tensor<1x4x6x6xf32>) -> tensor<1x6x6x4xf32>
// CHECK-NEXT:    onnx.Return %[[R]]
func.func @image(%x: tensor<1x4x6x6xf32>) -> tensor<1x6x6x4xf32> {
  %scale = onnx.Constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %shift = onnx.Constant dense<0.5> : tensor<4xf32>
  %t = "onnx.Transpose"(%x) <{perm = [0, 2, 3, 1]}> : (tensor<1x4x6x6xf32>) -> tensor<1x6x6x4xf32>
  %y, %m, %s = "onnx.LayerNormalization"(%t, %scale, %shift) <{epsilon = 1.0e-3 : f32}>
    : (tensor<1x6x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x6x6x4xf32>, none, none)
  onnx.Return %y : tensor<1x6x6x4xf32>
}

// -----

// Rows of a sequence, without scale and shift to apply.
// CHECK-LABEL: @rows
// CHECK:         "onnx.Conv"(%arg0, {{.*}} -> tensor<1x1x20xf32>
// CHECK-NOT:     "onnx.BatchNormalizationInferenceMode"
// CHECK:         "onnx.Transpose"({{.*}}) <{perm = [0, 2, 1]}> : (tensor<1x4x20xf32>) -> tensor<1x20x4xf32>
func.func @rows(%x: tensor<1x4x20xf32>) -> tensor<1x20x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %scale = onnx.Constant dense<1.0> : tensor<4xf32>
  %t = "onnx.Transpose"(%x) <{perm = [0, 2, 1]}> : (tensor<1x4x20xf32>) -> tensor<1x20x4xf32>
  %y, %m, %s = "onnx.LayerNormalization"(%t, %scale, %none) <{axis = 2 : si64}>
    : (tensor<1x20x4xf32>, tensor<4xf32>, none) -> (tensor<1x20x4xf32>, none, none)
  onnx.Return %y : tensor<1x20x4xf32>
}

// -----

// CHECK-LABEL:   @vector
// CHECK:           "onnx.LayerNormalization"
// FP16-LABEL: @vector
// FP16:         %[[M:.*]] = "onnx.Gemm"(%arg0, {{.*}} transB = 1 : si64{{.*}} -> tensor<1x1xf32>
// FP16-NOT:     "onnx.Transpose"
// FP16-NOT:     "onnx.LayerNormalization"
// FP16:         onnx.Return
func.func @vector(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %scale = onnx.Constant dense<2.0> : tensor<4xf32>
  %y, %m, %s = "onnx.LayerNormalization"(%x, %scale, %scale)
    : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4xf32>, none, none)
  onnx.Return %y : tensor<1x4xf32>
}

// -----

// CHECK-LABEL:   @position
// CHECK:           "onnx.LayerNormalization"
// FP16-LABEL: @position
// FP16:         "onnx.Conv"(%arg0, {{.*}} -> tensor<1x1x1x1xf32>
// FP16-NOT:     "onnx.LayerNormalization"
// FP16:         onnx.Return
func.func @position(%x: tensor<1x4x1x1xf32>) -> tensor<1x1x1x4xf32> {
  %scale = onnx.Constant dense<2.0> : tensor<4xf32>
  %t = "onnx.Transpose"(%x) <{perm = [0, 2, 3, 1]}> : (tensor<1x4x1x1xf32>) -> tensor<1x1x1x4xf32>
  %y, %m, %s = "onnx.LayerNormalization"(%t, %scale, %scale)
    : (tensor<1x1x1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x1x1x4xf32>, none, none)
  onnx.Return %y : tensor<1x1x1x4xf32>
}

// -----

// No transpose before; another one; a computed scale; a batch; several axes; statistics that are read.
// CHECK-LABEL: @others
// CHECK-COUNT-6: "onnx.LayerNormalization"
// CHECK-NOT:     "onnx.Conv"
func.func @others(%x: tensor<1x6x6x4xf32>, %c: tensor<1x4x6x6xf32>, %scale: tensor<4xf32>, %b: tensor<2x4x6x6xf32>)
    -> (tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>, tensor<2x6x6x4xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x1xf32>) {
  %one = onnx.Constant dense<1.0> : tensor<4xf32>
  %two = onnx.Constant dense<1.0> : tensor<6x4xf32>
  %t = "onnx.Transpose"(%c) <{perm = [0, 2, 3, 1]}> : (tensor<1x4x6x6xf32>) -> tensor<1x6x6x4xf32>
  %u = "onnx.Transpose"(%c) <{perm = [0, 3, 2, 1]}> : (tensor<1x4x6x6xf32>) -> tensor<1x6x6x4xf32>
  %v = "onnx.Transpose"(%b) <{perm = [0, 2, 3, 1]}> : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  %0, %m0, %s0 = "onnx.LayerNormalization"(%x, %one, %one) : (tensor<1x6x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x6x6x4xf32>, none, none)
  %1, %m1, %s1 = "onnx.LayerNormalization"(%u, %one, %one) : (tensor<1x6x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x6x6x4xf32>, none, none)
  %2, %m2, %s2 = "onnx.LayerNormalization"(%t, %scale, %one) : (tensor<1x6x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x6x6x4xf32>, none, none)
  %3, %m3, %s3 = "onnx.LayerNormalization"(%v, %one, %one) : (tensor<2x6x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x6x6x4xf32>, none, none)
  %4, %m4, %s4 = "onnx.LayerNormalization"(%t, %two, %two) <{axis = 2 : si64}> : (tensor<1x6x6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<1x6x6x4xf32>, none, none)
  %5, %m5, %s5 = "onnx.LayerNormalization"(%t, %one, %one) : (tensor<1x6x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x6x6x4xf32>, none, tensor<1x6x6x1xf32>)
  onnx.Return %0, %1, %2, %3, %4, %s5 : tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4xf32>, tensor<2x6x6x4xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x1xf32>
}
