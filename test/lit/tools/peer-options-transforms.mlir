// RUN: onnx-opt %s --onnx-op-transform --onnx-op-transform-report | filecheck %s --check-prefix=REPORT
// RUN: onnx-opt %s --onnx-op-transform --onnx-op-transform-threshold=1 --onnx-op-transform-report 2>&1 | filecheck %s --check-prefix=ONCE
// RUN: onnx-opt %s --conv-opt-onnx | filecheck %s --check-prefix=PLAIN
// RUN: onnx-opt %s --conv-opt-onnx --simd-data-layout | filecheck %s --check-prefix=BLOCKED
// RUN: onnx-opt %s --onnx-op-transform --simd-data-layout | filecheck %s --check-prefix=BLOCKED
// RUN: onnx-opt %s --onnx-hybrid-transform --disable-constant-prop | filecheck %s --check-prefix=KEPT
// RUN: onnx-opt %s --onnx-hybrid-transform | filecheck %s --check-prefix=FOLDED
// RUN: onnx-opt %s --onnx-hybrid-transform --decompose-op-in-onnx=HardSwish | filecheck %s --check-prefix=WRITTEN

// Global options of onnx-mlir for its combined transformation passes.

// REPORT:       ONNXOpTransform iterated {{[0-9]+}} times, converged true
// ONCE-DAG:     ONNXOpTransform iterated 1 times, converged false
// PLAIN-NOT:    "onnx.LayoutTransform"
// BLOCKED:      "onnx.LayoutTransform"(%arg0) <{target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>}>
// KEPT:         "onnx.Mul"(%{{.+}}, %{{.+}}) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// FOLDED:       onnx.Constant dense<[2.000000e+00, 6.000000e+00]> : tensor<2xf32>
// WRITTEN-NOT:  "onnx.HardSwish"
func.func @all(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) -> (tensor<1x8x6x6xf32>, tensor<2xf32>) {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>, none) -> tensor<1x8x6x6xf32>
  %1 = "onnx.HardSwish"(%0) : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %2 = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
  %3 = onnx.Constant dense<[2.0, 3.0]> : tensor<2xf32>
  %4 = "onnx.Mul"(%2, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %1, %4 : tensor<1x8x6x6xf32>, tensor<2xf32>
}
