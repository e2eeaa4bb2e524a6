// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Steps of training (ai.onnx.preview.training): one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @Adagrad
// CHECK: "onnx.Adagrad"({{%.+}}, {{%.+}}, {{%.+}}) <{decay_factor = 0.000000e+00 : f32, epsilon = 9.99999997E-7 : f32, norm_coefficient = 0.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
func.func @Adagrad(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Adagrad"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Adam
// CHECK: "onnx.Adam"({{%.+}}, {{%.+}}, {{%.+}}) <{alpha = 0.899999976 : f32, beta = 9.990000e-01 : f32, epsilon = 9.99999997E-7 : f32, norm_coefficient = 0.000000e+00 : f32, norm_coefficient_post = 0.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
func.func @Adam(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Adam"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Gradient
// CHECK: "onnx.Gradient"({{%.+}}) <{xs = ["text"], y = "text"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Gradient(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Gradient"(%arg0) <{xs = ["text"], y = "text"}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Momentum
// CHECK: "onnx.Momentum"({{%.+}}, {{%.+}}, {{%.+}}) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, mode = "standard", norm_coefficient = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
func.func @Momentum(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Momentum"(%arg0, %arg1, %arg2) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, mode = "standard", norm_coefficient = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
