// RUN: onnx-opt %s --division-to-product-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --division-to-product-onnx=fp16=true --split-input-file | filecheck %s --check-prefix=FP16

// `x / max(|x|, 0.5)`, as torch normalizes: the norm is 2 times the root of the mean of 4 squares.
// CHECK-LABEL: @normalized
// CHECK-NEXT:    %[[LEAST:.*]] = onnx.Constant dense<5.000000e-01>
// CHECK:         %[[S:.*]] = "onnx.Mul"(%arg0, %arg0)
// CHECK-NEXT:    %[[M:.*]] = "onnx.ReduceMeanV13"(%[[S]]) <{axes = [1]
// CHECK-NEXT:    %[[HALF:.*]] = onnx.Constant dense<5.000000e-01>
// CHECK-NEXT:    %[[R:.*]] = "onnx.Pow"(%[[M]], %[[HALF]])
// CHECK-NEXT:    %[[ROOT:.*]] = onnx.Constant dense<2.000000e+00>
// CHECK-NEXT:    %[[N:.*]] = "onnx.Mul"(%[[R]], %[[ROOT]])
// CHECK-NEXT:    %[[C:.*]] = "onnx.Clip"(%[[N]], %[[LEAST]],
// CHECK-NEXT:    %[[MINUS:.*]] = onnx.Constant dense<-1.000000e+00>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Pow"(%[[C]], %[[MINUS]]) : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Mul"(%arg0, %[[F]])
// CHECK-NEXT:    onnx.Return %[[Y]]
// Squares are those of a quarter.
// FP16-LABEL: @normalized
// FP16:         "onnx.Mul"(%arg0, {{.*}}) : (tensor<1x4x2x2xf32>, tensor<f32>)
// FP16:         onnx.Constant dense<8.000000e+00>
// FP16-COUNT-1: "onnx.Clip"
func.func @normalized(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %least = onnx.Constant dense<0.5> : tensor<f32>
  %sizes = onnx.Constant dense<[1, 4, 2, 2]> : tensor<4xi64>
  %none = "onnx.NoValue"() {value} : () -> none
  %n = "onnx.ReduceL2V13"(%x) <{axes = [1]}> : (tensor<1x4x2x2xf32>) -> tensor<1x1x2x2xf32>
  %c = "onnx.Clip"(%n, %least, %none) : (tensor<1x1x2x2xf32>, tensor<f32>, none) -> tensor<1x1x2x2xf32>
  %e = "onnx.Expand"(%c, %sizes) : (tensor<1x1x2x2xf32>, tensor<4xi64>) -> tensor<1x4x2x2xf32>
  %y = "onnx.Div"(%x, %e) : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  onnx.Return %y : tensor<1x4x2x2xf32>
}

// -----

// Absolute values and squares; in FP16 the divisor has a lower bound, unless a constant is one.
// CHECK-LABEL: @sums
// CHECK:         "onnx.Abs"(%arg0)
// CHECK:         "onnx.ReduceMean"
// CHECK:         %[[N:.*]] = "onnx.Mul"
// CHECK:         "onnx.Pow"(%[[N]],
// CHECK:         "onnx.Mul"(%arg1, %arg1)
// CHECK:         %[[A:.*]] = "onnx.Add"
// CHECK:         "onnx.Pow"(%[[A]],
// FP16-LABEL: @sums
// FP16:         onnx.Constant dense<6.10351563E-5>
// FP16-COUNT-1: "onnx.Clip"
// FP16-NOT:     "onnx.Clip"
func.func @sums(%x: tensor<1x4x2xf32>, %z: tensor<1x4x2xf32>) -> (tensor<1x4x2xf32>, tensor<1x4x2xf32>) {
  %axes = onnx.Constant dense<[2]> : tensor<1xi64>
  %addend = onnx.Constant dense<0.5> : tensor<f32>
  %n = "onnx.ReduceL1"(%x, %axes) : (tensor<1x4x2xf32>, tensor<1xi64>) -> tensor<1x4x1xf32>
  %y = "onnx.Div"(%x, %n) : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32>
  %s = "onnx.ReduceSumSquare"(%z, %axes) : (tensor<1x4x2xf32>, tensor<1xi64>) -> tensor<1x4x1xf32>
  %a = "onnx.Add"(%s, %addend) : (tensor<1x4x1xf32>, tensor<f32>) -> tensor<1x4x1xf32>
  %w = "onnx.Div"(%z, %a) : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32>
  onnx.Return %y, %w : tensor<1x4x2xf32>, tensor<1x4x2xf32>
}

