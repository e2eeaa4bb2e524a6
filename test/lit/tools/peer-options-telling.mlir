// RUN: onnx-opt %s --cse -v 2>&1 | filecheck %s --check-prefix=VERBOSE
// RUN: onnx-opt %s --cse -v=false 2>&1 | filecheck %s --check-prefix=QUIET
// RUN: onnx-opt %s --cse --enable-timing 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: onnx-opt %s --onnx-op-stats=TXT 2>&1 | filecheck %s --check-prefix=TXT
// RUN: onnx-opt %s --onnx-op-stats=JSON 2>&1 | filecheck %s --check-prefix=JSON
// RUN: not onnx-opt %s --onnx-op-stats=XML 2>&1 | filecheck %s --check-prefix=XML
// RUN: onnx-opt %s --cse --shape-inference --report-heap-before=cse --report-heap-after=cse,shape-inference 2>&1 | filecheck %s --check-prefix=HEAP
// RUN: not onnx-opt %s --cse --report-heap-after=csee 2>&1 | filecheck %s --check-prefix=UNKNOWN

// onnx-mlir's diagnostic options.

// VERBOSE:     onnx-opt: cse
// VERBOSE:     module {
// QUIET-NOT:   onnx-opt: cse
// TIMING:      ===- pass timing: {{.*}} s -===
// TIMING-NEXT: {{[0-9.]+}} s {{.*}} cse
// TXT:         Operations encountered:
// TXT-NEXT:    -----------------------
// TXT-NEXT:      builtin.module , 1
// TXT-NEXT:         func.func   , 1
// TXT-NEXT:         onnx.Relu   , 1
// JSON:        "onnx.Relu" : 1,
// XML:         option '--onnx-op-stats' takes TXT, JSON, found 'XML'
// HEAP:        heap before cse: {{.*}}constants
// HEAP:        heap after cse: {{.*}}constants
// HEAP:        heap after shape-inference-onnx: {{.*}}constants
// UNKNOWN:     onnx-opt: no pass 'csee'; did you mean 'cse'?
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  onnx.Return %0 : tensor<4xf32>
}
