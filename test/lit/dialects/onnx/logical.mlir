// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Comparisons, logic and bits: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @And
// CHECK: "onnx.And"({{%.+}}, {{%.+}}) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
func.func @And(%arg0: tensor<*xi1>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.And"(%arg0, %arg1) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @AndV1
// CHECK: "onnx.AndV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
func.func @AndV1(%arg0: tensor<*xi1>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.AndV1"(%arg0, %arg1) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @BitShift
// CHECK: "onnx.BitShift"({{%.+}}, {{%.+}}) <{direction = "LEFT"}> : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
func.func @BitShift(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.BitShift"(%arg0, %arg1) <{direction = "LEFT"}> : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @BitwiseAnd
// CHECK: "onnx.BitwiseAnd"({{%.+}}, {{%.+}}) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
func.func @BitwiseAnd(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.BitwiseAnd"(%arg0, %arg1) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @BitwiseNot
// CHECK: "onnx.BitwiseNot"({{%.+}}) : (tensor<*xi64>) -> tensor<*xi64>
func.func @BitwiseNot(%arg0: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.BitwiseNot"(%arg0) : (tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @BitwiseOr
// CHECK: "onnx.BitwiseOr"({{%.+}}, {{%.+}}) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
func.func @BitwiseOr(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.BitwiseOr"(%arg0, %arg1) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @BitwiseXor
// CHECK: "onnx.BitwiseXor"({{%.+}}, {{%.+}}) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
func.func @BitwiseXor(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.BitwiseXor"(%arg0, %arg1) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @Equal
// CHECK: "onnx.Equal"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @Equal(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.Equal"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @EqualV1
// CHECK: "onnx.EqualV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi1>
func.func @EqualV1(%arg0: tensor<*xi64>, %arg1: tensor<*xi64>) -> tensor<*xi1> {
  %0 = "onnx.EqualV1"(%arg0, %arg1) : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @Greater
// CHECK: "onnx.Greater"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @Greater(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.Greater"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @GreaterV1
// CHECK: "onnx.GreaterV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @GreaterV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.GreaterV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @GreaterOrEqual
// CHECK: "onnx.GreaterOrEqual"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @GreaterOrEqual(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.GreaterOrEqual"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @Less
// CHECK: "onnx.Less"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @Less(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.Less"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @LessV1
// CHECK: "onnx.LessV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @LessV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.LessV1"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @LessOrEqual
// CHECK: "onnx.LessOrEqual"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
func.func @LessOrEqual(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.LessOrEqual"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @Not
// CHECK: "onnx.Not"({{%.+}}) : (tensor<*xi1>) -> tensor<*xi1>
func.func @Not(%arg0: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.Not"(%arg0) : (tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @Or
// CHECK: "onnx.Or"({{%.+}}, {{%.+}}) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
func.func @Or(%arg0: tensor<*xi1>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.Or"(%arg0, %arg1) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @OrV1
// CHECK: "onnx.OrV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
func.func @OrV1(%arg0: tensor<*xi1>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.OrV1"(%arg0, %arg1) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @Xor
// CHECK: "onnx.Xor"({{%.+}}, {{%.+}}) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
func.func @Xor(%arg0: tensor<*xi1>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.Xor"(%arg0, %arg1) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @XorV1
// CHECK: "onnx.XorV1"({{%.+}}, {{%.+}}) <{broadcast = 0 : si64}> : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
func.func @XorV1(%arg0: tensor<*xi1>, %arg1: tensor<*xi1>) -> tensor<*xi1> {
  %0 = "onnx.XorV1"(%arg0, %arg1) : (tensor<*xi1>, tensor<*xi1>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}
