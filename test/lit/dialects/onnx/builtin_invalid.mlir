// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Invalid uses of the structural ops of a graph.

func.func @f(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // expected-error@+1 {{'onnx.Return' op has 1 operands, but enclosing function (@f) returns 2}}
  onnx.Return %arg0 : tensor<2xf32>
}

// -----

func.func @f(%arg0: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{type of return operand 0 (tensor<2xf32>) is incompatible with function result type (tensor<3xf32>) in function @f}}
  onnx.Return %arg0 : tensor<2xf32>
}

// -----

func.func @f(%arg0: tensor<2xf32>) -> tensor<2xf64> {
  // expected-error@+1 {{type of return operand 0 (tensor<2xf32>) is incompatible with function result type (tensor<2xf64>)}}
  onnx.Return %arg0 : tensor<2xf32>
}

// -----

func.func @return_in_a_branch(%arg0: tensor<i1>, %arg1: tensor<f32>) {
  // expected-error@+1 {{'onnx.If' op then_branch must terminate with onnx.Yield}}
  %0 = "onnx.If"(%arg0) ({
    // expected-error@+1 {{'onnx.Return' expects parent op 'func.func'}}
    onnx.Return %arg1 : tensor<f32>
  }, {
    onnx.Yield %arg1 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @yield_in_a_function(%arg0: tensor<f32>) {
  // expected-error@+1 {{'onnx.Yield' op ends a region of an onnx op, not of 'func.func'}}
  onnx.Yield %arg0 : tensor<f32>
}

// -----

func.func @something_after_the_end(%arg0: tensor<f32>) {
  // expected-error@+1 {{'onnx.Return' must be the last operation in its parent block}}
  "onnx.Return"() : () -> ()
  // expected-error@+1 {{is not a terminator}}
  %0 = "onnx.Relu"(%arg0) : (tensor<f32>) -> tensor<f32>
}

// -----

func.func @dim_axis(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{'onnx.Dim' op attribute "axis" value is 2, accepted range is [0, 1].}}
  %0 = "onnx.Dim"(%arg0) <{axis = 2 : si64}> : (tensor<2x3xf32>) -> tensor<1xi64>
  onnx.Return
}

// -----

func.func @dim_rank(%arg0: tensor<*xf32>) {
  // expected-error@+1 {{'onnx.Dim' op input must have shape and rank.}}
  %0 = "onnx.Dim"(%arg0) <{axis = 0 : si64}> : (tensor<*xf32>) -> tensor<1xi64>
  onnx.Return
}

// -----

func.func @custom(%arg0: tensor<f32>) {
  // expected-error@+1 {{'onnx.Custom' op has shape_infer_pattern "Same"; it is one of SameAs, MDBroadcast}}
  %0 = "onnx.Custom"(%arg0) <{function_name = "f", shape_infer_pattern = "Same"}> : (tensor<f32>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @custom_without_name(%arg0: tensor<f32>) {
  // expected-error@+1 {{property 'function_name' expected in operation 'onnx.Custom'}}
  %0 = "onnx.Custom"(%arg0) : (tensor<f32>) -> tensor<f32>
  onnx.Return
}

// -----

func.func @no_value() {
  // expected-error@+1 {{result 'none_val' at position 0 does not verify}}
  %0 = "onnx.NoValue"() <{value}> : () -> tensor<f32>
  onnx.Return
}

// -----

// expected-error@+1 {{property 'func' expected in operation 'onnx.EntryPoint'}}
"onnx.EntryPoint"() : () -> ()

// -----

func.func @print_signature(%arg0: tensor<f32>) {
  // expected-error@+1 {{property 'print_data' expected in operation 'onnx.PrintSignature'}}
  "onnx.PrintSignature"(%arg0) <{op_name = "x"}> : (tensor<f32>) -> ()
  onnx.Return
}

// -----

func.func @dim_group(%arg0: tensor<f32>) {
  // expected-error@+1 {{1 : i64 is not an integer such as 1 : si64}}
  "onnx.DimGroup"(%arg0) <{group_id = 1}> : (tensor<f32>) -> ()
  onnx.Return
}

// -----

func.func @captures_more_than_it_reads(%arg0: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'onnx.Custom' op has onnx.captures ["a", "b"]; it is the names of some of the last of its 1 operands}}
  %0 = "onnx.Custom"(%arg0) <{function_name = "f"}> {onnx.captures = ["a", "b"]} : (tensor<f32>) -> tensor<f32>
  onnx.Return %0 : tensor<f32>
}

// -----

func.func @captures_no_names(%arg0: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{'onnx.Custom' op has onnx.captures [1 : i64]; it is the names of some of the last of its 1 operands}}
  %0 = "onnx.Custom"(%arg0) <{function_name = "f"}> {onnx.captures = [1]} : (tensor<f32>) -> tensor<f32>
  onnx.Return %0 : tensor<f32>
}
