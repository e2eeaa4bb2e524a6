// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Splats, nested lists, rank-0 and empty tensors, integers of each kind, complex numbers.

// CHECK:      module {
// CHECK-NEXT:   func.func @elements() {
// CHECK-NEXT:     %0 = onnx.Constant dense<1.000000e+00> : tensor<2x3xf32>
// CHECK-NEXT:     %1 = onnx.Constant dense<{{\[\[}}1, 2], [3, 4]]> : tensor<2x2xi64>
// CHECK-NEXT:     %2 = onnx.Constant dense<7> : tensor<2x2xi64>
// CHECK-NEXT:     %3 = onnx.Constant dense<5> : tensor<1xi64>
// CHECK-NEXT:     %4 = onnx.Constant dense<5> : tensor<i64>
// CHECK-NEXT:     %5 = onnx.Constant dense<> : tensor<0xi64>
// CHECK-NEXT:     %6 = onnx.Constant dense<> : tensor<2x0x3xf32>
// CHECK-NEXT:     %7 = onnx.Constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT:     %8 = onnx.Constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT:     %9 = onnx.Constant dense<[-8, 7]> : tensor<2xi4>
// CHECK-NEXT:     %10 = onnx.Constant dense<[15, 0]> : tensor<2xui4>
// CHECK-NEXT:     %11 = onnx.Constant dense<[-128, 127]> : tensor<2xi8>
// CHECK-NEXT:     %12 = onnx.Constant dense<[255, 0]> : tensor<2xui8>
// CHECK-NEXT:     %13 = onnx.Constant dense<[18446744073709551615, 0]> : tensor<2xui64>
// CHECK-NEXT:     %14 = onnx.Constant dense<[(1.000000e+00,-2.000000e+00), (0.000000e+00,0x7F800000)]> : tensor<2xcomplex<f32>>
// CHECK-NEXT:     %15 = onnx.Constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     %16 = onnx.Constant dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @elements() {
  %0 = onnx.Constant dense<1.0> : tensor<2x3xf32>
  %1 = onnx.Constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %2 = onnx.Constant dense<[[7, 7], [7, 7]]> : tensor<2x2xi64>
  %3 = onnx.Constant dense<[5]> : tensor<1xi64>
  %4 = onnx.Constant dense<5> : tensor<i64>
  %5 = onnx.Constant dense<> : tensor<0xi64>
  %6 = onnx.Constant dense<> : tensor<2x0x3xf32>
  %7 = onnx.Constant dense<[true, false]> : tensor<2xi1>
  %8 = onnx.Constant dense<[1, 0]> : tensor<2xi1>
  %9 = onnx.Constant dense<[-8, 7]> : tensor<2xi4>
  %10 = onnx.Constant dense<[15, 0]> : tensor<2xui4>
  %11 = onnx.Constant dense<[-128, 127]> : tensor<2xi8>
  %12 = onnx.Constant dense<[255, 0]> : tensor<2xui8>
  %13 = onnx.Constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  %14 = onnx.Constant dense<[(1.0, -2.0), (0.0, 0x7F800000)]> : tensor<2xcomplex<f32>>
  %15 = onnx.Constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %16 = onnx.Constant dense<[0.0, -0.0]> : tensor<2xf32>
  onnx.Return
}
