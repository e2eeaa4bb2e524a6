// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Value names are not preserved: arguments print as %argN, results as %N, arith constants as %c and their value. Where an
// operator has several results, they have the names of its definition; a variadic one alone has none.

// CHECK:      module @model attributes {llvm.data_layout = "e", "onnx-mlir.symbol-postfix" = "m"} {
// CHECK-NEXT:   func.func @f(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
// CHECK-NEXT:     %0 = "onnx.Add"(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT:     %1 = "onnx.NoValue"() : () -> none
// CHECK-NEXT:     %2:2 = "onnx.SplitV13"(%0, %1) <{axis = 0 : si64}> : (tensor<2xf32>, none) -> (tensor<1xf32>, tensor<1xf32>)
// CHECK-NEXT:     %3 = "onnx.Concat"(%2#1, %2#0) <{axis = 0 : si64}> : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
// CHECK-NEXT:     return %0, %3 : tensor<2xf32>, tensor<2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @constants() -> (f32, index) {
// CHECK-NEXT:     %cst = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     %cst_0 = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:     %c3 = arith.constant 3 : index
// CHECK-NEXT:     %true = arith.constant true
// CHECK-NEXT:     %c4_i32 = arith.constant 4 : i32
// CHECK-NEXT:     return %cst, %c3 : f32, index
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @several(%arg0: tensor<3xf32>, %arg1: tensor<1xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
// CHECK-NEXT:     %Values, %Indices = "onnx.TopK"(%arg0, %arg1)
// CHECK-NEXT:     %Values_0, %Indices_1 = "onnx.TopK"(%Values, %arg1)
// CHECK-NEXT:     %0 = "onnx.Add"(%Indices, %Indices_1)
// CHECK-NEXT:     return %0, %Indices
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @declared(tensor<*xf32>, i64) -> (tensor<?x3xf32>, none)
// CHECK-NEXT: }
builtin.module @model attributes {llvm.data_layout = "e", "onnx-mlir.symbol-postfix" = "m"} {
  func.func @f(%first: tensor<2xf32>, %second: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %sum = "onnx.Add"(%first, %second) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %none = "onnx.NoValue"() : () -> none
    %parts:2 = "onnx.SplitV13"(%sum, %none) : (tensor<2xf32>, none) -> (tensor<1xf32>, tensor<1xf32>)
    %all = "onnx.Concat"(%parts#1, %parts#0) {axis = 0 : si64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    func.return %sum, %all : tensor<2xf32>, tensor<2xf32>
  }
  func.func @constants() -> (f32, index) {
    %a = arith.constant 1.0 : f32
    %b = arith.constant 2.0 : f32
    %c = arith.constant 3 : index
    %d = arith.constant true
    %e = arith.constant 4 : i32
    return %a, %c : f32, index
  }
  func.func @several(%x: tensor<3xf32>, %k: tensor<1xi64>) -> (tensor<3xi64>, tensor<3xi64>) {
    %a:2 = "onnx.TopK"(%x, %k) : (tensor<3xf32>, tensor<1xi64>) -> (tensor<3xf32>, tensor<3xi64>)
    %b, %c = "onnx.TopK"(%a#0, %k) : (tensor<3xf32>, tensor<1xi64>) -> (tensor<3xf32>, tensor<3xi64>)
    %d = "onnx.Add"(%a#1, %c) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    return %d, %a#1 : tensor<3xi64>, tensor<3xi64>
  }
  func.func private @declared(tensor<*xf32>, i64) -> (tensor<?x3xf32>, none)
}
