// RUN: onnx-opt %s --decompose-quantized-onnx --split-input-file | filecheck %s

// The scale of the int32 bias is that of the accumulator: the product of both scales.
// CHECK-LABEL: @qlinear_conv
// CHECK-DAG:     %[[STEPS:.*]] = onnx.Constant dense<1.250000e-01> : tensor<f32>
// CHECK:         %[[B:.*]] = "onnx.DequantizeLinear"(%arg1, %[[STEPS]], %{{.*}}) <{axis = 0 : si64
// CHECK:         %[[X:.*]] = "onnx.DequantizeLinear"(%arg0
// CHECK:         %[[W:.*]] = "onnx.DequantizeLinear"({{.*}}) <{axis = 0 : si64
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%[[X]], %[[W]], %[[B]]) <{{{.*}}pads = [1, 1, 1, 1]{{.*}} -> tensor<1x3x4x4xf32>
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[Y]], {{.*}} -> tensor<1x3x4x4xui8>
// CHECK-NEXT:    onnx.Return %[[Q]]
func.func @qlinear_conv(%x: tensor<1x2x4x4xui8>, %b: tensor<3xi32>) -> tensor<1x3x4x4xui8> {
  %xs = onnx.Constant dense<0.5> : tensor<f32>
  %ws = onnx.Constant dense<0.25> : tensor<f32>
  %z = onnx.Constant dense<128> : tensor<ui8>
  %w = onnx.Constant dense<130> : tensor<3x2x3x3xui8>
  %y = "onnx.QLinearConv"(%x, %xs, %z, %w, %ws, %z, %xs, %z, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8>, tensor<3x2x3x3xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>, tensor<3xi32>) -> tensor<1x3x4x4xui8>
  onnx.Return %y : tensor<1x3x4x4xui8>
}

// -----

// CHECK-LABEL: @qlinear_matmul
// CHECK:         %[[A:.*]] = "onnx.DequantizeLinear"(%arg0
// CHECK:         %[[B:.*]] = "onnx.DequantizeLinear"(%arg1
// CHECK:         %[[Y:.*]] = "onnx.MatMul"(%[[A]], %[[B]])
// CHECK:         "onnx.QuantizeLinear"(%[[Y]]
func.func @qlinear_matmul(%a: tensor<1x4xi8>, %b: tensor<4x3xi8>) -> tensor<1x3xi8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %y = "onnx.QLinearMatMul"(%a, %s, %z, %b, %s, %z, %s, %z) : (tensor<1x4xi8>, tensor<f32>, tensor<i8>, tensor<4x3xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<1x3xi8>
  onnx.Return %y : tensor<1x3xi8>
}

// -----

// A scale for each row of the first operand, which the DLA does not support: no match.
// CHECK-LABEL: @rows
// CHECK:         "onnx.QLinearMatMul"
func.func @rows(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>, %z: tensor<2xi8>) -> tensor<2x3xi8> {
  %r = onnx.Constant dense<0.5> : tensor<2xf32>
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %n = onnx.Constant dense<0> : tensor<i8>
  %y = "onnx.QLinearMatMul"(%a, %r, %z, %b, %s, %n, %s, %n) : (tensor<2x4xi8>, tensor<2xf32>, tensor<2xi8>, tensor<4x3xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<2x3xi8>
  onnx.Return %y : tensor<2x3xi8>
}

// -----

// An integer convolution cast to float is a float one with scale 1; the integer one is erased.
// CHECK-LABEL: @sums
// CHECK-NOT:     Integer
// CHECK:         %[[ONE:.*]] = onnx.Constant dense<1.000000e+00> : tensor<f32>
// CHECK:         %[[X:.*]] = "onnx.DequantizeLinear"(%arg0, %[[ONE]], %arg2)
// CHECK:         %[[ONES:.*]] = onnx.Constant dense<1.000000e+00> : tensor<3xf32>
// CHECK:         %[[W:.*]] = "onnx.DequantizeLinear"(%arg1, %[[ONES]], %arg3) <{axis = 0 : si64
// CHECK:         %[[Y:.*]] = "onnx.Conv"(%[[X]], %[[W]], {{.*}} -> tensor<1x3x4x4xf32>
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @sums(%x: tensor<1x2x4x4xui8>, %w: tensor<3x2x1x1xi8>, %z: tensor<ui8>, %wz: tensor<3xi8>) -> tensor<1x3x4x4xf32> {
  %y = "onnx.ConvInteger"(%x, %w, %z, %wz) : (tensor<1x2x4x4xui8>, tensor<3x2x1x1xi8>, tensor<ui8>, tensor<3xi8>) -> tensor<1x3x4x4xi32>
  %f = "onnx.Cast"(%y) <{to = f32}> : (tensor<1x3x4x4xi32>) -> tensor<1x3x4x4xf32>
  onnx.Return %f : tensor<1x3x4x4xf32>
}

// -----

// CHECK-LABEL: @products
// CHECK-NOT:     Integer
// CHECK:         "onnx.MatMul"
func.func @products(%x: tensor<1x4xui8>, %w: tensor<4x3xi8>) -> tensor<1x3xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.MatMulInteger"(%x, %w, %none, %none) : (tensor<1x4xui8>, tensor<4x3xi8>, none, none) -> tensor<1x3xi32>
  %f = "onnx.Cast"(%y) <{to = f32}> : (tensor<1x3xi32>) -> tensor<1x3xf32>
  onnx.Return %f : tensor<1x3xf32>
}

