// RUN: onnx-opt %s | filecheck %s
// RUN: onnx-opt %s | onnx-opt | filecheck %s

// Shapes, layouts and selections of tensors: one use of each op, printed and read back. Written by `python -m xonnc.tools.onnx_dialect`.

// CHECK-LABEL: @BitCast
// CHECK: "onnx.BitCast"({{%.+}}) <{to = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @BitCast(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.BitCast"(%arg0) <{to = 1 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Cast
// CHECK: "onnx.Cast"({{%.+}}) <{saturate = 1 : si64, to = f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @Cast(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Cast"(%arg0) <{to = f32}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CastV1
// CHECK: "onnx.CastV1"({{%.+}}) <{to = "FLOAT"}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @CastV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.CastV1"(%arg0) <{to = "FLOAT"}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @CastLike
// CHECK: "onnx.CastLike"({{%.+}}, {{%.+}}) <{saturate = 1 : si64}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @CastLike(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.CastLike"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Identity
// CHECK: "onnx.Identity"({{%.+}}) : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @Identity(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "onnx.Identity"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @IsInf
// CHECK: "onnx.IsInf"({{%.+}}) <{detect_negative = 1 : si64, detect_positive = 1 : si64}> : (tensor<*xf32>) -> tensor<*xi1>
func.func @IsInf(%arg0: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.IsInf"(%arg0) : (tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @IsNaN
// CHECK: "onnx.IsNaN"({{%.+}}) : (tensor<*xf32>) -> tensor<*xi1>
func.func @IsNaN(%arg0: tensor<*xf32>) -> tensor<*xi1> {
  %0 = "onnx.IsNaN"(%arg0) : (tensor<*xf32>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// CHECK-LABEL: @Where
// CHECK: "onnx.Where"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
func.func @Where(%arg0: tensor<2x3xi1>, %arg1: tensor<2x3xf32>, %arg2: tensor<f32>) -> tensor<2x3xf32> {
  %0 = "onnx.Where"(%arg0, %arg1, %arg2) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @CenterCropPad
// CHECK: "onnx.CenterCropPad"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @CenterCropPad(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.CenterCropPad"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Pad
// CHECK: "onnx.Pad"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{mode = "constant"}> : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>, none) -> tensor<?x?xf32>
func.func @Pad(%arg0: tensor<2x3xf32>, %arg1: tensor<4xi64>, %arg2: tensor<f32>) -> tensor<?x?xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Pad"(%arg0, %arg1, %arg2, %none) : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>, none) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @PadV19
// CHECK: "onnx.PadV19"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{mode = "constant"}> : (tensor<*xf32>, tensor<*xi64>, none, none) -> tensor<*xf32>
func.func @PadV19(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.PadV19"(%arg0, %arg1, %none, %none) : (tensor<*xf32>, tensor<*xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PadV18
// CHECK: "onnx.PadV18"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{mode = "constant"}> : (tensor<*xf32>, tensor<*xi64>, none, none) -> tensor<*xf32>
func.func @PadV18(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.PadV18"(%arg0, %arg1, %none, %none) : (tensor<*xf32>, tensor<*xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PadV13
// CHECK: "onnx.PadV13"({{%.+}}, {{%.+}}, {{%.+}}) <{mode = "constant"}> : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
func.func @PadV13(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.PadV13"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PadV11
// CHECK: "onnx.PadV11"({{%.+}}, {{%.+}}, {{%.+}}) <{mode = "constant"}> : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
func.func @PadV11(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.PadV11"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PadV2
// CHECK: "onnx.PadV2"({{%.+}}) <{mode = "constant", pads = [1, 1], value = 0.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @PadV2(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.PadV2"(%arg0) <{pads = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @PadV1
// CHECK: "onnx.PadV1"({{%.+}}) <{mode = "constant", paddings = [1, 1], value = 0.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @PadV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.PadV1"(%arg0) <{paddings = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @AffineGrid
// CHECK: "onnx.AffineGrid"({{%.+}}, {{%.+}}) <{align_corners = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @AffineGrid(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.AffineGrid"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @GridSample
// CHECK: "onnx.GridSample"({{%.+}}, {{%.+}}) <{align_corners = 0 : si64, mode = "linear", padding_mode = "zeros"}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @GridSample(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GridSample"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @GridSampleV16
// CHECK: "onnx.GridSampleV16"({{%.+}}, {{%.+}}) <{align_corners = 0 : si64, mode = "bilinear", padding_mode = "zeros"}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @GridSampleV16(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.GridSampleV16"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Resize
// CHECK: "onnx.Resize"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{antialias = 0 : si64, coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, keep_aspect_ratio_policy = "stretch", mode = "nearest", nearest_mode = "round_prefer_floor"}> : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
func.func @Resize(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %none) : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: @ResizeV18
// CHECK: "onnx.ResizeV18"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{antialias = 0 : si64, coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, keep_aspect_ratio_policy = "stretch", mode = "nearest", nearest_mode = "round_prefer_floor"}> : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
func.func @ResizeV18(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ResizeV18"(%arg0, %none, %arg2, %none) : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: @ResizeV13
// CHECK: "onnx.ResizeV13"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, mode = "nearest", nearest_mode = "round_prefer_floor"}> : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
func.func @ResizeV13(%arg0: tensor<1x1x2x2xf32>, %arg2: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ResizeV13"(%arg0, %none, %arg2, %none) : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// CHECK-LABEL: @ResizeV11
// CHECK: "onnx.ResizeV11"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) <{coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -7.500000e-01 : f32, exclude_outside = 0 : si64, extrapolation_value = 0.000000e+00 : f32, mode = "nearest", nearest_mode = "round_prefer_floor"}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
func.func @ResizeV11(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.ResizeV11"(%arg0, %arg1, %arg2, %none) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ResizeV10
// CHECK: "onnx.ResizeV10"({{%.+}}, {{%.+}}) <{mode = "nearest"}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @ResizeV10(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ResizeV10"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Upsample
// CHECK: "onnx.Upsample"({{%.+}}, {{%.+}}) <{mode = "nearest"}> : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @Upsample(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Upsample"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @UpsampleV7
// CHECK: "onnx.UpsampleV7"({{%.+}}) <{mode = "nearest", scales = [1.000000e+00 : f32]}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @UpsampleV7(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.UpsampleV7"(%arg0) <{scales = [1.000000e+00 : f32]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @UpsampleV1
// CHECK: "onnx.UpsampleV1"({{%.+}}) <{height_scale = 1.000000e+00 : f32, mode = "nearest", width_scale = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @UpsampleV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.UpsampleV1"(%arg0) <{height_scale = 1.000000e+00 : f32, width_scale = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Compress
// CHECK: "onnx.Compress"({{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xi1>) -> tensor<*xf32>
func.func @Compress(%arg0: tensor<*xf32>, %arg1: tensor<*xi1>) -> tensor<*xf32> {
  %0 = "onnx.Compress"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Gather
// CHECK: "onnx.Gather"({{%.+}}, {{%.+}}) <{axis = 0 : si64}> : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
func.func @Gather(%arg0: tensor<5x3xf32>, %arg1: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = "onnx.Gather"(%arg0, %arg1) : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @GatherElements
// CHECK: "onnx.GatherElements"({{%.+}}, {{%.+}}) <{axis = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @GatherElements(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.GatherElements"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @GatherND
// CHECK: "onnx.GatherND"({{%.+}}, {{%.+}}) <{batch_dims = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @GatherND(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.GatherND"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @NonZero
// CHECK: "onnx.NonZero"({{%.+}}) : (tensor<*xf32>) -> tensor<*xi64>
func.func @NonZero(%arg0: tensor<*xf32>) -> tensor<*xi64> {
  %0 = "onnx.NonZero"(%arg0) : (tensor<*xf32>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @OneHot
// CHECK: "onnx.OneHot"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = -1 : si64}> : (tensor<2xf32>, tensor<f32>, tensor<2xf32>) -> tensor<2x?xf32>
func.func @OneHot(%arg0: tensor<2xf32>, %arg1: tensor<f32>, %arg2: tensor<2xf32>) -> tensor<2x?xf32> {
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) : (tensor<2xf32>, tensor<f32>, tensor<2xf32>) -> tensor<2x?xf32>
  onnx.Return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: @OneHotV9
// CHECK: "onnx.OneHotV9"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = -1 : si64}> : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @OneHotV9(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.OneHotV9"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ReverseSequence
// CHECK: "onnx.ReverseSequence"({{%.+}}, {{%.+}}) <{batch_axis = 1 : si64, time_axis = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
func.func @ReverseSequence(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Scatter
// CHECK: "onnx.Scatter"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = 0 : si64}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
func.func @Scatter(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.Scatter"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ScatterElements
// CHECK: "onnx.ScatterElements"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = 0 : si64, reduction = "none"}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
func.func @ScatterElements(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ScatterElements"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @ScatterND
// CHECK: "onnx.ScatterND"({{%.+}}, {{%.+}}, {{%.+}}) <{reduction = "none"}> : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
func.func @ScatterND(%arg0: tensor<*xf32>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ScatterND"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Slice
// CHECK: "onnx.Slice"({{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}, {{%.+}}) : (tensor<5x3xf32>, tensor<2xi64>, tensor<2xi64>, none, none) -> tensor<?x?xf32>
func.func @Slice(%arg0: tensor<5x3xf32>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>) -> tensor<?x?xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Slice"(%arg0, %arg1, %arg2, %none, %none) : (tensor<5x3xf32>, tensor<2xi64>, tensor<2xi64>, none, none) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @SliceV1
// CHECK: "onnx.SliceV1"({{%.+}}) <{ends = [1, 1], starts = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @SliceV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SliceV1"(%arg0) <{ends = [1, 1], starts = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @TensorScatter
// CHECK: "onnx.TensorScatter"({{%.+}}, {{%.+}}, {{%.+}}) <{axis = -2 : si64, mode = "linear"}> : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
func.func @TensorScatter(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %none) : (tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Trilu
// CHECK: "onnx.Trilu"({{%.+}}, {{%.+}}) <{upper = 1 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @Trilu(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Trilu"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Unique
// CHECK: "onnx.Unique"({{%.+}}) <{sorted = 1 : si64}> : (tensor<*xf32>) -> (tensor<*xf32>, none, none, none)
func.func @Unique(%arg0: tensor<*xf32>) -> (tensor<*xf32>, none, none, none) {
  %0:4 = "onnx.Unique"(%arg0) : (tensor<*xf32>) -> (tensor<*xf32>, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3 : tensor<*xf32>, none, none, none
}

// CHECK-LABEL: @Concat
// CHECK: "onnx.Concat"({{%.+}}, {{%.+}}) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
func.func @Concat(%arg0: tensor<2x3xf32>, %arg1: tensor<4x3xf32>) -> tensor<6x3xf32> {
  %0 = "onnx.Concat"(%arg0, %arg1) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  onnx.Return %0 : tensor<6x3xf32>
}

// CHECK-LABEL: @ConcatV1
// CHECK: "onnx.ConcatV1"({{%.+}}) <{axis = 0 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @ConcatV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ConcatV1"(%arg0) <{axis = 0 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @DepthToSpace
// CHECK: "onnx.DepthToSpace"({{%.+}}) <{blocksize = 1 : si64, mode = "DCR"}> : (tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32>
func.func @DepthToSpace(%arg0: tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32> {
  %0 = "onnx.DepthToSpace"(%arg0) <{blocksize = 1 : si64}> : (tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32>
  onnx.Return %0 : tensor<1x2x4x6xf32>
}

// CHECK-LABEL: @Reshape
// CHECK: "onnx.Reshape"({{%.+}}, {{%.+}}) <{allowzero = 0 : si64}> : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
func.func @Reshape(%arg0: tensor<2x6xf32>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = "onnx.Reshape"(%arg0, %arg1) : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @ReshapeV1
// CHECK: "onnx.ReshapeV1"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @ReshapeV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.ReshapeV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Shape
// CHECK: "onnx.Shape"({{%.+}}) <{start = 0 : si64}> : (tensor<2x?xf32>) -> tensor<2xi64>
func.func @Shape(%arg0: tensor<2x?xf32>) -> tensor<2xi64> {
  %0 = "onnx.Shape"(%arg0) : (tensor<2x?xf32>) -> tensor<2xi64>
  onnx.Return %0 : tensor<2xi64>
}

// CHECK-LABEL: @Size
// CHECK: "onnx.Size"({{%.+}}) : (tensor<*xf32>) -> tensor<*xi64>
func.func @Size(%arg0: tensor<*xf32>) -> tensor<*xi64> {
  %0 = "onnx.Size"(%arg0) : (tensor<*xf32>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// CHECK-LABEL: @SpaceToDepth
// CHECK: "onnx.SpaceToDepth"({{%.+}}) <{blocksize = 1 : si64}> : (tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32>
func.func @SpaceToDepth(%arg0: tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32> {
  %0 = "onnx.SpaceToDepth"(%arg0) <{blocksize = 1 : si64}> : (tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32>
  onnx.Return %0 : tensor<1x8x2x3xf32>
}

// CHECK-LABEL: @Split
// CHECK: "onnx.Split"({{%.+}}, {{%.+}}) <{axis = 0 : si64}> : (tensor<4x3xf32>, tensor<2xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
func.func @Split(%arg0: tensor<4x3xf32>, %arg1: tensor<2xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %0:2 = "onnx.Split"(%arg0, %arg1) : (tensor<4x3xf32>, tensor<2xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  onnx.Return %0#0, %0#1 : tensor<?x3xf32>, tensor<?x3xf32>
}

// CHECK-LABEL: @SplitV13
// CHECK: "onnx.SplitV13"({{%.+}}, {{%.+}}) <{axis = 0 : si64}> : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @SplitV13(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.SplitV13"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SplitV11
// CHECK: "onnx.SplitV11"({{%.+}}) <{axis = 0 : si64}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @SplitV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SplitV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @SplitV1
// CHECK: "onnx.SplitV1"({{%.+}}, {{%.+}}) : (tensor<*xf32>, none) -> tensor<*xf32>
func.func @SplitV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.SplitV1"(%arg0, %none) : (tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Squeeze
// CHECK: "onnx.Squeeze"({{%.+}}, {{%.+}}) : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
func.func @Squeeze(%arg0: tensor<1x3xf32>, %arg1: tensor<1xi64>) -> tensor<3xf32> {
  %0 = "onnx.Squeeze"(%arg0, %arg1) : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}

// CHECK-LABEL: @SqueezeV11
// CHECK: "onnx.SqueezeV11"({{%.+}}) : (tensor<*xf32>) -> tensor<*xf32>
func.func @SqueezeV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.SqueezeV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Tile
// CHECK: "onnx.Tile"({{%.+}}, {{%.+}}) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
func.func @Tile(%arg0: tensor<2x3xf32>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = "onnx.Tile"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: @TileV1
// CHECK: "onnx.TileV1"({{%.+}}, {{%.+}}, {{%.+}}) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
func.func @TileV1(%arg0: tensor<*xf32>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.TileV1"(%arg0, %arg1, %arg2) : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// CHECK-LABEL: @Transpose
// CHECK: "onnx.Transpose"({{%.+}}) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
func.func @Transpose(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = "onnx.Transpose"(%arg0) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  onnx.Return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: @Unsqueeze
// CHECK: "onnx.Unsqueeze"({{%.+}}, {{%.+}}) : (tensor<3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
func.func @Unsqueeze(%arg0: tensor<3xf32>, %arg1: tensor<1xi64>) -> tensor<1x3xf32> {
  %0 = "onnx.Unsqueeze"(%arg0, %arg1) : (tensor<3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
  onnx.Return %0 : tensor<1x3xf32>
}

// CHECK-LABEL: @UnsqueezeV11
// CHECK: "onnx.UnsqueezeV11"({{%.+}}) <{axes = [0]}> : (tensor<*xf32>) -> tensor<*xf32>
func.func @UnsqueezeV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "onnx.UnsqueezeV11"(%arg0) <{axes = [0]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
