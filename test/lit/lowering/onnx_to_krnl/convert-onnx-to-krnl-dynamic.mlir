// RUN: onnx-opt %s --legalize-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl="dynamic-shapes=true" --parallelize-krnl --split-input-file | filecheck %s
// RUN: onnx-opt %s --legalize-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl="dynamic-shapes=true" --parallelize-krnl --split-input-file | onnx-opt --split-input-file | filecheck %s
// RUN: onnx-opt %s --legalize-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl="dynamic-shapes=true" --parallelize-krnl --convert-krnl-to-llvm --split-input-file | filecheck %s --check-prefix=LLVM
// RUN: onnx-opt %s --legalize-onnx --fuse-onnx --assign-layout --convert-onnx-to-krnl="dynamic-shapes=true threads=2" --parallelize-krnl --split-input-file | filecheck %s --check-prefix=THREADS

// Dynamic dimensions are computed at the start of the function and passed to kernels. Those of the same name must be
// equal.
// CHECK-LABEL: @sum
// CHECK:         %[[Z:.*]] = tensor.dim %{{.*}}, %[[C0:.*]] : tensor<?x8xf32>
// CHECK-NEXT:    %[[N:.*]] = tensor.dim %{{.*}}, %[[C0]] : tensor<?x8xf32>
// CHECK-NEXT:    "krnl.require"(%[[Z]], %[[N]]) <{what = "axis 0 of input 'z'"}> : (index, index) -> ()
// CHECK:         %[[COUNT:.*]] = arith.muli %{{.*}}, %[[N]] : index
// CHECK:         %[[Y:.*]] = memref.alloc(%[[N]]) : memref<?x8xf32>
// CHECK-NEXT:    "krnl.call"(%[[Y]], %{{.*}}, %{{.*}}, %[[COUNT]]) <{funcName = "relu_fused_0", iterationsOf = 3 : i64, numOfOutput = 1 : si64}>
// CHECK:         func.func private @relu_fused_0(%[[OUT:.*]]: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %[[SIZE:.*]]: index, %[[FIRST:.*]]: index, %[[LAST:.*]]: index)
// CHECK:         krnl.iterate({{.*}}) with ({{.*}} = %[[FIRST]] to %[[LAST]])
// The remainder that fills no vector is computed by a scalar loop.
// LLVM-LABEL:  llvm.func internal @relu_fused_0
// LLVM:          llvm.sdiv %{{.*}}, %{{.*}} : i64
// LLVM:          llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// LLVM:          llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
func.func @sum(%x: tensor<?x8xf32> {onnx.name = "x", onnx.dim_params = "0:N"}, %z: tensor<?x8xf32> {onnx.name = "z", onnx.dim_params = "0:N"}) -> tensor<?x8xf32> {
  %0 = "onnx.Add"(%x, %z) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  onnx.Return %1 : tensor<?x8xf32>
}

// -----

// Batched matrix products with dynamic dimensions: B is packed in panels as wide as the tile, unless A has no more rows than that.
// CHECK-LABEL: @products
// CHECK:         memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?x4x48xf32>
// CHECK:         arith.cmpi sle, %{{.*}}, %c8 : index
// CHECK:         "krnl.gemm"({{.*}}) <{dynamic_batch = array<i64: 1, 1>, k = 4 : i64, m = -9223372036854775808 : i64, n = -9223372036854775808 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 2, 3>, tile = array<i64: 8, 48>}>
// CHECK:         "krnl.gemm"({{.*}}) <{dynamic_batch = array<i64: 1, 1>, k = 4 : i64, m = -9223372036854775808 : i64, n = -9223372036854775808 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 2, 3>, packed, rows_first, tile = array<i64: 8, 48>}>
// LLVM-LABEL:  llvm.func internal @gemm_2
// LLVM:          llvm.call_intrinsic "llvm.smin.i64"
// LLVM:          llvm.intr.fma
func.func @products(%a: tensor<?x?x4xf32> {onnx.name = "a", onnx.dim_params = "0:B,1:S"}, %b: tensor<?x4x?xf32> {onnx.name = "b", onnx.dim_params = "0:B,2:S"}) -> tensor<?x?x?xf32> {
  %0 = "onnx.MatMul"(%a, %b) : (tensor<?x?x4xf32>, tensor<?x4x?xf32>) -> tensor<?x?x?xf32>
  onnx.Return %0 : tensor<?x?x?xf32>
}

// -----

// Dynamic batch: the rows of all images are the parallel iterations, so that their number is dynamic too.
// CHECK-LABEL: @images
// CHECK:         %[[N:.*]] = tensor.dim
// CHECK:         %[[TURNS:.*]] = arith.muli %{{.*}}, %[[N]] : index
// CHECK:         "krnl.call"({{.*}}, %[[N]], %[[TURNS]]) <{funcName = "conv_1", iterationsOf = 4 : i64, numOfOutput = 1 : si64}>
// CHECK:         "krnl.conv"
// CHECK-SAME:    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 2, 1>
// LLVM-LABEL:  llvm.func internal @conv_1
// LLVM:          llvm.udiv
func.func @images(%x: tensor<?x16x4x4xf32> {onnx.name = "x", onnx.dim_params = "0:N"}) -> tensor<?x16x4x4xf32> {
  %w = onnx.Constant dense<1.0> : tensor<16x16x1x1xf32>
  %n = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Conv"(%x, %w, %n) {kernel_shape = [1, 1]} : (tensor<?x16x4x4xf32>, tensor<16x16x1x1xf32>, none) -> tensor<?x16x4x4xf32>
  onnx.Return %0 : tensor<?x16x4x4xf32>
}

