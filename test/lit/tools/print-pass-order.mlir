// RUN: onnx-opt %s --onnx-dim-analysis --remove-same-onnx-dim --remove-same-onnx-dim --print-pass-order 2>&1 >/dev/null | filecheck %s

// The first pass keeps the dimensions, the second changes the module: the third computes them again.
// CHECK:      1. onnx-dim-analysis: computes DimAnalysis, keeps DimAnalysis
// CHECK-NEXT: 2. remove-same-onnx-dim: reuses DimAnalysis, drops DimAnalysis
// CHECK-NEXT: 3. remove-same-onnx-dim: computes DimAnalysis, drops DimAnalysis
// CHECK-NOT:  {{.}}
func.func @f(%x: tensor<?x4xf32>) -> tensor<1xi64> {
  %0 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x4xf32>) -> tensor<1xi64>
  onnx.Return %0 : tensor<1xi64>
}
