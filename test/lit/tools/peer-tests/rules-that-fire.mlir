// RUN: onnx-mlir-opt --canonicalize %s -split-input-file | FileCheck %s
// RUN: onnx-mlir-opt --shape-inference --canonicalize %s -split-input-file | FileCheck %s --check-prefix=TYPED

// Rules of onnx-mlir that need little to be known; they do not fire where the result would not be the same.

// CHECK-LABEL: func.func @gemm_and_sum
// CHECK-NEXT:    [[R:%.+]] = "onnx.Gemm"(%arg0, %arg1, %arg2) <{alpha = 1.000000e+00 : f32, beta = 1.000000e+00 : f32, transA = 0 : si64, transB = 0 : si64}>
// CHECK-NEXT:    onnx.Return [[R]]
func.func @gemm_and_sum(%a: tensor<?x?xf32>, %b: tensor<?x10xf32>, %z: tensor<10xf32>) -> tensor<*xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Gemm"(%a, %b, %n) : (tensor<?x?xf32>, tensor<?x10xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Add"(%0, %z) : (tensor<*xf32>, tensor<10xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// C of Gemm must not enlarge the product, as an unknown z may.
// CHECK-LABEL: func.func @gemm_and_unknown
// CHECK:         "onnx.Gemm"
// CHECK-NEXT:    "onnx.Add"
func.func @gemm_and_unknown(%a: tensor<*xf32>, %b: tensor<*xf32>, %z: tensor<*xf32>) -> tensor<*xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Gemm"(%a, %b, %n) : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Add"(%0, %z) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// A factor per filter joins the weights, before anything is folded: an axis more, then a product.
// CHECK-LABEL: func.func @conv_and_factor
// CHECK:         [[W:%.+]] = onnx.Constant dense<{{.*}}> : tensor<2x1x1x1xf32>
// CHECK:         [[C:%.+]] = onnx.Constant dense<{{.*}}> : tensor<2x1x1xf32>
// CHECK:         [[AXES:%.+]] = onnx.Constant dense<3> : tensor<1xi64>
// CHECK-NEXT:    [[FACTOR:%.+]] = "onnx.Unsqueeze"([[C]], [[AXES]]) : (tensor<2x1x1xf32>, tensor<1xi64>) -> tensor<*xf32>
// CHECK-NEXT:    [[PRODUCT:%.+]] = "onnx.Mul"([[FACTOR]], [[W]])
// CHECK:         "onnx.Conv"(%arg0, [[PRODUCT]], %{{.*}})
// CHECK-NOT:     "onnx.Mul"
func.func @conv_and_factor(%x: tensor<1x1x28x28xf32>) -> tensor<*xf32> {
  %w = onnx.Constant dense<[[[[0.04]]], [[[0.05]]]]> : tensor<2x1x1x1xf32>
  %c = onnx.Constant dense<[[[0.1]], [[0.2]]]> : tensor<2x1x1xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) {auto_pad = "SAME_UPPER"} : (tensor<1x1x28x28xf32>, tensor<2x1x1x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Mul"(%0, %c) : (tensor<*xf32>, tensor<2x1x1xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @conv_and_constant
// CHECK:         [[B:%.+]] = onnx.Constant dense<[1.000000e-01, 2.000000e-01]> : tensor<2xf32>
// CHECK:         "onnx.Conv"(%arg0, %arg1, [[B]])
// CHECK-NOT:     "onnx.Add"
func.func @conv_and_constant(%x: tensor<1x1x28x28xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<*xf32> {
  %c = onnx.Constant dense<[[[0.1]], [[0.2]]]> : tensor<2x1x1xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x1x28x28xf32>, tensor<2x1x1x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Add"(%0, %c) : (tensor<*xf32>, tensor<2x1x1xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// A constant along another axis than the channels stays.
// CHECK-LABEL: func.func @conv_and_row
// CHECK:         "onnx.Mul"
func.func @conv_and_row(%x: tensor<1x1x28x28xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<*xf32> {
  %c = onnx.Constant dense<2.0> : tensor<28xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) : (tensor<1x1x28x28xf32>, tensor<2x1x1x1xf32>, none) -> tensor<*xf32>
  %1 = "onnx.Mul"(%0, %c) : (tensor<*xf32>, tensor<28xf32>) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}

// -----

// A dimension of a Reshape is the element of its shape.
// CHECK-LABEL: func.func @dim_of_reshape
// CHECK-NEXT:    [[D:%.+]] = "onnx.Dim"(%arg0) <{axis = 0 : si64}>
// CHECK-NEXT:    onnx.Return [[D]]
func.func @dim_of_reshape(%x: tensor<?x384x768xf32>) -> tensor<1xi64> {
  %64 = onnx.Constant dense<64> : tensor<1xi64>
  %12 = onnx.Constant dense<12> : tensor<1xi64>
  %rest = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Dim"(%x) {axis = 0 : si64} : (tensor<?x384x768xf32>) -> tensor<1xi64>
  %1 = "onnx.Concat"(%0, %rest, %12, %64) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>
  %2 = "onnx.Reshape"(%x, %1) {allowzero = 0 : si64} : (tensor<?x384x768xf32>, tensor<4xi64>) -> tensor<?x?x12x64xf32>
  %3 = "onnx.Dim"(%2) {axis = 0 : si64} : (tensor<?x?x12x64xf32>) -> tensor<1xi64>
  onnx.Return %3 : tensor<1xi64>
}

// -----

// `allowzero` goes where no size is 0, or the only one that may be is the one that would be copied.
// CHECK-LABEL: func.func @allowzero
// CHECK:         "onnx.Reshape"(%arg0, %{{.*}}) <{allowzero = 0 : si64}> : {{.*}} -> tensor<3x2xf32>
// CHECK:         "onnx.Reshape"(%arg1, %arg2) <{allowzero = 0 : si64}> : {{.*}} -> tensor<?x2x3xf32>
func.func @allowzero(%x: tensor<2x3xf32>, %y: tensor<?x6xf32>, %s: tensor<3xi64>) -> (tensor<3x2xf32>, tensor<?x2x3xf32>) {
  %t = onnx.Constant dense<[3, 2]> : tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %t) {allowzero = 1 : si64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  %1 = "onnx.Reshape"(%y, %s) {allowzero = 1 : si64} : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x3xf32>
  onnx.Return %0, %1 : tensor<3x2xf32>, tensor<?x2x3xf32>
}

// -----

// It stays where a 0 would copy another size, where sizes differ, and where a size is 0.
// CHECK-LABEL: func.func @allowzero_stays
// CHECK-COUNT-4: "onnx.Reshape"({{.*}}) <{allowzero = 1 : si64}>
func.func @allowzero_stays(%x: tensor<6x?xf32>, %y: tensor<?x6xf32>, %z: tensor<?x?xf32>, %e: tensor<2x0xf32>, %s: tensor<3xi64>, %t: tensor<2xi64>) -> (tensor<?x2x3xf32>, tensor<?x2x2xf32>, tensor<?x?xf32>, tensor<0x5xf32>) {
  %0 = "onnx.Reshape"(%x, %s) {allowzero = 1 : si64} : (tensor<6x?xf32>, tensor<3xi64>) -> tensor<?x2x3xf32>
  %1 = "onnx.Reshape"(%y, %s) {allowzero = 1 : si64} : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x2x2xf32>
  %2 = "onnx.Reshape"(%z, %t) {allowzero = 1 : si64} : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %3 = "onnx.Reshape"(%e, %t) {allowzero = 1 : si64} : (tensor<2x0xf32>, tensor<2xi64>) -> tensor<0x5xf32>
  onnx.Return %0, %1, %2, %3 : tensor<?x2x3xf32>, tensor<?x2x2xf32>, tensor<?x?xf32>, tensor<0x5xf32>
}

// -----

// `axis` and `broadcast` of opsets before 7 become axes of the right operand, once the ranks are known.
// TYPED-LABEL: func.func @axis_and_broadcast
// TYPED:         [[Y:%.+]] = "onnx.Unsqueeze"(%arg1, %{{.*}}) : (tensor<3xf32>, tensor<2xi64>) -> tensor<3x1x1xf32>
// TYPED-NEXT:    [[SUM:%.+]] = "onnx.Add"(%arg0, [[Y]]) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
// TYPED:         "onnx.Mul"([[SUM]], %{{.*}}) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
func.func @axis_and_broadcast(%x: tensor<2x3x4x5xf32>, %y: tensor<3xf32>) -> tensor<2x3x4x5xf32> {
  %0 = "onnx.Add"(%x, %y) {axis = 1 : si64, broadcast = 1 : si64} : (tensor<2x3x4x5xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  %1 = "onnx.Mul"(%0, %y) {axis = 1 : si64, broadcast = 1 : si64} : (tensor<2x3x4x5xf32>, tensor<3xf32>) -> tensor<2x3x4x5xf32>
  onnx.Return %1 : tensor<2x3x4x5xf32>
}
