// RUN: not onnx-opt %s --no-such-pass 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not onnx-opt %s.missing 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not onnx-opt %s 2>&1 | filecheck %s --check-prefix=OP

// PASS: onnx-opt: no pass or option 'no-such-pass'
// FILE: onnx-opt: {{.*}}onnx-opt-errors.mlir.missing: No such file or directory
// OP:      onnx-opt-errors.mlir:11:6: error: 'onnx.Relu' op expected 1 operand
// OP-NEXT: %0 = "onnx.Relu"()
// OP-NEXT:      ^

%0 = "onnx.Relu"() : () -> tensor<1xf32>
