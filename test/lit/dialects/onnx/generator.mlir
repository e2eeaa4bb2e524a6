// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Tensors out of nothing: constants and random numbers: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @Bernoulli
// CHECK: "onnx.Bernoulli"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Bernoulli(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Bernoulli"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @EyeLike
// CHECK: "onnx.EyeLike"({{%.+}}) <{k = 0 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @EyeLike(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.EyeLike"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Multinomial
// CHECK: "onnx.Multinomial"({{%.+}}) <{dtype = 7 : si64, sample_size = 1 : si64}> : (tensor<*xf32>) -> tensor<*xi64>
func.func @Multinomial(%arg0: tensor<*xf32>) -> tensor<*xi64> {
  %0 = "onnx.Multinomial"(%arg0) <{dtype = 7 : si64}> : (tensor<*xf32>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @RandomNormal
// CHECK: "onnx.RandomNormal"() <{dtype = 1 : si64, mean = 0.000000e+00 : f32, scale = 1.000000e+00 : f32, shape = [1, 1]}> : () -> tensor<*xf32>
func.func @RandomNormal() -> tensor<*xf32> {
  %0 = "onnx.RandomNormal"() <{shape = [1, 1]}> : () -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @RandomNormalLike
// CHECK: "onnx.RandomNormalLike"({{%.+}}) <{mean = 0.000000e+00 : f32, scale = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @RandomNormalLike(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.RandomNormalLike"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @RandomUniform
// CHECK: "onnx.RandomUniform"() <{dtype = 1 : si64, high = 1.000000e+00 : f32, low = 0.000000e+00 : f32, shape = [1, 1]}> : () -> tensor<*xf32>
func.func @RandomUniform() -> tensor<*xf32> {
  %0 = "onnx.RandomUniform"() <{shape = [1, 1]}> : () -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @RandomUniformLike
// CHECK: "onnx.RandomUniformLike"({{%.+}}) <{high = 1.000000e+00 : f32, low = 0.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @RandomUniformLike(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.RandomUniformLike"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Range
// CHECK: "onnx.Range"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @Range(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Range"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
