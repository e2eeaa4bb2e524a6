// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Branches and loops: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @If
// CHECK: "onnx.If"({{%.+}}) ({
// CHECK: }) : (tensor<*xi1>) -> tensor<*xf32>
func.func @If(%arg0: tensor<*xi1>) -> tensor<*xf32> {
  %0 = "onnx.If"(%arg0) ({
    %t = onnx.Constant dense<1.0> : tensor<f32>
    onnx.Yield %t : tensor<f32>
  }, {
    %t = onnx.Constant dense<1.0> : tensor<f32>
    onnx.Yield %t : tensor<f32>
  }) : (tensor<*xi1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Loop
// CHECK: "onnx.Loop"({{%.+}}, {{%.+}}, {{%.+}}) ({
// CHECK: }) : (none, none, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
func.func @Loop(%arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.Loop"(%none, %none, %arg2) ({
  ^bb0(%i: tensor<i64>, %going: tensor<i1>, %state: tensor<*xf32>):
    onnx.Yield %going, %state, %state : tensor<i1>, tensor<*xf32>, tensor<*xf32>
  }) : (none, none, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: @Scan
// CHECK: "onnx.Scan"({{%.+}}, {{%.+}}) <{num_scan_inputs = 1 : si64}> ({
// CHECK: }) : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
func.func @Scan(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %0:2 = "onnx.Scan"(%arg0, %arg1) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>
  }) : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}

// CHECK-LABEL: @ScanV8
// CHECK: "onnx.ScanV8"({{%.+}}, {{%.+}}, {{%.+}}) <{num_scan_inputs = 1 : si64}> ({
// CHECK: }) : (none, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
func.func @ScanV8(%arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.ScanV8"(%none, %arg1, %arg2) <{num_scan_inputs = 1 : si64}> ({
  ^bb0(%state: tensor<*xf32>, %slice: tensor<*xf32>):
    onnx.Yield %state, %slice : tensor<*xf32>, tensor<*xf32>
  }) : (none, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  onnx.Return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
}
