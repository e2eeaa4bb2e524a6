// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Layers of neural networks: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @Attention(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, none, none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'Q' at position 0 does not verify}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3 : tensor<*xf32>, none, none, none
}

// -----

func.func @CausalConvWithState(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0:2 = "onnx.CausalConvWithState"(%arg0, %arg1, %none, %none) : (tensor<*xindex>, tensor<*xf32>, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @LinearAttention(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'query' at position 0 does not verify}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{kv_num_heads = 1 : si64, q_num_heads = 1 : si64, update_rule = "linear"}> : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @LinearAttention(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{property 'kv_num_heads' expected in operation 'onnx.LinearAttention'}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 1 : si64, update_rule = "linear"}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @LinearAttention(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{property 'q_num_heads' expected in operation 'onnx.LinearAttention'}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{kv_num_heads = 1 : si64, update_rule = "linear"}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @RotaryEmbedding(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Col2Im(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Col2Im"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xi64>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Conv(%arg0: tensor<*xindex>, %arg1: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Conv"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
  onnx.Return %0 : tensor<1x4x6x6xf32>
}

// -----

func.func @ConvInteger(%arg0: tensor<*xindex>, %arg1: tensor<*xui8>) -> tensor<*xi32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0 = "onnx.ConvInteger"(%arg0, %arg1, %none, %none) : (tensor<*xindex>, tensor<*xui8>, none, none) -> tensor<*xi32>
  onnx.Return %0 : tensor<*xi32>
}

// -----

func.func @ConvTranspose(%arg0: tensor<*xindex>, %arg1: tensor<3x4x3x3xf32>) -> tensor<1x4x10x10xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ConvTranspose"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<3x4x3x3xf32>, none) -> tensor<1x4x10x10xf32>
  onnx.Return %0 : tensor<1x4x10x10xf32>
}

// -----

func.func @ConvTransposeV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ConvTransposeV1"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DeformConv(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.DeformConv"(%arg0, %arg1, %arg2, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @QLinearConv(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xui8>, %arg3: tensor<*xui8>, %arg4: tensor<*xf32>, %arg5: tensor<*xui8>, %arg6: tensor<*xf32>, %arg7: tensor<*xui8>) -> tensor<*xui8> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'x' at position 0 does not verify}}
  %0 = "onnx.QLinearConv"(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xui8>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, tensor<*xf32>, tensor<*xui8>, none) -> tensor<*xui8>
  onnx.Return %0 : tensor<*xui8>
}

// -----

