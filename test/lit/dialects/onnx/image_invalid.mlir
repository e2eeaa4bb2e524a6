// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Images: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @ImageDecoder(%arg0: tensor<*xindex>) -> tensor<*xui8> {
  // expected-error@+1 {{operand 'encoded_stream' at position 0 does not verify}}
  %0 = "onnx.ImageDecoder"(%arg0) : (tensor<*xindex>) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}
