// RUN: onnx-opt %s --append-decoding-strategy --split-input-file --verify-diagnostics

// expected-error@unknown {{append-decoding-strategy: the module has no onnx.EntryPoint, which names the model}}
func.func @main_graph(%x: tensor<1x2x7xf32>) -> tensor<1x2x7xf32> {
  onnx.Return %x : tensor<1x2x7xf32>
}

// -----

func.func @main_graph(%x: tensor<2x7xf32>) -> tensor<2x7xf32> {
  // expected-error@+1 {{append-decoding-strategy: the first result is tensor<2x7xf32>, logits have 3 axes: batch, position in the sequence, token}}
  onnx.Return %x : tensor<2x7xf32>
}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()

// -----

// expected-error@+1 {{append-decoding-strategy: @main_graph returns nothing}}
func.func @main_graph() {
  onnx.Return
}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()

// -----

func.func private @main_graph() -> ()
// expected-error@+1 {{append-decoding-strategy: @main_graph is no function with a body}}
"onnx.EntryPoint"() {func = @main_graph} : () -> ()
