// RUN: onnx-opt %s --mlir-print-debuginfo | filecheck %s
// RUN: onnx-opt %s --mlir-print-debuginfo | onnx-opt --mlir-print-debuginfo | filecheck %s
// RUN: onnx-opt %s --mlir-print-debuginfo --mlir-print-op-generic | onnx-opt --mlir-print-debuginfo | filecheck %s
// RUN: onnx-opt %s | filecheck %s --check-prefix=WITHOUT

// Location aliases of each kind; all are defined before their uses, so that xDSL's own parser reads them.

// CHECK-DAG:   #loc = loc(unknown)
// CHECK-DAG:   #[[NODE:.+]] = loc("relu1")
// CHECK-DAG:   #[[RELU:.+]] = loc(fused[#[[NODE]], "onnx.results"(fused["y"])])
// CHECK-DAG:   #[[FILE:.+]] = loc("f.py":3:4)
// CHECK-DAG:   #[[X:.+]] = loc("x")
// CHECK-DAG:   #[[Z:.+]] = loc("z")
// CHECK-DAG:   #[[CALL:.+]] = loc(callsite(#[[X]] at #[[Z]]))
// CHECK-DAG:   #[[FUSED:.+]] = loc(fused[#[[NODE]], #[[CALL]]])
// CHECK-DAG:   #[[RANGE:.+]] = loc("q.mlir":5:6 to :9)
// CHECK-DAG:   #[[NAMED:.+]] = loc("n"(#[[RANGE]]))
// CHECK-DAG:   #[[AT:.+]] = loc({{.*}}locations.mlir":37:3)
// CHECK:       module {
// CHECK-NEXT:    func.func @names(%arg0: tensor<2xf32> loc(#loc)) -> tensor<2xf32> {
// CHECK-NEXT:      %0 = "onnx.Relu"(%arg0) : (tensor<2xf32>) -> tensor<2xf32> loc(#[[RELU]])
// CHECK-NEXT:      %1 = "onnx.Exp"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc(#[[FILE]])
// CHECK-NEXT:      %2 = "onnx.Abs"(%1) : (tensor<2xf32>) -> tensor<2xf32> loc(#[[FUSED]])
// CHECK-NEXT:      %3 = "onnx.Neg"(%2) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc)
// CHECK-NEXT:      %4 = "onnx.Cos"(%3) : (tensor<2xf32>) -> tensor<2xf32> loc(#[[NAMED]])
// CHECK-NEXT:      onnx.Return %4 : tensor<2xf32> loc(#[[AT]])
// CHECK-NEXT:    } loc(#{{.+}})
// CHECK-NEXT:  } loc(#loc)

// WITHOUT-NOT:  loc(
func.func @names(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc2)
  %a = "onnx.Exp"(%y) : (tensor<2xf32>) -> tensor<2xf32> loc("f.py":3:4)
  %b = "onnx.Abs"(%a) : (tensor<2xf32>) -> tensor<2xf32> loc(fused["relu1", callsite("x" at "z")])
  %c = "onnx.Neg"(%b) : (tensor<2xf32>) -> tensor<2xf32> loc(unknown)
  %d = "onnx.Cos"(%c) : (tensor<2xf32>) -> tensor<2xf32> loc("n"("q.mlir":5:6 to :9))
  onnx.Return %d : tensor<2xf32>
}
#loc1 = loc("relu1")
#loc2 = loc(fused<["y"]>[#loc1])
