// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Comparisons, logic and bits: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @And(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.And"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @AndV1(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.AndV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @BitShift(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.BitShift"(%arg0, %arg1) <{direction = "LEFT"}> : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @BitShift(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  // expected-error@+1 {{property 'direction' expected in operation 'onnx.BitShift'}}
  %0 = "onnx.BitShift"(%arg0, %arg1) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @BitwiseAnd(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.BitwiseAnd"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @BitwiseNot(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.BitwiseNot"(%arg0) : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @BitwiseOr(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.BitwiseOr"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @BitwiseXor(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.BitwiseXor"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @Equal(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Equal"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @EqualV1(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.EqualV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @Greater(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Greater"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @GreaterV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.GreaterV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @GreaterOrEqual(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.GreaterOrEqual"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @Less(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Less"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @LessV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.LessV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @LessOrEqual(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.LessOrEqual"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @Not(%arg0: tensor<*xindex>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Not"(%arg0) : (tensor<*xindex>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @Or(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Or"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @OrV1(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.OrV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @Xor(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.Xor"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @XorV1(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'A' at position 0 does not verify}}
  %0 = "onnx.XorV1"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}
