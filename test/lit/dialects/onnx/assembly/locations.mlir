// RUN: onnx-opt %s --mlir-print-debuginfo | onnx-opt --mlir-print-debuginfo | filecheck %s

// CHECK-LABEL: func.func @names
// CHECK:         "onnx.Relu"(%arg0) : (tensor<2xf32>) -> tensor<2xf32> loc(#[[RELU:.+]])
// CHECK-NEXT:    onnx.Return %0 : tensor<2xf32> loc(#[[AT:.+]])
// CHECK:       #[[NODE:.+]] = loc("relu1")
// CHECK:       #[[AT]] = loc({{.*}}locations.mlir":14:3)
// CHECK:       #[[RELU]] = loc(fused<["y"]>[#[[NODE]]])



func.func @names(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc2)
  onnx.Return %y : tensor<2xf32>
}
#loc1 = loc("relu1")
#loc2 = loc(fused<["y"]>[#loc1])
