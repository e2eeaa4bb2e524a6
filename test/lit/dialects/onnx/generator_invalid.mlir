// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Tensors out of nothing: constants and random numbers: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @Bernoulli(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Bernoulli"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @EyeLike(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.EyeLike"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Multinomial(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Multinomial"(%arg0) <{dtype = 7 : si64}> : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @RandomNormal() -> tensor<*xindex> {
  // expected-error@+1 {{result 'output' at position 0 does not verify}}
  %0 = "onnx.RandomNormal"() <{shape = [1, 1]}> : () -> tensor<*xindex>
  onnx.Return %0 : tensor<*xindex>
}

// -----

func.func @RandomNormal() -> tensor<*xf32> {
  // expected-error@+1 {{property 'shape' expected in operation 'onnx.RandomNormal'}}
  %0 = "onnx.RandomNormal"() : () -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @RandomNormalLike(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.RandomNormalLike"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @RandomUniform() -> tensor<*xindex> {
  // expected-error@+1 {{result 'output' at position 0 does not verify}}
  %0 = "onnx.RandomUniform"() <{shape = [1, 1]}> : () -> tensor<*xindex>
  onnx.Return %0 : tensor<*xindex>
}

// -----

func.func @RandomUniform() -> tensor<*xf32> {
  // expected-error@+1 {{property 'shape' expected in operation 'onnx.RandomUniform'}}
  %0 = "onnx.RandomUniform"() : () -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @RandomUniformLike(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.RandomUniformLike"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Range(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'start' at position 0 does not verify}}
  %0 = "onnx.Range"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
