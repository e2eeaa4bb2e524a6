// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @unknown_kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{krnl.fused: kind is one of attention, cache, convolution, elementwise, int8, matmul, strings, found pool}}
  %y = "krnl.fused"() <{kind = "pool"}> ({
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    krnl.yield %1 : tensor<4xf32>
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @one_operator(%x: tensor<4xf32>) {
  // expected-error @+1 {{krnl.fused: a group has two operators or more, found 1}}
  %y = "krnl.fused"() <{kind = "elementwise"}> ({
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    krnl.yield %0 : tensor<4xf32>
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @an_argument(%x: tensor<4xf32>) {
  // expected-error @+1 {{krnl.fused: the body captures what it reads, it has no arguments}}
  %y = "krnl.fused"() <{kind = "elementwise"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    krnl.yield %1 : tensor<4xf32>
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @no_operator_of_onnx(%x: tensor<4xf32>) {
  // expected-error @+1 {{krnl.fused: members are onnx ops without regions, found arith.constant}}
  %y = "krnl.fused"() <{kind = "elementwise"}> ({
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "arith.constant"() <{value = 1 : i64}> : () -> i64
    krnl.yield %0 : tensor<4xf32>
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @another_type(%x: tensor<4xf32>) {
  // expected-error @+1 {{krnl.fused: results have the types of what the body yields}}
  %y = "krnl.fused"() <{kind = "elementwise"}> ({
    %0 = "onnx.Exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "onnx.Neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    krnl.yield %1 : tensor<4xf32>
  }) : () -> tensor<5xf32>
  return
}
