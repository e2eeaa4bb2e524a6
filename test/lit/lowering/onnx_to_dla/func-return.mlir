// RUN: onnx-opt %s --convert-onnx-to-dla | filecheck %s
// RUN: onnx-opt %s --convert-onnx-to-dla --convert-onnx-to-dla | filecheck %s

// A function may end in func.return instead of onnx.Return; lowering it again changes nothing.
// CHECK: func.func @f(%{{.*}}: tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
// CHECK-NOT: onnx.
// CHECK: dla.sdp
// CHECK: return %{{.*}} : tensor<1x16x8x8xf16>
func.func @f(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %y = "onnx.Relu"(%x) : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  func.return %y : tensor<1x16x8x8xf32>
}
