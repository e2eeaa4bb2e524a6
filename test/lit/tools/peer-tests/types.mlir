// RUN: onnx-mlir-opt --shape-inference %s -split-input-file | FileCheck %s

// Types as precise as onnx-mlir's.

// A past of unknown length is added to the keys; Y needs the queries only.
// CHECK-LABEL: func.func @attention_past
// CHECK-SAME:    -> (tensor<2x4x6x10xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x10xf32>, tensor<2x4x6x?xf32>)
func.func @attention_past(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x6x8xf32>, %v: tensor<2x4x6x10xf32>, %pk: tensor<2x4x?x8xf32>, %pv: tensor<2x4x?x10xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %Y, %present_key, %present_value, %qk = "onnx.Attention"(%q, %k, %v, %n, %pk, %pv, %n) {qk_matmul_output_mode = 1 : si64} : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x10xf32>, none, tensor<2x4x?x8xf32>, tensor<2x4x?x10xf32>, none) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  onnx.Return %Y, %present_key, %present_value, %qk : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// Heads in the last axis of three are counted by attributes.
// CHECK-LABEL: func.func @attention_of_rank_3
// CHECK-SAME:    -> (tensor<2x6x40xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x10xf32>)
func.func @attention_of_rank_3(%q: tensor<2x6x32xf32>, %k: tensor<2x6x32xf32>, %v: tensor<2x6x40xf32>, %pk: tensor<2x4x?x8xf32>, %pv: tensor<2x4x?x10xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %Y, %present_key, %present_value, %qk = "onnx.Attention"(%q, %k, %v, %n, %pk, %pv, %n) {kv_num_heads = 4 : si64, q_num_heads = 4 : si64} : (tensor<2x6x32xf32>, tensor<2x6x32xf32>, tensor<2x6x40xf32>, none, tensor<2x4x?x8xf32>, tensor<2x4x?x10xf32>, none) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none)
  onnx.Return %Y, %present_key, %present_value : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// A custom op tells its shape by a pattern: that of one input, or the broadcast of some.
// CHECK-LABEL: func.func @custom
// CHECK-SAME:    -> (tensor<4xf32>, tensor<4x1024xi64>, tensor<*xf32>)
func.func @custom(%a: tensor<1x1024xi32>, %b: tensor<4xf32>, %c: tensor<4x1xf32>) -> (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) {
  %0 = "onnx.Custom"(%a, %b) {function_name = "f", shape_infer_pattern = "SameAs", inputs_for_infer = [1]} : (tensor<1x1024xi32>, tensor<4xf32>) -> tensor<*xf32>
  %1 = "onnx.Custom"(%a, %b, %c) {function_name = "f", shape_infer_pattern = "MDBroadcast", inputs_for_infer = [0, 2], output_element_type = i64} : (tensor<1x1024xi32>, tensor<4xf32>, tensor<4x1xf32>) -> tensor<*xi64>
  %2 = "onnx.Custom"(%a) {function_name = "g"} : (tensor<1x1024xi32>) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<*xf32>, tensor<*xi64>, tensor<*xf32>
}

// -----

