// RUN: onnx-opt %s --simplify-onnx --split-input-file | filecheck %s

// An initial state of zeros of the batch's size, as PyTorch exports it, is dropped with what computed it.
// CHECK-LABEL: func.func @zeros_of_a_size
// CHECK-NOT:     onnx.ConstantOfShape
// CHECK:         "onnx.GRU"(%{{.+}}, %{{.+}}, %{{.+}}, %[[NONE:[0-9]+]], %[[NONE]], %[[STATE:[0-9]+]]) {{.*}}, none, none, none)
func.func @zeros_of_a_size(%x: tensor<5x?x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x12x4xf32>) -> tensor<5x1x?x4xf32> {
  %none = "onnx.NoValue"() : () -> none
  %one = onnx.Constant dense<1> : tensor<1xi64>
  %four = onnx.Constant dense<4> : tensor<1xi64>
  %zero = onnx.Constant dense<0> : tensor<1xi64>
  %batch = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<5x?x3xf32>) -> tensor<1xi64>
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %shape = "onnx.Concat"(%two, %batch, %four) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %all = "onnx.ConstantOfShape"(%shape) <{value = dense<0.0> : tensor<1xf32>}> : (tensor<3xi64>) -> tensor<2x?x4xf32>
  %h = "onnx.Slice"(%all, %zero, %one, %zero, %one) : (tensor<2x?x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?x4xf32>
  %0:2 = "onnx.GRU"(%x, %w, %r, %none, %none, %h) <{hidden_size = 4 : si64}> : (tensor<5x?x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, none, none, tensor<1x?x4xf32>) -> (tensor<5x1x?x4xf32>, none)
  onnx.Return %0#0 : tensor<5x1x?x4xf32>
}

// -----

// Ones are not dropped; of two states only the one of zeros is.
// CHECK-LABEL: func.func @one_of_two
// CHECK:         %[[ONES:.+]] = onnx.Constant dense<1.000000e+00> : tensor<1x2x4xf32>
// CHECK:         "onnx.LSTM"(%{{.+}}, %{{.+}}, %{{.+}}, %[[NONE:[0-9]+]], %[[NONE]], %[[ONES]], %{{[0-9]+}}, %[[NONE]]) {{.*}} tensor<1x2x4xf32>, none, none)
func.func @one_of_two(%x: tensor<5x2x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>) -> tensor<5x1x2x4xf32> {
  %none = "onnx.NoValue"() : () -> none
  %h = onnx.Constant dense<1.0> : tensor<1x2x4xf32>
  %c = onnx.Constant dense<0.0> : tensor<1x2x4xf32>
  %0:3 = "onnx.LSTM"(%x, %w, %r, %none, %none, %h, %c, %none) <{hidden_size = 4 : si64}> : (tensor<5x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, none, tensor<1x2x4xf32>, tensor<1x2x4xf32>, none) -> (tensor<5x1x2x4xf32>, none, none)
  onnx.Return %0#0 : tensor<5x1x2x4xf32>
}

// -----

// Negative zeros are not dropped: their products have another sign.
// CHECK-LABEL: func.func @negative_zeros
// CHECK:         %[[ZEROS:.+]] = onnx.Constant dense<-0.000000e+00> : tensor<1x2x4xf32>
// CHECK:         "onnx.RNN"({{.*}}%[[ZEROS]])
func.func @negative_zeros(%x: tensor<5x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) -> tensor<5x1x2x4xf32> {
  %none = "onnx.NoValue"() : () -> none
  %h = onnx.Constant dense<-0.0> : tensor<1x2x4xf32>
  %0:2 = "onnx.RNN"(%x, %w, %r, %none, %none, %h) <{hidden_size = 4 : si64}> : (tensor<5x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>, none, none, tensor<1x2x4xf32>) -> (tensor<5x1x2x4xf32>, none)
  onnx.Return %0#0 : tensor<5x1x2x4xf32>
}
