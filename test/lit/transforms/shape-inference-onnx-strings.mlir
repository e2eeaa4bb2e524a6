// RUN: onnx-opt %s --shape-inference-onnx --split-input-file --verify-diagnostics | filecheck %s

// Text pipelines as exported from scikit-learn: the number of rows is the number of strings throughout.
// CHECK-LABEL: @texts
// CHECK:         "onnx.StringNormalizer"(%{{.*}}) {{.*}} -> tensor<6x!onnx.String>
// CHECK:         "onnx.Custom"(%{{.*}}) {{.*}} -> tensor<6x?x!onnx.String>
// CHECK:         "onnx.TfIdfVectorizer"(%{{.*}}) {{.*}} -> tensor<6x3xf32>
func.func @texts(%x: tensor<6x!onnx.String>) -> tensor<*xf32> {
  %0 = "onnx.StringNormalizer"(%x) <{case_change_action = "LOWER"}> : (tensor<6x!onnx.String>) -> tensor<*x!onnx.String>
  %1 = "onnx.Custom"(%0) <{function_name = "Tokenizer"}> {domain_name = "com.microsoft", mark = 0 : si64, mincharnum = 1 : si64, pad_value = "#", tokenexp = "[a-z]+"} : (tensor<*x!onnx.String>) -> tensor<*x!onnx.String>
  %2 = "onnx.TfIdfVectorizer"(%1) <{max_gram_length = 1 : si64, max_skip_count = 0 : si64, min_gram_length = 1 : si64, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 2], pool_strings = ["a", "b"]}> : (tensor<*x!onnx.String>) -> tensor<*xf32>
  onnx.Return %2 : tensor<*xf32>
}

// -----

// The number of tokens left after stop words is data-dependent.
// CHECK-LABEL: @stops
// CHECK:         "onnx.StringNormalizer"(%{{.*}}) {{.*}} -> tensor<1x?x!onnx.String>
func.func @stops(%x: tensor<1x6x!onnx.String>) -> tensor<*x!onnx.String> {
  %0 = "onnx.StringNormalizer"(%x) <{stopwords = ["the"]}> : (tensor<1x6x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}

// -----

// An operator of the same name in another domain: no shape.
// CHECK-LABEL: @other
// CHECK:         "onnx.Custom"(%{{.*}}) {{.*}} -> tensor<*x!onnx.String>
func.func @other(%x: tensor<6x!onnx.String>) -> tensor<*x!onnx.String> {
  %0 = "onnx.Custom"(%x) <{function_name = "Tokenizer"}> {domain_name = "org.example"} : (tensor<6x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}

// -----

// CHECK-LABEL: @dictionary
// CHECK:         "onnx.DictVectorizer"(%{{.*}}) {{.*}} -> tensor<1x2xf32>
// CHECK:         "onnx.SVMClassifier"(%{{.*}}) {{.*}} -> (tensor<1xi64>, tensor<1x3xf32>)
func.func @dictionary(%x: !onnx.Map<!onnx.String, tensor<f32>>) -> (tensor<*xi64>, tensor<*xf32>) {
  %0 = "onnx.DictVectorizer"(%x) <{string_vocabulary = ["a", "b"]}> : (!onnx.Map<!onnx.String, tensor<f32>>) -> tensor<*xf32>
  %1, %2 = "onnx.SVMClassifier"(%0) <{classlabels_ints = [0, 1, 2], coefficients = [1.0 : f32, 1.0 : f32, 1.0 : f32, 1.0 : f32, 1.0 : f32, 1.0 : f32], rho = [0.0 : f32, 0.0 : f32, 0.0 : f32], support_vectors = [1.0 : f32, 1.0 : f32, 1.0 : f32, 1.0 : f32, 1.0 : f32, 1.0 : f32], vectors_per_class = [1, 1, 1]}> : (tensor<*xf32>) -> (tensor<*xi64>, tensor<*xf32>)
  onnx.Return %1, %2 : tensor<*xi64>, tensor<*xf32>
}

// -----

func.func @no_row(%x: tensor<2x2x!onnx.String>) -> tensor<*x!onnx.String> {
  // expected-error @+1 {{must be [C] or [1, C]}}
  %0 = "onnx.StringNormalizer"(%x) : (tensor<2x2x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}
