// RUN: onnx-opt %s --mlir-print-op-generic | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt --mlir-print-op-generic | filecheck %s

// The generic format of all ops, which any MLIR tool parses.

// CHECK:      "builtin.module"() ({
// CHECK-NEXT:   "func.func"() <{arg_attrs = [{onnx.name = "x"}, {}], function_type = (tensor<?xf32>, tensor<i1>) -> tensor<?xf32>, res_attrs = [{onnx.name = "y"}], sym_name = "f"}> ({
// CHECK-NEXT:   ^bb0(%arg0: tensor<?xf32>, %arg1: tensor<i1>):
// CHECK-NEXT:     %0 = "onnx.Constant"() <{value = dense<1.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
// CHECK-NEXT:     %1 = "onnx.Add"(%arg0, %0) : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
// CHECK-NEXT:     %2 = "onnx.If"(%arg1) ({
// CHECK-NEXT:       "onnx.Yield"(%1) : (tensor<?xf32>) -> ()
// CHECK-NEXT:     }, {
// CHECK-NEXT:       "onnx.Yield"(%arg0) : (tensor<?xf32>) -> ()
// CHECK-NEXT:     }) : (tensor<i1>) -> tensor<?xf32>
// CHECK-NEXT:     "onnx.Return"(%2) : (tensor<?xf32>) -> ()
// CHECK-NEXT:   }) : () -> ()
// CHECK-NEXT:   "func.func"() <{function_type = (i64) -> none, sym_name = "declared", sym_visibility = "private"}> ({
// CHECK-NEXT:   }) : () -> ()
// CHECK-NEXT:   "onnx.EntryPoint"() <{func = @f}> : () -> ()
// CHECK-NEXT: }) : () -> ()
module {
  func.func @f(%x: tensor<?xf32> {onnx.name = "x"}, %c: tensor<i1>) -> (tensor<?xf32> {onnx.name = "y"}) {
    %0 = onnx.Constant dense<1.0> : tensor<1xf32>
    %1 = "onnx.Add"(%x, %0) : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
    %2 = "onnx.If"(%c) ({
      onnx.Yield %1 : tensor<?xf32>
    }, {
      onnx.Yield %x : tensor<?xf32>
    }) : (tensor<i1>) -> tensor<?xf32>
    onnx.Return %2 : tensor<?xf32>
  }
  func.func private @declared(i64) -> none
  "onnx.EntryPoint"() {func = @f} : () -> ()
}
