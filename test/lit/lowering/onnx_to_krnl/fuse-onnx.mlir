// RUN: onnx-opt %s --fuse-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --fuse-onnx --fuse-onnx --split-input-file | filecheck %s

// Elementwise operators of the same shape; the constant stays outside of the group.

// CHECK-LABEL: func.func @elementwise
// CHECK:         %[[C:.*]] = onnx.Constant dense<2.000000e+00>
// CHECK-NEXT:    %[[Y:.*]] = "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK-NEXT:      %[[A:.*]] = "onnx.Exp"(%arg0)
// CHECK-NEXT:      %[[B:.*]] = "onnx.Mul"(%[[A]], %[[C]])
// CHECK-NEXT:      krnl.yield %[[B]] : tensor<4x5xf32>
// CHECK-NEXT:    }) : () -> tensor<4x5xf32>
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @elementwise(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %c = onnx.Constant dense<2.0> : tensor<f32>
  %0 = "onnx.Exp"(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = "onnx.Mul"(%0, %c) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  onnx.Return %1 : tensor<4x5xf32>
}

// -----

// A value with users in different groups is not fused.

// CHECK-LABEL: func.func @read_twice
// CHECK-NOT:     krnl.fused
func.func @read_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Sqrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Both users are in one group: the value is computed once.

// CHECK-LABEL: func.func @diamond
// CHECK:         "krnl.fused"
// CHECK-NEXT:      "onnx.Exp"
// CHECK-NEXT:      "onnx.Neg"
// CHECK-NEXT:      "onnx.Sqrt"
// CHECK-NEXT:      "onnx.Add"
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Sqrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "onnx.Add"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %3 : tensor<4xf32>
}

// -----

// An operand that is broadcast is not fused: it would be computed repeatedly.

// CHECK-LABEL: func.func @broadcast
// CHECK:         "onnx.Exp"(%arg1) : (tensor<1x5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT:    "onnx.Add"
func.func @broadcast(%x: tensor<4x5xf32>, %y: tensor<1x5xf32>) -> tensor<4x5xf32> {
  %0 = "onnx.Exp"(%y) : (tensor<1x5xf32>) -> tensor<1x5xf32>
  %1 = "onnx.Add"(%x, %0) : (tensor<4x5xf32>, tensor<1x5xf32>) -> tensor<4x5xf32>
  onnx.Return %1 : tensor<4x5xf32>
}

// -----

// A convolution fuses a residual addition, Relu and cheap elementwise functions, but none with exponentials.

// CHECK-LABEL: func.func @convolution
// CHECK:         %[[S:.*]] = "onnx.Conv"
// CHECK-NEXT:    %[[Y:.*]] = "krnl.fused"() <{kind = "convolution"}> ({
// CHECK-NEXT:      "onnx.Conv"
// CHECK-NEXT:      "onnx.Add"({{.*}}, %[[S]])
// CHECK-NEXT:      "onnx.HardSwish"
// CHECK-NEXT:      krnl.yield
// CHECK-NEXT:    }) : () -> tensor<1x16x4x4xf32>
// CHECK-NEXT:    "onnx.Sigmoid"(%[[Y]])
func.func @convolution(%x: tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %w = onnx.Constant dense<0.5> : tensor<16x16x3x3xf32>
  %0 = "onnx.Conv"(%x, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x16x4x4xf32>, tensor<16x16x3x3xf32>, none) -> tensor<1x16x4x4xf32>
  %1 = "onnx.Conv"(%0, %w, %n) <{pads = [1, 1, 1, 1]}> : (tensor<1x16x4x4xf32>, tensor<16x16x3x3xf32>, none) -> tensor<1x16x4x4xf32>
  %2 = "onnx.Add"(%1, %0) : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %3 = "onnx.HardSwish"(%2) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %4 = "onnx.Sigmoid"(%3) : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  onnx.Return %4 : tensor<1x16x4x4xf32>
}

// -----

// A matrix product fuses its bias and its Relu.

