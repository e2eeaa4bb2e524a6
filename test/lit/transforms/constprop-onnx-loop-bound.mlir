// RUN: onnx-opt %s --constprop-onnx | filecheck %s --check-prefix=FOLDED
// RUN: onnx-opt %s --constprop-onnx='loop-bound=3' | filecheck %s --check-prefix=FOLDED
// RUN: onnx-opt %s --constprop-onnx='loop-bound=2' | filecheck %s --check-prefix=KEPT

// Three times 2 to 1: a loop of three iterations is folded if the bound allows so many.
// FOLDED-LABEL: @doubled
// FOLDED-NEXT:    %[[EIGHT:.*]] = onnx.Constant dense<8.000000e+00> : tensor<f32>
// FOLDED-NEXT:    onnx.Return %[[EIGHT]]
// KEPT-LABEL:   @doubled
// KEPT:           "onnx.Loop"
func.func @doubled() -> tensor<f32> {
  %trip_count = onnx.Constant dense<3> : tensor<i64>
  %on = onnx.Constant dense<true> : tensor<i1>
  %one = onnx.Constant dense<1.0> : tensor<f32>
  %0 = "onnx.Loop"(%trip_count, %on, %one) ({
  ^bb0(%turn: tensor<i64>, %goes_on: tensor<i1>, %x: tensor<f32>):
    %two = onnx.Constant dense<2.0> : tensor<f32>
    %y = "onnx.Mul"(%x, %two) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    onnx.Yield %goes_on, %y : tensor<i1>, tensor<f32>
  }) : (tensor<i64>, tensor<i1>, tensor<f32>) -> tensor<f32>
  onnx.Return %0 : tensor<f32>
}
