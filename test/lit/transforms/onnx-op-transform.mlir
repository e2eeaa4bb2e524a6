// RUN: onnx-opt %s --onnx-op-transform='onnx-op-transform-report' | filecheck %s
// RUN: onnx-opt %s --onnx-op-transform='onnx-op-transform-threshold=20 onnx-op-transform-target-cpu=false' --onnx-op-transform | filecheck %s --check-prefix=TWICE
// RUN: onnx-opt %s --onnx-op-transform='onnx-op-transform-simd-data-layout' | filecheck %s --check-prefix=BLOCKED
// RUN: onnx-opt %s --onnx-op-transform='onnx-op-transform-simd-data-layout enable-conv-opt-pass=false' | filecheck %s --check-prefix=TWICE
// RUN: onnx-opt %s --onnx-op-transform='enable-recompose-opt-pass=false' | filecheck %s --check-prefix=ERF
// RUN: onnx-opt %s --onnx-op-transform='onnx-op-transform-threshold=1 onnx-op-transform-report' 2>&1 | filecheck %s --check-prefix=ONCE
// RUN: onnx-opt %s --onnx-op-transform='onnx-op-transform-threshold=0' 2>&1 | filecheck %s --check-prefix=NEVER
// RUN: not onnx-opt %s --onnx-op-transform='onnx-op-transform-threshold=-1' 2>&1 | filecheck %s --check-prefix=BELOW

// ONCE:      warning: ONNXOpTransform did not converge after 1iterations. You may set a higher threshold with command option
// ONCE:      ONNXOpTransform iterated 1 times, converged false
// NEVER:     warning: ONNXOpTransform did not converge after 0iterations.
// NEVER:     "onnx.Sum"
// BELOW:     onnx-op-transform: onnx-op-transform-threshold is -1, which must be at least 0

// CHECK:       ONNXOpTransform iterated 2 times, converged true
// CHECK-LABEL: @main
// CHECK-SAME:    -> tensor<1x4x8x8xf32>
// CHECK:         [[BIAS:%.+]] = onnx.Constant dense<5.000000e+00> : tensor<4xf32>
// CHECK-NEXT:    [[CONV:%.+]] = "onnx.Conv"(%arg0, %arg1, [[BIAS]])
// CHECK-NEXT:    [[GELU:%.+]] = "onnx.Gelu"([[CONV]])
// CHECK-NEXT:    onnx.Return [[GELU]]

// TWICE:         [[BIAS:%.+]] = onnx.Constant dense<5.000000e+00> : tensor<4xf32>
// TWICE-NEXT:    [[CONV:%.+]] = "onnx.Conv"(%arg0, %arg1, [[BIAS]])
// TWICE-NEXT:    [[GELU:%.+]] = "onnx.Gelu"([[CONV]])
// TWICE-NEXT:    onnx.Return [[GELU]]

// BLOCKED:       "onnx.LayoutTransform"(%arg0)
// BLOCKED:       "onnx.Conv"
// BLOCKED-NEXT:  "onnx.LayoutTransform"

// ERF:           "onnx.Erf"
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %two = onnx.Constant dense<2.0> : tensor<1xf32>
  %three = onnx.Constant dense<3.0> : tensor<1xf32>
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %half = onnx.Constant dense<0.5> : tensor<f32>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Sum"(%0, %two, %three) : (tensor<*xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<*xf32>
  %2 = "onnx.Div"(%1, %root) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %3 = "onnx.Erf"(%2) : (tensor<*xf32>) -> tensor<*xf32>
  %4 = "onnx.Add"(%3, %one) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  %5 = "onnx.Mul"(%1, %4) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %6 = "onnx.Mul"(%5, %half) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  onnx.Return %6 : tensor<*xf32>
}