// CHECK-LABEL: func.func @product
// CHECK:         "krnl.fused"() <{kind = "matmul"}> ({
// CHECK-NEXT:      "onnx.MatMul"
// CHECK-NEXT:      "onnx.Add"
// CHECK-NEXT:      "onnx.Relu"
// CHECK-NEXT:      krnl.yield
func.func @product(%x: tensor<3x8xf32>) -> tensor<3x16xf32> {
  %w = onnx.Constant dense<0.5> : tensor<8x16xf32>
  %b = onnx.Constant dense<1.0> : tensor<16xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<3x8xf32>, tensor<8x16xf32>) -> tensor<3x16xf32>
  %1 = "onnx.Add"(%0, %b) : (tensor<3x16xf32>, tensor<16xf32>) -> tensor<3x16xf32>
  %2 = "onnx.Relu"(%1) : (tensor<3x16xf32>) -> tensor<3x16xf32>
  onnx.Return %2 : tensor<3x16xf32>
}

// -----

// An int8 product fuses the DequantizeLinear before and the QuantizeLinear after it; for two groups with the same
// input, and for what reads it in float, DequantizeLinear is duplicated.

// CHECK-LABEL: func.func @integers
// CHECK:         %[[F:.*]] = "onnx.DequantizeLinear"(%arg0,
// CHECK:         "krnl.fused"() <{kind = "int8"}> ({
// CHECK-NEXT:      "onnx.DequantizeLinear"(%arg0, %[[S:.*]], %[[Z:.*]]) <{axis
// CHECK-NEXT:      "onnx.DequantizeLinear"(%{{.*}}, %[[S]], %[[Z]])
// CHECK-NEXT:      "onnx.MatMul"
// CHECK-NEXT:      "onnx.QuantizeLinear"
// CHECK-NEXT:      krnl.yield {{.*}} : tensor<4x8xi8>
// CHECK:         "krnl.fused"() <{kind = "int8"}> ({
// CHECK:           "onnx.DequantizeLinear"(%arg0, %[[S]], %[[Z]])
// CHECK:           "onnx.MatMul"
// CHECK-NEXT:      "onnx.QuantizeLinear"
// CHECK:         "onnx.Softmax"(%[[F]])
func.func @integers(%x: tensor<4x8xi8>) -> (tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xf32>) {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %w = onnx.Constant dense<3> : tensor<8x8xi8>
  %v = onnx.Constant dense<5> : tensor<8x8xi8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<4x8xi8>, tensor<f32>, tensor<i8>) -> tensor<4x8xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %z) : (tensor<8x8xi8>, tensor<f32>, tensor<i8>) -> tensor<8x8xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<4x8xf32>, tensor<f32>, tensor<i8>) -> tensor<4x8xi8>
  %4 = "onnx.DequantizeLinear"(%v, %s, %z) : (tensor<8x8xi8>, tensor<f32>, tensor<i8>) -> tensor<8x8xf32>
  %5 = "onnx.MatMul"(%0, %4) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %6 = "onnx.QuantizeLinear"(%5, %s, %z) : (tensor<4x8xf32>, tensor<f32>, tensor<i8>) -> tensor<4x8xi8>
  %7 = "onnx.Softmax"(%0) <{axis = -1 : si64}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  onnx.Return %3, %6, %7 : tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xf32>
}

// -----

// QuantizeLinear and DequantizeLinear outside of int8 products are computed in float; -0 + 0 is +0, as of integers.

// CHECK-LABEL: func.func @rounding
// CHECK:         "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK-NEXT:      "onnx.Exp"
// CHECK-NEXT:      "onnx.Clip"{{.*}} {krnl.clips_nan}
// CHECK-NEXT:      "onnx.Div"{{.*}} {krnl.bounded}
// CHECK-NEXT:      "onnx.Round"
// CHECK-NEXT:      "onnx.Mul"
// CHECK-NEXT:      "onnx.Add"
// CHECK-NEXT:      krnl.yield
func.func @rounding(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.Exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "onnx.QuantizeLinear"(%0, %s, %z) : (tensor<4x8xf32>, tensor<f32>, tensor<i8>) -> tensor<4x8xi8>
  %2 = "onnx.DequantizeLinear"(%1, %s, %z) : (tensor<4x8xi8>, tensor<f32>, tensor<i8>) -> tensor<4x8xf32>
  onnx.Return %2 : tensor<4x8xf32>
}

// -----

// A conversion beside elementwise operators joins their group; others, and those of an axis, do not.

