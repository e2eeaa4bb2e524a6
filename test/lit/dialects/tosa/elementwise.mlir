// RUN: onnx-opt %s | onnx-opt | filecheck %s

// CHECK-LABEL: @abs
func.func @abs(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.abs"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.abs"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @ceil
func.func @ceil(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.ceil"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.ceil"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @erf
func.func @erf(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.erf"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.erf"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @exp
func.func @exp(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.exp"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.exp"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @floor
func.func @floor(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.floor"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.floor"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @log
func.func @log(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.log"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.log"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @rsqrt
func.func @rsqrt(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.rsqrt"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.rsqrt"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @sigmoid
func.func @sigmoid(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.sigmoid"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.sigmoid"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @tanh
func.func @tanh(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.tanh"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %y = "tosa.tanh"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  return
}

// CHECK-LABEL: @logical_not
func.func @logical_not(%a: tensor<4xi1>) {
  // CHECK-NEXT: "tosa.logical_not"(%{{.*}}) : (tensor<4xi1>) -> tensor<4xi1>
  %y = "tosa.logical_not"(%a) : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @maximum
func.func @maximum(%a: tensor<1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.maximum"(%{{.*}}, %{{.*}}) <{nan_mode = #tosa.nan_mode<IGNORE>}> : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = "tosa.maximum"(%a, %b) <{nan_mode = #tosa.nan_mode<IGNORE>}> : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @minimum
func.func @minimum(%a: tensor<1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.minimum"(%{{.*}}, %{{.*}}) <{nan_mode = #tosa.nan_mode<IGNORE>}> : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = "tosa.minimum"(%a, %b) <{nan_mode = #tosa.nan_mode<IGNORE>}> : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @pow
func.func @pow(%a: tensor<1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.pow"(%{{.*}}, %{{.*}}) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = "tosa.pow"(%a, %b) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @equal
func.func @equal(%a: tensor<1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.equal"(%{{.*}}, %{{.*}}) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xi1>
  %y = "tosa.equal"(%a, %b) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xi1>
  return
}

// CHECK-LABEL: @greater
func.func @greater(%a: tensor<1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.greater"(%{{.*}}, %{{.*}}) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xi1>
  %y = "tosa.greater"(%a, %b) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xi1>
  return
}

// CHECK-LABEL: @greater_equal
func.func @greater_equal(%a: tensor<1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.greater_equal"(%{{.*}}, %{{.*}}) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xi1>
  %y = "tosa.greater_equal"(%a, %b) : (tensor<1x4xf32>, tensor<2x1xf32>) -> tensor<2x4xi1>
  return
}

// CHECK-LABEL: @intdiv
func.func @intdiv(%a: tensor<4xi32>, %b: tensor<1xi32>) {
  // CHECK-NEXT: "tosa.intdiv"(%{{.*}}, %{{.*}}) : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  %y = "tosa.intdiv"(%a, %b) : (tensor<4xi32>, tensor<1xi32>) -> tensor<4xi32>
  return
}

// CHECK-LABEL: @logical_and
func.func @logical_and(%a: tensor<4xi1>, %b: tensor<1xi1>) {
  // CHECK-NEXT: "tosa.logical_and"(%{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  %y = "tosa.logical_and"(%a, %b) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @logical_or
func.func @logical_or(%a: tensor<4xi1>, %b: tensor<1xi1>) {
  // CHECK-NEXT: "tosa.logical_or"(%{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  %y = "tosa.logical_or"(%a, %b) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @logical_xor
func.func @logical_xor(%a: tensor<4xi1>, %b: tensor<1xi1>) {
  // CHECK-NEXT: "tosa.logical_xor"(%{{.*}}, %{{.*}}) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  %y = "tosa.logical_xor"(%a, %b) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @cast
func.func @cast(%a: tensor<1x8x8x3xf32>) {
  // CHECK-NEXT: "tosa.cast"(%{{.*}}) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xi8>
  %y = "tosa.cast"(%a) : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xi8>
  return
}

// CHECK-LABEL: @select
func.func @select(%a: tensor<1x4xi1>, %b: tensor<2x4xf32>, %c: tensor<2x1xf32>) {
  // CHECK-NEXT: "tosa.select"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x4xi1>, tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %y = "tosa.select"(%a, %b, %c) : (tensor<1x4xi1>, tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: @table
func.func @table(%a: tensor<1x8x8x3xi8>, %b: tensor<256xi8>) {
  // CHECK-NEXT: "tosa.table"(%{{.*}}, %{{.*}}) : (tensor<1x8x8x3xi8>, tensor<256xi8>) -> tensor<1x8x8x3xi8>
  %y = "tosa.table"(%a, %b) : (tensor<1x8x8x3xi8>, tensor<256xi8>) -> tensor<1x8x8x3xi8>
  return
}

// CHECK-LABEL: @table_of_16_bits
func.func @table_of_16_bits(%a: tensor<4xi16>, %b: tensor<513xi16>) {
  // CHECK-NEXT: "tosa.table"(%{{.*}}, %{{.*}}) : (tensor<4xi16>, tensor<513xi16>) -> tensor<4xi32>
  %y = "tosa.table"(%a, %b) : (tensor<4xi16>, tensor<513xi16>) -> tensor<4xi32>
  return
}
