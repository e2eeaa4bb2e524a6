// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-op-generic | onnx-opt | filecheck %s

// A hexadecimal literal is the bit pattern of a float of any width; NaN and infinities are written this way.

// CHECK:      module {
// CHECK-NEXT:   func.func @bits() {
// CHECK-NEXT:     %0 = onnx.Constant dense<0x7F800000> : tensor<2xf32>
// CHECK-NEXT:     %1 = onnx.Constant dense<[0xFF800000, 0x7FC00000, 0x7F800001, 1.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:     %2 = onnx.Constant dense<[0x7FF0000000000000, 0xFFF8000000000000]> : tensor<2xf64>
// CHECK-NEXT:     %3 = onnx.Constant dense<[0x7C00, 0xFC00, 0x7E00, 1.000000e+00]> : tensor<4xf16>
// CHECK-NEXT:     %4 = onnx.Constant dense<[0x7F80, 0xFF80, 0x7FC0, 1.000000e+00]> : tensor<4xbf16>
// CHECK-NEXT:     %5 = onnx.Constant dense<[0x7F, 0xFF, 1.000000e+00]> : tensor<3xf8E4M3FN>
// CHECK-NEXT:     %6 = onnx.Constant dense<[0x80, 1.000000e+00]> : tensor<2xf8E4M3FNUZ>
// CHECK-NEXT:     %7 = onnx.Constant dense<[0x7C, 0xFC, 0x7F, 1.000000e+00]> : tensor<4xf8E5M2>
// CHECK-NEXT:     %8 = onnx.Constant dense<[0x80, 1.000000e+00]> : tensor<2xf8E5M2FNUZ>
// CHECK-NEXT:     %9 = onnx.Constant dense<0x7FC0> : tensor<bf16>
// CHECK-NEXT:     %10 = onnx.Constant {value_float = 0x7F800000 : f32} : tensor<f32>
// CHECK-NEXT:     %11 = onnx.Constant {value_floats = [0xFF800000 : f32, 1.000000e+00 : f32]} : tensor<2xf32>
// CHECK-NEXT:     %cst = arith.constant 0x7FC0 : bf16
// CHECK-NEXT:     onnx.Return
// CHECK-NEXT:   }
// CHECK-NEXT: }
func.func @bits() {
  %0 = onnx.Constant dense<0x7F800000> : tensor<2xf32>
  %1 = onnx.Constant dense<[0xFF800000, 0x7FC00000, 0x7F800001, 0x3F800000]> : tensor<4xf32>
  %2 = onnx.Constant dense<[0x7FF0000000000000, 0xFFF8000000000000]> : tensor<2xf64>
  %3 = onnx.Constant dense<[0x7C00, 0xFC00, 0x7E00, 0x3C00]> : tensor<4xf16>
  %4 = onnx.Constant dense<[0x7F80, 0xFF80, 0x7FC0, 0x3F80]> : tensor<4xbf16>
  %5 = onnx.Constant dense<[0x7F, 0xFF, 0x38]> : tensor<3xf8E4M3FN>
  %6 = onnx.Constant dense<[0x80, 0x40]> : tensor<2xf8E4M3FNUZ>
  %7 = onnx.Constant dense<[0x7C, 0xFC, 0x7F, 0x3C]> : tensor<4xf8E5M2>
  %8 = onnx.Constant dense<[0x80, 0x40]> : tensor<2xf8E5M2FNUZ>
  %9 = onnx.Constant dense<0x7FC0> : tensor<bf16>
  %10 = onnx.Constant {value_float = 0x7F800000 : f32} : tensor<f32>
  %11 = onnx.Constant {value_floats = [0xFF800000 : f32, 1.0 : f32]} : tensor<2xf32>
  %12 = arith.constant 0x7FC0 : bf16
  onnx.Return
}