// CHECK-LABEL: func.func @conversions
// CHECK:         "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK-NEXT:      "onnx.Cast"
// CHECK-NEXT:      "onnx.Sub"
// CHECK-NEXT:      "onnx.Mul"
// CHECK-NEXT:      "onnx.Exp"
// CHECK-NEXT:      "onnx.Clip"{{.*}} {krnl.clips_nan}
// CHECK-NEXT:      "onnx.Div"{{.*}} {krnl.bounded}
// CHECK-NEXT:      "onnx.Cast"{{.*}} {krnl.rounds}
// CHECK-NEXT:      "onnx.Add"
// CHECK-NEXT:      "onnx.Cast"
// CHECK-NEXT:      krnl.yield
// CHECK:         "onnx.DequantizeLinear"
// CHECK-NEXT:    "onnx.Sqrt"
// CHECK-NEXT:    "onnx.QuantizeLinear"(%arg2
func.func @conversions(%x: tensor<4x8xi8>, %w: tensor<4x8xui8>, %f: tensor<4x8xf32>) -> (tensor<4x8xui8>, tensor<4x8xf32>, tensor<4x8xui8>) {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<3> : tensor<ui8>
  %none = "onnx.NoValue"() {value} : () -> none
  %t = onnx.Constant dense<[0.5, 0.25, 2.0, 1.0]> : tensor<4xf32>
  %0 = "onnx.DequantizeLinear"(%x, %s, %none) : (tensor<4x8xi8>, tensor<f32>, none) -> tensor<4x8xf32>
  %1 = "onnx.Exp"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "onnx.QuantizeLinear"(%1, %s, %z) : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
  %3 = "onnx.DequantizeLinear"(%w, %t, %none) <{axis = 0 : si64}> : (tensor<4x8xui8>, tensor<4xf32>, none) -> tensor<4x8xf32>
  %4 = "onnx.Sqrt"(%3) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = "onnx.QuantizeLinear"(%f, %s, %z) : (tensor<4x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x8xui8>
  onnx.Return %2, %4, %5 : tensor<4x8xui8>, tensor<4x8xf32>, tensor<4x8xui8>
}

// -----

// QuantizeLinear and DequantizeLinear around pure data movement are erased.

// CHECK-LABEL: func.func @movement
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Transpose"(%arg0) <{perm = [1, 0]}> : (tensor<4x8xi8>) -> tensor<8x4xi8>
// CHECK-NEXT:    onnx.Return %[[Y]]
func.func @movement(%x: tensor<4x8xi8>) -> tensor<8x4xi8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<0> : tensor<i8>
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<4x8xi8>, tensor<f32>, tensor<i8>) -> tensor<4x8xf32>
  %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = "onnx.QuantizeLinear"(%1, %s, %z) : (tensor<8x4xf32>, tensor<f32>, tensor<i8>) -> tensor<8x4xi8>
  onnx.Return %2 : tensor<8x4xi8>
}

// -----

// Dynamic shapes: Shape does not prevent fusion, since kernels for dynamic shapes do not execute it.
// It reads a second result of the group.

// CHECK-LABEL: func.func @open
// CHECK:         %[[Y:.*]]:2 = "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK-NEXT:      "onnx.Exp"
// CHECK-NEXT:      "onnx.Neg"
// CHECK-NEXT:      krnl.yield {{.*}} : tensor<?x6xf32>, tensor<?x6xf32>
// CHECK:         "onnx.Shape"(%[[Y]]#1)
// CHECK:         "onnx.Reshape"(%[[Y]]#0
func.func @open(%x: tensor<?x6xf32>) -> tensor<?x3x2xf32> {
  %c = onnx.Constant dense<[3, 2]> : tensor<2xi64>
  %0 = "onnx.Exp"(%x) : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %1 = "onnx.Shape"(%0) <{start = 0 : si64, end = 1 : si64}> : (tensor<?x6xf32>) -> tensor<1xi64>
  %2 = "onnx.Concat"(%1, %c) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %3 = "onnx.Neg"(%0) : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %4 = "onnx.Reshape"(%3, %2) : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x3x2xf32>
  onnx.Return %4 : tensor<?x3x2xf32>
}

// -----

// Groups inside of the body of an operator that the session runs.