// -----

// A computed shape operand is omitted where dimensions determine the shape; a mismatch of elements fails at run time.
// CHECK-LABEL: @reshaped
// CHECK:         %[[N:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?x4xf32>
// CHECK:         "krnl.require"(%{{.*}}, %{{.*}}) <{what = "onnx.Reshape: the number of elements"}>
// CHECK-NOT:     onnx.Shape
// CHECK:         "krnl.shaped"(%{{.*}}, %[[N]]) : (memref<?x4xf32>, index) -> memref<?x2xf32>
func.func @reshaped(%x: tensor<?x4xf32> {onnx.name = "x", onnx.dim_params = "0:N"}) -> tensor<?x2xf32> {
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %n = "onnx.Shape"(%x) {start = 0 : si64, end = 1 : si64} : (tensor<?x4xf32>) -> tensor<1xi64>
  %s = "onnx.Concat"(%n, %two) {axis = 0 : si64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %s) : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  onnx.Return %0 : tensor<?x2xf32>
}

// -----

// An operator without a kernel for dynamic shapes stays.
// CHECK-LABEL: @stays
// CHECK:         "onnx.LSTM"
func.func @stays(%x: tensor<?x2x3xf32> {onnx.name = "x", onnx.dim_params = "0:S"}, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>) -> tensor<?x1x2x4xf32> {
  %n = "onnx.NoValue"() {value} : () -> none
  %y, %h, %c = "onnx.LSTM"(%x, %w, %r, %n, %n, %n, %n, %n) {hidden_size = 4 : si64} : (tensor<?x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, none, none, none, none, none) -> (tensor<?x1x2x4xf32>, none, none)
  onnx.Return %y : tensor<?x1x2x4xf32>
}

// -----

// Recurrent layers are parallelised over a static number of rows, so that threads > 1 excludes dynamic shapes.
// CHECK-LABEL:   func.func @recurrent
// CHECK-NOT:       krnl.no_kernel
// THREADS-LABEL: func.func @recurrent
// THREADS:         "onnx.LSTM"({{.*}}krnl.no_kernel = "
func.func @recurrent(%x: tensor<?x2x8xf32> {onnx.name = "x", onnx.dim_params = "0:T"}) -> tensor<?x1x2x6xf32> {
  %w = onnx.Constant dense<0.5> : tensor<1x24x8xf32>
  %r = onnx.Constant dense<0.5> : tensor<1x24x6xf32>
  %n = "onnx.NoValue"() <{value}> : () -> none
  %0, %1, %2 = "onnx.LSTM"(%x, %w, %r, %n, %n, %n, %n, %n) <{hidden_size = 6 : si64}> : (tensor<?x2x8xf32>, tensor<1x24x8xf32>, tensor<1x24x6xf32>, none, none, none, none, none) -> (tensor<?x1x2x6xf32>, none, none)
  onnx.Return %0 : tensor<?x1x2x6xf32>
}

// -----

// Images of dynamic height and width: rows and columns are arguments of the integer kernel, zero points lie around them.
// CHECK-LABEL: @integers
// CHECK:         %[[H:.*]] = tensor.dim
// CHECK:         %[[W:.*]] = tensor.dim
// CHECK:         "krnl.call"({{.*}}) <{funcName = "halo_
// CHECK:         "krnl.call"({{.*}}, %[[H]], %[[W]], %{{.*}}) <{funcName = "int8_conv_
// CHECK:         "krnl.int8_conv"({{.*}}) <{{{.*}}out = array<i64: -9223372036854775808, -9223372036854775808>
// LLVM-LABEL:  llvm.func internal @int8_conv_
// LLVM:          llvm.add
// THREADS-LABEL: @integers
func.func @integers(%x: tensor<1x4x?x?xui8> {onnx.name = "x", onnx.dim_params = "2:H,3:W"}) -> tensor<1x16x?x?xi32> {
  %w = onnx.Constant {value = dense<1> : tensor<16x4x3x3xi8>} : tensor<16x4x3x3xi8>
  %zero = onnx.Constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.ConvInteger"(%x, %w, %zero, %none) {pads = [1, 1, 1, 1], kernel_shape = [3, 3]} : (tensor<1x4x?x?xui8>, tensor<16x4x3x3xi8>, tensor<ui8>, none) -> tensor<1x16x?x?xi32>
  onnx.Return %0 : tensor<1x16x?x?xi32>
}

// -----

// The pads of SAME depend on the number of columns, which windows take two at a time: there is a column of zeros on
// either side, and the first window begins in one or the other.
// CHECK-LABEL: @same
// CHECK:         %[[W:.*]] = tensor.dim
// CHECK:         "krnl.call"({{.*}}) <{funcName = "halo_
// CHECK:         "krnl.conv"({{.*}}) <{{{.*}}start = array<i64: 0, -9223372036854775808>, strides = array<i64: 1, 2>
// LLVM-LABEL:  llvm.func internal @conv_
// THREADS-LABEL: @same
func.func @same(%x: tensor<1x16x4x?xf32> {onnx.name = "x", onnx.dim_params = "3:W"}) -> tensor<1x16x4x?xf32> {
  %w = onnx.Constant {value = dense<1.0> : tensor<16x16x3x3xf32>} : tensor<16x16x3x3xf32>
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) {auto_pad = "SAME_UPPER", strides = [1, 2], kernel_shape = [3, 3]} : (tensor<1x16x4x?xf32>, tensor<16x16x3x3xf32>, none) -> tensor<1x16x4x?xf32>
  onnx.Return %0 : tensor<1x16x4x?xf32>
}
