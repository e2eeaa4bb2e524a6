// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// List attributes of classical machine learning (ai.onnx.ml), and n-grams.

func.func @nodes(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{lists that belong together have different lengths: nodes_treeids 3, nodes_nodeids 3, nodes_featureids 2}}
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) <{nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0]}> : (tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @modes(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{nodes_modes has "BRANCH"; each is one of BRANCH_LEQ}}
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) <{nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_modes = ["BRANCH", "LEAF", "LEAF"]}> : (tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @votes(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{lists that belong together have different lengths: target_treeids 2, target_ids 1}}
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) <{target_treeids = [0, 0], target_ids = [0]}> : (tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @targets(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{n_targets is 0; it is at least 1}}
  %0 = "onnx.TreeEnsembleRegressor"(%arg0) <{n_targets = 0 : si64}> : (tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @labels(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{takes either classlabels_int64s or classlabels_strings, found neither}}
  %0:2 = "onnx.TreeEnsembleClassifier"(%arg0) <{classlabels_strings = []}> : (tensor<1x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @classes(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{lists that belong together have different lengths: class_treeids 2, class_ids 1}}
  %0:2 = "onnx.TreeEnsembleClassifier"(%arg0) <{class_treeids = [0, 0], class_ids = [0], classlabels_int64s = [0]}> : (tensor<1x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return
}

// -----

func.func @LabelEncoder(%arg0: tensor<2xi64>) {
  // expected-error@+1 {{lists that belong together have different lengths: keys_int64s 2, values_int64s 1}}
  %0 = "onnx.LabelEncoder"(%arg0) <{keys_int64s = [1, 2], values_int64s = [3]}> : (tensor<2xi64>) -> tensor<2xi64>
  onnx.Return
}

// -----

func.func @LabelEncoder_keys(%arg0: tensor<2xf64>) {
  // expected-error@+1 {{X has elements of f64, but keys_floats are of f32}}
  %0 = "onnx.LabelEncoder"(%arg0) <{keys_floats = [1.0 : f32], values_int64s = [3]}> : (tensor<2xf64>) -> tensor<2xi64>
  onnx.Return
}

// -----

func.func @LabelEncoder_tensor(%arg0: tensor<2xi64>) {
  // expected-error@+1 {{X has elements of i64, but keys_tensor are of f64}}
  %0 = "onnx.LabelEncoder"(%arg0) <{keys_tensor = dense<1.0> : tensor<1xf64>, values_int64s = [3]}> : (tensor<2xi64>) -> tensor<2xi64>
  onnx.Return
}

// -----

func.func @FeatureVectorizer(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{inputdimensions has 2 values for 1 X}}
  %0 = "onnx.FeatureVectorizer"(%arg0) <{inputdimensions = [1, 1]}> : (tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @LinearRegressor(%arg0: tensor<1x2xf32>) {
  // expected-error@+1 {{targets is 0; it is at least 1}}
  %0 = "onnx.LinearRegressor"(%arg0) <{targets = 0 : si64}> : (tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @no_pool(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{takes either pool_int64s or pool_strings, found neither}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @grams(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{n-grams have 2 to 1 items; at least 1, and no fewer than the least}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 2 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1, 2]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @skips(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{max_skip_count is -1; it is at least 0}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = -1 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1, 2]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @starts(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{ngram_counts has 1 starts; n-grams of up to 2 items need 2}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 2 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1, 2]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @beyond(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{ngram_counts [0, 3] do not rise within a pool of 2}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 2 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0, 3], ngram_indexes = [0, 1], pool_int64s = [1, 2]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @weights(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{weights has 1 values for 2 n-grams}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1, 2], weights = [1.0 : f32]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @indexes(%arg0: tensor<4xi64>) {
  // expected-error@+1 {{ngram_indexes has -1; each is at least 0}}
  %0 = "onnx.TfIdfVectorizer"(%arg0) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, -1], pool_int64s = [1, 2]}> : (tensor<4xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @StringNormalizer(%arg0: tensor<1x2x3x!onnx.String>) {
  // expected-error@+1 {{at index: 0' has rank 3, rank should be 1 or 2}}
  %0 = "onnx.StringNormalizer"(%arg0) : (tensor<1x2x3x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return
}

// -----

func.func @shape() {
  // expected-error@+1 {{shape has -1; each is at least 0}}
  %0 = "onnx.RandomNormal"() <{shape = [2, -1]}> : () -> tensor<*xf32>
  onnx.Return
}