// -----

// Integer sums that are not cast to float stay.
// CHECK-LABEL: @integers
// CHECK:         "onnx.MatMulInteger"
func.func @integers(%x: tensor<1x4xui8>, %w: tensor<4x3xi8>) -> tensor<1x3xi32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y = "onnx.MatMulInteger"(%x, %w, %none, %none) : (tensor<1x4xui8>, tensor<4x3xi8>, none, none) -> tensor<1x3xi32>
  onnx.Return %y : tensor<1x3xi32>
}

// -----

// Quantized operators of onnxruntime (com.microsoft); shape inference runs on their results.
// CHECK-LABEL: @contributed
// CHECK:         %[[SUM:.*]] = "onnx.Add"({{.*}} -> tensor<1x4xf32>
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[SUM]], {{.*}} -> tensor<1x4xui8>
// CHECK:         %[[X:.*]] = "onnx.DequantizeLinear"(%[[Q]]
// CHECK:         %[[BOTH:.*]] = "onnx.Concat"(%[[X]], {{.*}}) <{axis = 1 : si64}> {{.*}} -> tensor<1x8xf32>
// CHECK:         "onnx.QuantizeLinear"(%[[BOTH]]
func.func @contributed(%a: tensor<1x4xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<1x8xui8> {
  %0 = "onnx.Custom"(%a, %s, %z, %a, %s, %z, %s, %z) <{function_name = "QLinearAdd"}> {domain_name = "com.microsoft"} : (tensor<1x4xui8>, tensor<f32>, tensor<ui8>, tensor<1x4xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
  %1 = "onnx.Custom"(%s, %z, %0, %s, %z, %a, %s, %z) <{function_name = "QLinearConcat"}> {domain_name = "com.microsoft", axis = 1 : si64} : (tensor<f32>, tensor<ui8>, tensor<*xui8>, tensor<f32>, tensor<ui8>, tensor<1x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x8xui8>
  onnx.Return %1 : tensor<1x8xui8>
}

// -----

// No match: operators of other domains, and pools with channels last.
// CHECK-LABEL: @others
// CHECK-COUNT-2: "onnx.Custom"
func.func @others(%a: tensor<1x4x2x2xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<*xui8> {
  %0 = "onnx.Custom"(%a, %s, %z, %s, %z) <{function_name = "QLinearSigmoid"}> {domain_name = "org.example"} : (tensor<1x4x2x2xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
  %1 = "onnx.Custom"(%0, %s, %z, %s, %z) <{function_name = "QLinearGlobalAveragePool"}> {domain_name = "com.microsoft", channels_last = 1 : si64} : (tensor<*xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
  onnx.Return %1 : tensor<*xui8>
}

// -----

// Integers of 4 bits as Brevitas writes them: the bounds of the floats are (-7 - 1) 0.5 and (7 - 1) 0.5.

// CHECK-LABEL: @clipped
// CHECK-DAG:     %[[LOW:.*]] = onnx.Constant dense<-4.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[HIGH:.*]] = onnx.Constant dense<3.000000e+00> : tensor<f32>
// CHECK:         %[[C:.*]] = "onnx.Clip"(%{{.*}}, %[[LOW]], %[[HIGH]]) : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT:    %[[Q:.*]] = "onnx.QuantizeLinear"(%[[C]],
// CHECK-NEXT:    onnx.Return %[[Q]]
func.func @clipped(%x: tensor<2xf32>) -> tensor<2xi8> {
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<1> : tensor<i8>
  %low = onnx.Constant dense<-7> : tensor<i8>
  %high = onnx.Constant dense<7> : tensor<i8>
  %0 = "onnx.QuantizeLinear"(%x, %s, %z) : (tensor<2xf32>, tensor<f32>, tensor<i8>) -> tensor<2xi8>
  %1 = "onnx.Clip"(%0, %low, %high) : (tensor<2xi8>, tensor<i8>, tensor<i8>) -> tensor<2xi8>
  onnx.Return %1 : tensor<2xi8>
}
