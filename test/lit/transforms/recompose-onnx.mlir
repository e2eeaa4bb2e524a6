// RUN: onnx-opt %s --recompose-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --recompose-onnx='target=stablehlo' --split-input-file | filecheck %s
// RUN: onnx-opt %s --recompose-onnx --recompose-onnx --split-input-file | filecheck %s

// x (1 + erf(x / √2)) / 2

// CHECK-LABEL: @gelu_exact
// CHECK-NEXT:    %0 = "onnx.Gelu"(%arg0) <{approximate = "none"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    onnx.Return %0
func.func @gelu_exact(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %0 = "onnx.Div"(%x, %root) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = "onnx.Erf"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "onnx.Add"(%1, %one) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = "onnx.Mul"(%x, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = "onnx.Mul"(%3, %half) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return %4 : tensor<2x3xf32>
}

// -----

// (½ x) (1 + erf(…)), with constants of shape [1]

// CHECK-LABEL: @gelu_exact_nested
// CHECK:         "onnx.Gelu"(%arg0) <{approximate = "none"}>
// CHECK-NOT:     "onnx.Mul"
func.func @gelu_exact_nested(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %root = onnx.Constant dense<1.41421354> : tensor<1xf32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<1xf32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<1xf32>
  %0 = "onnx.Div"(%x, %root) : (tensor<?x3xf32>, tensor<1xf32>) -> tensor<?x3xf32>
  %1 = "onnx.Erf"(%0) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %2 = "onnx.Add"(%one, %1) : (tensor<1xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %3 = "onnx.Mul"(%half, %x) : (tensor<1xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %4 = "onnx.Mul"(%3, %2) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  onnx.Return %4 : tensor<?x3xf32>
}

// -----

// x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2

// CHECK-LABEL: @gelu_tanh
// CHECK:         "onnx.Gelu"(%arg0) <{approximate = "tanh"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NOT:     "onnx.Tanh"
func.func @gelu_tanh(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %three = onnx.Constant dense<3.000000e+00> : tensor<f32>
  %small = onnx.Constant dense<4.471500e-02> : tensor<f32>
  %scale = onnx.Constant dense<0.797884583> : tensor<f32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %0 = "onnx.Pow"(%x, %three) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = "onnx.Mul"(%small, %0) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "onnx.Add"(%x, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = "onnx.Mul"(%2, %scale) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %4 = "onnx.Tanh"(%3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = "onnx.Add"(%one, %4) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = "onnx.Mul"(%half, %5) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = "onnx.Mul"(%x, %6) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %7 : tensor<2x3xf32>
}

// -----

// No match: another constant, and a factor ½ that broadcasts the result to a larger shape.

// CHECK-LABEL: @no_gelu
// CHECK-NOT:     "onnx.Gelu"
func.func @no_gelu(%x: tensor<1x3xf32>) -> (tensor<1x3xf32>, tensor<2x3xf32>) {
  %root = onnx.Constant dense<1.41421354> : tensor<f32>
  %wrong = onnx.Constant dense<1.400000e+00> : tensor<f32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %half = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %halves = onnx.Constant dense<5.000000e-01> : tensor<2x3xf32>
  %0 = "onnx.Div"(%x, %wrong) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %1 = "onnx.Erf"(%0) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %2 = "onnx.Add"(%1, %one) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %3 = "onnx.Mul"(%x, %2) : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  %4 = "onnx.Mul"(%3, %half) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %5 = "onnx.Div"(%x, %root) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %6 = "onnx.Erf"(%5) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %7 = "onnx.Add"(%6, %one) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  %8 = "onnx.Mul"(%x, %7) : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  %9 = "onnx.Mul"(%8, %halves) : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %4, %9 : tensor<1x3xf32>, tensor<2x3xf32>
}

// -----

// Layer normalization: epsilon is the value of the constant.

// CHECK-LABEL: @layer_norm
// CHECK-NEXT:    [[NONE:%.+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    {{.*}} = "onnx.LayerNormalization"(%arg0, %arg1, [[NONE]]) <{axis = 2 : si64, epsilon = 9.99999996E-13 : f32, stash_type = 1 : si64}> : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, none, none)
// CHECK-NEXT:    onnx.Return
func.func @layer_norm(%x: tensor<2x3x4xf32>, %scale: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %epsilon = onnx.Constant dense<1.000000e-12> : tensor<f32>
  %0 = "onnx.ReduceMeanV13"(%x) <{axes = [-1], keepdims = 1 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %1 = "onnx.Sub"(%x, %0) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %2 = "onnx.Mul"(%1, %1) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %3 = "onnx.ReduceMeanV13"(%2) <{axes = [-1], keepdims = 1 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %4 = "onnx.Add"(%3, %epsilon) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %5 = "onnx.Sqrt"(%4) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = "onnx.Div"(%1, %5) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %7 = "onnx.Mul"(%6, %scale) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %7 : tensor<2x3x4xf32>
}

// -----

// RMS normalization: the inverse root as Reciprocal over the last two axes, and as Div.

// CHECK-LABEL: @rms_norms
// CHECK:         "onnx.RMSLayerNormalization"(%arg0, %arg1, {{.*}}) <{axis = 1 : si64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : si64}> : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, none)
// CHECK:         "onnx.RMSLayerNormalization"(%arg0, %arg1, {{.*}}) <{axis = 2 : si64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : si64}> : (tensor<2x3x4xf32>, tensor<4xf32>, none) -> (tensor<2x3x4xf32>, none)
// CHECK-NOT:     "onnx.Mul"
func.func @rms_norms(%x: tensor<2x3x4xf32>, %scale: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %epsilon = onnx.Constant dense<1.000000e-05> : tensor<f32>
  %one = onnx.Constant dense<1.000000e+00> : tensor<f32>
  %0 = "onnx.Mul"(%x, %x) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = "onnx.ReduceMeanV13"(%0) <{axes = [2, 1], keepdims = 1 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  %2 = "onnx.Add"(%epsilon, %1) : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %4 = "onnx.Reciprocal"(%3) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %5 = "onnx.Mul"(%4, %x) : (tensor<2x1x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %6 = "onnx.Mul"(%scale, %5) : (tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %7 = "onnx.Mul"(%x, %x) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %8 = "onnx.ReduceMeanV13"(%7) <{axes = [2], keepdims = 1 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %9 = "onnx.Add"(%8, %epsilon) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %10 = "onnx.Sqrt"(%9) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %11 = "onnx.Div"(%one, %10) : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %12 = "onnx.Mul"(%x, %11) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %13 = "onnx.Mul"(%12, %scale) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  onnx.Return %6, %13 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// The mean has another use: only RMSLayerNormalization matches. The root has another use: no match.

// CHECK-LABEL: @mean_read_twice
// CHECK:         "onnx.Sub"
// CHECK:         "onnx.RMSLayerNormalization"
// CHECK-NOT:     "onnx.Sqrt"
func.func @mean_read_twice(%x: tensor<3x4xf32>, %scale: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>) {
  %epsilon = onnx.Constant dense<1.000000e-05> : tensor<f32>
  %0 = "onnx.ReduceMeanV13"(%x) <{axes = [-1], keepdims = 1 : si64}> : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %1 = "onnx.Sub"(%x, %0) : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %2 = "onnx.Mul"(%1, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = "onnx.ReduceMeanV13"(%2) <{axes = [-1], keepdims = 1 : si64}> : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %4 = "onnx.Add"(%3, %epsilon) : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %5 = "onnx.Sqrt"(%4) : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %6 = "onnx.Div"(%1, %5) : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %7 = "onnx.Mul"(%6, %scale) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  onnx.Return %7, %0 : tensor<3x4xf32>, tensor<3x1xf32>
}

// -----

// CHECK-LABEL: @root_read_twice
// CHECK-NOT:     LayerNormalization
func.func @root_read_twice(%x: tensor<3x4xf32>, %scale: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>) {
  %epsilon = onnx.Constant dense<1.000000e-05> : tensor<f32>
  %0 = "onnx.Mul"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = "onnx.ReduceMeanV13"(%0) <{axes = [1], keepdims = 1 : si64}> : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %2 = "onnx.Add"(%1, %epsilon) : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = "onnx.Div"(%x, %3) : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %5 = "onnx.Mul"(%4, %scale) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  onnx.Return %5, %3 : tensor<3x4xf32>, tensor<3x1xf32>
}

// -----

// No match: axes other than the last ones, a scale that broadcasts the result to a larger shape, float64.

// CHECK-LABEL: @no_layer_norm
// CHECK-NOT:     LayerNormalization
func.func @no_layer_norm(%x: tensor<1x4xf32>, %many: tensor<3x4xf32>, %y: tensor<3x4xf64>, %scale: tensor<4xf64>)
    -> (tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x4xf64>) {
  %epsilon = onnx.Constant dense<1.000000e-05> : tensor<f32>
  %double = onnx.Constant dense<1.000000e-05> : tensor<f64>
  %0 = "onnx.Mul"(%x, %x) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = "onnx.ReduceMeanV13"(%0) <{axes = [0], keepdims = 1 : si64}> : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = "onnx.Add"(%1, %epsilon) : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %3 = "onnx.Sqrt"(%2) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = "onnx.Div"(%x, %3) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %5 = "onnx.Mul"(%4, %x) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %6 = "onnx.Mul"(%x, %x) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %7 = "onnx.ReduceMeanV13"(%6) <{axes = [1], keepdims = 1 : si64}> : (tensor<1x4xf32>) -> tensor<1x1xf32>
  %8 = "onnx.Add"(%7, %epsilon) : (tensor<1x1xf32>, tensor<f32>) -> tensor<1x1xf32>
  %9 = "onnx.Sqrt"(%8) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %10 = "onnx.Div"(%x, %9) : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  %11 = "onnx.Mul"(%10, %many) : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %12 = "onnx.Mul"(%y, %y) : (tensor<3x4xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
  %13 = "onnx.ReduceMeanV13"(%12) <{axes = [1], keepdims = 1 : si64}> : (tensor<3x4xf64>) -> tensor<3x1xf64>
  %14 = "onnx.Add"(%13, %double) : (tensor<3x1xf64>, tensor<f64>) -> tensor<3x1xf64>
  %15 = "onnx.Sqrt"(%14) : (tensor<3x1xf64>) -> tensor<3x1xf64>
  %16 = "onnx.Div"(%y, %15) : (tensor<3x4xf64>, tensor<3x1xf64>) -> tensor<3x4xf64>
  %17 = "onnx.Mul"(%16, %scale) : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3x4xf64>
  onnx.Return %5, %11, %17 : tensor<1x4xf32>, tensor<3x4xf32>, tensor<3x4xf64>
}

// -----

// CHECK-LABEL: @qlinear_matmul
// CHECK-NEXT:    %0 = "onnx.QLinearMatMul"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>, tensor<3x4xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
// CHECK-NEXT:    onnx.Return %0
func.func @qlinear_matmul(%a: tensor<2x3xui8>, %as: tensor<f32>, %az: tensor<ui8>, %b: tensor<3x4xi8>,
    %bs: tensor<f32>, %bz: tensor<i8>, %ys: tensor<f32>, %yz: tensor<ui8>) -> tensor<2x4xui8> {
  %0 = "onnx.DequantizeLinear"(%a, %as, %az) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xf32>
  %1 = "onnx.DequantizeLinear"(%b, %bs, %bz) : (tensor<3x4xi8>, tensor<f32>, tensor<i8>) -> tensor<3x4xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %3 = "onnx.QuantizeLinear"(%2, %ys, %yz) : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  onnx.Return %3 : tensor<2x4xui8>
}

// -----

// No match: a scale for each column, no zero point.

// CHECK-LABEL: @no_qlinear_matmul
// CHECK-NOT:     "onnx.QLinearMatMul"
func.func @no_qlinear_matmul(%a: tensor<2x3xui8>, %as: tensor<f32>, %az: tensor<ui8>, %b: tensor<3x4xi8>,
    %bs: tensor<4xf32>, %bz: tensor<4xi8>, %ys: tensor<f32>, %yz: tensor<ui8>) -> (tensor<2x4xui8>, tensor<2x3xui8>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%a, %as, %az) : (tensor<2x3xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x3xf32>
  %1 = "onnx.DequantizeLinear"(%b, %bs, %bz) : (tensor<3x4xi8>, tensor<4xf32>, tensor<4xi8>) -> tensor<3x4xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %3 = "onnx.QuantizeLinear"(%2, %ys, %yz) : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  %4 = "onnx.DequantizeLinear"(%a, %as, %none) : (tensor<2x3xui8>, tensor<f32>, none) -> tensor<2x3xf32>
  %5 = "onnx.DequantizeLinear"(%b, %as, %none) : (tensor<3x4xi8>, tensor<f32>, none) -> tensor<3x4xf32>
  %6 = "onnx.Transpose"(%5) <{perm = [1, 0]}> : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %7 = "onnx.MatMul"(%2, %6) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %8 = "onnx.QuantizeLinear"(%7, %ys, %yz) : (tensor<2x3xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x3xui8>
  onnx.Return %3, %8 : tensor<2x4xui8>, tensor<2x3xui8>
}

// -----

// Two convolutions of one image; the first one has a use before the second one.

// CHECK-LABEL: @parallel_convolutions
// CHECK-NEXT:    [[SIZES:%.+]] = onnx.Constant dense<2> : tensor<2xi64>
// CHECK-NEXT:    [[W:%.+]] = "onnx.Concat"(%arg2, %arg1) <{axis = 0 : si64}> : (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) -> tensor<4x3x1x1xf32>
// CHECK-NEXT:    [[B:%.+]] = "onnx.Concat"(%arg4, %arg3) <{axis = 0 : si64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
// CHECK-NEXT:    [[CONV:%.+]] = "onnx.Conv"(%arg0, [[W]], [[B]]) {{.*}} -> tensor<1x4x5x5xf32>
// CHECK-NEXT:    [[PARTS:%.+]]:2 = "onnx.Split"([[CONV]], [[SIZES]]) <{axis = 1 : si64}> : (tensor<1x4x5x5xf32>, tensor<2xi64>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>)
// CHECK-NEXT:    [[RELU:%.+]] = "onnx.Relu"([[PARTS]]#1)
// CHECK-NEXT:    onnx.Return [[RELU]], [[PARTS]]#0
func.func @parallel_convolutions(%x: tensor<1x3x5x5xf32>, %v: tensor<2x3x1x1xf32>, %w: tensor<2x3x1x1xf32>,
    %b: tensor<2xf32>, %c: tensor<2xf32>) -> (tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>) {
  %0 = "onnx.Conv"(%x, %v, %b) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x3x5x5xf32>, tensor<2x3x1x1xf32>, tensor<2xf32>) -> tensor<1x2x5x5xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = "onnx.Conv"(%x, %w, %c) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x3x5x5xf32>, tensor<2x3x1x1xf32>, tensor<2xf32>) -> tensor<1x2x5x5xf32>
  onnx.Return %1, %2 : tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>
}

// -----

// Directly concatenated: the merged convolution replaces the Concat and keeps its order.

// CHECK-LABEL: @concatenated_convolutions
// CHECK:         [[W:%.+]] = "onnx.Concat"(%arg2, %arg1, %arg3) <{axis = 0 : si64}>
// CHECK-NEXT:    [[CONV:%.+]] = "onnx.Conv"(%arg0, [[W]], {{.*}} -> tensor<1x6x5x5xf32>
// CHECK-NEXT:    onnx.Return [[CONV]]
func.func @concatenated_convolutions(%x: tensor<1x3x5x5xf32>, %u: tensor<2x3x1x1xf32>, %v: tensor<2x3x1x1xf32>,
    %w: tensor<2x3x1x1xf32>) -> tensor<1x6x5x5xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %u, %none) : (tensor<1x3x5x5xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x5x5xf32>
  %1 = "onnx.Conv"(%x, %v, %none) : (tensor<1x3x5x5xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x5x5xf32>
  %2 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x5x5xf32>, tensor<2x3x1x1xf32>, none) -> tensor<1x2x5x5xf32>
  %3 = "onnx.Concat"(%1, %0, %2) <{axis = 1 : si64}> : (tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>, tensor<1x2x5x5xf32>) -> tensor<1x6x5x5xf32>
  onnx.Return %3 : tensor<1x6x5x5xf32>
}

// -----

// Not merged: one depends on the other, different strides, groups, another use of the image.

// CHECK-LABEL: @dependent_convolutions
// CHECK-NOT:     "onnx.Split"
func.func @dependent_convolutions(%x: tensor<3x3x1x1xf32>, %w: tensor<3x3x1x1xf32>) -> tensor<3x3x1x1xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<3x3x1x1xf32>, tensor<3x3x1x1xf32>, none) -> tensor<3x3x1x1xf32>
  %1 = "onnx.Relu"(%0) : (tensor<3x3x1x1xf32>) -> tensor<3x3x1x1xf32>
  %2 = "onnx.Conv"(%x, %1, %none) : (tensor<3x3x1x1xf32>, tensor<3x3x1x1xf32>, none) -> tensor<3x3x1x1xf32>
  onnx.Return %2 : tensor<3x3x1x1xf32>
}

// -----

// CHECK-LABEL: @different_convolutions
// CHECK-NOT:     "onnx.Split"
func.func @different_convolutions(%x: tensor<1x4x4x4xf32>, %y: tensor<1x4x4x4xf32>, %z: tensor<1x4x4x4xf32>,
    %v: tensor<4x4x1x1xf32>, %w: tensor<4x2x1x1xf32>)
    -> (tensor<1x4x4x4xf32>, tensor<1x4x2x2xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %v, %none) : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x4x4xf32>
  %1 = "onnx.Conv"(%x, %v, %none) <{strides = [2, 2]}> : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x2x2xf32>
  %2 = "onnx.Conv"(%y, %w, %none) <{group = 2 : si64}> : (tensor<1x4x4x4xf32>, tensor<4x2x1x1xf32>, none) -> tensor<1x4x4x4xf32>
  %3 = "onnx.Conv"(%y, %w, %none) <{group = 2 : si64}> : (tensor<1x4x4x4xf32>, tensor<4x2x1x1xf32>, none) -> tensor<1x4x4x4xf32>
  %4 = "onnx.Conv"(%z, %v, %none) : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x4x4xf32>
  %5 = "onnx.Conv"(%z, %v, %none) : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x4x4xf32>
  %6 = "onnx.Relu"(%z) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  onnx.Return %0, %1, %2, %3, %4, %5, %6 : tensor<1x4x4x4xf32>, tensor<1x4x2x2xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}
