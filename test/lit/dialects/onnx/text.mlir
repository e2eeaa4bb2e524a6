// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Strings: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @RegexFullMatch
// CHECK: "onnx.RegexFullMatch"({{%.+}}) : (tensor<*x!onnx.String>) -> tensor<*xi1>
func.func @RegexFullMatch(%arg0: tensor<*x!onnx.String>) -> tensor<*xi1> {
  %0 = "onnx.RegexFullMatch"(%arg0) : (tensor<*x!onnx.String>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @StringConcat
// CHECK: "onnx.StringConcat"({{%.+}}, {{%.+}}) : (tensor<*x!onnx.String>, tensor<*x!onnx.String>) -> tensor<*x!onnx.String>
func.func @StringConcat(%arg0: tensor<*x!onnx.String>, %arg1: tensor<*x!onnx.String>) -> tensor<*x!onnx.String> {
  %0 = "onnx.StringConcat"(%arg0, %arg1) : (tensor<*x!onnx.String>, tensor<*x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}

// CHECK-LABEL: @StringNormalizer
// CHECK: "onnx.StringNormalizer"({{%.+}}) <{case_change_action = "NONE", is_case_sensitive = 0 : si64}> : (tensor<*x!onnx.String>) -> tensor<*x!onnx.String>
func.func @StringNormalizer(%arg0: tensor<*x!onnx.String>) -> tensor<*x!onnx.String> {
  %0 = "onnx.StringNormalizer"(%arg0) : (tensor<*x!onnx.String>) -> tensor<*x!onnx.String>
  onnx.Return %0 : tensor<*x!onnx.String>
}

// CHECK-LABEL: @StringSplit
// CHECK: "onnx.StringSplit"({{%.+}}) : (tensor<*x!onnx.String>) -> (tensor<*x!onnx.String>, tensor<*xi64>)
func.func @StringSplit(%arg0: tensor<*x!onnx.String>) -> (tensor<*x!onnx.String>, tensor<*xi64>) {
  %0:2 = "onnx.StringSplit"(%arg0) : (tensor<*x!onnx.String>) -> (tensor<*x!onnx.String>, tensor<*xi64>)
  onnx.Return %0#0, %0#1 : tensor<*x!onnx.String>, tensor<*xi64>
}
