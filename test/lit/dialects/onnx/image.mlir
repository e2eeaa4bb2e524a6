// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Images: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @ImageDecoder
// CHECK: "onnx.ImageDecoder"({{%.+}}) <{pixel_format = "RGB"}> : (tensor<*xui8>) -> tensor<*xui8>
func.func @ImageDecoder(%arg0: tensor<*xui8>) -> tensor<*xui8> {
  %0 = "onnx.ImageDecoder"(%arg0) : (tensor<*xui8>) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}
