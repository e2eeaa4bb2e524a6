// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Recurrent layers: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @GRU
// CHECK: "onnx.GRU"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{direction = "forward", layout = 0 : si64, linear_before_reset = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
func.func @GRU(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}

// CHECK-LABEL: @GRUV3
// CHECK: "onnx.GRUV3"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{direction = "forward", linear_before_reset = 0 : si64, output_sequence = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
func.func @GRUV3(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.GRUV3"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}

// CHECK-LABEL: @GRUV1
// CHECK: "onnx.GRUV1"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{direction = "foward", output_sequence = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, tensor<*xf32>)
func.func @GRUV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.GRUV1"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : none, tensor<*xf32>
}

// CHECK-LABEL: @LSTM
// CHECK: "onnx.LSTM"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{direction = "forward", input_forget = 0 : si64, layout = 0 : si64}> : (tensor<5x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<5x1x1x4xf32>, none, none)
func.func @LSTM(%arg0: tensor<5x1x3xf32>, %arg1: tensor<1x16x3xf32>, %arg2: tensor<1x16x4xf32>) -> (tensor<5x1x1x4xf32>, none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:3 = "onnx.LSTM"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) : (tensor<5x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<5x1x1x4xf32>, none, none)
  onnx.Return %0#0, %0#1, %0#2 : tensor<5x1x1x4xf32>, none, none
}

// CHECK-LABEL: @LSTMV1
// CHECK: "onnx.LSTMV1"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{direction = "forward", input_forget = 0 : si64, output_sequence = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none, none) -> (none, none, none)
func.func @LSTMV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:3 = "onnx.LSTMV1"(%arg0, %arg1, %arg2, %none, %none, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none, none) -> (none, none, none)
  onnx.Return %0#0, %0#1, %0#2 : none, none, none
}

// CHECK-LABEL: @RNN
// CHECK: "onnx.RNN"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{activations = ["Tanh", "Tanh"], direction = "forward", layout = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
func.func @RNN(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}

// CHECK-LABEL: @RNNV1
// CHECK: "onnx.RNNV1"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{activations = ["Tanh", "Tanh"], direction = "forward", output_sequence = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
func.func @RNNV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (none, none) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.RNNV1"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none) -> (none, none)
  onnx.Return %0#0, %0#1 : none, none
}
