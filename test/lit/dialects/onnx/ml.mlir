// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Classical machine learning (ai.onnx.ml): one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @ArrayFeatureExtractor
// CHECK: "onnx.ArrayFeatureExtractor"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @ArrayFeatureExtractor(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.ArrayFeatureExtractor"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Binarizer
// CHECK: "onnx.Binarizer"({{%.+}}) <{threshold = 0.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Binarizer(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Binarizer"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CastMap
// CHECK: "onnx.CastMap"({{%.+}}) <{cast_to = "TO_FLOAT", map_form = "DENSE", max_map = 1 : si64}> : (!onnx.Map<i64, f32>) -> tensor<*xf32>
func.func @CastMap(%arg0: !onnx.Map<i64, f32>) -> tensor<*xf32> {
  %0 = "onnx.CastMap"(%arg0) : (!onnx.Map<i64, f32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CategoryMapper
// CHECK: "onnx.CategoryMapper"({{%.+}}) <{cats_int64s = [1], cats_strings = ["a"], default_int64 = -1 : si64, default_string = "_Unused"}> : (tensor<*xi64>) -> tensor<*xi64>
func.func @CategoryMapper(%arg0: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.CategoryMapper"(%arg0) <{cats_int64s = [1], cats_strings = ["a"]}> : (tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @DictVectorizer
// CHECK: "onnx.DictVectorizer"({{%.+}}) <{int64_vocabulary = [1, 2]}> : (!onnx.Map<i64, f32>) -> tensor<*xf32>
func.func @DictVectorizer(%arg0: !onnx.Map<i64, f32>) -> tensor<*xf32> {
  %0 = "onnx.DictVectorizer"(%arg0) <{int64_vocabulary = [1, 2]}> : (!onnx.Map<i64, f32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @FeatureVectorizer
// CHECK: "onnx.FeatureVectorizer"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @FeatureVectorizer(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.FeatureVectorizer"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Imputer
// CHECK: "onnx.Imputer"({{%.+}}) <{replaced_value_float = 0.000000e+00 : f32, replaced_value_int64 = 0 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Imputer(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Imputer"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LabelEncoder
// CHECK: "onnx.LabelEncoder"({{%.+}}) <{default_float = -0.000000e+00 : f32, default_int64 = -1 : si64, default_string = "_Unused"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LabelEncoder(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LabelEncoder"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @LabelEncoderV1
// CHECK: "onnx.LabelEncoderV1"({{%.+}}) <{default_int64 = -1 : si64, default_string = "_Unused"}> : (tensor<*xi64>) -> tensor<*xi64>
func.func @LabelEncoderV1(%arg0: tensor<*xi64>) -> tensor<*xi64> {
  %0 = "onnx.LabelEncoderV1"(%arg0) : (tensor<*xi64>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @Normalizer
// CHECK: "onnx.Normalizer"({{%.+}}) <{norm = "MAX"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Normalizer(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Normalizer"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @OneHotEncoder
// CHECK: "onnx.OneHotEncoder"({{%.+}}) <{cats_int64s = [1, 2], zeros = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @OneHotEncoder(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.OneHotEncoder"(%arg0) <{cats_int64s = [1, 2]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Scaler
// CHECK: "onnx.Scaler"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @Scaler(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Scaler"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ZipMap
// CHECK: "onnx.ZipMap"({{%.+}}) <{classlabels_int64s = [1, 2]}> : (tensor<*xf32>) -> !onnx.Seq<!onnx.Map<i64, f32>>
func.func @ZipMap(%arg0: tensor<*xf32>) -> !onnx.Seq<!onnx.Map<i64, f32>> {
  %0 = "onnx.ZipMap"(%arg0) <{classlabels_int64s = [1, 2]}> : (tensor<*xf32>) -> !onnx.Seq<!onnx.Map<i64, f32>>
  onnx.Return %0 : !onnx.Seq<!onnx.Map<i64, f32>>
}

// CHECK-LABEL: @LinearClassifier
// CHECK: "onnx.LinearClassifier"({{%.+}}) <{coefficients = [1.000000e+00 : f32], multi_class = 0 : si64, post_transform = "NONE"}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
func.func @LinearClassifier(%arg0: tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>) {
  %0:2 = "onnx.LinearClassifier"(%arg0) <{coefficients = [1.000000e+00 : f32]}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// CHECK-LABEL: @LinearRegressor
// CHECK: "onnx.LinearRegressor"({{%.+}}) <{post_transform = "NONE", targets = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @LinearRegressor(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.LinearRegressor"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SVMClassifier
// CHECK: "onnx.SVMClassifier"({{%.+}}) <{kernel_type = "LINEAR", post_transform = "NONE"}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
func.func @SVMClassifier(%arg0: tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>) {
  %0:2 = "onnx.SVMClassifier"(%arg0) : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// CHECK-LABEL: @SVMRegressor
// CHECK: "onnx.SVMRegressor"({{%.+}}) <{kernel_type = "LINEAR", n_supports = 0 : si64, one_class = 0 : si64, post_transform = "NONE"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @SVMRegressor(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SVMRegressor"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @TreeEnsemble
// CHECK: "onnx.TreeEnsemble"({{%.+}}) <{aggregate_function = 1 : si64, leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], post_transform = 0 : si64, tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @TreeEnsembleClassifier
// CHECK: "onnx.TreeEnsembleClassifier"({{%.+}}) <{classlabels_int64s = [1, 2], post_transform = "NONE"}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
func.func @TreeEnsembleClassifier(%arg0: tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>) {
  %0:2 = "onnx.TreeEnsembleClassifier"(%arg0) <{classlabels_int64s = [1, 2]}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// CHECK-LABEL: @TreeEnsembleRegressor
// CHECK: "onnx.TreeEnsembleRegressor"({{%.+}}) <{aggregate_function = "SUM", post_transform = "NONE"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @TreeEnsembleRegressor(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
