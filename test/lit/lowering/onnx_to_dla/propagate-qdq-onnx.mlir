// RUN: onnx-opt %s --propagate-qdq-onnx --split-input-file | filecheck %s

// Fake quantization leaves a pair after each convolution: the Relu moves before it, for both are one pass.

// CHECK-LABEL: @relu
// CHECK:         %[[C:.*]] = "onnx.Conv"(%arg0
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"(%[[C]])
// CHECK-NEXT:    %[[Q:.*]] = "onnx.QuantizeLinear"(%[[R]],
// CHECK-NEXT:    %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]],
// CHECK-NEXT:    "onnx.Conv"(%[[D]],
func.func @relu(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = "onnx.QuantizeLinear"(%0, %s, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xi8>
  %2 = "onnx.DequantizeLinear"(%1, %s, %z) : (tensor<1x1x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xf32>
  %3 = "onnx.Relu"(%2) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %4 = "onnx.Conv"(%3, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %5 = "onnx.QuantizeLinear"(%4, %s, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xi8>
  %6 = "onnx.DequantizeLinear"(%5, %s, %z) : (tensor<1x1x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xf32>
  onnx.Return %6 : tensor<1x1x2x2xf32>
}

// -----

// Elements and means of a quantized value have its parameters.

// CHECK-LABEL: @carried
// CHECK:         %[[M:.*]] = "onnx.MaxPoolSingleOut"
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[M]], %[[S:[0-9]+]], %[[Z:[0-9]+]]) {{.*}}dla.inserted
// CHECK-NEXT:    %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]], %[[S]], %[[Z]]) {{.*}}dla.inserted
// CHECK-NEXT:    %[[G:.*]] = "onnx.GlobalAveragePool"(%[[D]])
// CHECK:         %[[P:.*]] = "onnx.QuantizeLinear"(%[[G]],
// CHECK-NEXT:    %[[E:.*]] = "onnx.DequantizeLinear"(%[[P]],
// CHECK-NEXT:    onnx.Return %[[E]]
func.func @carried(%x: tensor<1x1x4x4xi8>) -> tensor<1x1x1x1xf32> {
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x1x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x4x4xf32>
  %1 = "onnx.MaxPoolSingleOut"(%0) <{kernel_shape = [2, 2], strides = [2, 2]}> : (tensor<1x1x4x4xf32>) -> tensor<1x1x2x2xf32>
  %2 = "onnx.GlobalAveragePool"(%1) : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32>
  onnx.Return %2 : tensor<1x1x1x1xf32>
}

// -----

// TensorRT quantizes what convolutions read: the residual beside it reads the same integers.

// CHECK-LABEL: @residual
// CHECK:         %[[R:.*]] = "onnx.Relu"
// CHECK:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[R]], {{.*}}) {{.*}}dla.inserted
// CHECK-NEXT:    %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]], {{.*}}) {{.*}}dla.inserted
// CHECK-NEXT:    "onnx.QuantizeLinear"(%[[D]],
// CHECK:         %[[C:.*]] = "onnx.Conv"
// CHECK-NEXT:    "onnx.Add"(%[[C]], %[[D]])
func.func @residual(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xi8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %2 = "onnx.QuantizeLinear"(%1, %s, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xi8>
  %3 = "onnx.DequantizeLinear"(%2, %s, %z) : (tensor<1x1x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xf32>
  %4 = "onnx.Conv"(%3, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %5 = "onnx.Add"(%4, %1) : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %6 = "onnx.QuantizeLinear"(%5, %s, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xi8>
  onnx.Return %6 : tensor<1x1x2x2xi8>
}

// -----

// The results of a function of integers from -64 to 63.5 lie between 0 and 1; what is within the function has
// no pair.

// CHECK-LABEL: @function
// CHECK:         %[[G:.*]] = "onnx.Sigmoid"(%{{.*}})
// CHECK-NEXT:    %[[H:.*]] = "onnx.Relu"(%[[G]])
// CHECK-DAG:     %[[S:.*]] = onnx.Constant dense<0.00392156886> : tensor<f32>
// CHECK-DAG:     %[[Z:.*]] = onnx.Constant dense<0> : tensor<ui8>
// CHECK:         "onnx.QuantizeLinear"(%[[H]], %[[S]], %[[Z]])
func.func @function(%x: tensor<1x4xi8>) -> tensor<1x4xf32> {
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %1 = "onnx.Sigmoid"(%0) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = "onnx.Relu"(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  onnx.Return %2 : tensor<1x4xf32>
}

// -----

// A sigmoid in steps of 1/32 changes between -4.15 and 4.15, where its operand is quantized.

// CHECK-LABEL: @varying
// CHECK:         %[[C:.*]] = "onnx.Conv"
// CHECK:         %[[S:.*]] = onnx.Constant dense<0.0327{{.*}}> : tensor<f32>
// CHECK:         "onnx.QuantizeLinear"(%[[C]], %[[S]],
func.func @varying(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xui8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %s = onnx.Constant dense<0.0312500> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<ui8>
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %1 = "onnx.Sigmoid"(%0) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %2 = "onnx.QuantizeLinear"(%1, %s, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  onnx.Return %2 : tensor<1x1x2x2xui8>
}

// -----

// Nothing tells the range of a convolution's result, nor is anything inserted where no pair is.

// CHECK-LABEL: @unknown
// CHECK-COUNT-1: "onnx.QuantizeLinear"
// CHECK-NOT:     "onnx.QuantizeLinear"
func.func @unknown(%x: tensor<1x1x2x2xi8>, %w: tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xi8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x1x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xf32>
  %1 = "onnx.Conv"(%0, %w, %none) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %2 = "onnx.GlobalAveragePool"(%1) : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32>
  %3 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<1x1x1x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x1x1xi8>
  onnx.Return %3 : tensor<1x1x1x1xi8>
}

// Values without a shape stay as they are.

// CHECK-LABEL: @unranked
// CHECK-COUNT-1: "onnx.QuantizeLinear"
// CHECK-NOT:     "onnx.QuantizeLinear"
func.func @unranked(%x: tensor<1x4xi8>, %u: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xi8>) {
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<*xf32>
  %1 = "onnx.QuantizeLinear"(%u, %s, %z) : (tensor<*xf32>, tensor<f32>, tensor<i8>) -> tensor<*xi8>
  %2 = "onnx.Add"(%0, %u) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %2, %1 : tensor<*xf32>, tensor<*xi8>
}

// CHECK-LABEL: @floats
// CHECK-NOT:     "onnx.QuantizeLinear"
func.func @floats(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  onnx.Return %0 : tensor<1x4xf32>
}

// -----

// Elements of a quantized value keep its parameters, also beside a reader that quantizes them with others.

// CHECK-LABEL: @beside
// CHECK:         %[[R:.*]] = "onnx.Reshape"
// CHECK-NEXT:    %[[S:.*]] = onnx.Constant dense<5.000000e-01>
// CHECK-NEXT:    %[[Z:.*]] = onnx.Constant dense<3>
// CHECK-NEXT:    %[[Q:.*]] = "onnx.QuantizeLinear"(%[[R]], %[[S]], %[[Z]]) {{.*}}dla.inserted
// CHECK-NEXT:    %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]],
// CHECK-NEXT:    %[[M:.*]] = "onnx.ReduceMaxV13"(%[[D]])
// CHECK-NEXT:    "onnx.QuantizeLinear"(%[[M]], {{.*}} : (tensor<1x1x2x2xf32>
// CHECK:         "onnx.Add"(%[[D]],
func.func @beside(%x: tensor<1x2x4xi8>, %y: tensor<1x2x2x2xi8>, %n: tensor<4xi64>) -> (tensor<1x1x2x2xi8>, tensor<1x2x2x2xi8>) {
  %s = onnx.Constant dense<5.000000e-01> : tensor<f32>
  %t = onnx.Constant dense<7.500000e-01> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x2x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4xf32>
  %1 = "onnx.Reshape"(%0, %n) : (tensor<1x2x4xf32>, tensor<4xi64>) -> tensor<1x2x2x2xf32>
  %2 = "onnx.ReduceMaxV13"(%1) <{axes = [1]}> : (tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  %3 = "onnx.QuantizeLinear"(%2, %t, %z) : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x1x2x2xi8>
  %4 = "onnx.DequantizeLinear"(%y, %s, %z) : (tensor<1x2x2x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xf32>
  %5 = "onnx.Add"(%1, %4) : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %6 = "onnx.QuantizeLinear"(%5, %t, %z) : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  onnx.Return %3, %6 : tensor<1x1x2x2xi8>, tensor<1x2x2x2xi8>
}
