// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Attention: numbers of heads, sequence lengths and the key-value cache.

func.func @no_heads(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{q_num_heads and kv_num_heads are needed for operands of rank 3}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @zero_heads(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{K has 0 heads; there is at least 1}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 0 : si64}> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @columns(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Q has 8 columns, no multiple of its 3 heads}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) <{q_num_heads = 3 : si64, kv_num_heads = 1 : si64}> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @groups(%arg0: tensor<1x3x4x8xf32>, %arg1: tensor<1x2x4x8xf32>, %arg2: tensor<1x2x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{there are 3 heads of queries, no multiple of the 2 of keys}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<1x3x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @batches(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<2x2x4x8xf32>, %arg2: tensor<1x2x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Q, K and V have 1, 2 and 1 batches; they must be the same}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<1x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<1x2x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @rows(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x2x5x8xf32>, %arg2: tensor<1x2x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{K has 5 rows, V has 4; they must be the same}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @widths(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x2x4x6xf32>, %arg2: tensor<1x2x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{heads of Q have 8 columns, those of K have 6; they must be the same}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<1x2x4x8xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @values(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x2x4x8xf32>, %arg2: tensor<1x1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{K has 2 heads, V has 1; they must be the same}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @past(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x2x4x8xf32>, %arg2: tensor<1x2x4x8xf32>, %arg4: tensor<1x3x4x8xf32>, %arg5: tensor<1x3x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{past_key has 1 batches of 3 heads, not 1 of 2}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %arg4, %arg5, %none) : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, none, tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @past_rank(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x2x4x8xf32>, %arg2: tensor<1x2x4x8xf32>, %arg4: tensor<2x4x8xf32>, %arg5: tensor<2x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{past_key has rank 3; it has rank 4}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %arg4, %arg5, %none) : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, none, tensor<2x4x8xf32>, tensor<2x4x8xf32>, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @lengths(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x2x4x8xf32>, %arg2: tensor<1x2x4x8xf32>, %arg6: tensor<3xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{nonpad_kv_seqlen holds a length for each of 1 batches}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %arg6) : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, none, none, none, tensor<3xi64>) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @is_causal(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'is_causal' value is 2, accepted range is [0, 1]}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) <{is_causal = 2 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @LinearAttention(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{decay is needed for the update rule gated}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "gated"}> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @beta(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{beta is needed for the update rule delta}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "delta"}> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @update_rule(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{update_rule is "hebbian"; it is one of linear, gated, delta, gated_delta}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "hebbian"}> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @linear_heads(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{q_num_heads is 2, which is no multiple of kv_num_heads, 0}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 0 : si64, update_rule = "linear"}> : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @linear_rank(%arg0: tensor<4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{query has rank 2; it has rank 3}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "linear"}> : (tensor<4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @linear_columns(%arg0: tensor<1x4x7xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{query has 7 columns, no multiple of its 2 heads}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "linear"}> : (tensor<1x4x7xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @linear_steps(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x5x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{query, key and value have different numbers of steps}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "linear"}> : (tensor<1x4x8xf32>, tensor<1x5x8xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @linear_widths(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x6xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{heads of query and key have different numbers of columns}}
  %0:2 = "onnx.LinearAttention"(%arg0, %arg1, %arg2, %none, %none, %none) <{q_num_heads = 2 : si64, kv_num_heads = 2 : si64, update_rule = "linear"}> : (tensor<1x4x8xf32>, tensor<1x4x6xf32>, tensor<1x4x8xf32>, none, none, none) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @RotaryEmbedding(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x4xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{num_heads is needed for an operand of rank 3}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) : (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @rotary_rank(%arg0: tensor<4x8xf32>, %arg1: tensor<1x4x4xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{X has rank 2; it has rank 3 or 4}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) : (tensor<4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @rotary_columns(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x4x4xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{X has 8 columns, no multiple of its 3 heads}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) <{num_heads = 3 : si64}> : (tensor<1x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @rotated(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x4x4xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{10 columns of 8 are rotated; it is an even number of them}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) <{rotary_embedding_dim = 10 : si64}> : (tensor<1x2x4x8xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @cache_rank(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<9x4xf32>, %arg2: tensor<9x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{cos_cache has rank 2; it has rank 3}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) : (tensor<1x2x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @positions(%arg0: tensor<2x3x4x8xf32>, %arg1: tensor<9x4xf32>, %arg2: tensor<1x4xi64>) {
  // expected-error@+1 {{position_ids has entries for [1, 4] positions; [2, 4] are needed}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg1, %arg2) : (tensor<2x3x4x8xf32>, tensor<9x4xf32>, tensor<9x4xf32>, tensor<1x4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @cache_positions(%arg0: tensor<2x?x24xf32>, %arg1: tensor<2x4x4xf32>, %arg2: tensor<3x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{sin_cache has entries for [3, 4] positions; [2, ?] are needed}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) <{num_heads = 3 : si64}> : (tensor<2x?x24xf32>, tensor<2x4x4xf32>, tensor<3x4x4xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @cache_columns(%arg0: tensor<1x2x4x8xf32>, %arg1: tensor<1x4x8xf32>, %arg2: tensor<1x4x8xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{cos_cache has 8 columns; half of the 8 rotated are needed}}
  %0 = "onnx.RotaryEmbedding"(%arg0, %arg1, %arg2, %none) : (tensor<1x2x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, none) -> tensor<*xf32>
  onnx.Return
}
