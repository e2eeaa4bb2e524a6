// RUN: onnx-opt %s --verify-diagnostics --split-input-file

%0, %1 = "test.op"() : () -> (vector<4xi32>, vector<4xi32>)
// expected-error @+1 {{'llvm.fcmp' op compares floats or vectors of them, not vector<4xi32>}}
%2 = "llvm.fcmp"(%0, %1) <{predicate = 4 : i64, fastmathFlags = #llvm.fastmath<none>}> : (vector<4xi32>, vector<4xi32>) -> vector<4xi1>

// -----

%0, %1 = "test.op"() : () -> (vector<4xf32>, f32)
// expected-error @+1 {{'llvm.fcmp' op compares values of one type, not vector<4xf32> with f32}}
%2 = "llvm.fcmp"(%0, %1) <{predicate = 4 : i64, fastmathFlags = #llvm.fastmath<none>}> : (vector<4xf32>, f32) -> vector<4xi1>

// -----

%0, %1 = "test.op"() : () -> (vector<4xf32>, vector<4xf32>)
// expected-error @+1 {{'llvm.fcmp' op on vector<4xf32> gives vector<4xi1>, not i1}}
%2 = "llvm.fcmp"(%0, %1) <{predicate = 4 : i64, fastmathFlags = #llvm.fastmath<none>}> : (vector<4xf32>, vector<4xf32>) -> i1

// -----

%c, %0 = "test.op"() : () -> (i1, f32)
// expected-error @+1 {{'llvm.select' op gives what it is given, f32, not f64}}
%1 = "llvm.select"(%c, %0, %0) <{fastmathFlags = #llvm.fastmath<none>}> : (i1, f32, f32) -> f64

// -----

%c, %0 = "test.op"() : () -> (vector<2xi1>, vector<4xf32>)
// expected-error @+1 {{'llvm.select' op takes vector<4xi1> to choose by, not vector<2xi1>}}
%1 = "llvm.select"(%c, %0, %0) <{fastmathFlags = #llvm.fastmath<none>}> : (vector<2xi1>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>

// -----

%c, %0 = "test.op"() : () -> (i1, f32)
// expected-error @+2 {{'llvm.select' takes 3 operands and the types of the first and the last}}
%1 = llvm.select %c, %0 : i1, f32
