// RUN: onnx-opt %s --onnx-dim-analysis --split-input-file | filecheck %s
// RUN: onnx-opt %s --onnx-dim-analysis --onnx-dim-analysis --split-input-file | filecheck %s

// Names make dimensions equal; each op adds what follows. Groups are numbered as by onnx-mlir: op results first.
// CHECK-LABEL: func.func @names
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?x4xf32> {{.*}}, %[[Y:.*]]: tensor<?x4xf32> {{.*}})
// CHECK-NEXT:    "onnx.DimGroup"(%[[X]]) <{axis = 0 : si64, group_id = 0 : si64}> : (tensor<?x?x4xf32>) -> ()
// CHECK-NEXT:    "onnx.DimGroup"(%[[X]]) <{axis = 1 : si64, group_id = 1 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"(%[[X]])
// CHECK-NEXT:    "onnx.DimGroup"(%[[R]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[R]]) <{axis = 1 : si64, group_id = 1 : si64}>
// CHECK-NEXT:    %[[F:.*]] = "onnx.Flatten"(%[[R]])
// CHECK-NEXT:    "onnx.DimGroup"(%[[F]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[F]]) <{axis = 1 : si64, group_id = 3 : si64}>
// CHECK-NEXT:    onnx.Return
func.func @names(%x: tensor<?x?x4xf32> {onnx.dim_params = "0:batch,1:seq"}, %y: tensor<?x4xf32> {onnx.dim_params = "0:batch"}) -> tensor<?x?xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %1 = "onnx.Flatten"(%0) <{axis = 1 : si64}> : (tensor<?x?x4xf32>) -> tensor<?x?xf32>
  onnx.Return %1 : tensor<?x?xf32>
}

// -----

// Unnamed dimensions of arguments are numbered after those of op results, in order.
// CHECK-LABEL: func.func @no_names
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 1 : si64, group_id = 3 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 0 : si64, group_id = 3 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 1 : si64, group_id = 1 : si64}>
// CHECK-NEXT:    %[[Y:.*]] = "onnx.MatMul"
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 1 : si64, group_id = 1 : si64}>
func.func @no_names(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

// A shape operand concatenated from dimensions determines those of the result.
// CHECK-LABEL: func.func @shape_operand
// CHECK:         %[[Y:.*]] = "onnx.Reshape"
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 1 : si64, group_id = 1 : si64}>
// CHECK-NEXT:    %[[Z:.*]] = onnx.ConstantOfShape
// CHECK-NEXT:    "onnx.DimGroup"(%[[Z]]) <{axis = 0 : si64, group_id = 1 : si64}>
func.func @shape_operand(%x: tensor<?x2x?xf32>) -> (tensor<?x?x2xf32>, tensor<?xf32>) {
  %rest = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x2x?xf32>) -> tensor<1xi64>
  %1 = "onnx.Dim"(%x) <{axis = 2 : si64}> : (tensor<?x2x?xf32>) -> tensor<1xi64>
  %2 = "onnx.Concat"(%0, %1, %rest) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %3 = "onnx.Reshape"(%x, %2) <{allowzero = 0 : si64}> : (tensor<?x2x?xf32>, tensor<3xi64>) -> tensor<?x?x2xf32>
  %4 = onnx.ConstantOfShape(%1) : (tensor<1xi64>) -> tensor<?xf32>
  onnx.Return %3, %4 : tensor<?x?x2xf32>, tensor<?xf32>
}

// -----

// Equalities that a branch requires hold inside of that branch only.
// CHECK-LABEL: func.func @branch
// CHECK:         "onnx.DimGroup"(%[[X:.*]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y:.*]]) <{axis = 0 : si64, group_id = 1 : si64}>
// CHECK:         "onnx.If"
// CHECK:         "onnx.Concat"
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK:         "onnx.Relu"
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 0 : si64, group_id = 1 : si64}>
// CHECK:       }) : (tensor<i1>) -> tensor<?x?xf32>
// CHECK-NEXT:    "onnx.DimGroup"
func.func @branch(%c: tensor<i1>, %x: tensor<?x2xf32>, %y: tensor<?x3xf32>) -> tensor<?x?xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Concat"(%x, %y) <{axis = 1 : si64}> : (tensor<?x2xf32>, tensor<?x3xf32>) -> tensor<?x5xf32>
    onnx.Yield %1 : tensor<?x5xf32>
  }, {
    %2 = "onnx.Relu"(%y) : (tensor<?x3xf32>) -> tensor<?x3xf32>
    onnx.Yield %2 : tensor<?x3xf32>
  }) : (tensor<i1>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

// A constant condition: the result has the dimensions of the branch that runs.
// CHECK-LABEL: func.func @taken
// CHECK:         "onnx.DimGroup"(%[[X:.*]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK:       }) : (tensor<i1>) -> tensor<?x2xf32>
// CHECK-NEXT:    "onnx.DimGroup"(%{{.*}}) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    onnx.Return
func.func @taken(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %c = onnx.Constant dense<true> : tensor<i1>
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Relu"(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    onnx.Yield %1 : tensor<?x2xf32>
  }, {
    %2 = "onnx.Neg"(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
    %3 = "onnx.Concat"(%2, %2) <{axis = 0 : si64}> : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    onnx.Yield %3 : tensor<?x2xf32>
  }) : (tensor<i1>) -> tensor<?x2xf32>
  onnx.Return %0 : tensor<?x2xf32>
}

