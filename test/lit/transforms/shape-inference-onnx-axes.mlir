// RUN: onnx-opt %s --shape-inference --split-input-file | filecheck %s

// `shape-inference-onnx` writes axes and steps as constants.

// Negative axes count from the end of the result of Unsqueeze, in their order.
// CHECK-LABEL: func.func @unsqueeze
// CHECK:         %[[AXES:.+]] = onnx.Constant dense<[3, 0]> : tensor<2xi64>
// CHECK-NEXT:    "onnx.Unsqueeze"(%arg0, %[[AXES]]) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<1x2x3x1xf32>
func.func @unsqueeze(%x: tensor<2x3xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<[-1, 0]> : tensor<2xi64>
  %0 = "onnx.Unsqueeze"(%x, %axes) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @squeeze
// CHECK:         %[[AXES:.+]] = onnx.Constant dense<2> : tensor<1xi64>
// CHECK-NEXT:    "onnx.Squeeze"(%arg0, %[[AXES]]) : (tensor<2x3x1xf32>, tensor<1xi64>) -> tensor<2x3xf32>
func.func @squeeze(%x: tensor<2x3x1xf32>) -> tensor<*xf32> {
  %axes = onnx.Constant dense<-1> : tensor<1xi64>
  %0 = "onnx.Squeeze"(%x, %axes) : (tensor<2x3x1xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Without axes, those of length one.
// CHECK-LABEL: func.func @squeeze_all
// CHECK:         %[[AXES:.+]] = onnx.Constant dense<[0, 2]> : tensor<2xi64>
// CHECK-NEXT:    "onnx.Squeeze"(%arg0, %[[AXES]]) : (tensor<1x3x1xf32>, tensor<2xi64>) -> tensor<3xf32>
func.func @squeeze_all(%x: tensor<1x3x1xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.Squeeze"(%x, %none) : (tensor<1x3x1xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// Axes that a dynamic dimension decides stay absent.
// CHECK-LABEL: func.func @squeeze_dynamic
// CHECK:         "onnx.Squeeze"(%arg0, %0) : (tensor<1x?xf32>, none) -> tensor<*xf32>
func.func @squeeze_dynamic(%x: tensor<1x?xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.Squeeze"(%x, %none) : (tensor<1x?xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// CHECK-LABEL: func.func @slice
// CHECK:         %[[AXES:.+]] = onnx.Constant dense<[0, 1]> : tensor<2xi64>
// CHECK-NEXT:    %[[STEPS:.+]] = onnx.Constant dense<1> : tensor<2xi64>
// CHECK-NEXT:    "onnx.Slice"(%arg0, %{{.+}}, %{{.+}}, %[[AXES]], %[[STEPS]])
// CHECK-SAME:      -> tensor<1x2x5xf32>
func.func @slice(%x: tensor<2x3x5xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() : () -> none
  %starts = onnx.Constant dense<[1, 0]> : tensor<2xi64>
  %ends = onnx.Constant dense<[2, 2]> : tensor<2xi64>
  %0 = "onnx.Slice"(%x, %starts, %ends, %none, %none) : (tensor<2x3x5xf32>, tensor<2xi64>, tensor<2xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

// A pool gets no strides or pads, and a convolution keeps an absent kernel_shape.
// CHECK-LABEL: func.func @windows
// CHECK:         "onnx.MaxPoolSingleOut"(%arg0) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [2, 2], storage_order = 0 : si64}>
// CHECK-SAME:      -> tensor<1x2x7x7xf32>
// CHECK:         "onnx.Conv"
// CHECK-SAME:      <{auto_pad = "NOTSET", group = 1 : si64}>
// CHECK-SAME:      -> tensor<1x4x5x5xf32>
func.func @windows(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.MaxPoolSingleOut"(%x) {kernel_shape = [2, 2]} : (tensor<1x2x8x8xf32>) -> tensor<*xf32>
  %1 = "onnx.Conv"(%0, %w, %none) : (tensor<*xf32>, tensor<4x2x3x3xf32>, none) -> tensor<*xf32>
  onnx.Return %1 : tensor<*xf32>
}
