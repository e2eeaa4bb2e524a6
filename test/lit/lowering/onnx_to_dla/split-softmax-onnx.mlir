// RUN: onnx-opt %s --split-softmax-onnx --split-input-file | filecheck %s

// Entries are slices of the channels before the reshape, and what reads one of them reads it alone.
// CHECK-LABEL: @branches
// CHECK:         %[[A:.*]] = "onnx.Slice"(%arg0, {{.*}} -> tensor<1x16x1x1xf32>
// CHECK:         %[[B:.*]] = "onnx.Slice"(%arg0, {{.*}} -> tensor<1x16x1x1xf32>
// CHECK:         %[[D:.*]] = "onnx.Sub"(%[[A]], %[[B]])
// CHECK:         %[[P:.*]] = "onnx.Sigmoid"(%[[D]])
// CHECK:         %[[Q:.*]] = "onnx.Sub"(%{{.*}}, %[[P]])
// CHECK:         %[[X:.*]] = "onnx.Reshape"(%[[P]], {{.*}} -> tensor<1x1x16x1xf32>
// CHECK:         %[[Y:.*]] = "onnx.Reshape"(%[[Q]], {{.*}} -> tensor<1x1x16x1xf32>
// CHECK-NOT:     "onnx.Softmax"
// CHECK:         "onnx.Mul"(%arg1, %[[X]])
// CHECK:         "onnx.Mul"(%arg1, %[[Y]])
func.func @branches(%x: tensor<1x32x1x1xf32>, %f: tensor<1x4x16x1xf32>) -> (tensor<1x4x16x1xf32>, tensor<1x4x16x1xf32>) {
  %s = onnx.Constant dense<[1, 2, 16, 1]> : tensor<4xi64>
  %n = "onnx.NoValue"() {value} : () -> none
  %r = "onnx.Reshape"(%x, %s) : (tensor<1x32x1x1xf32>, tensor<4xi64>) -> tensor<1x2x16x1xf32>
  %w = "onnx.Softmax"(%r) {axis = 1 : si64} : (tensor<1x2x16x1xf32>) -> tensor<1x2x16x1xf32>
  %a, %b = "onnx.Split"(%w, %n) {axis = 1 : si64} : (tensor<1x2x16x1xf32>, none) -> (tensor<1x1x16x1xf32>, tensor<1x1x16x1xf32>)
  %p = "onnx.Mul"(%f, %a) : (tensor<1x4x16x1xf32>, tensor<1x1x16x1xf32>) -> tensor<1x4x16x1xf32>
  %q = "onnx.Mul"(%f, %b) : (tensor<1x4x16x1xf32>, tensor<1x1x16x1xf32>) -> tensor<1x4x16x1xf32>
  onnx.Return %p, %q : tensor<1x4x16x1xf32>, tensor<1x4x16x1xf32>
}

// -----

// The sum of two exponentials is one whose exponent is b + softplus(a - b).
// CHECK-LABEL: @three
// CHECK:         %[[D:.*]] = "onnx.Sub"
// CHECK:         "onnx.Sigmoid"(%[[D]])
// CHECK:         %[[S:.*]] = "onnx.Softplus"(%[[D]])
// CHECK:         %[[T:.*]] = "onnx.Add"(%{{.*}}, %[[S]])
// CHECK:         %[[E:.*]] = "onnx.Sub"(%[[T]], %{{.*}})
// CHECK:         "onnx.Sigmoid"(%[[E]])
// CHECK:         "onnx.Concat"({{.*}}) <{axis = 1 : si64}> : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x3x4x4xf32>
func.func @three(%x: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %w = "onnx.Softmax"(%x) {axis = -3 : si64} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  %y = "onnx.Mul"(%x, %w) : (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
  onnx.Return %y : tensor<1x3x4x4xf32>
}

// -----

// Probabilities that are outputs, the channels of one position, and many entries stay.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: "onnx.Softmax"
func.func @kept(%x: tensor<1x2x4x4xf32>, %v: tensor<1x4xf32>, %m: tensor<1x8x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x4xf32>, tensor<1x8x4x4xf32>) {
  %a = "onnx.Softmax"(%x) {axis = 1 : si64} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %b = "onnx.Softmax"(%v) {axis = 1 : si64} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %p = "onnx.Mul"(%v, %b) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %c = "onnx.Softmax"(%m) {axis = 1 : si64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %q = "onnx.Mul"(%m, %c) : (tensor<1x8x4x4xf32>, tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  onnx.Return %a, %p, %q : tensor<1x2x4x4xf32>, tensor<1x4xf32>, tensor<1x8x4x4xf32>
}
