// RUN: onnx-opt %s --cpu-pipeline="processor=avx2" --split-input-file | filecheck %s
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 threads=2" --split-input-file | filecheck %s --check-prefix=SHARED
// RUN: onnx-opt %s --cpu-pipeline="unsafe=true" --split-input-file | filecheck %s --check-prefix=UNSAFE
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 mem-alloc=best-fit" --split-input-file | filecheck %s
// RUN: onnx-opt %s --cpu-pipeline="processor=avx2 portable=true" --split-input-file | filecheck %s --check-prefix=PORTABLE

// A model becomes kernels and a function that calls them, whose argument is a table of buffer addresses.
// CHECK:       module {
// CHECK-NEXT:    llvm.func internal @relu_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK:         llvm.func @xonnc_run_0(%[[TABLE:[a-z0-9]+]]: !llvm.ptr)
// CHECK:           llvm.getelementptr inbounds %[[TABLE]]
// CHECK:           llvm.call @relu_0
// CHECK-NOT:     func.func
// With several threads, each kernel has a function that runs a range of iterations.
// SHARED:        llvm.func internal @{{.*}}step_0(%{{.*}}: !llvm.ptr, %[[FIRST:[a-z0-9]+]]: i64, %[[LAST:[a-z0-9]+]]: i64)
// SHARED:          llvm.call @relu_0({{.*}}, %[[FIRST]], %[[LAST]])
module attributes {onnx.opset_imports = {"" = 18 : i64}} {
  func.func @model(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
    %0 = "onnx.Relu"(%x) : (tensor<64x512xf32>) -> tensor<64x512xf32>
    onnx.Return %0 : tensor<64x512xf32>
  }
}

// -----

// An operation of the session, here the slicing of a data-dependent result, leaves the model in ONNX.
// CHECK-LABEL: func.func @model
// CHECK:         "onnx.NonZero"
module {
  func.func @model(%x: tensor<*xf32>) -> tensor<?x?xi64> {
    %0 = "onnx.NonZero"(%x) : (tensor<*xf32>) -> tensor<?x?xi64>
    onnx.Return %0 : tensor<?x?xi64>
  }
}

// -----

// Indices are checked for bounds except in unsafe mode; portable C source has a function for int8 dot products.
// CHECK:        llvm.func internal @bounds_0
// CHECK:        llvm.func internal @gather_1
// UNSAFE-NOT:   @bounds
// UNSAFE:       llvm.func internal @gather_0
func.func @rows(%x: tensor<4x8xf32>, %at: tensor<3xi64>) -> tensor<3x8xf32> {
  %0 = "onnx.Gather"(%x, %at) <{axis = 0 : si64}> : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  onnx.Return %0 : tensor<3x8xf32>
}

// -----

// CHECK-NOT:    vpdpbusd
// PORTABLE:     vpdpbusd
func.func @bytes(%x: tensor<2x16xui8>) -> tensor<2x16xui8> {
  %s = onnx.Constant dense<0.5> : tensor<f32>
  %z = onnx.Constant dense<7> : tensor<ui8>
  %w = onnx.Constant dense<3> : tensor<16x16xi8>
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<2x16xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x16xf32>
  %1 = "onnx.DequantizeLinear"(%w, %s, %n) : (tensor<16x16xi8>, tensor<f32>, none) -> tensor<16x16xf32>
  %2 = "onnx.MatMul"(%0, %1) : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
  %4 = "onnx.QuantizeLinear"(%2, %s, %z) : (tensor<2x16xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x16xui8>
  onnx.Return %4 : tensor<2x16xui8>
}
