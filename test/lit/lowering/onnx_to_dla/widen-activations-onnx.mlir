// RUN: onnx-opt %s --widen-activations-onnx | filecheck %s

// A convolution that runs once more for its rounding errors, and a reader of both tensors.
// CHECK-LABEL: @network
// CHECK:         %[[P:.*]] = "onnx.Conv"(%arg0,
// CHECK:         %[[P1:.*]] = "onnx.DequantizeLinear"{{.*}}dla.wide
// CHECK:         %[[Y:.*]] = "onnx.Mul"(%[[P1]],
// CHECK:         %[[Y1:.*]] = "onnx.DequantizeLinear"{{.*}}dla.wide
// CHECK:         %[[E:.*]] = "onnx.Sub"(%[[P1]], %[[P]])
// CHECK:         %[[E16:.*]] = "onnx.Mul"(%[[E]],
// CHECK-NEXT:    onnx.Constant
// CHECK-NEXT:    onnx.Constant
// CHECK-NEXT:    "onnx.QuantizeLinear"(%[[E16]],
// CHECK:         %[[R:.*]] = "onnx.Sub"(%[[Y]], %[[Y1]])
// CHECK:         "onnx.Sigmoid"
// CHECK:         "onnx.Sigmoid"
// CHECK:         %[[G:.*]] = "onnx.DequantizeLinear"
// CHECK-NEXT:    %[[M:.*]] = "onnx.Mul"(%[[G]],
// CHECK-NEXT:    %[[F:.*]] = "onnx.Add"(%[[M]],
// CHECK:         %[[Y2:.*]] = "onnx.DequantizeLinear"
// CHECK-NEXT:    "onnx.Concat"(%[[Y1]], %[[Y2]]) <{axis = 1 : si64}>
// CHECK:         %[[BOTH:.*]] = "onnx.DequantizeLinear"
// CHECK:         onnx.Constant dense<{{.*}}1.000000e+00{{.*}}6.250000e-02{{.*}}tensor<1x2x1x1xf32>
// CHECK:         "onnx.Conv"(%[[BOTH]],
func.func @network(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = onnx.Constant dense<1.0> : tensor<1x1x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<0.0625> : tensor<f32>
  %z = onnx.Constant dense<64> : tensor<ui8>
  %p = "onnx.Conv"(%x, %w, %none) <{kernel_shape = [1, 1]}> : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %pq = "onnx.QuantizeLinear"(%p, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  %p1 = "onnx.DequantizeLinear"(%pq, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xf32>
  %g = "onnx.Sigmoid"(%p1) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %y = "onnx.Mul"(%p1, %g) : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %yq = "onnx.QuantizeLinear"(%y, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  %y1 = "onnx.DequantizeLinear"(%yq, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xf32>
  %r = "onnx.Conv"(%y1, %w, %none) <{kernel_shape = [1, 1]}> : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  onnx.Return %r : tensor<1x1x2x2xf32>
}

// The pair of the activation is not marked.
// CHECK-LABEL: @half
// CHECK-NOT:     "onnx.Concat"
func.func @half(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = onnx.Constant dense<1.0> : tensor<1x1x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<0.0625> : tensor<f32>
  %z = onnx.Constant dense<64> : tensor<ui8>
  %p = "onnx.Conv"(%x, %w, %none) <{kernel_shape = [1, 1]}> : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %pq = "onnx.QuantizeLinear"(%p, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  %p1 = "onnx.DequantizeLinear"(%pq, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xf32>
  %y = "onnx.Sigmoid"(%p1) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %yq = "onnx.QuantizeLinear"(%y, %s, %z) {dla.inserted} : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  %y1 = "onnx.DequantizeLinear"(%yq, %s, %z) {dla.inserted} : (tensor<1x1x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xf32>
  %r = "onnx.Conv"(%y1, %w, %none) <{kernel_shape = [1, 1]}> : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  onnx.Return %r : tensor<1x1x2x2xf32>
}

// The integers of the concatenation have another scale.
// CHECK-LABEL: @scales
// CHECK-NOT:     "onnx.Add"
// CHECK:         "onnx.Concat"(%{{.*}}, %arg0)
// CHECK-NOT:     "onnx.Concat"
func.func @scales(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32> {
  %w = onnx.Constant dense<1.0> : tensor<1x1x1x1xf32>
  %v = onnx.Constant dense<1.0> : tensor<1x2x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %s = onnx.Constant dense<0.0625> : tensor<f32>
  %t = onnx.Constant dense<0.125> : tensor<f32>
  %z = onnx.Constant dense<64> : tensor<ui8>
  %p = "onnx.Conv"(%x, %w, %none) <{kernel_shape = [1, 1]}> : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  %pq = "onnx.QuantizeLinear"(%p, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  %p1 = "onnx.DequantizeLinear"(%pq, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xf32>
  %y = "onnx.Sigmoid"(%p1) : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>
  %yq = "onnx.QuantizeLinear"(%y, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xui8>
  %y1 = "onnx.DequantizeLinear"(%yq, %s, %z) {dla.inserted, dla.wide} : (tensor<1x1x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x2x2xf32>
  %j = "onnx.Concat"(%y1, %x) <{axis = 1 : si64}> : (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32>
  %jq = "onnx.QuantizeLinear"(%j, %t, %z) {dla.inserted} : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x2x2xui8>
  %j1 = "onnx.DequantizeLinear"(%jq, %t, %z) {dla.inserted} : (tensor<1x2x2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x2x2xf32>
  %r = "onnx.Conv"(%j1, %v, %none) <{kernel_shape = [1, 1]}> : (tensor<1x2x2x2xf32>, tensor<1x2x1x1xf32>, none) -> tensor<1x1x2x2xf32>
  onnx.Return %r : tensor<1x1x2x2xf32>
}
