// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Branches and loops: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @If(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'cond' at position 0 does not verify}}
  %0 = "onnx.If"(%arg0) ({
    %t = onnx.Constant dense<1.0> : tensor<f32>
    onnx.Yield %t : tensor<f32>
  }, {
    %t = onnx.Constant dense<1.0> : tensor<f32>
    onnx.Yield %t : tensor<f32>
  }) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Loop(%arg2: tensor<*xindex>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'v_initial' at position 2 does not verify}}
  %0:2 = "onnx.Loop"(%none, %none, %arg2) ({
  ^bb0(%i: tensor<i64>, %going: tensor<i1>, %state: tensor<*xf32>):
    onnx.Yield %going, %state, %state : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  }) : (none, none, tensor<*xindex>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @Scan(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  // expected-error@+1 {{operand 'initial_state_and_scan_inputs' at positions 0 to 1 does not verify}}
  %0:2 = "onnx.Scan"(%arg0, %arg1) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>
  }) : (tensor<*xindex>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @Scan(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  // expected-error@+1 {{property 'num_scan_inputs' expected in operation 'onnx.Scan'}}
  %0:2 = "onnx.Scan"(%arg0, %arg1) ({
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>
  }) : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @ScanV8(%arg1: tensor<*xindex>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'initial_state_and_scan_inputs' at positions 1 to 2 does not verify}}
  %0:2 = "onnx.ScanV8"(%none, %arg1, %arg2) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>
  }) : (none, tensor<*xindex>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// -----

func.func @ScanV8(%arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{property 'num_scan_inputs' expected in operation 'onnx.ScanV8'}}
  %0:2 = "onnx.ScanV8"(%none, %arg1, %arg2) ({
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>
  }) : (none, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}
