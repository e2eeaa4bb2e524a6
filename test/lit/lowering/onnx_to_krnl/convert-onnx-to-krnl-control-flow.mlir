// RUN: onnx-opt %s --convert-onnx-to-krnl --split-input-file | filecheck %s

// Both branches write to the buffer of the result.
// CHECK-LABEL: @branch
// CHECK:         %[[C:.*]] = memref.load %{{.*}}[] : memref<i1>
// CHECK-NEXT:    %[[Y:.*]] = memref.alloc() : memref<3xf32>
// CHECK-NEXT:    scf.if %[[C]] {
// CHECK:           funcName = "neg_0"
// CHECK:           "krnl.call"(%[[Y]], %{{.*}}) <{funcName = "copy_1"
// CHECK:         } else {
// CHECK:           "krnl.call"(%[[Y]], %{{.*}}) <{funcName = "copy_1"
// CHECK-NOT:     "onnx.If"
func.func @branch(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "onnx.If"(%c) ({
    %1 = "onnx.Neg"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %1 : tensor<3xf32>
  }, {
    onnx.Yield %x : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}

// -----

// A loop-carried value is in the buffer of the result, which is initialised before the loop.
// CHECK-LABEL: @loop
// CHECK:         %[[Y:.*]] = memref.alloc() : memref<3xf32>
// CHECK:         "krnl.call"(%[[Y]], %{{.*}}) <{funcName = "copy
// CHECK:         "krnl.call"(%[[GO:.*]], %[[ON:.*]], %[[TURN:.*]], %[[M:.*]]) <{funcName = "loop_condition
// CHECK-NEXT:    scf.while () : () -> () {
// CHECK-NEXT:      %[[C:.*]] = memref.load %[[GO]][] : memref<i1>
// CHECK-NEXT:      scf.condition(%[[C]])
// CHECK-NEXT:    } do {
// CHECK:           funcName = "relu_0"
// CHECK:           "krnl.call"(%[[Y]], %{{.*}}) <{funcName = "copy
// CHECK-NEXT:      "krnl.call"(%[[TURN]]) <{funcName = "loop_counter
// CHECK-NEXT:      "krnl.call"(%[[GO]], %[[ON]], %[[TURN]], %[[M]]) <{funcName = "loop_condition
// CHECK-NEXT:      scf.yield
func.func @loop(%m: tensor<i64>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Loop"(%m, %none, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %before: tensor<3xf32>):
    %1 = "onnx.Relu"(%before) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %go, %1 : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, none, tensor<3xf32>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}

// -----

// Each iteration reads a subview of the scan input and writes a subview of the scan output.
// CHECK-LABEL: @scan
// CHECK:         %[[Y:.*]] = memref.alloc() : memref<4x3xf32>
// CHECK:         scf.while
// CHECK:           "krnl.call"(%[[PART:.*]], %{{.*}}, %[[TURN:.*]]) <{funcName = "scan_slice
// CHECK:           funcName = "neg_0"
// CHECK:           "krnl.call"(%[[Y]], %{{.*}}, %[[TURN]]) <{funcName = "scan_slice
func.func @scan(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = "onnx.Scan"(%x) ({
  ^bb0(%part: tensor<3xf32>):
    %1 = "onnx.Neg"(%part) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %1 : tensor<3xf32>
  }) {num_scan_inputs = 1 : si64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  onnx.Return %0 : tensor<4x3xf32>
}

// -----

// The number of scan outputs is data-dependent: native code runs strips of iterations, which the session joins.
// CHECK-LABEL: @stacked
// CHECK:         "krnl.strip_mined_loop"(%{{.*}}, %{{.*}}) <{rows = 256 : i64}> ({
// CHECK-NEXT:    ^bb0(%[[FIRST:.*]]: tensor<i64>, %[[END:.*]]: tensor<i64>):
// CHECK:           %[[ROWS:.*]] = memref.alloc() : memref<256x3xf32>
// CHECK:           scf.while
// CHECK:             funcName = "neg_0"
// CHECK:             "krnl.call"(%[[ROWS]], %{{.*}}, %[[ROW:.*]]) <{funcName = "scan_slice
// CHECK-NEXT:        "krnl.call"(%[[TURN:.*]]) <{funcName = "loop_counter
// CHECK-NEXT:        "krnl.call"(%[[ROW]]) <{funcName = "loop_counter
// CHECK:           krnl.yield %{{.*}} : tensor<i1>, tensor<i64>, tensor<256x3xf32>
// CHECK-NEXT:    }) : (tensor<i64>, none) -> tensor<?x3xf32>
// CHECK-NOT:     "onnx.Loop"
func.func @stacked(%m: tensor<i64>, %x: tensor<3xf32>) -> tensor<?x3xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Loop"(%m, %none) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    %1 = "onnx.Neg"(%x) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %go, %1 : tensor<i1>, tensor<3xf32>
  }) : (tensor<i64>, none) -> tensor<?x3xf32>
  onnx.Return %0 : tensor<?x3xf32>
}

// -----

// A strip has no more rows than the loop has iterations, and rows of 256 KiB together.
// CHECK-LABEL: @few
// CHECK:         "krnl.strip_mined_loop"(%{{.*}}, %{{.*}}, %{{.*}}) <{rows = 5 : i64}>
// CHECK-LABEL: @large
// CHECK:         "krnl.strip_mined_loop"(%{{.*}}, %{{.*}}) <{rows = 2 : i64}>
func.func @few(%c: tensor<i1>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>) {
  %m = onnx.Constant dense<5> : tensor<i64>
  %0:2 = "onnx.Loop"(%m, %c, %x) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %before: tensor<3xf32>):
    %1 = "onnx.Neg"(%before) : (tensor<3xf32>) -> tensor<3xf32>
    onnx.Yield %go, %1, %before : tensor<i1>, tensor<3xf32>, tensor<3xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<3xf32>) -> (tensor<3xf32>, tensor<?x3xf32>)
  onnx.Return %0#0, %0#1 : tensor<3xf32>, tensor<?x3xf32>
}
func.func @large(%m: tensor<i64>, %x: tensor<32768xf32>) -> tensor<?x32768xf32> {
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Loop"(%m, %none) ({
  ^bb0(%i: tensor<i64>, %go: tensor<i1>):
    onnx.Yield %go, %x : tensor<i1>, tensor<32768xf32>
  }) : (tensor<i64>, none) -> tensor<?x32768xf32>
  onnx.Return %0 : tensor<?x32768xf32>
}

// -----

// A branch that is an assertion makes the run fail if it is taken.
// CHECK-LABEL: @assertion
// CHECK:         %[[CHECKED:.*]] = memref.alloc() {krnl.check = {least = 0 : i64, message = "no shapes fit", most = 0 : i64}} : memref<2xi64>
// CHECK:         scf.if
// CHECK:         } else {
// CHECK:           "krnl.call"(%[[CELL:.*]]) <{funcName = "fill
// CHECK:           "krnl.call"(%[[CHECKED]], %[[CELL]]) <{funcName = "merge_bounds
// CHECK-NOT:     cf.assert
func.func @assertion(%c: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<3xf32>
  }, {
    %false = arith.constant false
    cf.assert %false, "no shapes fit"
    %1 = ub.poison : tensor<3xf32>
    onnx.Yield %1 : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}
