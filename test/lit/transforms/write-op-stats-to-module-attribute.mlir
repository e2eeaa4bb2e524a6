// RUN: onnx-opt %s --write-op-stats-to-module-attribute --allow-unregistered-dialect | filecheck %s

// CHECK: module attributes {"onnx-mlir.op_stats" = {func.func = 1 : i64, onnx.If = 1 : i64, onnx.Return = 1 : i64, onnx.Yield = 2 : i64, test.op = 1 : i64}} {
func.func @inside(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  "test.op"() : () -> ()
  %0 = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<4xf32>
  }, {
    onnx.Yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}
