// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Recurrent layers: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @GRU(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}

// -----

func.func @GRUV3(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.GRUV3"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}

// -----

func.func @GRUV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.GRUV1"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : none, tensor<*xf32>
}

// -----

func.func @LSTM(%arg0: tensor<*xindex>, %arg1: tensor<1x16x3xf32>, %arg2: tensor<1x16x4xf32>) -> (tensor<5x1x1x4xf32>, none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) : (tensor<*xindex>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<5x1x1x4xf32>, none, none)
  onnx.Return %0#0, %0#1, %0#2 : tensor<5x1x1x4xf32>, none, none
}

// -----

func.func @LSTMV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:3 = "onnx.LSTMV1"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none, none, none) -> (none, none, none)
  onnx.Return %0#0, %0#1, %0#2 : none, none, none
}

// -----

func.func @RNN(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}

// -----

func.func @RNNV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.RNNV1"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}
