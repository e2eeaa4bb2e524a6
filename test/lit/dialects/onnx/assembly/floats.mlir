// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// Six digits if they round-trip, else as many as do; a literal without a decimal point would then be hexadecimal.
// (docs/internals/onnx-rules.md §4.3)

// CHECK:      module {
// CHECK-NEXT:   func.func @digits() {
// CHECK-NEXT:     %0 = onnx.Constant dense<[0.000000e+00, -0.000000e+00, -5.000000e-01, 1.000000e-01, 0.00999999977, 0.699999988, 0.333333343, 9.99999974E-6, 3.140000e+00, 1.234560e+02]> : tensor<10xf32>
// CHECK-NEXT:     %1 = onnx.Constant dense<[12345.6777, 1.000000e+10, 0x4996B438, 0x4B800000, 3.40282347E+38, 1.401300e-45]> : tensor<6xf32>
// CHECK-NEXT:     %2 = onnx.Constant dense<[1.000000e-01, 1.000000e-02, 3.1415926535897931, 1.000000e+300, 0x4132D68700000000]> : tensor<5xf64>
// CHECK-NEXT:     %3 = onnx.Constant dense<[9.997550e-02, 6.550400e+04, 5.960460e-08]> : tensor<3xf16>
// CHECK-NEXT:     %4 = onnx.Constant dense<[1.000980e-01, 3.140630e+00, 9.969200e+37]> : tensor<3xbf16>
// CHECK-NEXT:     %5 = onnx.Constant dense<[4.480000e+02, 1.953130e-03]> : tensor<2xf8E4M3FN>
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @digits() {
  %0 = onnx.Constant dense<[0.0, -0.0, -0.5, 0.1, 0.01, 0.7, 0.333333343, 1.0e-5, 3.14, 123.456]> : tensor<10xf32>
  %1 = onnx.Constant dense<[12345.678, 1.0e10, 1234567.0, 16777216.0, 3.4028234663852886e38, 1.0e-45]> : tensor<6xf32>
  %2 = onnx.Constant dense<[0.1, 0.01, 3.141592653589793, 1.0e300, 1234567.0]> : tensor<5xf64>
  %3 = onnx.Constant dense<[0.1, 65504.0, 6.0e-8]> : tensor<3xf16>
  %4 = onnx.Constant dense<[0.1, 3.14, 1.0e38]> : tensor<3xbf16>
  %5 = onnx.Constant dense<[448.0, 0.001953125]> : tensor<2xf8E4M3FN>
  onnx.Return
}
