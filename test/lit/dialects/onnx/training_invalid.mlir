// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Steps of training (ai.onnx.preview.training): types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @Adagrad(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'R' at position 0 does not verify}}
  %0 = "onnx.Adagrad"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Adam(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'R' at position 0 does not verify}}
  %0 = "onnx.Adam"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Gradient(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'Inputs' at position 0 does not verify}}
  %0 = "onnx.Gradient"(%arg0) <{xs = ["text"], y = "text"}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Gradient(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'xs' expected in operation 'onnx.Gradient'}}
  %0 = "onnx.Gradient"(%arg0) <{y = "text"}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Gradient(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'y' expected in operation 'onnx.Gradient'}}
  %0 = "onnx.Gradient"(%arg0) <{xs = ["text"]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Momentum(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'R' at position 0 does not verify}}
  %0 = "onnx.Momentum"(%arg0, %arg1, %arg2) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, mode = "standard", norm_coefficient = 1.000000e+00 : f32}> : (tensor<*xindex>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Momentum(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'alpha' expected in operation 'onnx.Momentum'}}
  %0 = "onnx.Momentum"(%arg0, %arg1, %arg2) <{beta = 1.000000e+00 : f32, mode = "standard", norm_coefficient = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Momentum(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'beta' expected in operation 'onnx.Momentum'}}
  %0 = "onnx.Momentum"(%arg0, %arg1, %arg2) <{alpha = 1.000000e+00 : f32, mode = "standard", norm_coefficient = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Momentum(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'mode' expected in operation 'onnx.Momentum'}}
  %0 = "onnx.Momentum"(%arg0, %arg1, %arg2) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, norm_coefficient = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Momentum(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'norm_coefficient' expected in operation 'onnx.Momentum'}}
  %0 = "onnx.Momentum"(%arg0, %arg1, %arg2) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, mode = "standard"}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
