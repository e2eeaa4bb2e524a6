// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Up to 64 iterations at a time; the second result has a row for each iteration.
// CHECK-LABEL: @strips
func.func @strips(%m: tensor<i64>, %c: tensor<i1>, %x: tensor<3xf32>) -> tensor<?x3xf32> {
  // CHECK-NEXT: "krnl.strip_mined_loop"(%{{.*}}, %{{.*}}, %{{.*}}) <{rows = 64 : i64}> ({
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i64>, %{{.*}}: tensor<3xf32>):
  %y, %s = "krnl.strip_mined_loop"(%m, %c, %x) <{rows = 64 : i64}> ({
  ^bb0(%first: tensor<i64>, %end: tensor<i64>, %x0: tensor<3xf32>):
    %rows = onnx.Constant dense<0.0> : tensor<64x3xf32>
    krnl.yield %c, %end, %x0, %rows : tensor<i1>, tensor<i64>, tensor<3xf32>, tensor<64x3xf32>
    // CHECK: }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>)
  }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>)
  return %s : tensor<?x3xf32>
}
