// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Arithmetic on tensors: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @Celu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Celu"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Elu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Elu"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @EluV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.EluV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Gelu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Gelu"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Mish(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Mish"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Selu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Selu"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SeluV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.SeluV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sigmoid(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Sigmoid"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SigmoidV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.SigmoidV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Softplus(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Softplus"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Softsign(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Softsign"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SwiGLU(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.SwiGLU"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Swish(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Swish"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Add(%arg0: tensor<*xindex>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Add"(%arg0, %arg1) : (tensor<*xindex>, tensor<3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// -----

func.func @AddV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.AddV6"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @AddV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.AddV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Div(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Div"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DivV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.DivV6"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DivV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.DivV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Mod(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Mod"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Mul(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Mul"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MulV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.MulV6"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MulV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.MulV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Pow(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Pow"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PowV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.PowV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sub(%arg0: tensor<*xindex>, %arg1: tensor<f32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Sub"(%arg0, %arg1) : (tensor<*xindex>, tensor<f32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// -----

func.func @SubV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.SubV6"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SubV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.SubV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Abs(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Abs"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @AbsV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.AbsV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CumProd(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0 = "onnx.CumProd"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CumSum(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0 = "onnx.CumSum"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Erf(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Erf"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Exp(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Exp"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ExpV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.ExpV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Expand(%arg0: tensor<*xindex>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Expand"(%arg0, %arg1) : (tensor<*xindex>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

func.func @Log(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Log"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LogV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.LogV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Neg(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Neg"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @NegV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.NegV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Reciprocal(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Reciprocal"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReciprocalV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ReciprocalV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sqrt(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Sqrt"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SqrtV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.SqrtV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Det(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Det"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Einsum(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'Inputs' at position 0 does not verify}}
  %0 = "onnx.Einsum"(%arg0) <{equation = "ij->ji"}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Einsum(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'equation' expected in operation 'onnx.Einsum'}}
  %0 = "onnx.Einsum"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Gemm(%arg0: tensor<*xindex>, %arg1: tensor<3x4xf32>, %arg2: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Gemm"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  onnx.Return %0 : tensor<2x4xf32>
}

// -----

func.func @GemmV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.GemmV6"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MatMul(%arg0: tensor<*xindex>, %arg1: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.MatMul"(%arg0, %arg1) : (tensor<*xindex>, tensor<3x4xf32>) -> tensor<2x4xf32>
  onnx.Return %0 : tensor<2x4xf32>
}

// -----

func.func @MatMulInteger(%arg0: tensor<*xindex>, %arg1: tensor<*xui8>) -> tensor<*xi32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.MatMulInteger"(%arg0, %arg1, %none, %none) : (tensor<*xindex>, tensor<*xui8>, none, none) -> tensor<*xi32>
  onnx.Return %0 : tensor<*xi32>
}

// -----

func.func @QLinearMatMul(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xui8>, %arg3: tensor<*xui8>, %arg4: tensor<*xf32>, %arg5: tensor<*xui8>, %arg6: tensor<*xf32>, %arg7: tensor<*xui8>) -> tensor<*xui8> {
  // expected-error@+1 {{operand 'a' at position 0 does not verify}}
  %0 = "onnx.QLinearMatMul"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<*xindex>, tensor<*xf32>, tensor<*xui8>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}

// -----

func.func @Hardmax(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Hardmax"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @HardmaxV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.HardmaxV11"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LogSoftmax(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.LogSoftmax"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LogSoftmaxV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.LogSoftmaxV11"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @NegativeLogLikelihoodLoss(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.NegativeLogLikelihoodLoss"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Softmax(%arg0: tensor<*xindex>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Softmax"(%arg0) : (tensor<*xindex>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

func.func @SoftmaxV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.SoftmaxV11"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SoftmaxCrossEntropyLoss(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> (tensor<*xf32>, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'scores' at position 0 does not verify}}
  %0:2 = "onnx.SoftmaxCrossEntropyLoss"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xi64>, none) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// -----

func.func @TopK(%arg0: tensor<*xindex>, %arg1: tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.TopK"(%arg0, %arg1) : (tensor<*xindex>, tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>)
  onnx.Return %0#0, %0#1 : tensor<4x?xf32>, tensor<4x?xi64>
}

// -----

func.func @TopKV1(%arg0: tensor<*xindex>) -> (tensor<*xf32>, tensor<*xi64>) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.TopKV1"(%arg0) <{k = 1 : si64}> : (tensor<*xindex>) -> (tensor<*xf32>, tensor<*xi64>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xi64>
}

// -----

func.func @TopKV1(%arg0: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>) {
  // expected-error@+1 {{property 'k' expected in operation 'onnx.TopKV1'}}
  %0:2 = "onnx.TopKV1"(%arg0) : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi64>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xi64>
}

// -----

func.func @HardSigmoid(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.HardSigmoid"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @HardSigmoidV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.HardSigmoidV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @HardSwish(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.HardSwish"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LeakyRelu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LeakyRelu"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LeakyReluV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LeakyReluV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PRelu(%arg0: tensor<*xindex>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.PRelu"(%arg0, %arg1) : (tensor<*xindex>, tensor<3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// -----

func.func @PReluV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.PReluV6"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PReluV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.PReluV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Relu(%arg0: tensor<*xindex>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Relu"(%arg0) : (tensor<*xindex>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

func.func @ReluV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ReluV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ThresholdedRelu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ThresholdedRelu"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Ceil(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Ceil"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CeilV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.CeilV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Clip(%arg0: tensor<*xindex>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Clip"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

func.func @ClipV12(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.ClipV12"(%arg0, %none, %none) : (tensor<*xindex>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ClipV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.ClipV11"(%arg0, %none, %none) : (tensor<*xindex>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ClipV6(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.ClipV6"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ClipV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.ClipV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Floor(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Floor"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @FloorV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.FloorV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Round(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Round"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sign(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Sign"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @BlackmanWindow(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'size' at position 0 does not verify}}
  %0 = "onnx.BlackmanWindow"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DFT(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.DFT"(%arg0, %none, %none) : (tensor<*xindex>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DFTV17(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.DFTV17"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @HammingWindow(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'size' at position 0 does not verify}}
  %0 = "onnx.HammingWindow"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @HannWindow(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'size' at position 0 does not verify}}
  %0 = "onnx.HannWindow"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MelWeightMatrix(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xi64>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'num_mel_bins' at position 0 does not verify}}
  %0 = "onnx.MelWeightMatrix"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xindex>, tensor<*xi64>, tensor<*xi64>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @STFT(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'signal' at position 0 does not verify}}
  %0 = "onnx.STFT"(%arg0, %arg1, %none, %none) : (tensor<*xindex>, tensor<*xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Acos(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Acos"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Acosh(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Acosh"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Asin(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Asin"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Asinh(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Asinh"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Atan(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Atan"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Atanh(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Atanh"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Cos(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Cos"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Cosh(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Cosh"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sin(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Sin"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sinh(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Sinh"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Tan(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Tan"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Tanh(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Tanh"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TanhV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.TanhV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Max(%arg0: tensor<*xindex>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{operand 'data_0' at positions 0 to 1 does not verify}}
  %0 = "onnx.Max"(%arg0, %arg1) : (tensor<*xindex>, tensor<3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// -----

func.func @MaxV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.MaxV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Mean(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.Mean"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MeanV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.MeanV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Min(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.Min"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MinV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.MinV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Sum(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.Sum"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SumV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data_0' at position 0 does not verify}}
  %0 = "onnx.SumV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
