// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// RNN, GRU and LSTM: dimensions that follow from directions, gates and hidden size.

func.func @weights(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x12x2xf32>, %arg2: tensor<1x16x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{W has the shape [1, 12, 2]; [1, 16, 2] is needed}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) : (tensor<3x1x2xf32>, tensor<1x12x2xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<*xf32>, none, none)
  onnx.Return
}

// -----

func.func @recurrent(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x12x2xf32>, %arg2: tensor<1x12x5xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{hidden_size is 4, R has 5 columns}}
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) <{hidden_size = 4 : si64}> : (tensor<3x1x2xf32>, tensor<1x12x2xf32>, tensor<1x12x5xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @directions(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x12x2xf32>, %arg2: tensor<1x12x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{W has the shape [1, 12, 2]; [2, 12, 2] is needed}}
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) <{direction = "bidirectional"}> : (tensor<3x1x2xf32>, tensor<1x12x2xf32>, tensor<1x12x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @bias(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>, %arg3: tensor<1x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{B has the shape [1, 4]; [1, 8] is needed}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %arg3, %none, %none) : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, tensor<1x4xf32>, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @sequence_lens(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>, %arg4: tensor<3xi32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{sequence_lens has the shape [3]; [1] is needed}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %arg4, %none) : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, tensor<3xi32>, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @state(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>, %arg5: tensor<1x2x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{initial_h has the shape [1, 2, 4]; [1, 1, 4] is needed}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %arg5) : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, tensor<1x2x4xf32>) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @cell(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x16x2xf32>, %arg2: tensor<1x16x4xf32>, %arg6: tensor<1x1x5xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{initial_c has the shape [1, 1, 5]; [1, 1, 4] is needed}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %arg6, %none) : (tensor<3x1x2xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, none, tensor<1x1x5xf32>, none) -> (tensor<*xf32>, none, none)
  onnx.Return
}

// -----

func.func @peephole(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x16x2xf32>, %arg2: tensor<1x16x4xf32>, %arg7: tensor<1x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{P has the shape [1, 4]; [1, 12] is needed}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %arg7) : (tensor<3x1x2xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, none, none, tensor<1x4xf32>) -> (tensor<*xf32>, none, none)
  onnx.Return
}

// -----

func.func @layout(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>, %arg5: tensor<1x3x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{initial_h has the shape [1, 3, 4]; [3, 1, 4] is needed}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %arg5) <{layout = 1 : si64}> : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, tensor<1x3x4xf32>) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @hidden_size(%arg0: tensor<3x1x2xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{hidden_size is 0; it is at least 1}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) <{hidden_size = 0 : si64}> : (tensor<3x1x2xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @activations(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x16x2xf32>, %arg2: tensor<1x16x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{activations has 2 names; 3 are needed}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) <{activations = ["Tanh", "Tanh"]}> : (tensor<3x1x2xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<*xf32>, none, none)
  onnx.Return
}

// -----

func.func @activation(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{activations has "Sine", which is no activation function}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) <{activations = ["Sine"]}> : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @alpha(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{activation_alpha has 2 numbers for 1 activations}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) <{activation_alpha = [1.0 : f32, 2.0 : f32]}> : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @clip(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x4x2xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{clip is -1.0; it is at least 0}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) <{clip = -1.0 : f32}> : (tensor<3x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @input_forget(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x16x2xf32>, %arg2: tensor<1x16x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'input_forget' value is 2, accepted range is [0, 1]}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) <{input_forget = 2 : si64}> : (tensor<3x1x2xf32>, tensor<1x16x2xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<*xf32>, none, none)
  onnx.Return
}

// -----

func.func @linear_before_reset(%arg0: tensor<3x1x2xf32>, %arg1: tensor<1x12x2xf32>, %arg2: tensor<1x12x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'linear_before_reset' value is 2, accepted range is [0, 1]}}
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) <{linear_before_reset = 2 : si64}> : (tensor<3x1x2xf32>, tensor<1x12x2xf32>, tensor<1x12x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @older(%arg0: tensor<3x2xf32>, %arg1: tensor<1x12x2xf32>, %arg2: tensor<1x12x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{X has rank 2; it has rank 3}}
  %0:2 = "onnx.GRUV3"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<3x2xf32>, tensor<1x12x2xf32>, tensor<1x12x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}
