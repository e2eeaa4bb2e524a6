// RUN: onnx-opt %s --append-decoding-strategy | filecheck %s
// RUN: onnx-opt %s --append-decoding-strategy='strategy=greedy' --append-decoding-strategy | filecheck %s
// RUN: onnx-opt %s --append-decoding-strategy=greedy | filecheck %s
// RUN: onnx-opt %s -p 'append-decoding-strategy{strategy=greedy}' | filecheck %s
// RUN: not onnx-opt %s --append-decoding-strategy='strategy=beam' 2>&1 | filecheck %s --check-prefix=BEAM
// RUN: not onnx-opt %s --append-decoding-strategy=beam 2>&1 | filecheck %s --check-prefix=BEAM

// BEAM: append-decoding-strategy: strategy is 'beam', there is only greedy

// Greedy decoding: the most likely token at the last position of the sequence; the second result stays.

// CHECK-LABEL: func.func @main_graph
// CHECK-SAME:    (%arg0: tensor<?x?x7xf32> {onnx.name = "in"}, %arg1: tensor<2xf32>) -> (tensor<?x1xi64> {onnx.name = "generated_ids"}, tensor<2xf32> {onnx.name = "state"})
// CHECK-NEXT:    %0 = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %1 = onnx.Constant dense<2147483647> : tensor<1xi64>
// CHECK-NEXT:    %2 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %3 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %4 = "onnx.Slice"(%arg0, %0, %1, %2, %3) : (tensor<?x?x7xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x{{.*}}x7xf32>
// CHECK-NEXT:    %5 = "onnx.ArgMax"(%4) <{axis = 2 : si64, keepdims = 1 : si64, select_last_index = 0 : si64}>
// CHECK-NEXT:    %6 = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %7 = "onnx.Squeeze"(%5, %6)
// CHECK-NEXT:    onnx.Return %7, %arg1
module {
  func.func @main_graph(%x: tensor<?x?x7xf32> {onnx.name = "in"}, %s: tensor<2xf32>)
      -> (tensor<?x?x7xf32> {onnx.name = "logits"}, tensor<2xf32> {onnx.name = "state"}) {
    onnx.Return %x, %s : tensor<?x?x7xf32>, tensor<2xf32>
  }
  "onnx.EntryPoint"() {func = @main_graph} : () -> ()
}
