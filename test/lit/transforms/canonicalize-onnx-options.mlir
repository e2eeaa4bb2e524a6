// RUN: onnx-opt %s --canonicalize-onnx | filecheck %s
// RUN: onnx-opt %s --canonicalize-onnx='disable-pattern=CastEliminationPattern' | filecheck %s --check-prefix=CAST
// RUN: onnx-opt %s --canonicalize-onnx='disable-pattern=CastEliminationPattern,IdentityEliminationPattern' | filecheck %s --check-prefix=BOTH
// RUN: not onnx-opt %s --canonicalize-onnx='disable-pattern=CastElimination' 2>&1 | filecheck %s --check-prefix=WRONG

// Patterns are disabled by name.

// CHECK-LABEL: @two
// CHECK-NEXT:    "onnx.Relu"(%arg0)

// CAST-LABEL:  @two
// CAST-NEXT:     "onnx.Cast"
// CAST-NEXT:     "onnx.Relu"

// BOTH-LABEL:  @two
// BOTH-NEXT:     "onnx.Cast"
// BOTH-NEXT:     "onnx.Identity"
// BOTH-NEXT:     "onnx.Relu"

// WRONG: error: no rule is called 'CastElimination'; did you mean 'CastEliminationPattern'?
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Cast"(%x) <{to = f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Identity"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Relu"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
}
