// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Sequences of tensors: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @ConcatFromSequence(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input_sequence' at position 0 does not verify}}
  %0 = "onnx.ConcatFromSequence"(%arg0) <{axis = 1 : si64}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ConcatFromSequence(%arg0: !onnx.Seq<tensor<*xf32>>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'axis' expected in operation 'onnx.ConcatFromSequence'}}
  %0 = "onnx.ConcatFromSequence"(%arg0) : (!onnx.Seq<tensor<*xf32>>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SequenceAt(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input_sequence' at position 0 does not verify}}
  %0 = "onnx.SequenceAt"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SequenceConstruct(%arg0: tensor<*xindex>) -> !onnx.Seq<tensor<*xf32>> {
  // expected-error@+1 {{operand 'inputs' at position 0 does not verify}}
  %0 = "onnx.SequenceConstruct"(%arg0) : (tensor<*xindex>) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// -----

func.func @SequenceEmpty() -> tensor<*xindex> {
  // expected-error@+1 {{result 'output' at position 0 does not verify}}
  %0 = "onnx.SequenceEmpty"() : () -> tensor<*xindex>
  onnx.Return %0 : tensor<*xindex>
}

// -----

func.func @SequenceErase(%arg0: tensor<*xindex>) -> !onnx.Seq<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input_sequence' at position 0 does not verify}}
  %0 = "onnx.SequenceErase"(%arg0, %none) : (tensor<*xindex>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// -----

func.func @SequenceInsert(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input_sequence' at position 0 does not verify}}
  %0 = "onnx.SequenceInsert"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xf32>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// -----

func.func @SequenceLength(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'input_sequence' at position 0 does not verify}}
  %0 = "onnx.SequenceLength"(%arg0) : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @SequenceMap(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>> {
  // expected-error@+1 {{operand 'input_sequence' at position 0 does not verify}}
  %0 = "onnx.SequenceMap"(%arg0, %arg1) ({
  ^bb0(%element: tensor<*xf32>, %other: tensor<*xf32>):
    onnx.Yield %element : tensor<*xf32>
  }) : (tensor<*xindex>, tensor<*xf32>) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}

// -----

func.func @SplitToSequence(%arg0: tensor<*xindex>) -> !onnx.Seq<tensor<*xf32>> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.SplitToSequence"(%arg0, %none) : (tensor<*xindex>, none) -> !onnx.Seq<tensor<*xf32>>
  onnx.Return %0 : !onnx.Seq<tensor<*xf32>>
}
