// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// A dimension is never equal to -1.
// CHECK-LABEL: @always_false_where
// CHECK-SAME:    (%[[X:.*]]: tensor<?x6xf32>, %[[A:.*]]: tensor<2xi64>, %[[B:.*]]: tensor<2xi64>)
// CHECK-NEXT:    onnx.Return %[[B]]
func.func @always_false_where(%x: tensor<?x6xf32>, %a: tensor<2xi64>, %b: tensor<2xi64>) -> tensor<2xi64> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x6xf32>) -> tensor<1xi64>
  %6 = onnx.Constant dense<6> : tensor<1xi64>
  %n = onnx.Constant dense<-1> : tensor<2xi64>
  %s = "onnx.Concat"(%d, %6) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Equal"(%s, %n) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %1 = "onnx.Where"(%0, %a, %b) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  onnx.Return %1 : tensor<2xi64>
}

// -----

// Each comparison is decided statically: the first dimension is kept, the second one is replaced.
// CHECK-LABEL: @where_equal
// CHECK:         %[[NINE:.*]] = onnx.Constant dense<9> : tensor<1xi64>
// CHECK:         %[[D:.*]] = "onnx.Dim"
// CHECK:         "onnx.Concat"(%[[D]], %[[NINE]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
func.func @where_equal(%x: tensor<?x6xf32>) -> tensor<2xi64> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x6xf32>) -> tensor<1xi64>
  %m = onnx.Constant dense<-1> : tensor<1xi64>
  %n = onnx.Constant dense<-1> : tensor<2xi64>
  %k = onnx.Constant dense<[7, 9]> : tensor<2xi64>
  %s = "onnx.Concat"(%d, %m) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Equal"(%s, %n) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %1 = "onnx.Where"(%0, %k, %s) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  onnx.Return %1 : tensor<2xi64>
}

// -----

// The same with the dimensions as the second operand of Equal.
// CHECK-LABEL: @where_equal_behind
// CHECK-NOT:     "onnx.Where"
// CHECK:         "onnx.Concat"
func.func @where_equal_behind(%x: tensor<?x6xf32>) -> tensor<2xi64> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x6xf32>) -> tensor<1xi64>
  %m = onnx.Constant dense<-1> : tensor<1xi64>
  %n = onnx.Constant dense<-1> : tensor<2xi64>
  %k = onnx.Constant dense<[7, 9]> : tensor<2xi64>
  %s = "onnx.Concat"(%d, %m) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Equal"(%n, %s) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %1 = "onnx.Where"(%0, %k, %s) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  onnx.Return %1 : tensor<2xi64>
}

// -----

// CHECK-LABEL: @dim_of_reshape
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?x6xf32>)
// CHECK-NEXT:    %[[D:.*]] = "onnx.Dim"(%[[X]]) <{axis = 0 : si64}> : (tensor<?x?x6xf32>) -> tensor<1xi64>
// CHECK-NEXT:    onnx.Return %[[D]]
func.func @dim_of_reshape(%x: tensor<?x?x6xf32>) -> tensor<1xi64> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x?x6xf32>) -> tensor<1xi64>
  %m = onnx.Constant dense<-1> : tensor<1xi64>
  %s = "onnx.Concat"(%d, %m) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %s) <{allowzero = 0 : si64}> : (tensor<?x?x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = "onnx.Dim"(%0) <{axis = 0 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  onnx.Return %1 : tensor<1xi64>
}

// -----

// CHECK-LABEL: @dim_of_transpose
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?x6xf32>)
// CHECK-NEXT:    "onnx.Dim"(%[[X]]) <{axis = 1 : si64}> : (tensor<?x?x6xf32>) -> tensor<1xi64>
func.func @dim_of_transpose(%x: tensor<?x?x6xf32>) -> tensor<1xi64> {
  %0 = "onnx.Transpose"(%x) <{perm = [2, 0, 1]}> : (tensor<?x?x6xf32>) -> tensor<6x?x?xf32>
  %1 = "onnx.Dim"(%0) <{axis = 2 : si64}> : (tensor<6x?x?xf32>) -> tensor<1xi64>
  onnx.Return %1 : tensor<1xi64>
}

// -----

// CHECK-LABEL: @unsqueeze_of_expand
// CHECK-SAME:    (%[[S:.*]]: tensor<f32>, %[[N:.*]]: tensor<1xi64>, %[[M:.*]]: tensor<1xi64>)
// CHECK-NEXT:    %[[ONE:.*]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[SHAPE:.*]] = "onnx.Concat"(%[[N]], %[[ONE]], %[[M]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT:    "onnx.Expand"(%[[S]], %[[SHAPE]]) : (tensor<f32>, tensor<3xi64>) -> tensor<?x1x?xf32>
func.func @unsqueeze_of_expand(%s: tensor<f32>, %n: tensor<1xi64>, %m: tensor<1xi64>) -> tensor<?x1x?xf32> {
  %axes = onnx.Constant dense<-2> : tensor<1xi64>
  %0 = "onnx.Concat"(%n, %m) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %1 = "onnx.Expand"(%s, %0) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = "onnx.Unsqueeze"(%1, %axes) : (tensor<?x?xf32>, tensor<1xi64>) -> tensor<?x1x?xf32>
  onnx.Return %2 : tensor<?x1x?xf32>
}

