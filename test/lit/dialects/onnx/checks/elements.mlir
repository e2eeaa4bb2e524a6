// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Element types that depend on each other or on an attribute.

func.func @Add(%arg0: tensor<2xf32>, %arg1: tensor<2xf64>) {
  // expected-error@+1 {{tensor<2xf64> has element type f64, but T is f32 in an earlier value}}
  %0 = "onnx.Add"(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @wrong_type(%arg0: tensor<2xi1>, %arg1: tensor<2xi1>) {
  // expected-error@+1 {{tensor<2xi1> is not a tensor of ints, uints, floats, bf16}}
  %0 = "onnx.Add"(%arg0, %arg1) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  onnx.Return
}

// -----

func.func @absent(%arg1: tensor<2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{none is not a tensor of ints, uints, floats, bf16}}
  %0 = "onnx.Add"(%none, %arg1) : (none, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @Clip(%arg0: tensor<2xf32>, %arg2: tensor<i1>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{tensor<i1> is not a tensor of ints, uints, floats, bf16 or none}}
  %0 = "onnx.Clip"(%arg0, %none, %arg2) : (tensor<2xf32>, none, tensor<i1>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @optional(%arg0: tensor<2xf32>, %arg2: tensor<f32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Clip"(%arg0, %none, %arg2) : (tensor<2xf32>, none, tensor<f32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @SequenceLength(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{tensor<2xf32> is not one of: seq<}}
  %0 = "onnx.SequenceLength"(%arg0) : (tensor<2xf32>) -> tensor<i64>
  onnx.Return
}

// -----

func.func @Cast(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{element type does not match the 'to' attribute: f32 and f64}}
  %0 = "onnx.Cast"(%arg0) <{to = f64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @CastLike(%arg0: tensor<2xf32>, %arg1: tensor<f64>) {
  // expected-error@+1 {{tensor<2xf32> has element type f32, but T2 is f64 in an earlier value}}
  %0 = "onnx.CastLike"(%arg0, %arg1) : (tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @RandomNormal() {
  // expected-error@+1 {{result element type 'f32' does not match the dtype 'f64'}}
  %0 = "onnx.RandomNormal"() <{dtype = 11 : si64, shape = [2]}> : () -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @RandomUniform() {
  // expected-error@+1 {{dtype is 99, which is no element type}}
  %0 = "onnx.RandomUniform"() <{dtype = 99 : si64, shape = [2]}> : () -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @EyeLike(%arg0: tensor<2x2xf32>) {
  // expected-error@+1 {{result element type 'i32' does not match the expected type 'f32'}}
  %0 = "onnx.EyeLike"(%arg0) : (tensor<2x2xf32>) -> tensor<2x2xi32>
  onnx.Return
}

// -----

func.func @SequenceEmpty() {
  // expected-error@+1 {{result element type '!onnx.Seq<tensor<*xf32>>' does not match the dtype 'i64'}}
  %0 = "onnx.SequenceEmpty"() <{dtype = 7 : si64}> : () -> !onnx.Seq<tensor<*xf32>>
  onnx.Return
}

// -----

func.func @SequenceInsert(%arg0: !onnx.Seq<tensor<*xf32>>, %arg1: tensor<2xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Element types of the tensor in seqence and input have to be the same}}
  %0 = "onnx.SequenceInsert"(%arg0, %arg1, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<2xi64>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return
}
