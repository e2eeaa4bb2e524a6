// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{tosa.exp: the result has the operand's type tensor<4xf32>, found tensor<5xf32>}}
  %y = "tosa.exp"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xi8>) {
  // expected-error @+1 {{tosa.pow: operands have one element type, found tensor<4xf32> and tensor<4xi8>}}
  %y = "tosa.pow"(%a, %b) : (tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{tosa.pow: tensor<4xf32> and tensor<3xf32> are not broadcast to tensor<4xf32>}}
  %y = "tosa.pow"(%a, %b) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{tosa.maximum: the result has elements f32, found i1}}
  %y = "tosa.maximum"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{tosa.greater: the result has elements i1, found f32}}
  %y = "tosa.greater"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{tosa.cast: the result has shape [4], found [5]}}
  %y = "tosa.cast"(%a) : (tensor<4xf32>) -> tensor<5xi8>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{tosa.select: the condition has elements i1, found tensor<4xf32>}}
  %y = "tosa.select"(%a, %b, %c) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<4xi8>) {
  // expected-error @+1 {{tosa.select: both choices and the result have one element type, found tensor<4xf32>, tensor<4xi8> and tensor<4xf32>}}
  %y = "tosa.select"(%a, %b, %c) : (tensor<4xi1>, tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<3xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{tosa.select: the operands are not broadcast to tensor<4xf32>}}
  %y = "tosa.select"(%a, %b, %c) : (tensor<4xi1>, tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi8>, %b: tensor<255xi8>) {
  // expected-error @+1 {{tosa.table: i8 takes 256 entries, found tensor<255xi8>}}
  %y = "tosa.table"(%a, %b) : (tensor<4xi8>, tensor<255xi8>) -> tensor<4xi8>
  return
}

// -----

func.func @f(%a: tensor<4xi8>, %b: tensor<256xi8>) {
  // expected-error @+1 {{tosa.table: the result has shape [4], found [5]}}
  %y = "tosa.table"(%a, %b) : (tensor<4xi8>, tensor<256xi8>) -> tensor<5xi8>
  return
}
