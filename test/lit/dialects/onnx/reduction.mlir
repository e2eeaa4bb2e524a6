// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Reductions along axes: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @ArgMax
// CHECK: "onnx.ArgMax"({{%.+}}) <{axis = 0 : si64, keepdims = 1 : si64, select_last_index = 0 : si64}> : (tensor<4x3xf32>) -> tensor<1x3xi64>
func.func @ArgMax(%arg0: tensor<4x3xf32>) -> tensor<1x3xi64> {
  %0 = "onnx.ArgMax"(%arg0) : (tensor<4x3xf32>) -> tensor<1x3xi64>
  onnx.Return %0 : tensor<1x3xi64>
}

// CHECK-LABEL: @ArgMin
// CHECK: "onnx.ArgMin"({{%.+}}) <{axis = 0 : si64, keepdims = 1 : si64, select_last_index = 0 : si64}> : (tensor<*xf32>) -> tensor<*xi64>
func.func @ArgMin(%arg0: tensor<*xf32>) -> tensor<*xi64> {
  %0 = "onnx.ArgMin"(%arg0) : (tensor<*xf32>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @ReduceMax
// CHECK: "onnx.ReduceMax"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceMax(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceMax"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceMaxV18
// CHECK: "onnx.ReduceMaxV18"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceMaxV18(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceMaxV18"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceMaxV13
// CHECK: "onnx.ReduceMaxV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceMaxV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceMaxV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceMin
// CHECK: "onnx.ReduceMin"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceMin(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceMin"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceMinV18
// CHECK: "onnx.ReduceMinV18"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceMinV18(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceMinV18"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceMinV13
// CHECK: "onnx.ReduceMinV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceMinV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceMinV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceL1
// CHECK: "onnx.ReduceL1"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceL1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceL1"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceL1V13
// CHECK: "onnx.ReduceL1V13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceL1V13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceL1V13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceL2
// CHECK: "onnx.ReduceL2"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceL2(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceL2"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceL2V13
// CHECK: "onnx.ReduceL2V13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceL2V13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceL2V13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceLogSum
// CHECK: "onnx.ReduceLogSum"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceLogSum(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceLogSum"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceLogSumV13
// CHECK: "onnx.ReduceLogSumV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceLogSumV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceLogSumV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceLogSumExp
// CHECK: "onnx.ReduceLogSumExp"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceLogSumExp(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceLogSumExp"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceLogSumExpV13
// CHECK: "onnx.ReduceLogSumExpV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceLogSumExpV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceLogSumExpV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceSumSquare
// CHECK: "onnx.ReduceSumSquare"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceSumSquare(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceSumSquare"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceSumSquareV13
// CHECK: "onnx.ReduceSumSquareV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceSumSquareV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceSumSquareV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceMean
// CHECK: "onnx.ReduceMean"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<?x?xf32>
func.func @ReduceMean(%arg0: tensor<4x3xf32>, %arg1: tensor<1xi64>) -> tensor<?x?xf32> {
  %0 = "onnx.ReduceMean"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @ReduceMeanV13
// CHECK: "onnx.ReduceMeanV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceMeanV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceMeanV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceProd
// CHECK: "onnx.ReduceProd"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceProd(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceProd"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceProdV13
// CHECK: "onnx.ReduceProdV13"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceProdV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceProdV13"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceSum
// CHECK: "onnx.ReduceSum"({{%.+}}, {{%.+}}) <{keepdims = 1 : si64, noop_with_empty_axes = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @ReduceSum(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ReduceSum"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReduceSumV11
// CHECK: "onnx.ReduceSumV11"({{%.+}}) <{keepdims = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReduceSumV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReduceSumV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
