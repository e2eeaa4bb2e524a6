// RUN: onnx-opt %s --shape-inference-onnx --split-input-file --verify-diagnostics | filecheck %s

// A module compiled for fixed input shapes: a branch whose shapes conflict becomes an assertion.
// CHECK-LABEL: @one
// CHECK:         "onnx.If"
// CHECK:         "onnx.Neg"
// CHECK:       }, {
// CHECK-NEXT:    %[[FALSE:.*]] = arith.constant false
// CHECK-NEXT:    cf.assert %[[FALSE]], "{{.*}}Add: {{.*}} do not broadcast"
// CHECK-NEXT:    %[[P:.*]] = ub.poison : tensor<2x2xf32>
// CHECK-NEXT:    onnx.Yield %[[P]] : tensor<2x2xf32>
// CHECK-NEXT:  }) : (tensor<i1>) -> tensor<2x2xf32>
module attributes {onnx.drops_invalid_branches} {
  func.func @one(%c: tensor<i1>, %x: tensor<2x2xf32>, %t: tensor<3x2xf32>) -> tensor<*xf32> {
    %0 = "onnx.If"(%c) ({
      %1 = "onnx.Neg"(%x) : (tensor<2x2xf32>) -> tensor<*xf32>
      onnx.Yield %1 : tensor<*xf32>
    }, {
      %2 = "onnx.Neg"(%t) : (tensor<3x2xf32>) -> tensor<*xf32>
      %3 = "onnx.Add"(%x, %2) : (tensor<2x2xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Yield %3 : tensor<*xf32>
    }) : (tensor<i1>) -> tensor<*xf32>
    onnx.Return %0 : tensor<*xf32>
  }
}

// -----

// In any other module the conflict is an error.
func.func @plain(%c: tensor<i1>, %x: tensor<2x2xf32>, %t: tensor<3x2xf32>) -> tensor<*xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Neg"(%x) : (tensor<2x2xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }, {
    %2 = "onnx.Neg"(%t) : (tensor<3x2xf32>) -> tensor<*xf32>
    // expected-error @+1 {{do not broadcast}}
    %3 = "onnx.Add"(%x, %2) : (tensor<2x2xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.Yield %3 : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// If both branches conflict, it is an error too.
module attributes {onnx.drops_invalid_branches} {
  func.func @both(%c: tensor<i1>, %x: tensor<2x2xf32>, %t: tensor<3x2xf32>) -> tensor<*xf32> {
    %2 = "onnx.Neg"(%t) : (tensor<3x2xf32>) -> tensor<*xf32>
    %0 = "onnx.If"(%c) ({
      // expected-error @+1 {{do not broadcast}}
      %1 = "onnx.Add"(%x, %2) : (tensor<2x2xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Yield %1 : tensor<*xf32>
    }, {
      %3 = "onnx.Mul"(%x, %2) : (tensor<2x2xf32>, tensor<*xf32>) -> tensor<*xf32>
      onnx.Yield %3 : tensor<*xf32>
    }) : (tensor<i1>) -> tensor<*xf32>
    onnx.Return %0 : tensor<*xf32>
  }
}

// -----

// A branch never taken still determines the type: the result is unranked if the ranks of both differ.
// CHECK-LABEL: @other_rank
// CHECK:         onnx.Yield %{{.*}} : tensor<2x3xf32>
// CHECK:         onnx.Yield %{{.*}} : tensor<6xf32>
// CHECK:       }) : (tensor<i1>) -> tensor<*xf32>
func.func @other_rank(%x: tensor<2x3xf32>, %t: tensor<6xf32>) -> tensor<*xf32> {
  %c = onnx.Constant dense<true> : tensor<i1>
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Neg"(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }, {
    %1 = "onnx.Neg"(%t) : (tensor<6xf32>) -> tensor<*xf32>
    onnx.Yield %1 : tensor<*xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
