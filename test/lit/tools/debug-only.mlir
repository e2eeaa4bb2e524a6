// RUN: onnx-opt %s --canonicalize --cse --debug-only=cse 2>&1 | filecheck %s --check-prefix=CSE
// RUN: onnx-opt %s --canonicalize --cse -debug-only=canonicalize,cse 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: onnx-opt %s --canonicalize --shape-inference --debug-only=shape-inference 2>&1 | filecheck %s --check-prefix=SHAPES
// RUN: not onnx-opt %s --canonicalize --debug-only=canonicalise 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CSE-NOT:  applies
// CSE:      cse: 7 -> 6 ops, onnx.Exp -1

// BOTH:     debug-only.mlir:19:8: remark: onnx.Identity: IdentityEliminationPattern applies
// BOTH:     canonicalize: 8 -> 7 ops, onnx.Identity -1
// BOTH:     cse: 7 -> 6 ops, onnx.Exp -1

// SHAPES:   shape-inference-onnx: 7 -> 7 ops

// UNKNOWN:  --debug-only: pass 'canonicalise' does not run; did you mean 'canonicalize'?
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Identity"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "onnx.Sub"(%2, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = "onnx.Abs"(%3) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %4 : tensor<2xf32>
}
