// RUN: onnx-opt %s --decompose-onnx=enable-conv-to-matmul=true --split-input-file | filecheck %s

// A 1x1 kernel: a matrix product.
// CHECK-LABEL: @points
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Shape"(%arg0) <{start = 0 : si64}> : (tensor<1x2x?x4xf32>) -> tensor<4xi64>
// CHECK-NEXT:    %[[V1:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Slice"(%[[V0]], %[[V3]], %[[V4]], %[[V2]], %[[V5]]) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Concat"(%[[V6]], %[[V1]]) <{axis = 0 : si64}> : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Reshape"(%arg0, %[[V7]]) <{allowzero = 0 : si64}> : (tensor<1x2x?x4xf32>, tensor<3xi64>) -> tensor<1x2x?xf32>
// CHECK-NEXT:    %[[V9:[0-9]+]] = "onnx.Shape"(%[[V8]]) <{start = 0 : si64}> : (tensor<1x2x?xf32>) -> tensor<3xi64>
// CHECK-NEXT:    %[[V10:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V11:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V12:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V13:[0-9]+]] = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT:    %[[V14:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V15:[0-9]+]] = "onnx.Slice"(%[[V9]], %[[V12]], %[[V13]], %[[V11]], %[[V14]]) : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V16:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V17:[0-9]+]] = "onnx.Concat"(%[[V16]], %[[V15]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT:    %[[V18:[0-9]+]] = "onnx.Reshape"(%[[V8]], %[[V17]]) <{allowzero = 0 : si64}> : (tensor<1x2x?xf32>, tensor<2xi64>) -> tensor<2x?xf32>
// CHECK-NEXT:    %[[V19:[0-9]+]] = "onnx.Shape"(%arg1) <{start = 0 : si64}> : (tensor<5x2x1x1xf32>) -> tensor<4xi64>
// CHECK-NEXT:    %[[V20:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V21:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V22:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V23:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V24:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V25:[0-9]+]] = "onnx.Slice"(%[[V19]], %[[V22]], %[[V23]], %[[V21]], %[[V24]]) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V26:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V27:[0-9]+]] = "onnx.Concat"(%[[V25]], %[[V26]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT:    %[[V28:[0-9]+]] = "onnx.Reshape"(%arg1, %[[V27]]) <{allowzero = 0 : si64}> : (tensor<5x2x1x1xf32>, tensor<2xi64>) -> tensor<5x2xf32>
// CHECK-NEXT:    %[[V29:[0-9]+]] = "onnx.MatMul"(%[[V28]], %[[V18]]) : (tensor<5x2xf32>, tensor<2x?xf32>) -> tensor<5x?xf32>
// CHECK-NEXT:    %[[V30:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V31:[0-9]+]] = "onnx.Unsqueeze"(%arg2, %[[V30]]) : (tensor<5xf32>, tensor<1xi64>) -> tensor<5x1xf32>
// CHECK-NEXT:    %[[V32:[0-9]+]] = "onnx.Add"(%[[V29]], %[[V31]]) : (tensor<5x?xf32>, tensor<5x1xf32>) -> tensor<5x?xf32>
// CHECK-NEXT:    %[[V33:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 0 : si64}> : (tensor<1x2x?x4xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V34:[0-9]+]] = "onnx.Dim"(%arg1) <{axis = 0 : si64}> : (tensor<5x2x1x1xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V35:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 2 : si64}> : (tensor<1x2x?x4xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V36:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 3 : si64}> : (tensor<1x2x?x4xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V37:[0-9]+]] = "onnx.Concat"(%[[V33]], %[[V34]], %[[V35]], %[[V36]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %[[V38:[0-9]+]] = "onnx.Reshape"(%[[V32]], %[[V37]]) <{allowzero = 0 : si64}> : (tensor<5x?xf32>, tensor<4xi64>) -> tensor<1x5x?x4xf32>
// CHECK-NEXT:    onnx.Return %[[V38]] : tensor<1x5x?x4xf32>
func.func @points(%x: tensor<1x2x?x4xf32>, %w: tensor<5x2x1x1xf32>, %b: tensor<5xf32>) -> tensor<1x5x?x4xf32> {
  %0 = "onnx.Conv"(%x, %w, %b) <{auto_pad = "NOTSET", group = 1 : si64}> : (tensor<1x2x?x4xf32>, tensor<5x2x1x1xf32>, tensor<5xf32>) -> tensor<1x5x?x4xf32>
  onnx.Return %0 : tensor<1x5x?x4xf32>
}

