// RUN: onnx-opt %s --symbol-dce --split-input-file | filecheck %s

// A private function stays if another that stays calls it; declarations go as well.
// CHECK-LABEL: func.func private @called
// CHECK-NOT:   @dead
// CHECK-NOT:   @declared
// CHECK:       func.func @main
func.func private @called(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @deeper(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func private @dead(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @dead(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
func.func private @declared(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @called(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK:       func.func private @deeper
func.func private @deeper(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

// A symbol in an attribute is a use, in lists and dictionaries too.
// CHECK-LABEL: func.func private @one
// CHECK:       func.func private @two
// CHECK:       func.func @entry
func.func private @one()
func.func private @two()
func.func @entry() attributes {first = [@one], second = {of = @two}} {
  func.return
}
