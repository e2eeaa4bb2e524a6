// RUN: onnx-opt %s --onnx-hybrid-transform='max-num-rewrites-offset=0 max-num-rewrites-multiplier=0.1' --verify-diagnostics
// RUN: onnx-opt %s --onnx-hybrid-transform='max-num-rewrites-offset=0 max-num-rewrites-multiplier=0.1' 2>&1 | filecheck %s
// RUN: onnx-opt %s --onnx-hybrid-transform='max-num-rewrites-offset=2' 2>&1 | filecheck %s --check-prefix=ENOUGH

// CHECK:       warnings.mlir:15:1: warning: @main: onnx-hybrid-transform didn't converge with max-num-rewrites-offset=0, max-num-rewrites-multiplier=0.1 (at work: SumToAdd)
// CHECK:       "onnx.Add"
// CHECK:       "onnx.Sum"

// ENOUGH-NOT:  warning:
// ENOUGH-NOT:  "onnx.Sum"

// Ten ops allow one rewrite in each of ten iterations; there are eleven sums here.

// expected-warning@+1 {{onnx-hybrid-transform didn't converge with max-num-rewrites-offset=0, max-num-rewrites-multiplier=0.1}}
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Sum"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Sum"(%0, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = "onnx.Sum"(%1, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = "onnx.Sum"(%2, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = "onnx.Sum"(%3, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = "onnx.Sum"(%4, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %6 = "onnx.Sum"(%5, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %7 = "onnx.Sum"(%6, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %8 = "onnx.Sum"(%7, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %9 = "onnx.Sum"(%8, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %10 = "onnx.Sum"(%9, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %10 : tensor<2xf32>
}
