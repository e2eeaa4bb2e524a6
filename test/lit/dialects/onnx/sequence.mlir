// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Sequences of tensors: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @ConcatFromSequence
// CHECK: "onnx.ConcatFromSequence"({{%.+}}) <{axis = 1 : si64, new_axis = 0 : si64}> : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xf32>
func.func @ConcatFromSequence(%arg0: !onnx.Seq<tensor<*xf32>>) -> tensor<*xf32> {
  %0 = "onnx.ConcatFromSequence"(%arg0) <{axis = 1 : si64}> : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SequenceAt
// CHECK: "onnx.SequenceAt"({{%.+}}, {{%.+}}) : (!onnx.Seq<tensor<*xf32>>, tensor<*xi64>) -> tensor<*xf32>
func.func @SequenceAt(%arg0: !onnx.Seq<tensor<*xf32>>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.SequenceAt"(%arg0, %arg1) : (!onnx.Seq<tensor<*xf32>>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SequenceConstruct
// CHECK: "onnx.SequenceConstruct"({{%.+}}) : (tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>>
func.func @SequenceConstruct(%arg0: tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>> {
  %0 = "onnx.SequenceConstruct"(%arg0) : (tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// CHECK-LABEL: @SequenceEmpty
// CHECK: "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
func.func @SequenceEmpty() -> !onnx.Seq<tensor<*xf32>> {
  %0 = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// CHECK-LABEL: @SequenceErase
// CHECK: "onnx.SequenceErase"({{%.+}}, {{%.+}}) : (!onnx.Seq<tensor<*xf32>>, none) -> !onnx.Seq<tensor<*xf32>>
func.func @SequenceErase(%arg0: !onnx.Seq<tensor<*xf32>>) -> !onnx.Seq<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.SequenceErase"(%arg0, %none) : (!onnx.Seq<tensor<*xf32>>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// CHECK-LABEL: @SequenceInsert
// CHECK: "onnx.SequenceInsert"({{%.+}}, {{%.+}}, {{%.+}}) : (!onnx.Seq<tensor<*xf32>>, tensor<*xf32>, none) -> !onnx.Seq<tensor<*xf32>>
func.func @SequenceInsert(%arg0: !onnx.Seq<tensor<*xf32>>, %arg1: tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.SequenceInsert"(%arg0, %arg1, %none) : (!onnx.Seq<tensor<*xf32>>, tensor<*xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// CHECK-LABEL: @SequenceLength
// CHECK: "onnx.SequenceLength"({{%.+}}) : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xi64>
func.func @SequenceLength(%arg0: !onnx.Seq<tensor<*xf32>>) -> tensor<*xi64> {
  %0 = "onnx.SequenceLength"(%arg0) : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @SequenceMap
// CHECK: "onnx.SequenceMap"({{%.+}}, {{%.+}}) ({
// CHECK: }) : (!onnx.Seq<tensor<*xf32>>, tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>>
func.func @SequenceMap(%arg0: !onnx.Seq<tensor<*xf32>>, %arg1: tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>> {
  %0 = "onnx.SequenceMap"(%arg0, %arg1) ({
  ^bb0(%element: tensor<*xf32>, %other: tensor<*xf32>):
    onnx.Yield %element : tensor<*xf32>
  }) : (!onnx.Seq<tensor<*xf32>>, tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// CHECK-LABEL: @SplitToSequence
// CHECK: "onnx.SplitToSequence"({{%.+}}, {{%.+}}) <{axis = 0 : si64, keepdims = 1 : si64}> : (tensor<*xf32>, none) -> !onnx.Seq<tensor<*xf32>>
func.func @SplitToSequence(%arg0: tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.SplitToSequence"(%arg0, %none) : (tensor<*xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}