func.func @Dropout(%arg0: tensor<*xindex>) -> (tensor<*xf32>, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0:2 = "onnx.Dropout"(%arg0, %none, %none) : (tensor<*xindex>, none, none) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// -----

func.func @DropoutV10(%arg0: tensor<*xindex>) -> (tensor<*xf32>, none) {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0:2 = "onnx.DropoutV10"(%arg0) : (tensor<*xindex>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// -----

func.func @DropoutV7(%arg0: tensor<*xindex>) -> (tensor<*xf32>, none) {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0:2 = "onnx.DropoutV7"(%arg0) : (tensor<*xindex>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// -----

func.func @DropoutV6(%arg0: tensor<*xindex>) -> (tensor<*xf32>, none) {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0:2 = "onnx.DropoutV6"(%arg0) : (tensor<*xindex>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// -----

func.func @DropoutV1(%arg0: tensor<*xindex>) -> (tensor<*xf32>, none) {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0:2 = "onnx.DropoutV1"(%arg0) : (tensor<*xindex>) -> (tensor<*xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, none
}

// -----

func.func @Flatten(%arg0: tensor<*xindex>) -> tensor<2x12xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Flatten"(%arg0) : (tensor<*xindex>) -> tensor<2x12xf32>
  onnx.Return %0 : tensor<2x12xf32>
}

// -----

func.func @Shrink(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Shrink"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'max_gram_length' expected in operation 'onnx.TfIdfVectorizer'}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_skip_count = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'max_skip_count' expected in operation 'onnx.TfIdfVectorizer'}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'min_gram_length' expected in operation 'onnx.TfIdfVectorizer'}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, mode = "TF", ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'mode' expected in operation 'onnx.TfIdfVectorizer'}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, min_gram_length = 1 : si64, ngram_counts = [1, 1], ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'ngram_counts' expected in operation 'onnx.TfIdfVectorizer'}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_indexes = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TfIdfVectorizer(%arg0: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'ngram_indexes' expected in operation 'onnx.TfIdfVectorizer'}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [1, 1], pool_int64s = [1, 2]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @BatchNormalization(%arg0: tensor<*xindex>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xindex>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none)
  onnx.Return %0#0, %0#1, %0#2 : tensor<1x3x8x8xf32>, none, none
}

// -----

func.func @BatchNormalizationV9(%arg0: tensor<*xindex>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none, none, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:5 = "onnx.BatchNormalizationV9"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xindex>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x8x8xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<1x3x8x8xf32>, none, none, none, none
}

// -----

func.func @BatchNormalizationV7(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:5 = "onnx.BatchNormalizationV7"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// -----

func.func @BatchNormalizationV6(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:5 = "onnx.BatchNormalizationV6"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// -----

func.func @BatchNormalizationV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:5 = "onnx.BatchNormalizationV1"(%arg0, %arg1, %arg2, %arg3, %arg4) <{consumed_inputs = [1, 1]}> : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// -----

func.func @BatchNormalizationV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg3: tensor<*xf32>, %arg4: tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none) {
  // expected-error@+1 {{property 'consumed_inputs' expected in operation 'onnx.BatchNormalizationV1'}}
  %0:5 = "onnx.BatchNormalizationV1"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, none, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<*xf32>, none, none, none, none
}

// -----

func.func @GroupNormalization(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GroupNormalization"(%arg0, %arg1, %arg2) <{num_groups = 1 : si64}> : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GroupNormalization(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'num_groups' expected in operation 'onnx.GroupNormalization'}}
  %0 = "onnx.GroupNormalization"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GroupNormalizationV18(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GroupNormalizationV18"(%arg0, %arg1, %arg2) <{num_groups = 1 : si64}> : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GroupNormalizationV18(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'num_groups' expected in operation 'onnx.GroupNormalizationV18'}}
  %0 = "onnx.GroupNormalizationV18"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @InstanceNormalization(%arg0: tensor<*xindex>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> tensor<1x3x8x8xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  onnx.Return %0 : tensor<1x3x8x8xf32>
}

// -----

func.func @InstanceNormalizationV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.InstanceNormalizationV1"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LRN(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LRN"(%arg0) <{size = 1 : si64}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LRN(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'size' expected in operation 'onnx.LRN'}}
  %0 = "onnx.LRN"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LayerNormalization(%arg0: tensor<*xindex>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:3 = "onnx.LayerNormalization"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, none)
  onnx.Return %0#0, %0#1, %0#2 : tensor<2x3x4xf32>, tensor<2x3x1xf32>, none
}

// -----

func.func @LpNormalization(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.LpNormalization"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MeanVarianceNormalization(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.MeanVarianceNormalization"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @RMSNormalization(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.RMSNormalization"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @AveragePool(%arg0: tensor<*xindex>) -> tensor<1x3x7x7xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.AveragePool"(%arg0) <{kernel_shape = [2, 2]}> : (tensor<*xindex>) -> tensor<1x3x7x7xf32>
  onnx.Return %0 : tensor<1x3x7x7xf32>
}

// -----

func.func @AveragePool(%arg0: tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32> {
  // expected-error@+1 {{property 'kernel_shape' expected in operation 'onnx.AveragePool'}}
  %0 = "onnx.AveragePool"(%arg0) : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32>
  onnx.Return %0 : tensor<1x3x7x7xf32>
}

// -----

func.func @GlobalAveragePool(%arg0: tensor<*xindex>) -> tensor<1x3x1x1xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GlobalAveragePool"(%arg0) : (tensor<*xindex>) -> tensor<1x3x1x1xf32>
  onnx.Return %0 : tensor<1x3x1x1xf32>
}

// -----

func.func @GlobalLpPool(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GlobalLpPool"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GlobalLpPoolV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GlobalLpPoolV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GlobalMaxPool(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GlobalMaxPool"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LpPool(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LpPool"(%arg0) <{kernel_shape = [1, 1]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LpPool(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'kernel_shape' expected in operation 'onnx.LpPool'}}
  %0 = "onnx.LpPool"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LpPoolV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LpPoolV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MaxPool(%arg0: tensor<*xindex>) -> (tensor<1x3x7x7xf32>, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.MaxPool"(%arg0) <{kernel_shape = [1, 1]}> : (tensor<*xindex>) -> (tensor<1x3x7x7xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<1x3x7x7xf32>, none
}

// -----

func.func @MaxPool(%arg0: tensor<1x3x8x8xf32>) -> (tensor<1x3x7x7xf32>, none) {
  // expected-error@+1 {{property 'kernel_shape' expected in operation 'onnx.MaxPool'}}
  %0:2 = "onnx.MaxPool"(%arg0) : (tensor<1x3x8x8xf32>) -> (tensor<1x3x7x7xf32>, none)
  onnx.Return %0#0, %0#1 : tensor<1x3x7x7xf32>, none
}

// -----

func.func @MaxRoiPool(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) <{pooled_shape = [1, 1]}> : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MaxRoiPool(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'pooled_shape' expected in operation 'onnx.MaxRoiPool'}}
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MaxUnpool(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) <{kernel_shape = [1, 1]}> : (tensor<*xindex>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @MaxUnpool(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{property 'kernel_shape' expected in operation 'onnx.MaxUnpool'}}
  %0 = "onnx.MaxUnpool"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
