// RUN: onnx-opt %s --simplify-shape-related-ops-onnx --split-input-file | filecheck %s
// RUN: onnx-opt %s --simplify-shape-related-ops-onnx --simplify-shape-related-ops-onnx --split-input-file | filecheck %s

// A static dimension becomes a constant, a dynamic one onnx.Dim.
// CHECK-LABEL: func.func @shape
// CHECK-SAME:    (%[[X:.*]]: tensor<?x3x?xf32>)
// CHECK:         %[[C:.*]] = onnx.Constant dense<3> : tensor<1xi64>
// CHECK:         %[[N:.*]] = "onnx.Dim"(%[[X]]) <{axis = 0 : si64}> : (tensor<?x3x?xf32>) -> tensor<1xi64>
// CHECK:         %[[M:.*]] = "onnx.Dim"(%[[X]]) <{axis = 2 : si64}>
// CHECK:         %[[S:.*]] = "onnx.Concat"(%[[N]], %[[C]], %[[M]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT:    onnx.Return %[[S]]
func.func @shape(%x: tensor<?x3x?xf32>) -> tensor<3xi64> {
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<?x3x?xf32>) -> tensor<3xi64>
  onnx.Return %0 : tensor<3xi64>
}

// -----

// Negative start and end; a single dimension needs no Concat.
// CHECK-LABEL: func.func @part_of_shape
// CHECK-NEXT:    %[[M:.*]] = "onnx.Dim"(%{{.*}}) <{axis = 1 : si64}>
// CHECK-NEXT:    onnx.Return %[[M]] : tensor<1xi64>
func.func @part_of_shape(%x: tensor<?x?x?xf32>) -> tensor<1xi64> {
  %0 = "onnx.Shape"(%x) <{start = -2 : si64, end = -1 : si64}> : (tensor<?x?x?xf32>) -> tensor<1xi64>
  onnx.Return %0 : tensor<1xi64>
}

// -----

// A scalar index gives a scalar; -1 is the last dimension.
// CHECK-LABEL: func.func @gather
// CHECK-DAG:     %[[AXES:.*]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-DAG:     %[[N:.*]] = "onnx.Dim"(%{{.*}}) <{axis = 0 : si64}>
// CHECK-DAG:     %[[M:.*]] = "onnx.Dim"(%{{.*}}) <{axis = 1 : si64}>
// CHECK-DAG:     %[[V:.*]] = "onnx.Concat"(%[[M]], %[[N]]) <{axis = 0 : si64}>
// CHECK-DAG:     %[[S:.*]] = "onnx.Squeeze"(%[[M]], %[[AXES]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
// CHECK:         onnx.Return %[[V]], %[[S]]
func.func @gather(%x: tensor<?x?xf32>) -> (tensor<2xi64>, tensor<i64>) {
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<?x?xf32>) -> tensor<2xi64>
  %1 = onnx.Constant dense<[-1, 0]> : tensor<2xi64>
  %2 = onnx.Constant dense<-1> : tensor<i64>
  %3 = "onnx.Gather"(%0, %1) <{axis = 0 : si64}> : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %4 = "onnx.Gather"(%0, %2) <{axis = 0 : si64}> : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  onnx.Return %3, %4 : tensor<2xi64>, tensor<i64>
}

// -----

// Slice, Cast and Concat of shapes are forwarded to the dimensions.
// CHECK-LABEL: func.func @through
// CHECK-DAG:     %[[N:.*]] = "onnx.Dim"(%{{.*}}) <{axis = 0 : si64}>
// CHECK-DAG:     %[[M:.*]] = "onnx.Dim"(%{{.*}}) <{axis = 1 : si64}>
// CHECK-DAG:     %[[F:.*]] = "onnx.Cast"(%[[N]]) <{{.*}}to = f32}> : (tensor<1xi64>) -> tensor<1xf32>
// CHECK-DAG:     %[[G:.*]] = "onnx.Cast"(%[[M]]) <{{.*}}to = f32}> : (tensor<1xi64>) -> tensor<1xf32>
// CHECK-DAG:     %[[A:.*]] = "onnx.Concat"(%[[F]], %[[G]]) <{axis = 0 : si64}> : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
// CHECK-DAG:     %[[B:.*]] = "onnx.Concat"(%[[M]], %[[N]], %[[M]]) <{axis = 0 : si64}>
// CHECK:         onnx.Return %[[A]], %[[B]]
func.func @through(%x: tensor<?x?xf32>) -> (tensor<2xf32>, tensor<3xi64>) {
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<?x?xf32>) -> tensor<2xi64>
  %1 = "onnx.Cast"(%0) <{saturate = 1 : si64, to = f32}> : (tensor<2xi64>) -> tensor<2xf32>
  %2 = onnx.Constant dense<1> : tensor<1xi64>
  %3 = onnx.Constant dense<5> : tensor<1xi64>
  %4 = "onnx.NoValue"() <{value}> : () -> none
  %5 = "onnx.Slice"(%0, %2, %3, %4, %4) : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<1xi64>
  %6 = "onnx.Concat"(%5, %0) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  onnx.Return %1, %6 : tensor<2xf32>, tensor<3xi64>
}

