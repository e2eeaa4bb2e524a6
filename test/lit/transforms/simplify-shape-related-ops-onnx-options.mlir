// RUN: onnx-opt %s --simplify-shape-related-ops-onnx | filecheck %s --check-prefixes=ALL,FOLDED
// RUN: onnx-opt %s --simplify-shape-related-ops-onnx=disable | filecheck %s --check-prefixes=ALL,KEPT
// RUN: onnx-opt %s --simplify-shape-related-ops-onnx --disable-constant-prop | filecheck %s --check-prefixes=ALL,KEPT
// RUN: onnx-opt %s --simplify-shape-related-ops-onnx='disable-pattern=ExpandofConst' | filecheck %s --check-prefixes=ALL,PATTERN
// RUN: onnx-opt %s --simplify-shape-related-ops-onnx='expansion-bound=1' | filecheck %s --check-prefixes=ALL,PATTERN
// RUN: onnx-opt %s --simplify-shape-related-ops-onnx='round-fp-to-int' | filecheck %s --check-prefixes=ALL,ROUNDED

// The options of constprop-onnx apply to its constant propagation.

// ALL-LABEL: @folds
// FOLDED-DAG:  onnx.Constant dense<1> : tensor<2xi64>
// FOLDED-DAG:  onnx.Constant dense<1.000000e+00> : tensor<100xf32>
// KEPT-DAG:    "onnx.Cast"
// KEPT-DAG:    "onnx.Expand"
// PATTERN-DAG: onnx.Constant dense<1> : tensor<2xi64>
// PATTERN-DAG: "onnx.Expand"
// ROUNDED-DAG: onnx.Constant dense<2> : tensor<2xi64>
func.func @folds() -> (tensor<2xi64>, tensor<100xf32>) {
  %0 = onnx.Constant dense<1.75> : tensor<2xf32>
  %1 = "onnx.Cast"(%0) <{to = i64}> : (tensor<2xf32>) -> tensor<2xi64>
  %2 = onnx.Constant dense<1.0> : tensor<1xf32>
  %3 = onnx.Constant dense<100> : tensor<1xi64>
  %4 = "onnx.Expand"(%2, %3) : (tensor<1xf32>, tensor<1xi64>) -> tensor<100xf32>
  onnx.Return %1, %4 : tensor<2xi64>, tensor<100xf32>
}
