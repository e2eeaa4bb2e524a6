// RUN: onnx-opt %s --onnx-pre-krnl-verify --split-input-file --verify-diagnostics

func.func @ranked(%x: tensor<?x3xf32>, %s: !onnx.Seq<tensor<?xf32>>, %i: tensor<?x1xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.SequenceLength"(%s) : (!onnx.Seq<tensor<?xf32>>) -> tensor<i64>
  %1 = "onnx.GatherND"(%x, %i) <{batch_dims = 0 : si64}> : (tensor<?x3xf32>, tensor<?x1xi64>) -> tensor<?x3xf32>
  %2 = "onnx.Clip"(%1, %none, %none) : (tensor<?x3xf32>, none, none) -> tensor<*xf32>
  onnx.Return %1 : tensor<?x3xf32>
}

// -----

// All of them are reported, each once.
func.func @unranked(%x: tensor<*xf32>, %s: !onnx.Seq<tensor<*xf32>>, %i: tensor<2x?xi64>, %d: tensor<?x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{sum: 'onnx.Add' not ranked}}
  %0 = "onnx.Add"(%x, %x) : (tensor<*xf32>, tensor<*xf32>) -> tensor<2xf32> loc("sum")
  // expected-error @+1 {{length: 'onnx.SequenceLength' SeqType with unranked Sequence Element}}
  %1 = "onnx.SequenceLength"(%s) : (!onnx.Seq<tensor<*xf32>>) -> tensor<i64> loc("length")
  // expected-error @+1 {{gather: 'onnx.GatherND' last dim of indices in GatherND is dynamic}}
  %2 = "onnx.GatherND"(%d, %i) <{batch_dims = 0 : si64}> : (tensor<?x3xf32>, tensor<2x?xi64>) -> tensor<*xf32> loc("gather")
  onnx.Return %0 : tensor<2xf32>
}