// CHECK-LABEL: func.func @branch
// CHECK:         "onnx.If"
// CHECK:           "krnl.fused"() <{kind = "elementwise"}> ({
// CHECK-NEXT:        "onnx.Exp"(%arg0)
// CHECK-NEXT:        "onnx.Neg"
func.func @branch(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "onnx.Neg"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %2 : tensor<4xf32>
  }, {
    onnx.Yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}

// -----

// Two products with the same quantized weights: each group has a DequantizeLinear of its own.

// CHECK-LABEL: func.func @quantized_weights
// CHECK:         "krnl.fused"() <{kind = "matmul"}> ({
// CHECK-NEXT:      "onnx.DequantizeLinear"
// CHECK-NEXT:      "onnx.MatMul"(%arg0
// CHECK:         "krnl.fused"() <{kind = "matmul"}> ({
// CHECK-NEXT:      "onnx.DequantizeLinear"
// CHECK-NEXT:      "onnx.MatMul"(%arg1
func.func @quantized_weights(%x: tensor<1x16xf32>, %u: tensor<1x16xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %w = onnx.Constant dense<3> : tensor<16x4xi8>
  %s = onnx.Constant dense<0.5> : tensor<2x4xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%w, %s, %n) <{axis = 0 : si64, block_size = 8 : si64}> : (tensor<16x4xi8>, tensor<2x4xf32>, none) -> tensor<16x4xf32>
  %1 = "onnx.MatMul"(%x, %0) : (tensor<1x16xf32>, tensor<16x4xf32>) -> tensor<1x4xf32>
  %2 = "onnx.MatMul"(%u, %0) : (tensor<1x16xf32>, tensor<16x4xf32>) -> tensor<1x4xf32>
  onnx.Return %1, %2 : tensor<1x4xf32>, tensor<1x4xf32>
}

// -----

// A cache that zeros make longer before it is updated: nothing computes the zeros.

// CHECK-LABEL: func.func @cache
// CHECK:         "krnl.fused"() <{kind = "cache"}> ({
// CHECK-NEXT:      "onnx.Concat"
// CHECK-NEXT:      "onnx.TensorScatter"
func.func @cache(%past: tensor<1x3x4xf32>, %new: tensor<1x2x4xf32>, %at: tensor<1xi64>) -> tensor<1x5x4xf32> {
  %shape = onnx.Constant dense<[1, 2, 4]> : tensor<3xi64>
  %zeros = "onnx.ConstantOfShape"(%shape) : (tensor<3xi64>) -> tensor<1x2x4xf32>
  %0 = "onnx.Concat"(%past, %zeros) <{axis = 1 : si64}> : (tensor<1x3x4xf32>, tensor<1x2x4xf32>) -> tensor<1x5x4xf32>
  %1 = "onnx.TensorScatter"(%0, %new, %at) <{axis = 1 : si64}> : (tensor<1x5x4xf32>, tensor<1x2x4xf32>, tensor<1xi64>) -> tensor<1x5x4xf32>
  onnx.Return %1 : tensor<1x5x4xf32>
}

// -----

// Keys and values that are slices of one cache are read where they are.

// CHECK-LABEL: func.func @cache_slices
// CHECK:         "krnl.fused"() <{kind = "attention"}> ({
// CHECK-NEXT:      "onnx.Gather"
// CHECK-NEXT:      "onnx.Gather"
// CHECK-NEXT:      "onnx.Attention"
func.func @cache_slices(%q: tensor<1x2x1x4xf32>, %cache: tensor<2x1x2x5x4xf32>, %n: tensor<1xi64>) -> tensor<1x2x1x4xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %first = onnx.Constant dense<0> : tensor<i64>
  %second = onnx.Constant dense<1> : tensor<i64>
  %k = "onnx.Gather"(%cache, %first) : (tensor<2x1x2x5x4xf32>, tensor<i64>) -> tensor<1x2x5x4xf32>
  %v = "onnx.Gather"(%cache, %second) : (tensor<2x1x2x5x4xf32>, tensor<i64>) -> tensor<1x2x5x4xf32>
  %y:4 = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %n) : (tensor<1x2x1x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, none, none, none, tensor<1xi64>) -> (tensor<1x2x1x4xf32>, none, none, none)
  onnx.Return %y#0 : tensor<1x2x1x4xf32>
}

