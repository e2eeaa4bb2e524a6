// RUN: onnx-opt %s --split-input-file --verify-diagnostics

func.func @f(%m: tensor<i64>, %c: tensor<i1>) {
  // expected-error @+1 {{krnl.strip_mined_loop: rows is at least 1, found 0}}
  %s = "krnl.strip_mined_loop"(%m, %c) <{rows = 0 : i64}> ({
  ^bb0(%first: tensor<i64>, %end: tensor<i64>):
    krnl.yield %c, %end, %m : tensor<i1>, tensor<i64>, tensor<i64>
  }) : (tensor<i64>, tensor<i1>) -> tensor<?xi64>
  return
}

// -----

func.func @f(%m: tensor<i64>, %c: tensor<i1>) {
  // expected-error @+1 {{krnl.strip_mined_loop: 2 operands, but 1 arguments of the body}}
  %s = "krnl.strip_mined_loop"(%m, %c) <{rows = 4 : i64}> ({
  ^bb0(%first: tensor<i64>):
    krnl.yield %c, %first, %m : tensor<i1>, tensor<i64>, tensor<i64>
  }) : (tensor<i64>, tensor<i1>) -> tensor<?xi64>
  return
}

// -----

func.func @f(%m: tensor<i64>, %c: tensor<i1>) {
  // expected-error @+1 {{krnl.strip_mined_loop: its body yields 3 values, found 2}}
  %s = "krnl.strip_mined_loop"(%m, %c) <{rows = 4 : i64}> ({
  ^bb0(%first: tensor<i64>, %end: tensor<i64>):
    krnl.yield %c, %end : tensor<i1>, tensor<i64>
  }) : (tensor<i64>, tensor<i1>) -> tensor<?xi64>
  return
}
