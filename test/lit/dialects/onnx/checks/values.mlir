// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Attributes that take one of a few values.

func.func @LpNormalization(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{attribute 'p' must be 1 or 2, got 3}}
  %0 = "onnx.LpNormalization"(%arg0) <{p = 3 : si64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @LRN(%arg0: tensor<1x2x3xf32>) {
  // expected-error@+1 {{'onnx.LRN' op size is 0; it is at least 1}}
  %0 = "onnx.LRN"(%arg0) <{size = 0 : si64}> : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  onnx.Return
}

// -----

func.func @Attention(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{softcap must be non-negative}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %none, %none, %none) <{softcap = -1.0 : f32}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, none, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @past(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>, %arg4: tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{past_key and past_value must be both present or both absent}}
  %0:4 = "onnx.Attention"(%arg0, %arg1, %arg2, %none, %arg4, %none, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none, tensor<*xf32>, none, none) -> (tensor<*xf32>, none, none, none)
  onnx.Return
}

// -----

func.func @Gelu(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{This value is unsupported. The approximate attribute should be a value of none or tanh. The value received was approximate = exact}}
  %0 = "onnx.Gelu"(%arg0) <{approximate = "exact"}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @BitShift(%arg0: tensor<2xui8>, %arg1: tensor<2xui8>) {
  // expected-error@+1 {{direction is "UP"; it is one of LEFT, RIGHT}}
  %0 = "onnx.BitShift"(%arg0, %arg1) <{direction = "UP"}> : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  onnx.Return
}

// -----

func.func @ZipMap(%arg0: tensor<*xf32>) {
  // expected-error@+1 {{takes either classlabels_int64s or classlabels_strings, found neither}}
  %0 = "onnx.ZipMap"(%arg0) : (tensor<*xf32>) -> !onnx.Seq<!onnx.Map<i64, f32>>
  onnx.Return
}

// -----

func.func @DictVectorizer(%arg0: !onnx.Map<i64, f32>) {
  // expected-error@+1 {{takes either int64_vocabulary or string_vocabulary, found int64_vocabulary and string_vocabulary}}
  %0 = "onnx.DictVectorizer"(%arg0) <{int64_vocabulary = [1], string_vocabulary = ["a"]}> : (!onnx.Map<i64, f32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @TreeEnsembleRegressor(%arg0: tensor<*xf32>) {
  // expected-error@+1 {{nodes_treeids and nodes_nodeids should have the same size}}
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) <{nodes_nodeids = [0, 1], nodes_treeids = [0]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @CategoryMapper(%arg0: tensor<*xi64>) {
  // expected-error@+1 {{cats_strings attribute must be present}}
  %0 = "onnx.CategoryMapper"(%arg0) <{cats_int64s = [1]}> : (tensor<*xi64>) -> tensor<*x!onnx.String>
  onnx.Return
}

// -----

func.func @numbers(%arg0: tensor<*xi64>) {
  // expected-error@+1 {{cats_int64 attribute must be present}}
  %0 = "onnx.CategoryMapper"(%arg0) <{cats_strings = ["a"]}> : (tensor<*xi64>) -> tensor<*x!onnx.String>
  onnx.Return
}

// -----

func.func @sizes(%arg0: tensor<*xi64>) {
  // expected-error@+1 {{cats_int64 and cats_strings should have the same size}}
  %0 = "onnx.CategoryMapper"(%arg0) <{cats_int64s = [1], cats_strings = ["a", "b"]}> : (tensor<*xi64>) -> tensor<*x!onnx.String>
  onnx.Return
}

// -----

func.func @OneHotEncoder(%arg0: tensor<*xi64>) {
  // expected-error@+1 {{input is a tensor of float, int32, or double, but no cats_int64s attribute}}
  %0 = "onnx.OneHotEncoder"(%arg0) <{cats_strings = ["a"]}> : (tensor<*xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @strings(%arg0: tensor<*x!onnx.String>) {
  // expected-error@+1 {{input is not a tensor of float, int32, or double, but no cats_strings attribute}}
  %0 = "onnx.OneHotEncoder"(%arg0) <{cats_int64s = [1]}> : (tensor<*x!onnx.String>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Optional() {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{Optional should have either type attribute or input value}}
  %0 = "onnx.Optional"(%none) : (none) -> !onnx.Opt<tensor<f32>>
  onnx.Return
}

// -----

func.func @signless(%arg0: tensor<2x3xf32>) {
  // expected-error@+1 {{1 : i64 is not an integer such as 1 : si64}}
  %0 = "onnx.Softmax"(%arg0) <{axis = 1}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return
}

// -----

func.func @signed(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{0 : si64 is not an i64 integer}}
  %0 = "onnx.Transpose"(%arg0) <{perm = [0 : si64]}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @LeakyRelu(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{is not a number such as 1.0 : f32}}
  %0 = "onnx.LeakyRelu"(%arg0) <{alpha = 1.0 : f64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @number(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{1 : si64 is not a string}}
  %0 = "onnx.Gelu"(%arg0) <{approximate = 1 : si64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @Cast(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{1 : si64 is not a type}}
  %0 = "onnx.Cast"(%arg0) <{to = 1 : si64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @one_number(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{1 : si64 is not a list of i64}}
  %0 = "onnx.Transpose"(%arg0) <{perm = 1 : si64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @LabelEncoder(%arg0: tensor<*xi64>) {
  // expected-error@+1 {{1 : si64 is not a constant tensor such as dense<0> : tensor<1xi64>}}
  %0 = "onnx.LabelEncoder"(%arg0) <{keys_tensor = 1 : si64}> : (tensor<*xi64>) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @Abs(%arg0: tensor<2xf32>) {
  // expected-error@+1 {{property 'axis' is not defined by the operation 'onnx.Abs'}}
  %0 = "onnx.Abs"(%arg0) <{axis = 1 : si64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return
}

// -----

func.func @GridSample(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x2x2x2xf32>) {
  // expected-error@+1 {{align_corners needs to be 0 or 1, not 3}}
  %0 = "onnx.GridSample"(%arg0, %arg1) <{align_corners = 3 : si64}> : (tensor<1x1x4x4xf32>, tensor<1x2x2x2xf32>) -> tensor<1x1x2x2xf32>
  onnx.Return
}
