// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s --mlir-elide-elementsattrs-if-larger=3 | filecheck %s --check-prefix=ELIDED
// RUN: onnx-opt %s --mlir-elide-elementsattrs-if-larger 3 | onnx-opt | filecheck %s --check-prefix=ELIDED
// RUN: onnx-opt %s --mlir-print-elementsattrs-with-hex-if-larger=3 | filecheck %s --check-prefix=HEX
// RUN: onnx-opt %s --mlir-print-elementsattrs-with-hex-if-larger=3 | onnx-opt | filecheck %s
// RUN: onnx-opt %s --mlir-print-elementsattrs-with-hex-if-larger=-1 | filecheck %s --check-prefix=PLAIN
// RUN: onnx-opt %s --constprop-onnx --mlir-elide-elementsattrs-if-larger=3 | filecheck %s --check-prefix=FOLDED

// Large constants are elided, or hexadecimal above 100 elements; a splat is never large.

// CHECK-LABEL:  @large
// CHECK-NEXT:     onnx.Constant dense<[1, 2, 3, 4]> : tensor<4xi8>
// CHECK-NEXT:     onnx.Constant dense<7> : tensor<1000xi8>
// CHECK-NEXT:     onnx.Constant dense<[1, 2, 3]> : tensor<3xi8>
// CHECK-NEXT:     onnx.Constant dense<"0x{{(00|01)+}}"> : tensor<101xui8>

// ELIDED-LABEL: @large
// ELIDED-NEXT:    onnx.Constant dense_resource<__elided__> : tensor<4xi8>
// ELIDED-NEXT:    onnx.Constant dense<7> : tensor<1000xi8>
// ELIDED-NEXT:    onnx.Constant dense<[1, 2, 3]> : tensor<3xi8>
// ELIDED-NEXT:    onnx.Constant dense_resource<__elided__> : tensor<101xui8>

// HEX-LABEL:    @large
// HEX-NEXT:       onnx.Constant dense<"0x01020304"> : tensor<4xi8>
// HEX-NEXT:       onnx.Constant dense<7> : tensor<1000xi8>
// HEX-NEXT:       onnx.Constant dense<[1, 2, 3]> : tensor<3xi8>

// PLAIN-LABEL:  @large
// PLAIN:          onnx.Constant dense<[1, 0, 1, {{.*}}, 0, 1]> : tensor<101xui8>

// A constant that constant folding made is elided in the same way.
// FOLDED-LABEL: @folded
// FOLDED:         onnx.Constant dense_resource<__elided__> : tensor<4xi8>
func.func @large() {
  %0 = onnx.Constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %1 = onnx.Constant dense<7> : tensor<1000xi8>
  %2 = onnx.Constant dense<[1, 2, 3]> : tensor<3xi8>
  %3 = onnx.Constant dense<"0x0100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001000100010001"> : tensor<101xui8>
  onnx.Return
}
func.func @folded() -> tensor<4xi8> {
  %0 = onnx.Constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %1 = onnx.Constant dense<[1, 1, 1, 2]> : tensor<4xi8>
  %2 = "onnx.Add"(%0, %1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  onnx.Return %2 : tensor<4xi8>
}