// -----

// Another reader of the keys needs a copy of them.

// CHECK-LABEL: func.func @read_slices
// CHECK-NOT:     krnl.fused
func.func @read_slices(%q: tensor<1x2x1x4xf32>, %cache: tensor<2x1x2x5x4xf32>, %n: tensor<1xi64>) -> (tensor<1x2x1x4xf32>, tensor<1x2x5x4xf32>) {
  %none = "onnx.NoValue"() {value} : () -> none
  %first = onnx.Constant dense<0> : tensor<i64>
  %second = onnx.Constant dense<1> : tensor<i64>
  %k = "onnx.Gather"(%cache, %first) : (tensor<2x1x2x5x4xf32>, tensor<i64>) -> tensor<1x2x5x4xf32>
  %v = "onnx.Gather"(%cache, %second) : (tensor<2x1x2x5x4xf32>, tensor<i64>) -> tensor<1x2x5x4xf32>
  %y:4 = "onnx.Attention"(%q, %k, %v, %none, %none, %none, %n) : (tensor<1x2x1x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>, none, none, none, tensor<1xi64>) -> (tensor<1x2x1x4xf32>, none, none, none)
  onnx.Return %y#0, %k : tensor<1x2x1x4xf32>, tensor<1x2x5x4xf32>
}

// -----

// A text vectorizer: the runtime counts tokens without a tensor of them.

// CHECK-LABEL: func.func @token_counts
// CHECK:         %[[C:.*]] = "krnl.fused"() <{kind = "strings"}> ({
// CHECK-NEXT:      "onnx.Reshape"(%arg0
// CHECK-NEXT:      "onnx.StringNormalizer"
// CHECK-NEXT:      "onnx.Custom"
// CHECK-NEXT:      %[[Y:.*]] = "onnx.TfIdfVectorizer"
// CHECK-NEXT:      krnl.yield %[[Y]] : tensor<8x2xf32>
func.func @token_counts(%x: tensor<8x1x!onnx.String>) -> tensor<8x2xf32> {
  %shape = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Reshape"(%x, %shape) : (tensor<8x1x!onnx.String>, tensor<1xi64>) -> tensor<8x!onnx.String>
  %1 = "onnx.StringNormalizer"(%0) <{case_change_action = "LOWER"}> : (tensor<8x!onnx.String>) -> tensor<8x!onnx.String>
  %2 = "onnx.Custom"(%1) <{function_name = "Tokenizer"}> {domain_name = "com.microsoft", mark = 0 : si64, mincharnum = 1 : si64, pad_value = "#", tokenexp = "[a-z]+"} : (tensor<8x!onnx.String>) -> tensor<8x?x!onnx.String>
  %3 = "onnx.TfIdfVectorizer"(%2) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["cat", "dog"]}> : (tensor<8x?x!onnx.String>) -> tensor<8x2xf32>
  onnx.Return %3 : tensor<8x2xf32>
}

// -----

// Padding that is in the vocabulary is counted, and so are words of two tokens: the tensor of tokens matters.

// CHECK-LABEL: func.func @counted_padding
// CHECK-NOT:     krnl.fused
func.func @counted_padding(%x: tensor<8x!onnx.String>) -> (tensor<8x2xf32>, tensor<8x1xf32>) {
  %0 = "onnx.Custom"(%x) <{function_name = "Tokenizer"}> {domain_name = "com.microsoft", mark = 0 : si64, mincharnum = 1 : si64, pad_value = "cat", tokenexp = "[a-z]+"} : (tensor<8x!onnx.String>) -> tensor<8x?x!onnx.String>
  %1 = "onnx.TfIdfVectorizer"(%0) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["cat", "dog"]}> : (tensor<8x?x!onnx.String>) -> tensor<8x2xf32>
  %2 = "onnx.Custom"(%x) <{function_name = "Tokenizer"}> {domain_name = "com.microsoft", mark = 0 : si64, mincharnum = 1 : si64, pad_value = "#", tokenexp = "[a-z]+"} : (tensor<8x!onnx.String>) -> tensor<8x?x!onnx.String>
  %3 = "onnx.TfIdfVectorizer"(%2) <{max_gram_length = 2 : si64, max_skip_count = 0 : si64, min_gram_length = 2 : si64, mode = "TF", ngram_counts = [0, 0], ngram_indexes = [0], pool_strings = ["cat", "dog"]}> : (tensor<8x?x!onnx.String>) -> tensor<8x1xf32>
  onnx.Return %1, %3 : tensor<8x2xf32>, tensor<8x1xf32>
}

