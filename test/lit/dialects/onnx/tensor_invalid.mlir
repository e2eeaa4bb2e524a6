// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Shapes, layouts and selections of tensors: types no op takes, properties left out. Written by `python -m xonnc.tools.onnx_dialect`.

func.func @BitCast(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.BitCast"(%arg0) <{to = 1 : si64}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @BitCast(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'to' expected in operation 'onnx.BitCast'}}
  %0 = "onnx.BitCast"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Cast(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Cast"(%arg0) <{to = f32}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Cast(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'to' expected in operation 'onnx.Cast'}}
  %0 = "onnx.Cast"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CastV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.CastV1"(%arg0) <{to = "FLOAT"}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CastV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'to' expected in operation 'onnx.CastV1'}}
  %0 = "onnx.CastV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @CastLike(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.CastLike"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Identity(%arg0: tensor<*xindex>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Identity"(%arg0) : (tensor<*xindex>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

func.func @IsInf(%arg0: tensor<*xindex>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.IsInf"(%arg0) : (tensor<*xindex>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @IsNaN(%arg0: tensor<*xindex>) -> tensor<*xi1> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.IsNaN"(%arg0) : (tensor<*xindex>) -> tensor<*xi1>
  onnx.Return %0 : tensor<*xi1>
}

// -----

func.func @Where(%arg0: tensor<*xindex>, %arg1: tensor<2x3xf32>, %arg2: tensor<f32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operand 'condition' at position 0 does not verify}}
  %0 = "onnx.Where"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

func.func @CenterCropPad(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input_data' at position 0 does not verify}}
  %0 = "onnx.CenterCropPad"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Pad(%arg0: tensor<*xindex>, %arg1: tensor<4xi64>, %arg2: tensor<f32>) -> tensor<?x?xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Pad"(%arg0, %arg1, %arg2, %none) : (tensor<*xindex>, tensor<4xi64>, tensor<f32>, none) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

func.func @PadV19(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.PadV19"(%arg0, %arg1, %none, %none) : (tensor<*xindex>, tensor<*xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV18(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.PadV18"(%arg0, %arg1, %none, %none) : (tensor<*xindex>, tensor<*xi64>, none, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV13(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.PadV13"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV11(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.PadV11"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xi64>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV2(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.PadV2"(%arg0) <{pads = [1, 1]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV2(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'pads' expected in operation 'onnx.PadV2'}}
  %0 = "onnx.PadV2"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.PadV1"(%arg0) <{paddings = [1, 1]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @PadV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'paddings' expected in operation 'onnx.PadV1'}}
  %0 = "onnx.PadV1"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @AffineGrid(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'theta' at position 0 does not verify}}
  %0 = "onnx.AffineGrid"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GridSample(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GridSample"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GridSampleV16(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.GridSampleV16"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Resize(%arg0: tensor<*xindex>, %arg2: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Resize"(%arg0, %none, %arg2, %none) : (tensor<*xindex>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// -----

func.func @ResizeV18(%arg0: tensor<*xindex>, %arg2: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ResizeV18"(%arg0, %none, %arg2, %none) : (tensor<*xindex>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// -----

func.func @ResizeV13(%arg0: tensor<*xindex>, %arg2: tensor<4xf32>) -> tensor<1x1x4x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ResizeV13"(%arg0, %none, %arg2, %none) : (tensor<*xindex>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
  onnx.Return %0 : tensor<1x1x4x4xf32>
}

// -----

func.func @ResizeV11(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ResizeV11"(%arg0, %arg1, %arg2, %none) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ResizeV10(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.ResizeV10"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Upsample(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.Upsample"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @UpsampleV7(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.UpsampleV7"(%arg0) <{scales = [1.000000e+00 : f32]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @UpsampleV7(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'scales' expected in operation 'onnx.UpsampleV7'}}
  %0 = "onnx.UpsampleV7"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @UpsampleV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.UpsampleV1"(%arg0) <{height_scale = 1.000000e+00 : f32, width_scale = 1.000000e+00 : f32}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @UpsampleV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'height_scale' expected in operation 'onnx.UpsampleV1'}}
  %0 = "onnx.UpsampleV1"(%arg0) <{width_scale = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @UpsampleV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'width_scale' expected in operation 'onnx.UpsampleV1'}}
  %0 = "onnx.UpsampleV1"(%arg0) <{height_scale = 1.000000e+00 : f32}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Compress(%arg0: tensor<*xindex>, %arg1: tensor<*xi1>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Compress"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi1>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Gather(%arg0: tensor<*xindex>, %arg1: tensor<2xi64>) -> tensor<2x3xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Gather"(%arg0, %arg1) : (tensor<*xindex>, tensor<2xi64>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}

// -----

func.func @GatherElements(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.GatherElements"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @GatherND(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.GatherND"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @NonZero(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0 = "onnx.NonZero"(%arg0) : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @OneHot(%arg0: tensor<*xindex>, %arg1: tensor<f32>, %arg2: tensor<2xf32>) -> tensor<2x?xf32> {
  // expected-error@+1 {{operand 'indices' at position 0 does not verify}}
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<f32>, tensor<2xf32>) -> tensor<2x?xf32>
  onnx.Return %0 : tensor<2x?xf32>
}

// -----

func.func @OneHotV9(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'indices' at position 0 does not verify}}
  %0 = "onnx.OneHotV9"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ReverseSequence(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) : (tensor<*xindex>, tensor<*xi64>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Scatter(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Scatter"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ScatterElements(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ScatterElements"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @ScatterND(%arg0: tensor<*xindex>, %arg1: tensor<*xi64>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ScatterND"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xi64>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Slice(%arg0: tensor<*xindex>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>) -> tensor<?x?xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Slice"(%arg0, %arg1, %arg2, %none, %none) : (tensor<*xindex>, tensor<2xi64>, tensor<2xi64>, none, none) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

func.func @SliceV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.SliceV1"(%arg0) <{ends = [1, 1], starts = [1, 1]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SliceV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'ends' expected in operation 'onnx.SliceV1'}}
  %0 = "onnx.SliceV1"(%arg0) <{starts = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SliceV1(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'starts' expected in operation 'onnx.SliceV1'}}
  %0 = "onnx.SliceV1"(%arg0) <{ends = [1, 1]}> : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @TensorScatter(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'past_cache' at position 0 does not verify}}
  %0 = "onnx.TensorScatter"(%arg0, %arg1, %none) : (tensor<*xindex>, tensor<*xf32>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Trilu(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Trilu"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Unique(%arg0: tensor<*xindex>) -> (tensor<*xf32>, none, none, none) {
  // expected-error@+1 {{operand 'X' at position 0 does not verify}}
  %0:4 = "onnx.Unique"(%arg0) : (tensor<*xindex>) -> (tensor<*xf32>, none, none, none)
  onnx.Return %0#0, %0#1, %0#2, %0#3 : tensor<*xf32>, none, none, none
}

// -----

func.func @Concat(%arg0: tensor<*xindex>, %arg1: tensor<4x3xf32>) -> tensor<6x3xf32> {
  // expected-error@+1 {{operand 'inputs' at positions 0 to 1 does not verify}}
  %0 = "onnx.Concat"(%arg0, %arg1) <{axis = 0 : si64}> : (tensor<*xindex>, tensor<4x3xf32>) -> tensor<6x3xf32>
  onnx.Return %0 : tensor<6x3xf32>
}

// -----

func.func @Concat(%arg0: tensor<2x3xf32>, %arg1: tensor<4x3xf32>) -> tensor<6x3xf32> {
  // expected-error@+1 {{property 'axis' expected in operation 'onnx.Concat'}}
  %0 = "onnx.Concat"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
  onnx.Return %0 : tensor<6x3xf32>
}

// -----

func.func @ConcatV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'inputs' at position 0 does not verify}}
  %0 = "onnx.ConcatV1"(%arg0) <{axis = 0 : si64}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @DepthToSpace(%arg0: tensor<*xindex>) -> tensor<1x2x4x6xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.DepthToSpace"(%arg0) <{blocksize = 1 : si64}> : (tensor<*xindex>) -> tensor<1x2x4x6xf32>
  onnx.Return %0 : tensor<1x2x4x6xf32>
}

// -----

func.func @DepthToSpace(%arg0: tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32> {
  // expected-error@+1 {{property 'blocksize' expected in operation 'onnx.DepthToSpace'}}
  %0 = "onnx.DepthToSpace"(%arg0) : (tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32>
  onnx.Return %0 : tensor<1x2x4x6xf32>
}

// -----

func.func @Reshape(%arg0: tensor<*xindex>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Reshape"(%arg0, %arg1) : (tensor<*xindex>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

func.func @ReshapeV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.ReshapeV1"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Shape(%arg0: tensor<*xindex>) -> tensor<2xi64> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Shape"(%arg0) : (tensor<*xindex>) -> tensor<2xi64>
  onnx.Return %0 : tensor<2xi64>
}

// -----

func.func @Size(%arg0: tensor<*xindex>) -> tensor<*xi64> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Size"(%arg0) : (tensor<*xindex>) -> tensor<*xi64>
  onnx.Return %0 : tensor<*xi64>
}

// -----

func.func @SpaceToDepth(%arg0: tensor<*xindex>) -> tensor<1x8x2x3xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.SpaceToDepth"(%arg0) <{blocksize = 1 : si64}> : (tensor<*xindex>) -> tensor<1x8x2x3xf32>
  onnx.Return %0 : tensor<1x8x2x3xf32>
}

// -----

func.func @SpaceToDepth(%arg0: tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32> {
  // expected-error@+1 {{property 'blocksize' expected in operation 'onnx.SpaceToDepth'}}
  %0 = "onnx.SpaceToDepth"(%arg0) : (tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32>
  onnx.Return %0 : tensor<1x8x2x3xf32>
}

// -----

func.func @Split(%arg0: tensor<*xindex>, %arg1: tensor<2xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0:2 = "onnx.Split"(%arg0, %arg1) : (tensor<*xindex>, tensor<2xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
  onnx.Return %0#0, %0#1 : tensor<?x3xf32>, tensor<?x3xf32>
}

// -----

func.func @SplitV13(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.SplitV13"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SplitV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.SplitV11"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @SplitV1(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.SplitV1"(%arg0, %none) : (tensor<*xindex>, none) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Squeeze(%arg0: tensor<*xindex>, %arg1: tensor<1xi64>) -> tensor<3xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Squeeze"(%arg0, %arg1) : (tensor<*xindex>, tensor<1xi64>) -> tensor<3xf32>
  onnx.Return %0 : tensor<3xf32>
}

// -----

func.func @SqueezeV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.SqueezeV11"(%arg0) : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Tile(%arg0: tensor<*xindex>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.Tile"(%arg0, %arg1) : (tensor<*xindex>, tensor<2xi64>) -> tensor<?x?xf32>
  onnx.Return %0 : tensor<?x?xf32>
}

// -----

func.func @TileV1(%arg0: tensor<*xindex>, %arg1: tensor<*xf32>, %arg2: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'input' at position 0 does not verify}}
  %0 = "onnx.TileV1"(%arg0, %arg1, %arg2) : (tensor<*xindex>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @Transpose(%arg0: tensor<*xindex>) -> tensor<3x2xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Transpose"(%arg0) <{perm = [1, 0]}> : (tensor<*xindex>) -> tensor<3x2xf32>
  onnx.Return %0 : tensor<3x2xf32>
}

// -----

func.func @Unsqueeze(%arg0: tensor<*xindex>, %arg1: tensor<1xi64>) -> tensor<1x3xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.Unsqueeze"(%arg0, %arg1) : (tensor<*xindex>, tensor<1xi64>) -> tensor<1x3xf32>
  onnx.Return %0 : tensor<1x3xf32>
}

// -----

func.func @UnsqueezeV11(%arg0: tensor<*xindex>) -> tensor<*xf32> {
  // expected-error@+1 {{operand 'data' at position 0 does not verify}}
  %0 = "onnx.UnsqueezeV11"(%arg0) <{axes = [0]}> : (tensor<*xindex>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}

// -----

func.func @UnsqueezeV11(%arg0: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error@+1 {{property 'axes' expected in operation 'onnx.UnsqueezeV11'}}
  %0 = "onnx.UnsqueezeV11"(%arg0) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %0 : tensor<*xf32>
}
