// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Boxes and regions of interest: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @NonMaxSuppression
// CHECK: "onnx.NonMaxSuppression"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{center_point_box = 0 : si64}> : (tensor<*xf32>, tensor<*xf32>, none, none, none) -> tensor<*xi64>
func.func @NonMaxSuppression(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xi64> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<*xf32>, tensor<*xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @RoiAlign
// CHECK: "onnx.RoiAlign"({{%.+}}, {{%.+}}, {{%.+}}) <{coordinate_transformation_mode = "half_pixel", mode = "avg", output_height = 1 : si64, output_width = 1 : si64, sampling_ratio = 0 : si64, spatial_scale = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @RoiAlign(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.RoiAlign"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @RoiAlignV10
// CHECK: "onnx.RoiAlignV10"({{%.+}}, {{%.+}}, {{%.+}}) <{mode = "avg", output_height = 1 : si64, output_width = 1 : si64, sampling_ratio = 0 : si64, spatial_scale = 1.000000e+00 : f32}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @RoiAlignV10(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.RoiAlignV10"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