// -----

// A value of unknown rank has no groups and does not affect others.
// CHECK-LABEL: func.func @unranked
// CHECK:         "onnx.Custom"
// CHECK-NEXT:    %[[Y:.*]] = "onnx.Relu"
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 0 : si64, group_id = 0 : si64}>
func.func @unranked(%x: tensor<?xf32>) -> (tensor<*xf32>, tensor<?xf32>) {
  %0 = "onnx.Custom"(%x) <{function_name = "Noise"}> : (tensor<?xf32>) -> tensor<*xf32>
  %1 = "onnx.Relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  onnx.Return %0, %1 : tensor<*xf32>, tensor<?xf32>
}

// -----

// Ops that are not ONNX operators.
// CHECK-LABEL: func.func @own_ops
// CHECK:         %[[COLUMNS:.*]] = "onnx.Im2Col"
// CHECK-NEXT:    "onnx.DimGroup"(%[[COLUMNS]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[COLUMNS]]) <{axis = 1 : si64, group_id = 1 : si64}>
// CHECK-NEXT:    %[[SPREAD:.*]] = "onnx.UpsampleAndPad"
// CHECK-NEXT:    "onnx.DimGroup"(%[[SPREAD]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK-NEXT:    "onnx.DimGroup"(%[[SPREAD]]) <{axis = 1 : si64, group_id = 1 : si64}>
// CHECK-NEXT:    %[[SHAPE:.*]], %[[TURNED:.*]] = "onnx.ConcatShapeTranspose"
// CHECK-NEXT:    "onnx.DimGroup"(%[[TURNED]]) <{axis = 1 : si64, group_id = 4 : si64}>
func.func @own_ops(%x: tensor<?x?x5x6xf32>, %y: tensor<?x4xf32>) {
  %0 = "onnx.Im2Col"(%x) <{kernel_shape = [1, 1]}> : (tensor<?x?x5x6xf32>) -> tensor<?x?x30xf32>
  %1 = "onnx.UpsampleAndPad"(%0) <{strides = [2]}> : (tensor<?x?x30xf32>) -> tensor<?x?x59xf32>
  %2, %3 = "onnx.ConcatShapeTranspose"(%y, %y) <{axis = 1 : si64, perm = [1, 0]}> : (tensor<?x4xf32>, tensor<?x4xf32>) -> (tensor<2xi64>, tensor<8x?xf32>)
  onnx.Return
}

// -----

// The shape functions of all operators are at hand, also if no other pass has needed them.
// CHECK-LABEL: func.func @batch
// CHECK:         %[[Y:.*]] = "onnx.Conv"
// CHECK-NEXT:    "onnx.DimGroup"(%[[Y]]) <{axis = 0 : si64, group_id = 0 : si64}>
// CHECK:         %[[A:.*]], %{{.*}}, %{{.*}}, %{{.*}} = "onnx.Attention"
// CHECK-NEXT:    "onnx.DimGroup"(%[[A]]) <{axis = 0 : si64, group_id = 0 : si64}>
func.func @batch(%x: tensor<?x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x6x6xf32> {
  %n = "onnx.NoValue"() : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<?x4x6x6xf32>
  %1:4 = "onnx.Attention"(%x, %x, %x, %n, %n, %n, %n) : (tensor<?x3x8x8xf32>, tensor<?x3x8x8xf32>, tensor<?x3x8x8xf32>, none, none, none, none) -> (tensor<?x3x8x8xf32>, none, none, none)
  onnx.Return %0 : tensor<?x4x6x6xf32>
}
