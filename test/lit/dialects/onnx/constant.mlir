// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Constants with each of the value attributes of ONNX.

// CHECK-LABEL: @constants
// CHECK-NEXT:    onnx.Constant dense<[5, 2]> : tensor<2xi64>
// CHECK-NEXT:    onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<*xi64>
// CHECK-NEXT:    onnx.Constant {value_float = 1.000000e+00 : f32} : tensor<f32>
// CHECK-NEXT:    onnx.Constant {value_floats = [1.000000e+00 : f32]} : tensor<1xf32>
// CHECK-NEXT:    onnx.Constant {value_int = 1 : si64} : tensor<i64>
// CHECK-NEXT:    onnx.Constant {value_ints = [1, 2]} : tensor<2xi64>
// CHECK-NEXT:    onnx.Constant {value_string = "a"} : tensor<!onnx.String>
// CHECK-NEXT:    onnx.Constant {value_strings = ["a", "b"]} : tensor<2x!onnx.String>
// CHECK-NEXT:    onnx.Constant sparse<{{.*}}> : tensor<3xf32>
// CHECK-NEXT:    onnx.Constant dense<["a", "b"]> : tensor<2x!onnx.String>
func.func @constants() {
  %0 = onnx.Constant dense<[5, 2]> : tensor<2xi64>
  %1 = onnx.Constant {value = dense<1> : tensor<1xi64>} : tensor<*xi64>
  %2 = onnx.Constant {value_float = 1.0 : f32} : tensor<f32>
  %3 = onnx.Constant {value_floats = [1.0 : f32]} : tensor<1xf32>
  %4 = onnx.Constant {value_int = 1 : si64} : tensor<i64>
  %5 = onnx.Constant {value_ints = [1, 2]} : tensor<2xi64>
  %6 = onnx.Constant {value_string = "a"} : tensor<!onnx.String>
  %7 = onnx.Constant {value_strings = ["a", "b"]} : tensor<2x!onnx.String>
  %8 = onnx.Constant sparse<[[0]], 1.0> : tensor<3xf32>
  %9 = onnx.Constant dense<["a", "b"]> : tensor<2x!onnx.String>
  onnx.Return
}

// CHECK-LABEL: @of_shape
// CHECK:         onnx.ConstantOfShape(%{{.+}}) {value = dense<1.000000e+00> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
// CHECK-NEXT:    onnx.ConstantOfShape(%{{.+}}) : (tensor<2xi64>) -> tensor<?x?xf32>
func.func @of_shape(%arg0: tensor<2xi64>) {
  %0 = onnx.ConstantOfShape(%arg0) {value = dense<1.0> : tensor<1xf32>} : (tensor<2xi64>) -> tensor<?x?xf32>
  %1 = "onnx.ConstantOfShape"(%arg0) : (tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return
}
