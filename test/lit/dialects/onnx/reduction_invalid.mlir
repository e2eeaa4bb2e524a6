// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Reductions along axes: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @ArgMax(%arg0: tensor<*xindex>) -> tensor<1x3xi64> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ArgMax"(%arg0) : (tensor<*xindex>) -> tensor<1x3xi64>
  onnx.Return %0 : tensor<1x3xi64>
}

// -----

func.func @ArgMin(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ArgMin"(%arg0) : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @ReduceMax(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMax"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceMaxV18(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMaxV18"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceMaxV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMaxV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceMin(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMin"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceMinV18(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMinV18"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceMinV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMinV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceL1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceL1"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceL1V13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceL1V13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceL2(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceL2"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceL2V13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceL2V13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceLogSum(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceLogSum"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceLogSumV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceLogSumV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceLogSumExp(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceLogSumExp"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceLogSumExpV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceLogSumExpV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceSumSquare(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceSumSquare"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceSumSquareV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceSumSquareV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceMean(%arg0: tensor<*xindex>, %arg1: tensor<1xi64>) -> tensor<?x?xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMean"(%arg0, %arg1) : (tensor<*xindex>, tensor<1xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

func.func @ReduceMeanV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceMeanV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceProd(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceProd"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceProdV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceProdV13"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceSum(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceSum"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReduceSumV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReduceSumV11"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
