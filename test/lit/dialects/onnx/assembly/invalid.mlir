// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{takes 3 elements, the literal has 2}}
%0 = onnx.Constant dense<[1, 2]> : tensor<3xi64>

// -----

// expected-error@+1 {{undefined symbol alias '#nowhere'}}
%0 = onnx.Constant dense<1> : tensor<3xi64> loc(#nowhere)

// -----

// expected-error@+1 {{an elements attribute such as dense<1> : tensor<1xi64> is needed here}}
%0 = onnx.Constant "a"

// -----

// expected-error-re@+1 {{Operation onnx.{{[A-Z]}}othing is not registered}}
"onnx.Nothing"() : () -> ()

// -----

// expected-error@+1 {{ill-formed hex string: it begins with 0x}}
%0 = onnx.Constant #onnx.dense_disposable<1:"0000803F"> : tensor<1xf32>

// -----

// expected-error@+1 {{data size doesn't match type size: tensor<2xf32> takes 8 bytes of elements, or 4 for a splat; found 3}}
%0 = onnx.Constant #onnx.dense_disposable<1:"0x000080"> : tensor<2xf32>

// -----

// expected-error@+1 {{ill-formed constant: tensor<?xf32> is no tensor of numbers of static shape}}
%0 = onnx.Constant #onnx.dense_disposable<1:"0x0000803F"> : tensor<?xf32>

// -----

// expected-error@+1 {{ill-formed constant: tensor<1x!onnx.String> is no tensor of numbers of static shape}}
%0 = onnx.Constant #onnx.dense_disposable<1:"0x00"> : tensor<1x!onnx.String>

// -----

// expected-error@+1 {{or a string of hexadecimal digits}}
%0 = onnx.Constant #onnx.dense_disposable<1:gone> : tensor<1xf32>

// -----

// expected-error@+1 {{more than any memory holds}}
%0 = onnx.Constant #onnx.dense_disposable<1:"0x00"> : tensor<4611686018427387904xf32>

// -----

// expected-error@+1 {{unexpected data layout attribute value: NHWC}}
func.func private @f(tensor<1x4x1x1xf32, #onnx.layout<{dataLayout = "NHWC"}>>)

// -----

func.func @f(%x: tensor<1x4x1x1xf32>) {
  // expected-error@+1 {{'onnx.LayoutTransform' op}}
  %0 = "onnx.LayoutTransform"(%x) <{target_layout = "NCHW4C"}> : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  onnx.Return
}
