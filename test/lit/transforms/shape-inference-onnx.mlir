// RUN: onnx-opt %s --shape-inference --split-input-file | filecheck %s

// The function's type is inferred; attributes stay as they are.
// CHECK-LABEL: func.func @conv
// CHECK-SAME:    -> tensor<1x4x4x8xf32>
// CHECK:         "onnx.Conv"
// CHECK-SAME:      <{auto_pad = "SAME_UPPER", group = 1 : si64, strides = [2, 1]}>
// CHECK-SAME:      -> tensor<1x4x4x8xf32>
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) <{auto_pad = "SAME_UPPER", group = 1 : si64, strides = [2, 1]}> : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// With ceil_mode, the last window of a pool must start inside of the data.
// CHECK-LABEL: func.func @pool
// CHECK:         "onnx.MaxPoolSingleOut"
// CHECK-SAME:      -> tensor<1x2x4x3xf32>
func.func @pool(%x: tensor<1x2x7x6xf32>) -> tensor<*xf32> {
  %0 = "onnx.MaxPoolSingleOut"(%x) <{auto_pad = "NOTSET", ceil_mode = 1 : si64, kernel_shape = [2, 2], storage_order = 0 : si64, strides = [2, 2]}> : (tensor<1x2x7x6xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// With ceil_mode, the only window of a pool may be larger than the padded data.
// CHECK-LABEL: func.func @large_window
// CHECK:         "onnx.AveragePool"
// CHECK-SAME:      -> tensor<1x2x1x3xf32>
func.func @large_window(%x: tensor<1x2x7x6xf32>) -> tensor<*xf32> {
  %0 = "onnx.AveragePool"(%x) <{auto_pad = "NOTSET", ceil_mode = 1 : si64, count_include_pad = 0 : si64, kernel_shape = [1280, 3], pads = [1, 0, 1, 0], strides = [1280, 2]}> : (tensor<1x2x7x6xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A static dimension takes precedence over a dynamic one, and a declared static dimension stays.
// CHECK-LABEL: func.func @merged
// CHECK:         "onnx.Add"
// CHECK-SAME:      -> tensor<2x3xf32>
// CHECK:         "onnx.Neg"
// CHECK-SAME:      -> tensor<5x?xf32>
func.func @merged(%x: tensor<?x3xf32>, %y: tensor<2x1xf32>, %z: tensor<?x?xf32>) -> (tensor<*xf32>, tensor<5x?xf32>) {
  %0 = "onnx.Add"(%x, %y) : (tensor<?x3xf32>, tensor<2x1xf32>) -> tensor<*xf32>
  %1 = "onnx.Neg"(%z) : (tensor<?x?xf32>) -> tensor<5x?xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<5x?xf32>
}

// -----

// A computed shape operand: the batch of x, and -1.
// CHECK-LABEL: func.func @computed_shape
// CHECK:         "onnx.Reshape"
// CHECK-SAME:      -> tensor<2x12xf32>
func.func @computed_shape(%x: tensor<2x3x4xf32>, %y: tensor<?x?x?xf32>) -> tensor<*xf32> {
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<2x3x4xf32>) -> tensor<*xi64>
  %1 = onnx.Constant dense<0> : tensor<1xi64>
  %2 = "onnx.Gather"(%0, %1) <{axis = 0 : si64}> : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %3 = onnx.Constant dense<12> : tensor<1xi64>
  %4 = "onnx.Concat"(%2, %3) <{axis = 0 : si64}> : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
  %5 = "onnx.Reshape"(%y, %4) <{allowzero = 0 : si64}> : (tensor<?x?x?xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %5 : tensor<*xf32>
}

// -----

// The branches differ in one dimension.
// CHECK-LABEL: func.func @branches
// CHECK:         }) : (tensor<i1>) -> tensor<2x?xf32>
func.func @branches(%c: tensor<i1>, %x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<*xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Neg"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }, {
    %2 = "onnx.Abs"(%y) : (tensor<2x4xf32>) -> tensor<*xf32>
    onnx.Yield %2 : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Operators without an inference rule fall back to the onnx package.
// CHECK-LABEL: func.func @fallback
// CHECK:         "onnx.OneHot"
// CHECK-SAME:      -> tensor<3x5xf32>
func.func @fallback(%x: tensor<3xi64>, %v: tensor<2xf32>) -> tensor<*xf32> {
  %0 = onnx.Constant dense<5> : tensor<i64>
  %1 = "onnx.OneHot"(%x, %0, %v) <{axis = -1 : si64}> : (tensor<3xi64>, tensor<i64>, tensor<2xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// Elementwise features keep their shape; models give one column per target, or a label and a score per class.
// CHECK-LABEL: func.func @features
// CHECK:         "onnx.Scaler"
// CHECK-SAME:      -> tensor<5x3xf32>
// CHECK:         "onnx.FeatureVectorizer"
// CHECK-SAME:      -> tensor<5x7xf32>
// CHECK:         "onnx.LinearRegressor"
// CHECK-SAME:      -> tensor<5x2xf32>
// CHECK:         "onnx.LinearClassifier"
// CHECK-SAME:      -> (tensor<5xi64>, tensor<5x3xf32>)
func.func @features(%x: tensor<5x3xi64>) -> tensor<*xf32> {
  %0 = "onnx.Scaler"(%x) <{offset = [1.0 : f32], scale = [2.0 : f32]}> : (tensor<5x3xi64>) -> tensor<*xf32>
  %1 = "onnx.FeatureVectorizer"(%0, %0) <{inputdimensions = [3, 4]}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  %2 = "onnx.LinearRegressor"(%1) <{coefficients = [1.0 : f32], targets = 2 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
  %3, %4 = "onnx.LinearClassifier"(%1) <{coefficients = [1.0 : f32], classlabels_ints = [4, 5, 6]}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %2 : tensor<*xf32>
}

// -----

// Statistics are of the type in which they are computed: float32 here.
// CHECK-LABEL: @statistics
// CHECK:         "onnx.LayerNormalization"
// CHECK-SAME:      -> (tensor<5x3xf16>, tensor<5x1xf32>, tensor<5x1xf32>)
func.func @statistics(%x: tensor<5x3xf16>, %s: tensor<3xf16>) -> tensor<*xf16> {
  %none = "onnx.NoValue"() {value} : () -> none
  %y, %m, %d = "onnx.LayerNormalization"(%x, %s, %none) <{axis = -1 : si64, epsilon = 1.0e-05 : f32, stash_type = 1 : si64}> : (tensor<5x3xf16>, tensor<3xf16>, none) -> (tensor<*xf16>, tensor<*xf32>, tensor<*xf32>)
  onnx.Return %y : tensor<*xf16>
}

// -----

// The present key and value are the past ones, of any length, and the new ones.
// CHECK-LABEL: @attention_past
// CHECK:         "onnx.Attention"
// CHECK-SAME:      -> (tensor<2x6x4x5xf32>, tensor<2x3x?x8xf32>, tensor<2x3x?x5xf32>, tensor<2x6x4x?xf32>)
func.func @attention_past(%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x5xf32>, %pk: tensor<2x3x?x8xf32>, %pv: tensor<2x3x?x5xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1, %2, %3 = "onnx.Attention"(%q, %k, %v, %none, %pk, %pv, %none) : (tensor<2x6x4x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x5xf32>, none, tensor<2x3x?x8xf32>, tensor<2x3x?x5xf32>, none) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Heads in the last axis, a past of 3 keys.
// CHECK-LABEL: @attention_heads_last
// CHECK:         "onnx.Attention"
// CHECK-SAME:      -> (tensor<2x4x30xf32>, tensor<2x3x10x8xf32>, tensor<2x3x10x5xf32>, none)
func.func @attention_heads_last(%q: tensor<2x4x48xf32>, %k: tensor<2x7x24xf32>, %v: tensor<2x7x15xf32>, %pk: tensor<2x3x3x8xf32>, %pv: tensor<2x3x3x5xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0, %1, %2, %3 = "onnx.Attention"(%q, %k, %v, %none, %pk, %pv, %none) {q_num_heads = 6 : si64, kv_num_heads = 3 : si64} : (tensor<2x4x48xf32>, tensor<2x7x24xf32>, tensor<2x7x15xf32>, none, tensor<2x3x3x8xf32>, tensor<2x3x3x5xf32>, none) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none)
  onnx.Return %0 : tensor<*xf32>
}

// -----

// The first selected input gives the shape; the element type may be given.
// CHECK-LABEL: @custom_same
// CHECK:         -> tensor<1x3xf32>
// CHECK:         -> tensor<?x3xi8>
// CHECK:         -> tensor<?x3xf32>
// CHECK:         -> tensor<*xf32>
func.func @custom_same(%x: tensor<?x3xf32>, %y: tensor<1x3xf32>) -> tensor<*xf32> {
  %0 = "onnx.Custom"(%x, %y) {function_name = "F", shape_infer_pattern = "SameAs", inputs_for_infer = [1]} : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<*xf32>
  %1 = "onnx.Custom"(%x, %y) {function_name = "F", shape_infer_pattern = "SameAs", output_element_type = i8} : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<*xi8>
  %2 = "onnx.Custom"(%x, %y) {function_name = "F", shape_infer_pattern = "MDBroadcast"} : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<*xf32>
  %3 = "onnx.Custom"(%x, %y) {function_name = "F"} : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<*xf32>
  onnx.Return %3 : tensor<*xf32>
}

// -----

// CHECK-LABEL: @sparse
// CHECK:         onnx.Constant sparse<{{.*}}> : tensor<3x4xf32>
func.func @sparse() -> tensor<*xf32> {
  %0 = "onnx.Constant"() {sparse_value = sparse<[[0, 0], [1, 2]], [1.0, 2.0]> : tensor<3x4xf32>} : () -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Axes in attributes become non-negative, in the order given.
// CHECK-LABEL: @axes
// CHECK:         "onnx.UnsqueezeV11"(%{{.*}}) <{axes = [3, 0]}> : {{.*}} -> tensor<1x4x3x1xf32>
// CHECK:         "onnx.SqueezeV11"(%{{.*}}) <{axes = [3]}> : {{.*}} -> tensor<1x4x3xf32>
func.func @axes(%x: tensor<4x3xf32>) -> tensor<*xf32> {
  %0 = "onnx.UnsqueezeV11"(%x) {axes = [-1, 0]} : (tensor<4x3xf32>) -> tensor<*xf32>
  %1 = "onnx.SqueezeV11"(%0) {axes = [-1]} : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// The lowest int64 as the end of a reversal means "to the start", and is not an unknown bound.
// CHECK-LABEL: @reversal
// CHECK:         "onnx.Slice"({{.*}}) : {{.*}} -> tensor<3x4xf32>
func.func @reversal(%x: tensor<3x4xf32>) -> tensor<*xf32> {
  %starts = onnx.Constant dense<9223372036854775807> : tensor<2xi64>
  %ends = onnx.Constant dense<-9223372036854775808> : tensor<2xi64>
  %axes = onnx.Constant dense<[0, 1]> : tensor<2xi64>
  %steps = onnx.Constant dense<-1> : tensor<2xi64>
  %0 = "onnx.Slice"(%x, %starts, %ends, %axes, %steps) : (tensor<3x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A sequence and an optional are what they were.
// CHECK-LABEL: @identities
// CHECK:         "onnx.Identity"(%{{.*}}) : (!onnx.Seq<tensor<2xf32>>) -> !onnx.Seq<tensor<2xf32>>
// CHECK:         "onnx.Identity"(%{{.*}}) : (!onnx.Opt<tensor<2xf32>>) -> !onnx.Opt<tensor<2xf32>>
func.func @identities(%s: !onnx.Seq<tensor<2xf32>>, %o: !onnx.Opt<tensor<2xf32>>) -> (!onnx.Seq<tensor<*xf32>>, !onnx.Opt<tensor<*xf32>>) {
  %0 = "onnx.Identity"(%s) : (!onnx.Seq<tensor<2xf32>>) -> !onnx.Seq<tensor<*xf32>>
  %1 = "onnx.Identity"(%o) : (!onnx.Opt<tensor<2xf32>>) -> !onnx.Opt<tensor<*xf32>>
  onnx.Return %0, %1 : !onnx.Seq<tensor<*xf32>>, !onnx.Opt<tensor<*xf32>>
}
