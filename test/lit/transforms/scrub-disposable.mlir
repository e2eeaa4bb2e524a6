// RUN: onnx-opt %s --constprop-onnx --scrub-disposable | filecheck %s
// RUN: onnx-opt %s --scrub-disposable --constprop-onnx | filecheck %s
// RUN: xdsl-opt %s -p constprop-onnx,scrub-disposable | filecheck %s

// Constants print the same before and after the pass, and fold after their pool is closed.

// CHECK-LABEL: @folded
// CHECK:         onnx.Constant dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>
func.func @folded() -> tensor<2xf32> {
  %a = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = onnx.Constant dense<[3.0, 4.0]> : tensor<2xf32>
  %sum = "onnx.Add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %sum : tensor<2xf32>
}

// A view with a negative stride is copied to contiguous elements.
// CHECK-LABEL: @view
// CHECK:         onnx.Constant dense<{{\[\[}}3, 6], [2, 5], [1, 4]]> : tensor<3x2xi8>
func.func @view() -> tensor<3x2xi8> {
  %a = onnx.Constant dense<[[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi8>
  %turned = "onnx.Transpose"(%a) <{perm = [1, 0]}> : (tensor<2x3xi8>) -> tensor<3x2xi8>
  onnx.Return %turned : tensor<3x2xi8>
}

// CHECK-LABEL: @splat
// CHECK:         onnx.Constant dense<3> : tensor<40x50xi64>
func.func @splat() -> tensor<40x50xi64> {
  %shape = onnx.Constant dense<[40, 50]> : tensor<2xi64>
  %filled = "onnx.ConstantOfShape"(%shape) <{value = dense<3> : tensor<1xi64>}> : (tensor<2xi64>) -> tensor<40x50xi64>
  onnx.Return %filled : tensor<40x50xi64>
}