// -----

// Divisors that are never negative: a root, exponentials and their sum, a power, a maximum and a mean.
// CHECK-LABEL: @never_negative
// FP16-LABEL: @never_negative
// CHECK-NOT:     "onnx.Div"
func.func @never_negative(%x: tensor<1x4x2xf32>)
    -> (tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>) {
  %axes = onnx.Constant dense<[2]> : tensor<1xi64>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %r = "onnx.Sqrt"(%x) : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %0 = "onnx.Div"(%x, %r) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %e = "onnx.Exp"(%x) : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %s = "onnx.ReduceSum"(%e, %axes) : (tensor<1x4x2xf32>, tensor<1xi64>) -> tensor<1x4x1xf32>
  %1 = "onnx.Div"(%e, %s) : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32>
  %p = "onnx.Pow"(%x, %two) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %m = "onnx.ReduceMean"(%p, %axes) : (tensor<1x4x2xf32>, tensor<1xi64>) -> tensor<1x4x1xf32>
  %2 = "onnx.Div"(%x, %m) : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32>
  %h = "onnx.Max"(%x, %two) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %q = "onnx.Mul"(%h, %m) : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x4x2xf32>
  %3 = "onnx.Div"(%x, %q) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  onnx.Return %0, %1, %2, %3 : tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>
}

// -----

// What may be negative: a sum with a negative number, an odd power, a product, a clamp from above. And constants, and
// vectors, which FP16 takes.
// CHECK-LABEL: @others
// CHECK-COUNT-6: "onnx.Div"
// CHECK:         "onnx.ReduceL2"
// CHECK:         "onnx.Div"
// FP16-LABEL: @others
// FP16-COUNT-6: "onnx.Div"
// FP16-NOT:     "onnx.Div"
// FP16-NOT:     "onnx.ReduceL2"
func.func @others(%x: tensor<1x4x2xf32>, %v: tensor<1x4xf32>)
    -> (tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4xf32>) {
  %axes = onnx.Constant dense<[1]> : tensor<1xi64>
  %less = onnx.Constant dense<-1.0> : tensor<f32>
  %three = onnx.Constant dense<3.0> : tensor<f32>
  %none = "onnx.NoValue"() {value} : () -> none
  %r = "onnx.Sqrt"(%x) : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %a = "onnx.Add"(%r, %less) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %0 = "onnx.Div"(%x, %a) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %p = "onnx.Pow"(%x, %three) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %1 = "onnx.Div"(%x, %p) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %m = "onnx.Mul"(%r, %x) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %2 = "onnx.Div"(%x, %m) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %c = "onnx.Clip"(%x, %none, %three) : (tensor<1x4x2xf32>, none, tensor<f32>) -> tensor<1x4x2xf32>
  %3 = "onnx.Div"(%x, %c) : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %4 = "onnx.Div"(%three, %r) : (tensor<f32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  %5 = "onnx.Div"(%x, %three) : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  %s = "onnx.Exp"(%v) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %n = "onnx.ReduceL2"(%s, %axes) : (tensor<1x4xf32>, tensor<1xi64>) -> tensor<1x1xf32>
  %6 = "onnx.Div"(%v, %n) : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  onnx.Return %0, %1, %2, %3, %4, %5, %6 : tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<1x4xf32>
}