// -----

// A product reads the rows of B before a transposition that nothing else reads.

// CHECK-LABEL: func.func @transposed_keys
// CHECK:         %[[Y:.*]] = "krnl.fused"() <{kind = "matmul"}> ({
// CHECK-NEXT:      "onnx.Transpose"(%arg1)
// CHECK-NEXT:      "onnx.MatMul"
// CHECK-NEXT:      krnl.yield
// CHECK-LABEL: func.func @kept_transpositions
// CHECK-NOT:     krnl.fused
func.func @transposed_keys(%q: tensor<2x1x64xf32>, %k: tensor<2x9x64xf32>) -> tensor<2x1x9xf32> {
  %t = "onnx.Transpose"(%k) <{perm = [0, 2, 1]}> : (tensor<2x9x64xf32>) -> tensor<2x64x9xf32>
  %y = "onnx.MatMul"(%q, %t) : (tensor<2x1x64xf32>, tensor<2x64x9xf32>) -> tensor<2x1x9xf32>
  onnx.Return %y : tensor<2x1x9xf32>
}

// Another reader needs the transposed matrix; other axes are permuted; dot products are short; a batch that is
// found at run time is broadcast to some matrices only; the elements are integers.
func.func @kept_transpositions(%q: tensor<2x1x64xf32>, %k: tensor<2x9x64xf32>, %h: tensor<9x2x64xf32>, %s: tensor<2x1x8xf32>, %r: tensor<2x9x8xf32>, %a: tensor<?x5x1x64xf32>, %b: tensor<?x1x9x64xf32>, %i: tensor<1x64xi32>, %j: tensor<9x64xi32>) -> (tensor<2x1x9xf32>, tensor<2x64x9xf32>, tensor<2x1x9xf32>, tensor<2x1x9xf32>, tensor<?x5x1x9xf32>, tensor<1x9xi32>) {
  %0 = "onnx.Transpose"(%k) <{perm = [0, 2, 1]}> : (tensor<2x9x64xf32>) -> tensor<2x64x9xf32>
  %1 = "onnx.MatMul"(%q, %0) : (tensor<2x1x64xf32>, tensor<2x64x9xf32>) -> tensor<2x1x9xf32>
  %2 = "onnx.Transpose"(%h) <{perm = [1, 2, 0]}> : (tensor<9x2x64xf32>) -> tensor<2x64x9xf32>
  %3 = "onnx.MatMul"(%q, %2) : (tensor<2x1x64xf32>, tensor<2x64x9xf32>) -> tensor<2x1x9xf32>
  %4 = "onnx.Transpose"(%r) <{perm = [0, 2, 1]}> : (tensor<2x9x8xf32>) -> tensor<2x8x9xf32>
  %5 = "onnx.MatMul"(%s, %4) : (tensor<2x1x8xf32>, tensor<2x8x9xf32>) -> tensor<2x1x9xf32>
  %6 = "onnx.Transpose"(%b) <{perm = [0, 1, 3, 2]}> : (tensor<?x1x9x64xf32>) -> tensor<?x1x64x9xf32>
  %7 = "onnx.MatMul"(%a, %6) : (tensor<?x5x1x64xf32>, tensor<?x1x64x9xf32>) -> tensor<?x5x1x9xf32>
  %8 = "onnx.Transpose"(%j) <{perm = [1, 0]}> : (tensor<9x64xi32>) -> tensor<64x9xi32>
  %9 = "onnx.MatMul"(%i, %8) : (tensor<1x64xi32>, tensor<64x9xi32>) -> tensor<1x9xi32>
  onnx.Return %1, %0, %3, %5, %7, %9 : tensor<2x1x9xf32>, tensor<2x64x9xf32>, tensor<2x1x9xf32>, tensor<2x1x9xf32>, tensor<?x5x1x9xf32>, tensor<1x9xi32>
}