// -----

// Known dimensions of a shape operand refine the result type; -1 is inferred, unknown ones stay dynamic.
// CHECK-LABEL: func.func @types
// CHECK:         "onnx.Reshape"(%{{.*}}, %{{.*}}) <{allowzero = 0 : si64}> : (tensor<?x3x4xf32>, tensor<3xi64>) -> tensor<?x4x3xf32>
// CHECK:         onnx.ConstantOfShape(%{{.*}}) {{.*}}: (tensor<2xi64>) -> tensor<?x3xf32>
// CHECK:         "onnx.Expand"(%{{.*}}, %{{.*}}) : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<?x3xf32>
func.func @types(%x: tensor<?x3x4xf32>, %y: tensor<1x1xf32>) -> (tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<?x3x4xf32>) -> tensor<3xi64>
  %1 = onnx.Constant dense<[0, 2]> : tensor<2xi64>
  %2 = "onnx.Gather"(%0, %1) <{axis = 0 : si64}> : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  %3 = onnx.Constant dense<-1> : tensor<1xi64>
  %4 = "onnx.Concat"(%2, %3) <{axis = 0 : si64}> : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
  %5 = "onnx.Reshape"(%x, %4) <{allowzero = 0 : si64}> : (tensor<?x3x4xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %6 = "onnx.Shape"(%x) <{start = 0 : si64, end = 2 : si64}> : (tensor<?x3x4xf32>) -> tensor<2xi64>
  %7 = onnx.ConstantOfShape(%6) {value = dense<1.000000e+00> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  %8 = "onnx.Expand"(%y, %6) : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %5, %7, %8 : tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

// Types refined in one iteration give constants in the next.
// CHECK-LABEL: func.func @rounds
// CHECK-NOT:     onnx.Shape
// CHECK-NOT:     onnx.Dim
// CHECK:         %[[S:.*]] = onnx.Constant dense<[3, 4]> : tensor<2xi64>
// CHECK-NEXT:    onnx.Return %[[S]]
func.func @rounds(%x: tensor<12xf32>, %y: tensor<3x4xf32>) -> tensor<2xi64> {
  %0 = "onnx.Shape"(%y) <{start = 0 : si64}> : (tensor<3x4xf32>) -> tensor<2xi64>
  %1 = "onnx.Reshape"(%x, %0) <{allowzero = 0 : si64}> : (tensor<12xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = "onnx.Shape"(%1) <{start = 0 : si64}> : (tensor<?x?xf32>) -> tensor<2xi64>
  onnx.Return %2 : tensor<2xi64>
}

// -----

// No match: 0 in Reshape copies a dimension, an index is out of range, a slice is empty.
// CHECK-LABEL: func.func @left_alone
// CHECK-DAG:     "onnx.Gather"
// CHECK-DAG:     "onnx.Slice"
// CHECK:         onnx.Return
func.func @left_alone(%x: tensor<?x?xf32>) -> (tensor<1xi64>, tensor<0xi64>) {
  %0 = "onnx.Shape"(%x) <{start = 0 : si64}> : (tensor<?x?xf32>) -> tensor<2xi64>
  %1 = onnx.Constant dense<2> : tensor<1xi64>
  %2 = "onnx.Gather"(%0, %1) <{axis = 0 : si64}> : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  %3 = "onnx.NoValue"() <{value}> : () -> none
  %4 = "onnx.Slice"(%0, %1, %1, %3, %3) : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, none, none) -> tensor<0xi64>
  onnx.Return %2, %4 : tensor<1xi64>, tensor<0xi64>
}
