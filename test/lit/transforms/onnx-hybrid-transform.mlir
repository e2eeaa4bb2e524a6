// RUN: onnx-opt %s --onnx-hybrid-transform --split-input-file | filecheck %s
// RUN: onnx-opt %s --onnx-hybrid-transform --onnx-hybrid-transform --split-input-file | filecheck %s
// RUN: onnx-opt %s --onnx-hybrid-transform='shape-inference=true canonicalization=true constant-propagation=true decomposition=true enable-conv-to-matmul=true recomposition=true max-num-rewrites-offset=-1 max-num-rewrites-multiplier=0.5 expansion-bound=-1 round-fp-to-int=false decompose-op-in-onnx=HardSwish disable-pattern=MulConstProp' --split-input-file | filecheck %s
// RUN: onnx-opt %s --onnx-hybrid-transform='enable-conv-to-matmul=false' --split-input-file | filecheck %s --check-prefix=CONV
// RUN: onnx-opt %s --onnx-hybrid-transform='decomposition=false constant-propagation=false' --split-input-file | filecheck %s --check-prefix=SUM
// RUN: onnx-opt %s --onnx-hybrid-transform='recomposition=false canonicalization=false' --split-input-file | filecheck %s --check-prefix=ERF
// RUN: onnx-opt %s --onnx-hybrid-transform='shape-inference=false' --split-input-file | filecheck %s --check-prefix=UNRANKED
// RUN: not onnx-opt %s --onnx-hybrid-transform='disable-pattern=AddConstPro' --split-input-file 2>&1 | filecheck %s --check-prefix=NAME
// RUN: onnx-opt %s --onnx-hybrid-transform='disable' --split-input-file | filecheck %s --check-prefix=KEPT

// NAME: no rule is called 'AddConstPro'; did you mean 'AddConstProp'?

// Shape inference enables the decomposition of the convolution to MatMul; the sum of constants folds.

// CHECK-LABEL: @convolution
// CHECK-SAME:    -> tensor<2x4x8x8xf32>
// CHECK-DAG:     [[FIVE:%.+]] = onnx.Constant dense<5.000000e+00> : tensor<1xf32>
// CHECK-NOT:     "onnx.Sum"
// CHECK:         "onnx.MatMul"{{.*}} -> tensor<2x4x64xf32>
// CHECK:         "onnx.Add"({{.*}}, [[FIVE]])

// CONV-LABEL:  @convolution
// CONV:          [[BIAS:%.+]] = onnx.Constant dense<5.000000e+00> : tensor<4xf32>
// CONV-NEXT:     "onnx.Conv"(%arg0, %arg1, [[BIAS]])

// SUM-LABEL:   @convolution
// SUM:           "onnx.Sum"{{.*}} -> tensor<2x4x8x8xf32>

// UNRANKED-LABEL: @convolution
// UNRANKED-SAME:    -> tensor<*xf32>

// KEPT-LABEL:  @convolution
// KEPT-DAG:      dense<2.000000e+00>
// KEPT-DAG:      dense<3.000000e+00>
func.func @convolution(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %two = onnx.Constant dense<2.0> : tensor<1xf32>
  %three = onnx.Constant dense<3.0> : tensor<1xf32>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Sum"(%two, %three) : (tensor<1xf32>, tensor<1xf32>) -> tensor<*xf32>
  %2 = "onnx.Sum"(%0, %1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %2 : tensor<*xf32>
}

// -----

// CHECK-LABEL: @gelu
// CHECK:         "onnx.Gelu"
// CHECK-NOT:     "onnx.Erf"

// ERF-LABEL:   @gelu
// ERF:           "onnx.Erf"
func.func @gelu(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %0 = "onnx.Div"(%x, %root) : (tensor<2x3xf32>, tensor<f32>) -> tensor<*xf32>
  %1 = "onnx.Erf"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  %2 = "onnx.Add"(%1, %one) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %3 = "onnx.Mul"(%x, %2) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  %4 = "onnx.Mul"(%3, %half) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  onnx.Return %4 : tensor<*xf32>
}

// -----

// The result type of a body refines that of its parent op.

// CHECK-LABEL: @body
// CHECK-SAME:    -> tensor<2xf32>
// CHECK:         "onnx.If"
// CHECK:         -> tensor<2xf32>
func.func @body(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<*xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }, {
    %1 = "onnx.Sqrt"(%x) : (tensor<2xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A sequence of constants is not split and reassembled in an endless loop.

// CHECK-LABEL: @sequence
// CHECK:         [[PART:%.+]] = onnx.Constant
// CHECK-NEXT:    [[ALL:%.+]] = "onnx.SequenceConstruct"([[PART]], [[PART]])
// CHECK-NEXT:    onnx.Return [[ALL]]
func.func @sequence() -> !onnx.Seq<tensor<2xf32>> {
  %0 = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = "onnx.SequenceConstruct"(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> !onnx.Seq<tensor<2xf32>>
  onnx.Return %1 : !onnx.Seq<tensor<2xf32>>
}