// As many of the innermost axes as there are strides, or pairs of pads, or all.
// CHECK-LABEL: func.func @upsample_and_pad
// CHECK-SAME:    -> (tensor<1x2x8x13xf32>, tensor<1x2x3x7xf32>, tensor<1x2x5x7xf32>, tensor<1x2x3x4xf32>)
func.func @upsample_and_pad(%a: tensor<1x2x3x4xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.UpsampleAndPad"(%a) {strides = [2, 3], pads = [1, 1, 2, 2]} : (tensor<1x2x3x4xf32>) -> tensor<*xf32>
  %1 = "onnx.UpsampleAndPad"(%a) {pads = [1, 2]} : (tensor<1x2x3x4xf32>) -> tensor<*xf32>
  %2 = "onnx.UpsampleAndPad"(%a) {strides = [2, 2]} : (tensor<1x2x3x4xf32>) -> tensor<*xf32>
  %3 = "onnx.UpsampleAndPad"(%a) : (tensor<1x2x3x4xf32>) -> tensor<*xf32>
  onnx.Return %0, %1, %2, %3 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// No zeros stand between elements that are not there; a dynamic axis stays one.
// CHECK-LABEL: func.func @upsample_and_pad_special
// CHECK-SAME:    -> (tensor<1x3xf32>, tensor<1x?xf32>)
func.func @upsample_and_pad_special(%a: tensor<1x0xf32>, %b: tensor<1x?xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.UpsampleAndPad"(%a) {strides = [2], pads = [1, 2]} : (tensor<1x0xf32>) -> tensor<*xf32>
  %1 = "onnx.UpsampleAndPad"(%b) {strides = [2], pads = [1, 2]} : (tensor<1x?xf32>) -> tensor<*xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @shape_transform
// CHECK-SAME:    -> (tensor<4x32x2x64xf32>, tensor<16384xf32>, tensor<128x128xf32>)
#tiles = affine_map<(d0, d1) -> (d0 floordiv 32, d0 mod 32, d1 floordiv 64, d1 mod 64)>
#line = affine_map<(d0, d1) -> (d0 * 128 + d1)>
#swapped = affine_map<(d0, d1) -> (d1, d0)>
func.func @shape_transform(%a: tensor<128x128xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %0 = "onnx.ShapeTransform"(%a) {index_map = #tiles} : (tensor<128x128xf32>) -> tensor<*xf32>
  %1 = "onnx.ShapeTransform"(%a) {index_map = #line} : (tensor<128x128xf32>) -> tensor<*xf32>
  %2 = "onnx.ShapeTransform"(%a) {index_map = #swapped} : (tensor<128x128xf32>) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// The other ops that are not ONNX's: windows as columns, a layout as an encoding, a shape beside a transpose.
// CHECK-LABEL: func.func @own_ops
// CHECK:         "onnx.Im2Col"{{.*}} -> tensor<1x72x?xf32>
// CHECK-NEXT:    "onnx.Im2Col"{{.*}} -> tensor<1x72x9xf32>
// CHECK-NEXT:    "onnx.LayoutTransform"{{.*}} -> tensor<1x8x5x6xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
// CHECK-NEXT:    "onnx.ConcatShapeTranspose"({{.*}}) <{axis = 1 : si64, end = 1 : si64, perm = [1, 0], start = 0 : si64}> : {{.*}} -> (tensor<1xi64>, tensor<?x2xf32>)
// CHECK-NEXT:    "onnx.Fused"
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<2x3xf32>):
// CHECK:         }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @own_ops(%a: tensor<1x8x5x?xf32>, %b: tensor<1x8x5x6xf32>, %c: tensor<2x?xf32>, %d: tensor<2x3xf32>) {
  %0 = "onnx.Im2Col"(%a) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]} : (tensor<1x8x5x?xf32>) -> tensor<*xf32>
  %1 = "onnx.Im2Col"(%b) {kernel_shape = [3, 3], auto_pad = "SAME_UPPER", strides = [2, 2]} : (tensor<1x8x5x6xf32>) -> tensor<*xf32>
  %2 = "onnx.LayoutTransform"(%b) {target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>} : (tensor<1x8x5x6xf32>) -> tensor<*xf32>
  %3, %4 = "onnx.ConcatShapeTranspose"(%c, %d) {axis = 1 : si64, start = 0 : si64, end = 1 : si64} : (tensor<2x?xf32>, tensor<2x3xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  %5 = "onnx.Fused"(%d) <{kind = "elementwise"}> ({
  ^bb0(%e: tensor<*xf32>):
    %6 = "onnx.Relu"(%e) : (tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %6 : tensor<*xf32>
  }) : (tensor<2x3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

// CHECK-LABEL: func.func @sparse
// CHECK-SAME:    -> tensor<3x4xf32>
func.func @sparse() -> tensor<*xf32> {
  %0 = "onnx.Constant"() {sparse_value = sparse<[[0, 0], [1, 2]], [1.0, 2.0]> : tensor<3x4xf32>} : () -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Operands of products and recurrences: what one of them does not know, the other tells.
// CHECK-LABEL: func.func @products
// CHECK-SAME:    (%{{.*}}: tensor<2x8xf32>, %{{.*}}: tensor<8x3xf32>, %{{.*}}: tensor<8x?xf32>, %{{.*}}: tensor<?x8xui8>, %{{.*}}: tensor<8xui8>)
// CHECK-SAME:    -> (tensor<2x3xf32>, tensor<2x?xf32>, tensor<?xi32>)
func.func @products(%a: tensor<2x?xf32>, %b: tensor<8x3xf32>, %c: tensor<?x?xf32>, %d: tensor<?x8xui8>, %e: tensor<?xui8>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xi32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.MatMul"(%a, %b) : (tensor<2x?xf32>, tensor<8x3xf32>) -> tensor<*xf32>
  %1 = "onnx.Gemm"(%a, %c, %n) : (tensor<2x?xf32>, tensor<?x?xf32>, none) -> tensor<*xf32>
  %2 = "onnx.MatMulInteger"(%d, %e, %n, %n) : (tensor<?x8xui8>, tensor<?xui8>, none, none) -> tensor<*xi32>
  onnx.Return %0, %1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xi32>
}

// -----

// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    (%{{.*}}: tensor<8x2xf32>, %{{.*}}: tensor<3x8xf32>)
func.func @transposed(%a: tensor<?x2xf32>, %b: tensor<3x8xf32>) -> tensor<*xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Gemm"(%a, %b, %n) {transA = 1 : si64, transB = 1 : si64} : (tensor<?x2xf32>, tensor<3x8xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @recurrence
// CHECK-SAME:    (%{{.*}}: tensor<4x3x2xf32>,
func.func @recurrence(%x: tensor<4x3x?xf32>, %w: tensor<1x16x2xf32>, %r: tensor<1x16x4xf32>) -> tensor<*xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %Y, %Y_h, %Y_c = "onnx.LSTM"(%x, %w, %r, %n, %n, %n, %n, %n) : (tensor<4x3x?xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (none, tensor<*xf32>, none)
  onnx.Return %Y_h : tensor<*xf32>
}

// -----

// What a branch requires, its operands need not have; a dimension with a name keeps it; so do arguments of calls.
// CHECK-LABEL: func.func @kept
// CHECK-SAME:    (%{{.*}}: tensor<i1>, %{{.*}}: tensor<2x?xf32>, %{{.*}}: tensor<8x3xf32>, %{{.*}}: tensor<2x?xf32> {onnx.dim_params = "1:width"})
// CHECK:         func.func @called(%{{.*}}: tensor<2x?xf32>, %{{.*}}: tensor<8x3xf32>)
func.func @kept(%i: tensor<i1>, %a: tensor<2x?xf32>, %b: tensor<8x3xf32>, %c: tensor<2x?xf32> {onnx.dim_params = "1:width"}) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "onnx.If"(%i) ({
    %1 = "onnx.MatMul"(%a, %b) : (tensor<2x?xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
    onnx.Yield %1 : tensor<2x3xf32>
  }, {
    %2 = onnx.Constant dense<0.0> : tensor<2x3xf32>
    onnx.Yield %2 : tensor<2x3xf32>
  }) : (tensor<i1>) -> tensor<2x3xf32>
  %3 = "onnx.MatMul"(%c, %b) : (tensor<2x?xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  %4 = func.call @called(%a, %b) : (tensor<2x?xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
func.func @called(%a: tensor<2x?xf32>, %b: tensor<8x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.MatMul"(%a, %b) : (tensor<2x?xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

// Scales along an axis tell its size; a single one and blocks do not.
// CHECK-LABEL: func.func @dequantize
// CHECK-SAME:    -> (tensor<?x3xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
func.func @dequantize(%q: tensor<?x?xui8>, %r: tensor<?x?xui8>, %s: tensor<3xf32>, %one: tensor<1xf32>, %blocks: tensor<2x3xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.DequantizeLinear"(%q, %s, %n) {axis = 1 : si64} : (tensor<?x?xui8>, tensor<3xf32>, none) -> tensor<*xf32>
  %1 = "onnx.DequantizeLinear"(%r, %one, %n) {axis = 1 : si64} : (tensor<?x?xui8>, tensor<1xf32>, none) -> tensor<*xf32>
  %2 = "onnx.DequantizeLinear"(%r, %blocks, %n) {axis = 1 : si64, block_size = 4 : si64} : (tensor<?x?xui8>, tensor<2x3xf32>, none) -> tensor<*xf32>
  onnx.Return %0, %1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
}

// -----

// The first tensor in a sequence gives its type, each next one what both have in common.
// CHECK-LABEL: func.func @inserted
// CHECK:         "onnx.SequenceInsert"{{.*}} -> !onnx.Seq<tensor<6x4xf32>>
// CHECK-NEXT:    "onnx.SequenceInsert"{{.*}} -> !onnx.Seq<tensor<?x4xf32>>
// CHECK-NEXT:    "onnx.SequenceInsert"{{.*}} -> !onnx.Seq<tensor<*xf32>>
func.func @inserted(%a: tensor<6x4xf32>, %b: tensor<5x4xf32>, %c: tensor<4xf32>) -> !onnx.Seq<tensor<*xf32>> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.SequenceEmpty"() {dtype = 1 : si64} : () -> !onnx.Seq<tensor<*xf32>>
  %1 = "onnx.SequenceInsert"(%0, %a, %n) : (!onnx.Seq<tensor<*xf32>>, tensor<6x4xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  %2 = "onnx.SequenceInsert"(%1, %b, %n) : (!onnx.Seq<tensor<*xf32>>, tensor<5x4xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  %3 = "onnx.SequenceInsert"(%2, %c, %n) : (!onnx.Seq<tensor<*xf32>>, tensor<4xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %3 : !onnx.Seq<tensor<*xf32>>
}
