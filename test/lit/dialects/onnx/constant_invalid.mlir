// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Constants with more than one value attribute.

func.func @two() {
  // expected-error@+1 {{'onnx.Constant' op takes one value, found value_float, value_int}}
  %0 = onnx.Constant {value_float = 1.0 : f32, value_int = 1 : si64} : tensor<f32>
  onnx.Return
}

// -----

func.func @type() {
  // expected-error@+1 {{'onnx.Constant' op has a value of type tensor<1xi64> and a result of type tensor<1xi32>}}
  %0 = onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<1xi32>
  onnx.Return
}

// -----

func.func @type_of_any_shape() {
  // expected-error@+1 {{'onnx.Constant' op has a value of type tensor<1xi64> and a result of type tensor<*xi32>}}
  %0 = onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<*xi32>
  onnx.Return
}

// -----

func.func @other_shape() {
  // expected-error@+1 {{'onnx.Constant' op has a value of type tensor<1xi64> and a result of type tensor<2xi64>}}
  %0 = onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<2xi64>
  onnx.Return
}

// -----

func.func @sparse_shape() {
  // expected-error@+1 {{'onnx.Constant' op has a value of type tensor<3xf32> and a result of type tensor<2xf32>}}
  %0 = onnx.Constant {sparse_value = sparse<[[0]], 1.0> : tensor<3xf32>} : tensor<2xf32>
  onnx.Return
}

// -----

func.func @number() {
  // expected-error@+1 {{an elements attribute such as dense<1> : tensor<1xi64> is needed here}}
  %0 = onnx.Constant "text"
  onnx.Return
}

// -----

func.func @shape(%arg0: tensor<2xi32>) {
  // expected-error@+1 {{tensor<2xi32> is not a tensor of i64}}
  %0 = onnx.ConstantOfShape(%arg0) : (tensor<2xi32>) -> tensor<?x?xf32>
  onnx.Return
}

// -----

func.func @shape_rank(%arg0: tensor<2x1xi64>) {
  // expected-error@+1 {{'onnx.ConstantOfShape' op Input tensor must be a 1D tensor}}
  %0 = onnx.ConstantOfShape(%arg0) : (tensor<2x1xi64>) -> tensor<?x?xf32>
  onnx.Return
}

// -----

func.func @shape_value(%arg0: tensor<2xi64>) {
  // expected-error@+1 {{'onnx.ConstantOfShape' op has a value of 2 elements; it takes one}}
  %0 = onnx.ConstantOfShape(%arg0) {value = dense<[1, 2]> : tensor<2xi64>} : (tensor<2xi64>) -> tensor<?x?xi64>
  onnx.Return
}

// -----

func.func @shape_type(%arg0: tensor<2xi64>) {
  // expected-error@+1 {{'onnx.ConstantOfShape' op has a value of type tensor<1xi64> and a result of type tensor<?x?xf32>}}
  %0 = onnx.ConstantOfShape(%arg0) {value = dense<1> : tensor<1xi64>} : (tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return
}

// -----

func.func @shape_form(%arg0: tensor<2xi64>) {
  // expected-error@+1 {{a function type of one input is needed here}}
  %0 = onnx.ConstantOfShape(%arg0) : tensor<2xi64>
  onnx.Return
}
