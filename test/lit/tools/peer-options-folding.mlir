// RUN: onnx-opt %s --constprop-onnx | filecheck %s --check-prefixes=ALL,FOLDED
// RUN: onnx-opt %s --constprop-onnx --disable-constant-prop | filecheck %s --check-prefixes=ALL,KEPT
// RUN: onnx-opt %s --constprop-onnx=disable | filecheck %s --check-prefixes=ALL,KEPT
// RUN: onnx-opt %s --constprop-onnx --disable-constant-prop=false | filecheck %s --check-prefixes=ALL,FOLDED
// RUN: onnx-opt %s --constprop-onnx --onnx-const-prop-disable-pattern=ExpandofConst | filecheck %s --check-prefixes=ALL,PATTERN
// RUN: onnx-opt %s --constprop-onnx='disable-pattern=ExpandofConst' | filecheck %s --check-prefixes=ALL,PATTERN
// RUN: onnx-opt %s --constprop-onnx --onnx-const-prop-expansion-bound=1 | filecheck %s --check-prefixes=ALL,PATTERN
// RUN: onnx-opt %s --constprop-onnx='expansion-bound=1' | filecheck %s --check-prefixes=ALL,PATTERN
// RUN: onnx-opt %s --constprop-onnx --onnx-const-prop-round-fp-to-int | filecheck %s --check-prefixes=ALL,ROUNDED
// RUN: onnx-opt %s --constprop-onnx='round-fp-to-int=true' | filecheck %s --check-prefixes=ALL,ROUNDED
// RUN: onnx-opt %s -onnx-const-prop-expansion-bound 1 --constprop-onnx='expansion-bound=1000' | filecheck %s --check-prefixes=ALL,FOLDED

// onnx-mlir's options of constant propagation, as global options and as pass options.

// ALL-LABEL:   @folds
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
