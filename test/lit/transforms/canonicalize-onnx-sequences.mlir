// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// Elements, lengths and concatenations of a sequence that the graph makes.

// CHECK-LABEL: @sequence
// CHECK-NOT:     Sequence
// CHECK:         %[[N:.*]] = onnx.Constant dense<2> : tensor<i64>
// CHECK-NEXT:    %[[C:.*]] = "onnx.Concat"(%arg1, %arg0) <{axis = 0 : si64}>
// CHECK-NEXT:    onnx.Return %arg0, %[[N]], %[[C]]
func.func @sequence(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<i64>, tensor<4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %zero = onnx.Constant dense<0> : tensor<i64>
  %last = onnx.Constant dense<-1> : tensor<i64>
  %0 = "onnx.SequenceConstruct"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> !onnx.Seq<tensor<2xf32>>
  %1 = "onnx.SequenceErase"(%0, %zero) : (!onnx.Seq<tensor<2xf32>>, tensor<i64>) -> !onnx.Seq<tensor<2xf32>>
  %2 = "onnx.SequenceInsert"(%1, %a, %none) : (!onnx.Seq<tensor<2xf32>>, tensor<2xf32>, none) -> !onnx.Seq<tensor<2xf32>>
  %3 = "onnx.SequenceAt"(%2, %last) : (!onnx.Seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %4 = "onnx.SequenceLength"(%2) : (!onnx.Seq<tensor<2xf32>>) -> tensor<i64>
  %5 = "onnx.ConcatFromSequence"(%2) <{axis = 0 : si64, new_axis = 0 : si64}> : (!onnx.Seq<tensor<2xf32>>) -> tensor<4xf32>
  onnx.Return %3, %4, %5 : tensor<2xf32>, tensor<i64>, tensor<4xf32>
}

// -----

// A position outside of the sequence is a fault of the run; a position that is an input, or a new axis, keeps
// the sequence.

// CHECK-LABEL: @kept
// CHECK-COUNT-2: "onnx.SequenceAt"
// CHECK:         "onnx.ConcatFromSequence"
func.func @kept(%a: tensor<2xf32>, %i: tensor<i64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>) {
  %one = onnx.Constant dense<1> : tensor<i64>
  %0 = "onnx.SequenceConstruct"(%a) : (tensor<2xf32>) -> !onnx.Seq<tensor<2xf32>>
  %1 = "onnx.SequenceAt"(%0, %one) : (!onnx.Seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %2 = "onnx.SequenceAt"(%0, %i) : (!onnx.Seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %3 = "onnx.ConcatFromSequence"(%0) <{axis = 0 : si64, new_axis = 1 : si64}> : (!onnx.Seq<tensor<2xf32>>) -> tensor<1x2xf32>
  onnx.Return %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>
}

// -----

// CHECK-LABEL: @optional
// CHECK-NOT:     "onnx.Optional
// CHECK:         onnx.Return %arg0, %{{.*}}, %{{.*}}
func.func @optional(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<i1>, tensor<i1>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Optional"(%x) : (tensor<2xf32>) -> !onnx.Opt<tensor<2xf32>>
  %1 = "onnx.OptionalGetElement"(%0) : (!onnx.Opt<tensor<2xf32>>) -> tensor<2xf32>
  %2 = "onnx.OptionalHasElement"(%0) : (!onnx.Opt<tensor<2xf32>>) -> tensor<i1>
  %3 = "onnx.OptionalHasElement"(%none) : (none) -> tensor<i1>
  onnx.Return %1, %2, %3 : tensor<2xf32>, tensor<i1>, tensor<i1>
}

// -----

// An optional that comes from outside.

// CHECK-LABEL: @given
// CHECK:         "onnx.OptionalHasElement"
// CHECK:         "onnx.OptionalGetElement"
func.func @given(%x: !onnx.Opt<tensor<2xf32>>) -> (tensor<i1>, tensor<2xf32>) {
  %0 = "onnx.OptionalHasElement"(%x) : (!onnx.Opt<tensor<2xf32>>) -> tensor<i1>
  %1 = "onnx.OptionalGetElement"(%x) : (!onnx.Opt<tensor<2xf32>>) -> tensor<2xf32>
  onnx.Return %0, %1 : tensor<i1>, tensor<2xf32>
}
