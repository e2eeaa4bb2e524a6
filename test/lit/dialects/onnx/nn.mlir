// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Layers of neural networks: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @Attention
// CHECK: "onnx.Attention"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{is_causal = 0 : si64, qk_matmul_output_mode = 0 : si64, softcap = 0.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
func.func @Attention(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, none, none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3 : tensor<*xf32>, none, none, none
}

// CHECK-LABEL: @CausalConvWithState
// CHECK: "onnx.CausalConvWithState"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{activation = "none"}> : (tensor<*xf32>, tensor<*xf32>, none, none) -> (tensor<*xf32>, tensor<*xf32>)
func.func @CausalConvWithState(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %none, %none) : (tensor<*xf32>, tensor<*xf32>, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: @LinearAttention
// CHECK: "onnx.LinearAttention"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{chunk_size = 64 : si64, kv_num_heads = 1 : si64, q_num_heads = 1 : si64, scale = 0.000000e+00 : f32, update_rule = "linear"}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
func.func @LinearAttention(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{kv_num_heads = 1 : si64, q_num_heads = 1 : si64, update_rule = "linear"}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: @RotaryEmbedding
// CHECK: "onnx.RotaryEmbedding"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{interleaved = 0 : si64, rotary_embedding_dim = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
func.func @RotaryEmbedding(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Col2Im
// CHECK: "onnx.Col2Im"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xi64>, tensor<*xi64>) -> tensor<*xf32>
func.func @Col2Im(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xi64>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Conv
// CHECK: "onnx.Conv"({{%.+}}, {{%.+}}, {{%.+}}) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
func.func @Conv(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%arg0, %arg1, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  onnx.Return %0 : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: @ConvInteger
// CHECK: "onnx.ConvInteger"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<*xui8>, tensor<*xui8>, none, none) -> tensor<*xi32>
func.func @ConvInteger(%arg0: tensor<*xui8>, %arg1: tensor<*xui8>) -> tensor<*xi32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ConvInteger"(%arg0, %arg1, %none, %none) : (tensor<*xui8>, tensor<*xui8>, none, none) -> tensor<*xi32>
  onnx.Return %0 : tensor<*xi32>
}

// CHECK-LABEL: @ConvTranspose
// CHECK: "onnx.ConvTranspose"({{%.+}}, {{%.+}}, {{%.+}}) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, none) -> tensor<1x4x10x10xf32>
func.func @ConvTranspose(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, none) -> tensor<1x4x10x10xf32>
  onnx.Return %0 : tensor<1x4x10x10xf32>
}

// CHECK-LABEL: @ConvTransposeV1
// CHECK: "onnx.ConvTransposeV1"({{%.+}}, {{%.+}}, {{%.+}}) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
func.func @ConvTransposeV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ConvTransposeV1"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DeformConv
// CHECK: "onnx.DeformConv"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{group = 1 : si64, offset_group = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none) -> tensor<*xf32>
func.func @DeformConv(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @QLinearConv
// CHECK: "onnx.QLinearConv"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, none) -> tensor<*xui8>
func.func @QLinearConv(%arg0: tensor<*xui8>, %arg1: tensor<*xf32>, %arg2: tensor<*xui8>, %arg3: tensor<*xui8>, %arg4: tensor<*xf32>, %arg5: tensor<*xui8>, %arg6: tensor<*xf32>, %arg7: tensor<*xui8>) -> tensor<*xui8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.QLinearConv"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %none) : (tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, none) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}

// CHECK-LABEL: @Dropout
// CHECK: "onnx.Dropout"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xf32>, none, none) -> (tensor<*xf32>, none)
func.func @Dropout(%arg0: tensor<*xf32>) -> (tensor<*xf32>, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.Dropout"(%arg0, %none, %none) : (tensor<*xf32>, none, none) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// CHECK-LABEL: @DropoutV10
// CHECK: "onnx.DropoutV10"({{%.+}}) <{ratio = 5.000000e-01 : f32}> : (tensor<*xf32>) -> (tensor<*xf32>, none)
func.func @DropoutV10(%arg0: tensor<*xf32>) -> (tensor<*xf32>, none) {
  %0:2 = "onnx.DropoutV10"(%arg0) : (tensor<*xf32>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// CHECK-LABEL: @DropoutV7
// CHECK: "onnx.DropoutV7"({{%.+}}) <{ratio = 5.000000e-01 : f32}> : (tensor<*xf32>) -> (tensor<*xf32>, none)
func.func @DropoutV7(%arg0: tensor<*xf32>) -> (tensor<*xf32>, none) {
  %0:2 = "onnx.DropoutV7"(%arg0) : (tensor<*xf32>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// CHECK-LABEL: @DropoutV6
// CHECK: "onnx.DropoutV6"({{%.+}}) <{is_test = 0 : si64, ratio = 5.000000e-01 : f32}> : (tensor<*xf32>) -> (tensor<*xf32>, none)
func.func @DropoutV6(%arg0: tensor<*xf32>) -> (tensor<*xf32>, none) {
  %0:2 = "onnx.DropoutV6"(%arg0) : (tensor<*xf32>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// CHECK-LABEL: @DropoutV1
// CHECK: "onnx.DropoutV1"({{%.+}}) <{is_test = 0 : si64, ratio = 5.000000e-01 : f32}> : (tensor<*xf32>) -> (tensor<*xf32>, none)
func.func @DropoutV1(%arg0: tensor<*xf32>) -> (tensor<*xf32>, none) {
  %0:2 = "onnx.DropoutV1"(%arg0) : (tensor<*xf32>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// CHECK-LABEL: @Flatten
// CHECK: "onnx.Flatten"({{%.+}}) <{axis = 1 : si64}> : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
func.func @Flatten(%arg0: tensor<2x3x4xf32>) -> tensor<2x12xf32> {
  %0 = "onnx.Flatten"(%arg0) : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  onnx.Return %0 : tensor<2x12xf32>
}

// CHECK-LABEL: @Shrink
// CHECK: "onnx.Shrink"({{%.+}}) <{bias = 0.000000e+00 : f32, lambd = 5.000000e-01 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Shrink(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Shrink"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @TfIdfVectorizer
// CHECK: "onnx.TfIdfVectorizer"({{%.+}}) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @BatchNormalization
// CHECK: "onnx.BatchNormalization"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32, momentum = 0.899999976 : f32, training_mode = 0 : si64}> : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none)
func.func @BatchNormalization(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none) {
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none)
  onnx.Return %0#0, %0#1, %0#2 : tensor<1x3x8x8xf32>, none, none
}

// CHECK-LABEL: @BatchNormalizationV9
// CHECK: "onnx.BatchNormalizationV9"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32, momentum = 0.899999976 : f32}> : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none, none, none)
func.func @BatchNormalizationV9(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none, none, none) {
  %0:5 = "onnx.BatchNormalizationV9"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<1x3x8x8xf32>, none, none, none, none
}

// CHECK-LABEL: @BatchNormalizationV7
// CHECK: "onnx.BatchNormalizationV7"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32, momentum = 0.899999976 : f32, spatial = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
func.func @BatchNormalizationV7(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  %0:5 = "onnx.BatchNormalizationV7"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// CHECK-LABEL: @BatchNormalizationV6
// CHECK: "onnx.BatchNormalizationV6"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32, is_test = 0 : si64, momentum = 0.899999976 : f32, spatial = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
func.func @BatchNormalizationV6(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  %0:5 = "onnx.BatchNormalizationV6"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// CHECK-LABEL: @BatchNormalizationV1
// CHECK: "onnx.BatchNormalizationV1"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{consumed_inputs = [1, 1], epsilon = 9.99999974E-6 : f32, is_test = 0 : si64, momentum = 0.899999976 : f32, spatial = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
func.func @BatchNormalizationV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  %0:5 = "onnx.BatchNormalizationV1"(%arg0, %arg1, %arg2, %arg3, %arg4) <{consumed_inputs = [1, 1]}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// CHECK-LABEL: @GroupNormalization
// CHECK: "onnx.GroupNormalization"({{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32, num_groups = 1 : si64, stash_type = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @GroupNormalization(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GroupNormalization"(%arg0, %arg1, %arg2) <{num_groups = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @GroupNormalizationV18
// CHECK: "onnx.GroupNormalizationV18"({{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32, num_groups = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @GroupNormalizationV18(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GroupNormalizationV18"(%arg0, %arg1, %arg2) <{num_groups = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @InstanceNormalization
// CHECK: "onnx.InstanceNormalization"({{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32}> : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
func.func @InstanceNormalization(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> tensor<1x3x8x8xf32> {
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  onnx.Return %0 : tensor<1x3x8x8xf32>
}

// CHECK-LABEL: @InstanceNormalizationV1
// CHECK: "onnx.InstanceNormalizationV1"({{%.+}}, {{%.+}}, {{%.+}}) <{epsilon = 9.99999974E-6 : f32}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @InstanceNormalizationV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.InstanceNormalizationV1"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LRN
// CHECK: "onnx.LRN"({{%.+}}) <{alpha = 9.99999974E-5 : f32, beta = 7.500000e-01 : f32, bias = 1.000000e+00 : f32, size = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LRN(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LRN"(%arg0) <{size = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LayerNormalization
// CHECK: "onnx.LayerNormalization"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = -1 : si64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : si64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, none)
func.func @LayerNormalization(%arg0: tensor<2x3x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, none) {
  %0:3 = "onnx.LayerNormalization"(%arg0, %arg1, %arg2) : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, none)
  onnx.Return %0#0, %0#1, %0#2 : tensor<2x3x4xf32>, tensor<2x3x1xf32>, none
}

// CHECK-LABEL: @LpNormalization
// CHECK: "onnx.LpNormalization"({{%.+}}) <{axis = -1 : si64, p = 2 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LpNormalization(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LpNormalization"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MeanVarianceNormalization
// CHECK: "onnx.MeanVarianceNormalization"({{%.+}}) <{axes = [0, 2, 3]}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @MeanVarianceNormalization(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MeanVarianceNormalization"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @RMSNormalization
// CHECK: "onnx.RMSNormalization"({{%.+}}, {{%.+}}) <{axis = -1 : si64, epsilon = 9.99999974E-6 : f32, stash_type = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @RMSNormalization(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.RMSNormalization"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @AveragePool
// CHECK: "onnx.AveragePool"({{%.+}}) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, count_include_pad = 0 : si64, kernel_shape = [2, 2]}> : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32>
func.func @AveragePool(%arg0: tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32> {
  %0 = "onnx.AveragePool"(%arg0) <{kernel_shape = [2, 2]}> : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32>
  onnx.Return %0 : tensor<1x3x7x7xf32>
}

// CHECK-LABEL: @GlobalAveragePool
// CHECK: "onnx.GlobalAveragePool"({{%.+}}) : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
func.func @GlobalAveragePool(%arg0: tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32> {
  %0 = "onnx.GlobalAveragePool"(%arg0) : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
  onnx.Return %0 : tensor<1x3x1x1xf32>
}

// CHECK-LABEL: @GlobalLpPool
// CHECK: "onnx.GlobalLpPool"({{%.+}}) <{p = 2 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @GlobalLpPool(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GlobalLpPool"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @GlobalLpPoolV1
// CHECK: "onnx.GlobalLpPoolV1"({{%.+}}) <{p = 2.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @GlobalLpPoolV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GlobalLpPoolV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @GlobalMaxPool
// CHECK: "onnx.GlobalMaxPool"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @GlobalMaxPool(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GlobalMaxPool"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LpPool
// CHECK: "onnx.LpPool"({{%.+}}) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [1, 1], p = 2 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LpPool(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LpPool"(%arg0) <{kernel_shape = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LpPoolV1
// CHECK: "onnx.LpPoolV1"({{%.+}}) <{auto_pad = "NOTSET", p = 2.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LpPoolV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LpPoolV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MaxPool
// CHECK: "onnx.MaxPool"({{%.+}}) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [1, 1], storage_order = 0 : si64}> : (tensor<1x3x8x8xf32>) -> (tensor<1x3x7x7xf32>, none)
func.func @MaxPool(%arg0: tensor<1x3x8x8xf32>) -> (tensor<1x3x7x7xf32>, none) {
  %0:2 = "onnx.MaxPool"(%arg0) <{kernel_shape = [1, 1]}> : (tensor<1x3x8x8xf32>) -> (tensor<1x3x7x7xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<1x3x7x7xf32>, none
}

// CHECK-LABEL: @MaxRoiPool
// CHECK: "onnx.MaxRoiPool"({{%.+}}, {{%.+}}) <{pooled_shape = [1, 1], spatial_scale = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @MaxRoiPool(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) <{pooled_shape = [1, 1]}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @MaxUnpool
// CHECK: "onnx.MaxUnpool"({{%.+}}, {{%.+}}, {{%.+}}) <{kernel_shape = [1, 1]}> : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
func.func @MaxUnpool(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) <{kernel_shape = [1, 1]}> : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
