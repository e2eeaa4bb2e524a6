// RUN: onnx-opt %s --standard-func-return --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p standard-func-return --split-input-file | filecheck %s

// CHECK-LABEL: func.func @more_exact
// CHECK-SAME:    -> tensor<2x3xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Relu"
// CHECK-NEXT:    return %[[Y]] : tensor<2x3xf32>
func.func @more_exact(%x: tensor<2x3xf32>) -> tensor<?x3xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @nothing
// CHECK-NEXT:    return
func.func @nothing() {
  onnx.Return
}

// -----

// Only functions end in func.return: a branch keeps onnx.Yield.
// CHECK-LABEL: func.func @branches
// CHECK:           onnx.Yield
// CHECK:           onnx.Yield
// CHECK:         return %{{.*}}, %{{.*}} : tensor<2xf32>, tensor<2xf32>
// CHECK-NOT:     onnx.Return
func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>) -> (tensor<*xf32>, tensor<2xf32>) {
  %0 = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<2xf32>
  }, {
    %1 = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %1 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  onnx.Return %0, %x : tensor<2xf32>, tensor<2xf32>
}
