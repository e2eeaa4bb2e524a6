// RUN: onnx-opt %s --inline --split-input-file | filecheck %s

// Calls in what is inlined are inlined too; the private functions are gone.
// CHECK-NOT:   private
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[A:.*]] = "onnx.Neg"(%arg0)
// CHECK-NEXT:    %[[B:.*]] = "onnx.Relu"(%[[A]])
// CHECK-NEXT:    %[[C:.*]] = "onnx.Relu"(%[[B]])
// CHECK-NEXT:    return %[[C]], %arg0
func.func private @relu(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func private @both(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %n = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %y = func.call @relu(%n) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y, %x : tensor<2xf32>, tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %y, %z = func.call @both(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %w = func.call @relu(%y) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %w, %z : tensor<2xf32>, tensor<2xf32>
}

// -----

// Recursive functions, and declarations, stay calls.
// CHECK-LABEL: func.func @cycle
// CHECK:         call @other
// CHECK:       func.func @other
// CHECK:         call @cycle
// CHECK:       func.func @caller
// CHECK-NEXT:    call @cycle
// CHECK-NEXT:    call @outside
func.func @cycle(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @other(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @cycle(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func private @outside(tensor<2xf32>) -> tensor<2xf32>
func.func @caller(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @cycle(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %z = func.call @outside(%y) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %z : tensor<2xf32>
}
