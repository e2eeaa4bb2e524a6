// RUN: onnx-opt %s --remove-same-onnx-dim --split-input-file | filecheck %s
// RUN: onnx-opt %s --remove-same-onnx-dim --remove-same-onnx-dim --split-input-file | filecheck %s

// The first of equal dims replaces the others, even those of other values.
// CHECK-LABEL: func.func @first
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?xf32>)
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Relu"(%[[X]])
// CHECK-NEXT:    %[[N:.*]] = "onnx.Dim"(%[[Y]]) <{axis = 0 : si64}>
// CHECK-NEXT:    %[[M:.*]] = "onnx.Dim"(%[[X]]) <{axis = 1 : si64}>
// CHECK-NEXT:    "onnx.Concat"(%[[N]], %[[N]], %[[M]])
func.func @first(%x: tensor<?x?xf32>) -> tensor<3xi64> {
  %0 = "onnx.Relu"(%x) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = "onnx.Dim"(%0) <{axis = 0 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  %2 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  %3 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  %4 = "onnx.Concat"(%1, %2, %3) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  onnx.Return %4 : tensor<3xi64>
}

// -----

// Dims that are not known to be equal both stay.
// CHECK-LABEL: func.func @two
// CHECK-COUNT-2: "onnx.Dim"
func.func @two(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<2xi64> {
  %1 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?xf32>) -> tensor<1xi64>
  %2 = "onnx.Dim"(%y) <{axis = 0 : si64}> : (tensor<?xf32>) -> tensor<1xi64>
  %3 = "onnx.Concat"(%1, %2) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  onnx.Return %3 : tensor<2xi64>
}

// -----

// A region sees the dims of its parents; those of one region are visible neither in its sibling nor after it.
// CHECK-LABEL: func.func @bodies
// CHECK-SAME:    (%{{.*}}: tensor<i1>, %[[X:.*]]: tensor<?x?xf32>)
// CHECK-NEXT:    %[[N:.*]] = "onnx.Dim"(%[[X]]) <{axis = 0 : si64}>
// CHECK:         %[[M1:.*]] = "onnx.Dim"(%[[X]]) <{axis = 1 : si64}>
// CHECK-NEXT:    "onnx.Concat"(%[[N]], %[[M1]])
// CHECK:         %[[M2:.*]] = "onnx.Dim"(%[[X]]) <{axis = 1 : si64}>
// CHECK-NEXT:    "onnx.Concat"(%[[M2]], %[[M2]])
// CHECK:         %[[M3:.*]] = "onnx.Dim"(%[[X]]) <{axis = 1 : si64}>
// CHECK-NEXT:    onnx.Return %{{.*}}, %[[M3]]
func.func @bodies(%c: tensor<i1>, %x: tensor<?x?xf32>) -> (tensor<2xi64>, tensor<1xi64>) {
  %0 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  %1 = "onnx.If"(%c) ({
    %2 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
    %3 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
    %4 = "onnx.Concat"(%2, %3) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    onnx.Yield %4 : tensor<2xi64>
  }, {
    %5 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
    %6 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
    %7 = "onnx.Concat"(%5, %6) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    onnx.Yield %7 : tensor<2xi64>
  }) : (tensor<i1>) -> tensor<2xi64>
  %8 = "onnx.Dim"(%x) <{axis = 1 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  onnx.Return %1, %8 : tensor<2xi64>, tensor<1xi64>
}

// -----

// Equal dimension names make dims of two arguments equal.
// CHECK-LABEL: func.func @names
// CHECK:         %[[N:.*]] = "onnx.Dim"
// CHECK-NEXT:    onnx.Return %[[N]], %[[N]]
func.func @names(%x: tensor<?xf32> {onnx.dim_params = "0:n"}, %y: tensor<?xf32> {onnx.dim_params = "0:n"}) -> (tensor<1xi64>, tensor<1xi64>) {
  %1 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?xf32>) -> tensor<1xi64>
  %2 = "onnx.Dim"(%y) <{axis = 0 : si64}> : (tensor<?xf32>) -> tensor<1xi64>
  onnx.Return %1, %2 : tensor<1xi64>, tensor<1xi64>
}
