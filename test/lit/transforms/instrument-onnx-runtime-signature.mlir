// RUN: onnx-opt %s --instrument-onnx-runtime-signature='signature-pattern=onnx.Relu,onnx.Soft*' | filecheck %s --check-prefixes=ALL,OPS
// RUN: onnx-opt %s --instrument-onnx-runtime-signature --instrument-signature=onnx.Relu,onnx.Soft* | filecheck %s --check-prefixes=ALL,OPS
// RUN: onnx-opt %s --instrument-onnx-runtime-signature='node-pattern=relu*' | filecheck %s --check-prefixes=ALL,NODES
// RUN: onnx-opt %s --instrument-onnx-runtime-signature --instrument-onnx-node=relu* | filecheck %s --check-prefixes=ALL,NODES
// RUN: onnx-opt %s --instrument-onnx-runtime-signature='signature-pattern=ALL' | filecheck %s --check-prefixes=ALL,EACH
// RUN: onnx-opt %s --instrument-onnx-runtime-signature='signature-pattern=NONE' | filecheck %s --check-prefixes=ALL,NONE
// RUN: onnx-opt %s --instrument-onnx-runtime-signature | filecheck %s --check-prefixes=ALL,NONE

// ALL-LABEL:  @nodes
// ALL-NEXT:     %0 = "onnx.Relu"(%arg0)
// OPS-NEXT:     "onnx.PrintSignature"(%arg0, %0) <{op_name = "onnx.Relu, relu1", print_data = 0 : si64}> : (tensor<4xf32>, tensor<4xf32>) -> ()
// NODES-NEXT:   "onnx.PrintSignature"(%arg0, %0) <{op_name = "onnx.Relu, relu1", print_data = 1 : si64}> : (tensor<4xf32>, tensor<4xf32>) -> ()
// EACH-NEXT:    "onnx.PrintSignature"(%arg0, %0) <{op_name = "onnx.Relu, relu1", print_data = 0 : si64}>
// ALL-NEXT:     %1 = "onnx.Softplus"(%0)
// OPS-NEXT:     "onnx.PrintSignature"(%0, %1) <{op_name = "onnx.Softplus, NOTSET", print_data = 0 : si64}>
// EACH-NEXT:    "onnx.PrintSignature"(%0, %1) <{op_name = "onnx.Softplus, NOTSET", print_data = 0 : si64}>
// ALL-NEXT:     %2 = "onnx.Fused"(%1)
// ALL-NEXT:     ^bb0
// ALL-NEXT:       %3 = "onnx.Relu"
// ALL-NEXT:       onnx.Yield %3
// ALL-NEXT:     })
// EACH-NEXT:    "onnx.PrintSignature"(%1, %2) <{op_name = "onnx.Fused, NOTSET", print_data = 0 : si64}>
// ALL-NEXT:     onnx.Return %2
func.func @nodes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Relu"(%x) {onnx_node_name = "relu1"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "onnx.Softplus"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "onnx.Fused"(%1) <{kind = "k"}> ({
  ^bb0(%a: tensor<4xf32>):
    %3 = "onnx.Relu"(%a) {onnx_node_name = "relu2"} : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %3 : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %2 : tensor<4xf32>
}