// -----

// Larger kernels: im2col, then a matrix product.
// CHECK-LABEL: @windows
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Im2Col"(%arg0) <{auto_pad = "NOTSET", kernel_shape = [3, 2], pads = [1, 0, 2, 0], strides = [2, 1]}> : (tensor<?x2x7x5xf32>) -> tensor<?x12x?xf32>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<[4, 12]> : tensor<2xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = "onnx.Reshape"(%arg1, %[[V2]]) <{allowzero = 0 : si64}> : (tensor<4x2x3x2xf32>, tensor<2xi64>) -> tensor<4x12xf32>
// CHECK-NEXT:    %[[V4:[0-9]+]] = "onnx.MatMul"(%[[V3]], %[[V1]]) : (tensor<4x12xf32>, tensor<?x12x?xf32>) -> tensor<?x4x?xf32>
// CHECK-NEXT:    %[[V5:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 0 : si64}> : (tensor<?x2x7x5xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V6:[0-9]+]] = "onnx.Dim"(%arg1) <{axis = 0 : si64}> : (tensor<4x2x3x2xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 2 : si64}> : (tensor<?x2x7x5xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V8:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 3 : si64}> : (tensor<?x2x7x5xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V9:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V10:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V11:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V12:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V13:[0-9]+]] = "onnx.Add"(%[[V7]], %[[V9]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V14:[0-9]+]] = "onnx.Div"(%[[V13]], %[[V11]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V15:[0-9]+]] = "onnx.Add"(%[[V8]], %[[V10]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V16:[0-9]+]] = "onnx.Div"(%[[V15]], %[[V12]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V17:[0-9]+]] = "onnx.Concat"(%[[V5]], %[[V6]], %[[V14]], %[[V16]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %[[V18:[0-9]+]] = "onnx.Reshape"(%[[V4]], %[[V17]]) <{allowzero = 0 : si64}> : (tensor<?x4x?xf32>, tensor<4xi64>) -> tensor<?x4x4x4xf32>
// CHECK-NEXT:    onnx.Return %[[V18]] : tensor<?x4x4x4xf32>
func.func @windows(%x: tensor<?x2x7x5xf32>, %w: tensor<4x2x3x2xf32>) -> tensor<?x4x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) <{auto_pad = "NOTSET", group = 1 : si64, pads = [1, 0, 2, 0], strides = [2, 1]}> : (tensor<?x2x7x5xf32>, tensor<4x2x3x2xf32>, none) -> tensor<?x4x4x4xf32>
  onnx.Return %0 : tensor<?x4x4x4xf32>
}

// -----

