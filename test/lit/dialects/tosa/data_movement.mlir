// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @const_shape
func.func @const_shape() {
  // CHECK-NEXT: "tosa.const_shape"() <{values = dense<[1, 8]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  %y = "tosa.const_shape"() <{values = dense<[1, 8]> : tensor<2xindex>}> : () -> !tosa.shape<2>
  return
}

// CHECK-LABEL: @gather
func.func @gather(%a: tensor<1x9x3xf32>, %b: tensor<1x2xi32>) {
  // CHECK-NEXT: "tosa.gather"(%{{.*}}, %{{.*}}) : (tensor<1x9x3xf32>, tensor<1x2xi32>) -> tensor<1x2x3xf32>
  %y = "tosa.gather"(%a, %b) : (tensor<1x9x3xf32>, tensor<1x2xi32>) -> tensor<1x2x3xf32>
  return
}

// CHECK-LABEL: @pad
func.func @pad(%a: tensor<1x8xf32>, %b: !tosa.shape<4>, %c: tensor<1xf32>) {
  // CHECK-NEXT: "tosa.pad"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x8xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<1x10xf32>
  %y = "tosa.pad"(%a, %b, %c) : (tensor<1x8xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<1x10xf32>
  return
}

// CHECK-LABEL: @reshape
func.func @reshape(%a: tensor<2x4xf32>, %b: !tosa.shape<1>) {
  // CHECK-NEXT: "tosa.reshape"(%{{.*}}, %{{.*}}) : (tensor<2x4xf32>, !tosa.shape<1>) -> tensor<8xf32>
  %y = "tosa.reshape"(%a, %b) : (tensor<2x4xf32>, !tosa.shape<1>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: @resize
func.func @resize(%a: tensor<1x8x8x3xf32>, %b: !tosa.shape<4>, %c: !tosa.shape<2>, %d: !tosa.shape<2>) {
  // CHECK-NEXT: "tosa.resize"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{mode = #tosa.resize_mode<BILINEAR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
  %y = "tosa.resize"(%a, %b, %c, %d) <{mode = #tosa.resize_mode<BILINEAR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
  return
}

// CHECK-LABEL: @resize_nearest
func.func @resize_nearest(%a: tensor<1x8x8x3xf32>, %b: !tosa.shape<4>, %c: !tosa.shape<2>, %d: !tosa.shape<2>) {
  // CHECK-NEXT: "tosa.resize"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) <{mode = #tosa.resize_mode<NEAREST_NEIGHBOR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
  %y = "tosa.resize"(%a, %b, %c, %d) <{mode = #tosa.resize_mode<NEAREST_NEIGHBOR>}> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
  return
}

// CHECK-LABEL: @reverse
func.func @reverse(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.reverse"(%{{.*}}) <{axis = 1 : i32}> : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.reverse"(%a) <{axis = 1 : i32}> : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @slice
func.func @slice(%a: tensor<2x8xf32>, %b: !tosa.shape<2>, %c: !tosa.shape<2>) {
  // CHECK-NEXT: "tosa.slice"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x3xf32>
  %y = "tosa.slice"(%a, %b, %c) : (tensor<2x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<2x3xf32>
  return
}

// CHECK-LABEL: @tile
func.func @tile(%a: tensor<2x8xf32>, %b: !tosa.shape<2>) {
  // CHECK-NEXT: "tosa.tile"(%{{.*}}, %{{.*}}) : (tensor<2x8xf32>, !tosa.shape<2>) -> tensor<2x16xf32>
  %y = "tosa.tile"(%a, %b) : (tensor<2x8xf32>, !tosa.shape<2>) -> tensor<2x16xf32>
  return
}

// CHECK-LABEL: @transpose
func.func @transpose(%a: tensor<2x8xf32>) {
  // CHECK-NEXT: "tosa.transpose"(%{{.*}}) <{perms = array<i32: 1, 0>}> : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %y = "tosa.transpose"(%a) <{perms = array<i32: 1, 0>}> : (tensor<2x8xf32>) -> tensor<8x2xf32>
  return
}
