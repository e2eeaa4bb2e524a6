// RUN: onnx-opt %s --tosa-fold-transposes --split-input-file | filecheck %s

// A transpose and its inverse around an elementwise op cancel.
// CHECK-LABEL: @inverse
// CHECK-NEXT:    %[[Y:.*]] = "tosa.sigmoid"(%arg0) : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @inverse(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 0, 3, 1, 2>}> : (tensor<1x2x3x4xf32>) -> tensor<1x4x2x3xf32>
  %1 = "tosa.sigmoid"(%0) : (tensor<1x4x2x3xf32>) -> tensor<1x4x2x3xf32>
  %2 = "tosa.transpose"(%1) <{perms = array<i32: 0, 2, 3, 1>}> : (tensor<1x4x2x3xf32>) -> tensor<1x2x3x4xf32>
  return %2 : tensor<1x2x3x4xf32>
}

// -----

// Two that are not inverse become one.
// CHECK-LABEL: @merged
// CHECK-NEXT:    "tosa.transpose"(%arg0) <{perms = array<i32: 1, 2, 0>}>
// CHECK-NEXT:    return
func.func @merged(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 1, 0, 2>}> : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = "tosa.transpose"(%0) <{perms = array<i32: 0, 2, 1>}> : (tensor<3x2x4xf32>) -> tensor<3x4x2xf32>
  return %1 : tensor<3x4x2xf32>
}

// -----

// A constant operand is transposed here.
// CHECK-LABEL: @constant
// CHECK:         "tosa.const"() <{values = dense<{{\[\[}}0.000000e+00, 2.000000e+00], [1.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>}>
// CHECK:         tosa.add %arg0
// CHECK-NEXT:    "tosa.transpose"
func.func @constant(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = "tosa.const"() <{values = dense<[[0.0, 1.0], [2.0, 3.0]]> : tensor<2x2xf32>}> : () -> tensor<2x2xf32>
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 1, 0>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = tosa.add %0, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

// The other operand is no constant and has another order: the transpose stays.
// CHECK-LABEL: @other
// CHECK-NEXT:    "tosa.transpose"
// CHECK-NEXT:    tosa.add
// CHECK-NEXT:    return
func.func @other(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = tosa.add %0, %y : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// A transpose that moves sizes of 1 only is a reshape, and reshapes merge.
// CHECK-LABEL: @ones
// CHECK:         %[[S:.*]] = "tosa.const_shape"() <{values = dense<[1, 4]>
// CHECK-NEXT:    "tosa.reshape"(%arg0, %[[S]]) : (tensor<1x1x1x4xf32>, !tosa.shape<2>) -> tensor<1x4xf32>
// CHECK-NEXT:    return
func.func @ones(%x: tensor<1x1x1x4xf32>) -> tensor<1x4xf32> {
  %s = "tosa.const_shape"() <{values = dense<[1, 4]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 0, 3, 1, 2>}> : (tensor<1x1x1x4xf32>) -> tensor<1x4x1x1xf32>
  %1 = "tosa.reshape"(%0, %s) : (tensor<1x4x1x1xf32>, !tosa.shape<2>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

// -----

// An axis is the dimension before, sizes are in the order before.
// CHECK-LABEL: @axis
// CHECK:         tosa.reduce_max %arg0 {axis = 2 : i32}
// CHECK:         "tosa.const_shape"() <{values = dense<[0, 0, 3, 4, 1, 2]>
// CHECK:         "tosa.pad"(%arg0
func.func @axis(%x: tensor<2x3x4xf32>) -> (tensor<1x2x3xf32>, tensor<7x2x10xf32>) {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %p = "tosa.const_shape"() <{values = dense<[1, 2, 0, 0, 3, 4]> : tensor<6xindex>}> : () -> !tosa.shape<6>
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = tosa.reduce_max %0 {axis = 0 : i32} : (tensor<4x2x3xf32>) -> tensor<1x2x3xf32>
  %2 = "tosa.pad"(%0, %p, %z) : (tensor<4x2x3xf32>, !tosa.shape<6>, tensor<1xf32>) -> tensor<7x2x10xf32>
  return %1, %2 : tensor<1x2x3xf32>, tensor<7x2x10xf32>
}

// -----

// Factors along the last dimension stay there.
// CHECK-LABEL: @per_channel
// CHECK:         "tosa.transpose"(%arg0)
// CHECK-NEXT:    tosa.rescale
func.func @per_channel(%x: tensor<2x3xi32>) -> tensor<3x2xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<2xi32>}> : () -> tensor<2xi32>
  %s = "tosa.const"() <{values = dense<30> : tensor<2xi8>}> : () -> tensor<2xi8>
  %a = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %b = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = "tosa.transpose"(%x) <{perms = array<i32: 1, 0>}> : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = tosa.rescale %0, %m, %s, %a, %b {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = true, input_unsigned = false, output_unsigned = false} : (tensor<3x2xi32>, tensor<2xi32>, tensor<2xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<3x2xi8>
  return %1 : tensor<3x2xi8>
}