// -----

// CHECK-LABEL: @slice_of_expand
// CHECK-SAME:    (%[[S:.*]]: tensor<f32>, %[[N:.*]]: tensor<1xi64>)
// CHECK-NEXT:    %[[TWO:.*]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[SHAPE:.*]] = "onnx.Concat"(%[[N]], %[[TWO]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT:    "onnx.Expand"(%[[S]], %[[SHAPE]]) : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
func.func @slice_of_expand(%s: tensor<f32>, %n: tensor<1xi64>) -> tensor<?x2xf32> {
  %1 = onnx.Constant dense<1> : tensor<1xi64>
  %3 = onnx.Constant dense<3> : tensor<1xi64>
  %4 = onnx.Constant dense<4> : tensor<1xi64>
  %shape = "onnx.Concat"(%n, %4) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %5 = "onnx.Expand"(%s, %shape) : (tensor<f32>, tensor<2xi64>) -> tensor<?x4xf32>
  %6 = "onnx.Slice"(%5, %1, %3, %1, %1) : (tensor<?x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x2xf32>
  onnx.Return %6 : tensor<?x2xf32>
}

// -----

// CHECK-LABEL: @slice_of_concat
// CHECK-SAME:    (%[[N:.*]]: tensor<1xi64>, %[[M:.*]]: tensor<1xi64>)
// CHECK-NEXT:    onnx.Return %[[M]]
func.func @slice_of_concat(%n: tensor<1xi64>, %m: tensor<1xi64>) -> tensor<1xi64> {
  %0 = onnx.Constant dense<0> : tensor<1xi64>
  %1 = onnx.Constant dense<1> : tensor<1xi64>
  %2 = onnx.Constant dense<2> : tensor<1xi64>
  %c = "onnx.Concat"(%n, %m) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %3 = "onnx.Slice"(%c, %1, %2, %0, %1) : (tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  onnx.Return %3 : tensor<1xi64>
}

// -----

// A dynamic batch dimension that stays the leading one.
// CHECK-LABEL: @reshapes_of_a_batch
// CHECK-SAME:    (%[[X:.*]]: tensor<?x12xf32>)
// CHECK-DAG:     %[[D:.*]] = "onnx.Dim"(%[[X]]) <{axis = 0 : si64}>
// CHECK-DAG:     %[[SIX:.*]] = onnx.Constant dense<6> : tensor<1xi64>
// CHECK-DAG:     %[[REST:.*]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK:         %[[SHAPE:.*]] = "onnx.Concat"(%[[D]], %[[SIX]], %[[REST]]) <{axis = 0 : si64}>
// CHECK-NEXT:    "onnx.Reshape"(%[[X]], %[[SHAPE]]) <{allowzero = 0 : si64}> : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<?x6x2xf32>
func.func @reshapes_of_a_batch(%x: tensor<?x12xf32>) -> tensor<?x6x2xf32> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x12xf32>) -> tensor<1xi64>
  %3 = onnx.Constant dense<3> : tensor<1xi64>
  %4 = onnx.Constant dense<4> : tensor<1xi64>
  %6 = onnx.Constant dense<6> : tensor<1xi64>
  %m = onnx.Constant dense<-1> : tensor<1xi64>
  %s = "onnx.Concat"(%d, %3, %4) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %t = "onnx.Concat"(%d, %6, %m) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %0 = "onnx.Reshape"(%x, %s) <{allowzero = 0 : si64}> : (tensor<?x12xf32>, tensor<3xi64>) -> tensor<?x3x4xf32>
  %1 = "onnx.Reshape"(%0, %t) <{allowzero = 0 : si64}> : (tensor<?x3x4xf32>, tensor<3xi64>) -> tensor<?x6x2xf32>
  onnx.Return %1 : tensor<?x6x2xf32>
}

// -----

// CHECK-LABEL: @concat_of_nothing
// CHECK-SAME:    (%[[X:.*]]: tensor<2xf32>, %{{.*}}: tensor<0xf32>)
// CHECK-NEXT:    "onnx.Concat"(%[[X]], %[[X]]) <{axis = 0 : si64}>
func.func @concat_of_nothing(%x: tensor<2xf32>, %n: tensor<0xf32>) -> tensor<4xf32> {
  %0 = "onnx.Concat"(%n, %x, %n, %x) <{axis = 0 : si64}> : (tensor<0xf32>, tensor<2xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}

// -----

// One dynamic dimension follows from the number of elements, two do not.
// CHECK-LABEL: @same_shape
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Reshape"(%arg1, %arg3)
// CHECK-NEXT:    onnx.Return %arg0, %[[Y]]
func.func @same_shape(%x: tensor<?x3xf32>, %z: tensor<?x?x3xf32>, %s: tensor<2xi64>, %t: tensor<3xi64>) -> (tensor<?x3xf32>, tensor<?x?x3xf32>) {
  %0 = "onnx.Reshape"(%x, %s) : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %1 = "onnx.Reshape"(%z, %t) : (tensor<?x?x3xf32>, tensor<3xi64>) -> tensor<?x?x3xf32>
  onnx.Return %0, %1 : tensor<?x3xf32>, tensor<?x?x3xf32>
}