// SAME padding: the number of windows is rounded up.
// CHECK-LABEL: @same_size
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.Im2Col"(%arg0) <{auto_pad = "SAME_UPPER", kernel_shape = [3, 3]}> : (tensor<1x2x?x?xf32>) -> tensor<1x18x?xf32>
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Shape"(%[[V0]]) <{start = 0 : si64}> : (tensor<1x18x?xf32>) -> tensor<3xi64>
// CHECK-NEXT:    %[[V2:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V3:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V4:[0-9]+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    %[[V5:[0-9]+]] = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT:    %[[V6:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V7:[0-9]+]] = "onnx.Slice"(%[[V1]], %[[V4]], %[[V5]], %[[V3]], %[[V6]]) : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V8:[0-9]+]] = onnx.Constant dense<18> : tensor<1xi64>
// CHECK-NEXT:    %[[V9:[0-9]+]] = "onnx.Concat"(%[[V8]], %[[V7]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK-NEXT:    %[[V10:[0-9]+]] = "onnx.Reshape"(%[[V0]], %[[V9]]) <{allowzero = 0 : si64}> : (tensor<1x18x?xf32>, tensor<2xi64>) -> tensor<18x?xf32>
// CHECK-NEXT:    %[[V11:[0-9]+]] = onnx.Constant dense<[4, 18]> : tensor<2xi64>
// CHECK-NEXT:    %[[V12:[0-9]+]] = "onnx.Reshape"(%arg1, %[[V11]]) <{allowzero = 0 : si64}> : (tensor<4x2x3x3xf32>, tensor<2xi64>) -> tensor<4x18xf32>
// CHECK-NEXT:    %[[V13:[0-9]+]] = "onnx.MatMul"(%[[V12]], %[[V10]]) : (tensor<4x18xf32>, tensor<18x?xf32>) -> tensor<4x?xf32>
// CHECK-NEXT:    %[[V14:[0-9]+]] = onnx.Constant dense<-1> : tensor<1xi64>
// CHECK-NEXT:    %[[V15:[0-9]+]] = "onnx.Unsqueeze"(%arg2, %[[V14]]) : (tensor<4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
// CHECK-NEXT:    %[[V16:[0-9]+]] = "onnx.Add"(%[[V13]], %[[V15]]) : (tensor<4x?xf32>, tensor<4x1xf32>) -> tensor<4x?xf32>
// CHECK-NEXT:    %[[V17:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 0 : si64}> : (tensor<1x2x?x?xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V18:[0-9]+]] = "onnx.Dim"(%arg1) <{axis = 0 : si64}> : (tensor<4x2x3x3xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V19:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 2 : si64}> : (tensor<1x2x?x?xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V20:[0-9]+]] = "onnx.Dim"(%arg0) <{axis = 3 : si64}> : (tensor<1x2x?x?xf32>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V21:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V22:[0-9]+]] = onnx.Constant dense<0> : tensor<1xi64>
// CHECK-NEXT:    %[[V23:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V24:[0-9]+]] = onnx.Constant dense<1> : tensor<1xi64>
// CHECK-NEXT:    %[[V25:[0-9]+]] = "onnx.Add"(%[[V19]], %[[V21]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V26:[0-9]+]] = "onnx.Div"(%[[V25]], %[[V23]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V27:[0-9]+]] = "onnx.Add"(%[[V20]], %[[V22]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V28:[0-9]+]] = "onnx.Div"(%[[V27]], %[[V24]]) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
// CHECK-NEXT:    %[[V29:[0-9]+]] = "onnx.Concat"(%[[V17]], %[[V18]], %[[V26]], %[[V28]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %[[V30:[0-9]+]] = "onnx.Reshape"(%[[V16]], %[[V29]]) <{allowzero = 0 : si64}> : (tensor<4x?xf32>, tensor<4xi64>) -> tensor<1x4x?x?xf32>
// CHECK-NEXT:    onnx.Return %[[V30]] : tensor<1x4x?x?xf32>
func.func @same_size(%x: tensor<1x2x?x?xf32>, %w: tensor<4x2x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x?x?xf32> {
  %0 = "onnx.Conv"(%x, %w, %b) <{auto_pad = "SAME_UPPER", group = 1 : si64}> : (tensor<1x2x?x?xf32>, tensor<4x2x3x3xf32>, tensor<4xf32>) -> tensor<1x4x?x?xf32>
  onnx.Return %0 : tensor<1x4x?x?xf32>
}

// -----

// Grouped convolution: not decomposed.
// CHECK-LABEL: @groups
// CHECK-NEXT:    %[[V0:[0-9]+]] = "onnx.NoValue"() <{value}> : () -> none
// CHECK-NEXT:    %[[V1:[0-9]+]] = "onnx.Conv"(%arg0, %arg1, %[[V0]]) <{auto_pad = "NOTSET", group = 2 : si64}> : (tensor<1x4x7x5xf32>, tensor<4x2x3x3xf32>, none) -> tensor<1x4x5x3xf32>
// CHECK-NEXT:    onnx.Return %[[V1]] : tensor<1x4x5x3xf32>
func.func @groups(%x: tensor<1x4x7x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x5x3xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) <{auto_pad = "NOTSET", group = 2 : si64}> : (tensor<1x4x7x5xf32>, tensor<4x2x3x3xf32>, none) -> tensor<1x4x5x3xf32>
  onnx.Return %0 : tensor<1x4x5x3xf32>
}
