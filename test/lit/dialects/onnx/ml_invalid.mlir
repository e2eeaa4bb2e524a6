// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Classical machine learning (ai.onnx.ml): types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @ArrayFeatureExtractor(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ArrayFeatureExtractor"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Binarizer(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Binarizer"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CastMap(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.CastMap"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CategoryMapper(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.CategoryMapper"(%arg0) <{cats_int64s = [1], cats_strings = ["a"]}> : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @DictVectorizer(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.DictVectorizer"(%arg0) <{int64_vocabulary = [1, 2]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @FeatureVectorizer(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.FeatureVectorizer"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Imputer(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Imputer"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LabelEncoder(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LabelEncoder"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @LabelEncoderV1(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LabelEncoderV1"(%arg0) : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @Normalizer(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Normalizer"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @OneHotEncoder(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.OneHotEncoder"(%arg0) <{cats_int64s = [1, 2]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Scaler(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Scaler"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ZipMap(%arg0: tensor<*xindex>) -> !onnx.Seq<!onnx.Map<i64, f32>> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ZipMap"(%arg0) <{classlabels_int64s = [1, 2]}> : (tensor<*xindex>) -> !onnx.Seq<!onnx.Map<i64, f32>>
  onnx.Return %0 : !onnx.Seq<!onnx.Map<i64, f32>>
}

// -----

func.func @LinearClassifier(%arg0: tensor<*xindex>) -> (tensor<*xi64>, tensor<*xf32>) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.LinearClassifier"(%arg0) <{coefficients = [1.000000e+00 : f32]}> : (tensor<*xindex>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// -----

func.func @LinearClassifier(%arg0: tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>) {
  // expected-error@+1 {{property 'coefficients' expected in operation 'onnx.LinearClassifier'}}
  %0:2 = "onnx.LinearClassifier"(%arg0) : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// -----

func.func @LinearRegressor(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.LinearRegressor"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SVMClassifier(%arg0: tensor<*xindex>) -> (tensor<*xi64>, tensor<*xf32>) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.SVMClassifier"(%arg0) : (tensor<*xindex>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// -----

func.func @SVMRegressor(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.SVMRegressor"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'leaf_targetids' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'leaf_weights' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_falseleafs' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_falsenodeids' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_featureids' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_modes' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_splits' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_trueleafs' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_truenodeids = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'nodes_truenodeids' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], tree_roots = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsemble(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'tree_roots' expected in operation 'onnx.TreeEnsemble'}}
  %0 = "onnx.TreeEnsemble"(%arg0) <{leaf_targetids = [1, 1], leaf_weights = dense<1> : tensor<1xi64>, nodes_falseleafs = [1, 1], nodes_falsenodeids = [1, 1], nodes_featureids = [1, 1], nodes_modes = dense<1> : tensor<1xi64>, nodes_splits = dense<1> : tensor<1xi64>, nodes_trueleafs = [1, 1], nodes_truenodeids = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TreeEnsembleClassifier(%arg0: tensor<*xindex>) -> (tensor<*xi64>, tensor<*xf32>) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:2 = "onnx.TreeEnsembleClassifier"(%arg0) <{classlabels_int64s = [1, 2]}> : (tensor<*xindex>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
}

// -----

func.func @TreeEnsembleRegressor(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
