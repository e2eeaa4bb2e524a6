// RUN: onnx-opt %s --convert-krnl-to-llvm --split-input-file --verify-diagnostics

// expected-error @unknown {{krnl.global 'w': its elements are not in the module; give it a value}}
func.func private @no_elements(%y: memref<2xf32>) -> memref<2xf32> {
  %w = "krnl.global"() {name = "w", shape = [2]} : () -> memref<2xf32>
  return %w : memref<2xf32>
}

// -----

// expected-error @unknown {{krnl.global 'w': two constants of this name differ}}
func.func private @two_of_one_name(%y: memref<2xf32>) -> (memref<1xf32>, memref<1xf32>) {
  %w = "krnl.global"() {name = "w", shape = [1], value = dense<1.0> : tensor<1xf32>} : () -> memref<1xf32>
  %v = "krnl.global"() {name = "w", shape = [1], value = dense<2.0> : tensor<1xf32>} : () -> memref<1xf32>
  return %w, %v : memref<1xf32>, memref<1xf32>
}
