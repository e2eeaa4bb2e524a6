// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Arithmetic on tensors: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @Celu
// CHECK: "onnx.Celu"({{%.+}}) <{alpha = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Celu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Celu"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Elu
// CHECK: "onnx.Elu"({{%.+}}) <{alpha = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Elu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Elu"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @EluV1
// CHECK: "onnx.EluV1"({{%.+}}) <{alpha = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @EluV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.EluV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Gelu
// CHECK: "onnx.Gelu"({{%.+}}) <{approximate = "none"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Gelu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Gelu"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Mish
// CHECK: "onnx.Mish"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Mish(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Mish"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Selu
// CHECK: "onnx.Selu"({{%.+}}) <{alpha = 1.67326319 : f32, gamma = 1.05070102 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Selu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Selu"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SeluV1
// CHECK: "onnx.SeluV1"({{%.+}}) <{alpha = 1.673200e+00 : f32, gamma = 1.050700e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @SeluV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SeluV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sigmoid
// CHECK: "onnx.Sigmoid"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Sigmoid(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Sigmoid"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SigmoidV1
// CHECK: "onnx.SigmoidV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @SigmoidV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SigmoidV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Softplus
// CHECK: "onnx.Softplus"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Softplus(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Softplus"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Softsign
// CHECK: "onnx.Softsign"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Softsign(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Softsign"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SwiGLU
// CHECK: "onnx.SwiGLU"({{%.+}}, {{%.+}}) <{alpha = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @SwiGLU(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SwiGLU"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Swish
// CHECK: "onnx.Swish"({{%.+}}) <{alpha = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Swish(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Swish"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Add
// CHECK: "onnx.Add"({{%.+}}, {{%.+}}) : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
func.func @Add(%arg0: tensor<4x1xf32>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = "onnx.Add"(%arg0, %arg1) : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @AddV6
// CHECK: "onnx.AddV6"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @AddV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.AddV6"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @AddV1
// CHECK: "onnx.AddV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @AddV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.AddV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Div
// CHECK: "onnx.Div"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @Div(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Div"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DivV6
// CHECK: "onnx.DivV6"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @DivV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.DivV6"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DivV1
// CHECK: "onnx.DivV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @DivV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.DivV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Mod
// CHECK: "onnx.Mod"({{%.+}}, {{%.+}}) <{fmod = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @Mod(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Mod"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Mul
// CHECK: "onnx.Mul"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @Mul(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Mul"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MulV6
// CHECK: "onnx.MulV6"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @MulV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MulV6"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MulV1
// CHECK: "onnx.MulV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @MulV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MulV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Pow
// CHECK: "onnx.Pow"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @Pow(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Pow"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PowV1
// CHECK: "onnx.PowV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @PowV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.PowV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sub
// CHECK: "onnx.Sub"({{%.+}}, {{%.+}}) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
func.func @Sub(%arg0: tensor<4x3xf32>, %arg1: tensor<f32>) -> tensor<4x3xf32> {
  %0 = "onnx.Sub"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @SubV6
// CHECK: "onnx.SubV6"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @SubV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SubV6"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SubV1
// CHECK: "onnx.SubV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @SubV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SubV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Abs
// CHECK: "onnx.Abs"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Abs(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Abs"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @AbsV1
// CHECK: "onnx.AbsV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @AbsV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.AbsV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CumProd
// CHECK: "onnx.CumProd"({{%.+}}, {{%.+}}) <{exclusive = 0 : si64, reverse = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @CumProd(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.CumProd"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CumSum
// CHECK: "onnx.CumSum"({{%.+}}, {{%.+}}) <{exclusive = 0 : si64, reverse = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @CumSum(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.CumSum"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Erf
// CHECK: "onnx.Erf"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Erf(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Erf"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Exp
// CHECK: "onnx.Exp"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Exp(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Exp"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ExpV1
// CHECK: "onnx.ExpV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @ExpV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ExpV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Expand
// CHECK: "onnx.Expand"({{%.+}}, {{%.+}}) : (tensor<3x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
func.func @Expand(%arg0: tensor<3x1xf32>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = "onnx.Expand"(%arg0, %arg1) : (tensor<3x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @Log
// CHECK: "onnx.Log"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Log(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Log"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LogV1
// CHECK: "onnx.LogV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @LogV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LogV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Neg
// CHECK: "onnx.Neg"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Neg(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Neg"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @NegV1
// CHECK: "onnx.NegV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @NegV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.NegV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Reciprocal
// CHECK: "onnx.Reciprocal"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Reciprocal(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Reciprocal"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReciprocalV1
// CHECK: "onnx.ReciprocalV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReciprocalV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReciprocalV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sqrt
// CHECK: "onnx.Sqrt"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Sqrt(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Sqrt"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SqrtV1
// CHECK: "onnx.SqrtV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @SqrtV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SqrtV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Det
// CHECK: "onnx.Det"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Det(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Det"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Einsum
// CHECK: "onnx.Einsum"({{%.+}}) <{equation = "ij->ji"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Einsum(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Einsum"(%arg0) <{equation = "ij->ji"}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Gemm
// CHECK: "onnx.Gemm"({{%.+}}, {{%.+}}, {{%.+}}) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 0 : si64}> : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @Gemm(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = "onnx.Gemm"(%arg0, %arg1, %arg2) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.Return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @GemmV6
// CHECK: "onnx.GemmV6"({{%.+}}, {{%.+}}, {{%.+}}) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, broadcast = 0 : si64, transA = 0 : si64, transB = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @GemmV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GemmV6"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MatMul
// CHECK: "onnx.MatMul"({{%.+}}, {{%.+}}) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
func.func @MatMul(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = "onnx.MatMul"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  onnx.Return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @MatMulInteger
// CHECK: "onnx.MatMulInteger"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xui8>, tensor<*xui8>, none, none) -> tensor<*xi32>
func.func @MatMulInteger(%arg0: tensor<*xui8>, %arg1: tensor<*xui8>) -> tensor<*xi32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.MatMulInteger"(%arg0, %arg1, %none, %none) : (tensor<*xui8>, tensor<*xui8>, none, none) -> tensor<*xi32>
  onnx.Return %0 : tensor<*xi32>
}

// CHECK-LABEL: @QLinearMatMul
// CHECK: "onnx.QLinearMatMul"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>) -> tensor<*xui8>
func.func @QLinearMatMul(%arg0: tensor<*xui8>, %arg1: tensor<*xf32>, %arg2: tensor<*xui8>, %arg3: tensor<*xui8>, %arg4: tensor<*xf32>, %arg5: tensor<*xui8>, %arg6: tensor<*xf32>, %arg7: tensor<*xui8>) -> tensor<*xui8> {
  %0 = "onnx.QLinearMatMul"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}

// CHECK-LABEL: @Hardmax
// CHECK: "onnx.Hardmax"({{%.+}}) <{axis = -1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Hardmax(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Hardmax"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @HardmaxV11
// CHECK: "onnx.HardmaxV11"({{%.+}}) <{axis = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @HardmaxV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.HardmaxV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LogSoftmax
// CHECK: "onnx.LogSoftmax"({{%.+}}) <{axis = -1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LogSoftmax(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LogSoftmax"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LogSoftmaxV11
// CHECK: "onnx.LogSoftmaxV11"({{%.+}}) <{axis = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LogSoftmaxV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LogSoftmaxV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @NegativeLogLikelihoodLoss
// CHECK: "onnx.NegativeLogLikelihoodLoss"({{%.+}}, {{%.+}}, {{%.+}}) <{reduction = "mean"}> : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
func.func @NegativeLogLikelihoodLoss(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.NegativeLogLikelihoodLoss"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Softmax
// CHECK: "onnx.Softmax"({{%.+}}) <{axis = -1 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @Softmax(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Softmax"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @SoftmaxV11
// CHECK: "onnx.SoftmaxV11"({{%.+}}) <{axis = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @SoftmaxV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SoftmaxV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SoftmaxCrossEntropyLoss
// CHECK: "onnx.SoftmaxCrossEntropyLoss"({{%.+}}, {{%.+}}, {{%.+}}) <{reduction = "mean"}> : (tensor<*xf32>, tensor<*xi64>, none) -> (tensor<*xf32>, none)
func.func @SoftmaxCrossEntropyLoss(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> (tensor<*xf32>, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.SoftmaxCrossEntropyLoss"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xi64>, none) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// CHECK-LABEL: @TopK
// CHECK: "onnx.TopK"({{%.+}}, {{%.+}}) <{axis = -1 : si64, largest = 1 : si64, sorted = 1 : si64}> : (tensor<4x8xf32>, tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>)
func.func @TopK(%arg0: tensor<4x8xf32>, %arg1: tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>) {
  %0:2 = "onnx.TopK"(%arg0, %arg1) : (tensor<4x8xf32>, tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>)
  onnx.Return %0#0, %0#1 : tensor<4x?xf32>, tensor<4x?xi64>
}

// CHECK-LABEL: @TopKV1
// CHECK: "onnx.TopKV1"({{%.+}}) <{axis = -1 : si64, k = 1 : si64}> : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>)
func.func @TopKV1(%arg0: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>) {
  %0:2 = "onnx.TopKV1"(%arg0) <{k = 1 : si64}> : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xi64>
}

// CHECK-LABEL: @HardSigmoid
// CHECK: "onnx.HardSigmoid"({{%.+}}) <{alpha = 2.000000e-01 : f32, beta = 5.000000e-01 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @HardSigmoid(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.HardSigmoid"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @HardSigmoidV1
// CHECK: "onnx.HardSigmoidV1"({{%.+}}) <{alpha = 2.000000e-01 : f32, beta = 5.000000e-01 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @HardSigmoidV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.HardSigmoidV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @HardSwish
// CHECK: "onnx.HardSwish"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @HardSwish(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.HardSwish"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LeakyRelu
// CHECK: "onnx.LeakyRelu"({{%.+}}) <{alpha = 0.00999999977 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LeakyRelu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LeakyRelu"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LeakyReluV1
// CHECK: "onnx.LeakyReluV1"({{%.+}}) <{alpha = 0.00999999977 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LeakyReluV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LeakyReluV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PRelu
// CHECK: "onnx.PRelu"({{%.+}}, {{%.+}}) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
func.func @PRelu(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = "onnx.PRelu"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @PReluV6
// CHECK: "onnx.PReluV6"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @PReluV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.PReluV6"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PReluV1
// CHECK: "onnx.PReluV1"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @PReluV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.PReluV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Relu
// CHECK: "onnx.Relu"({{%.+}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @Relu(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Relu"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @ReluV1
// CHECK: "onnx.ReluV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReluV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReluV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ThresholdedRelu
// CHECK: "onnx.ThresholdedRelu"({{%.+}}) <{alpha = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ThresholdedRelu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ThresholdedRelu"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Ceil
// CHECK: "onnx.Ceil"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Ceil(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Ceil"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CeilV1
// CHECK: "onnx.CeilV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @CeilV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.CeilV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Clip
// CHECK: "onnx.Clip"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
func.func @Clip(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<2x3xf32> {
  %0 = "onnx.Clip"(%arg0, %arg1, %arg2) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @ClipV12
// CHECK: "onnx.ClipV12"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xf32>, none, none) -> tensor<*xf32>
func.func @ClipV12(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ClipV12"(%arg0, %none, %none) : (tensor<*xf32>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ClipV11
// CHECK: "onnx.ClipV11"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xf32>, none, none) -> tensor<*xf32>
func.func @ClipV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ClipV11"(%arg0, %none, %none) : (tensor<*xf32>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ClipV6
// CHECK: "onnx.ClipV6"({{%.+}}) <{max = 3.40282347E+38 : f32, min = -3.40282347E+38 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ClipV6(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ClipV6"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ClipV1
// CHECK: "onnx.ClipV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @ClipV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ClipV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Floor
// CHECK: "onnx.Floor"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Floor(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Floor"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @FloorV1
// CHECK: "onnx.FloorV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @FloorV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.FloorV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Round
// CHECK: "onnx.Round"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Round(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Round"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sign
// CHECK: "onnx.Sign"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Sign(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Sign"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @BlackmanWindow
// CHECK: "onnx.BlackmanWindow"({{%.+}}) <{output_datatype = 1 : si64, periodic = 1 : si64}> : (tensor<*xi64>) -> tensor<*xf32>
func.func @BlackmanWindow(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.BlackmanWindow"(%arg0) : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DFT
// CHECK: "onnx.DFT"({{%.+}}, {{%.+}}, {{%.+}}) <{inverse = 0 : si64, onesided = 0 : si64}> : (tensor<*xf32>, none, none) -> tensor<*xf32>
func.func @DFT(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DFT"(%arg0, %none, %none) : (tensor<*xf32>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DFTV17
// CHECK: "onnx.DFTV17"({{%.+}}, {{%.+}}) <{axis = 1 : si64, inverse = 0 : si64, onesided = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @DFTV17(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DFTV17"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @HammingWindow
// CHECK: "onnx.HammingWindow"({{%.+}}) <{output_datatype = 1 : si64, periodic = 1 : si64}> : (tensor<*xi64>) -> tensor<*xf32>
func.func @HammingWindow(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.HammingWindow"(%arg0) : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @HannWindow
// CHECK: "onnx.HannWindow"({{%.+}}) <{output_datatype = 1 : si64, periodic = 1 : si64}> : (tensor<*xi64>) -> tensor<*xf32>
func.func @HannWindow(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.HannWindow"(%arg0) : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MelWeightMatrix
// CHECK: "onnx.MelWeightMatrix"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{output_datatype = 1 : si64}> : (tensor<*xi64>, tensor<*xi64>, tensor<*xi64>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @MelWeightMatrix(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>, %arg2: tensor<*xi64>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MelWeightMatrix"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xi64>, tensor<*xi64>, tensor<*xi64>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @STFT
// CHECK: "onnx.STFT"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{onesided = 1 : si64}> : (tensor<*xf32>, tensor<*xi64>, none, none) -> tensor<*xf32>
func.func @STFT(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.STFT"(%arg0, %arg1, %none, %none) : (tensor<*xf32>, tensor<*xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Acos
// CHECK: "onnx.Acos"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Acos(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Acos"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Acosh
// CHECK: "onnx.Acosh"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Acosh(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Acosh"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Asin
// CHECK: "onnx.Asin"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Asin(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Asin"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Asinh
// CHECK: "onnx.Asinh"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Asinh(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Asinh"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Atan
// CHECK: "onnx.Atan"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Atan(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Atan"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Atanh
// CHECK: "onnx.Atanh"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Atanh(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Atanh"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Cos
// CHECK: "onnx.Cos"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Cos(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Cos"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Cosh
// CHECK: "onnx.Cosh"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Cosh(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Cosh"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sin
// CHECK: "onnx.Sin"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Sin(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Sin"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sinh
// CHECK: "onnx.Sinh"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Sinh(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Sinh"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Tan
// CHECK: "onnx.Tan"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Tan(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Tan"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Tanh
// CHECK: "onnx.Tanh"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Tanh(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Tanh"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @TanhV1
// CHECK: "onnx.TanhV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @TanhV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.TanhV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Max
// CHECK: "onnx.Max"({{%.+}}, {{%.+}}) : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
func.func @Max(%arg0: tensor<4x1xf32>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
  %0 = "onnx.Max"(%arg0, %arg1) : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @MaxV1
// CHECK: "onnx.MaxV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @MaxV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MaxV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Mean
// CHECK: "onnx.Mean"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Mean(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Mean"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MeanV1
// CHECK: "onnx.MeanV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @MeanV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MeanV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Min
// CHECK: "onnx.Min"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Min(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Min"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MinV1
// CHECK: "onnx.MinV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @MinV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MinV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Sum
// CHECK: "onnx.Sum"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Sum(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Sum"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SumV1
// CHECK: "onnx.SumV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @SumV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SumV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
