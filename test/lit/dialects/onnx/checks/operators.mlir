// RUN: onnx-opt %s --split-input-file --verify-diagnostics

// Constraints of single operators.

func.func @SpaceToDepth(%arg0: tensor<1x1x2x2xf32>) {
  // expected-error@+1 {{'onnx.SpaceToDepth' op Blocksize should be non negative}}
  %0 = "onnx.SpaceToDepth"(%arg0) <{blocksize = 0 : si64}> : (tensor<1x1x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @DepthToSpace(%arg0: tensor<1x4x2x2xf32>) {
  // expected-error@+1 {{Mode must be DCR or CRD, not RCD}}
  %0 = "onnx.DepthToSpace"(%arg0) <{blocksize = 2 : si64, mode = "RCD"}> : (tensor<1x4x2x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @SequenceAt(%arg0: !onnx.Seq<tensor<*xf32>>, %arg1: tensor<i64>) {
  // expected-error@+1 {{Element types of the tensor in seqence and output have to be the same}}
  %0 = "onnx.SequenceAt"(%arg0, %arg1) : (!onnx.Seq<tensor<*xf32>>, tensor<i64>) -> tensor<2xi32>
  onnx.Return
}

// -----

func.func @ConcatFromSequence(%arg0: !onnx.Seq<tensor<*xf32>>) {
  // expected-error@+1 {{Element types of the tensor in seqence and output have to be the same}}
  %0 = "onnx.ConcatFromSequence"(%arg0) <{axis = 0 : si64}> : (!onnx.Seq<tensor<*xf32>>) -> tensor<2xi32>
  onnx.Return
}

// -----

func.func @OneHot(%arg0: tensor<2xi64>, %arg1: tensor<1x1xi64>, %arg2: tensor<2xf32>) {
  // expected-error@+1 {{OneHot depth must be 0 or 1D tensor}}
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) : (tensor<2xi64>, tensor<1x1xi64>, tensor<2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @values_rank(%arg0: tensor<2xi64>, %arg1: tensor<i64>, %arg2: tensor<1x2xf32>) {
  // expected-error@+1 {{OneHot values must be 1D tensor}}
  %0 = "onnx.OneHot"(%arg0, %arg1, %arg2) : (tensor<2xi64>, tensor<i64>, tensor<1x2xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Tile(%arg0: tensor<2xf32>, %arg1: tensor<1x1xi64>) {
  // expected-error@+1 {{Repeats tensor must have rank one}}
  %0 = "onnx.Tile"(%arg0, %arg1) : (tensor<2xf32>, tensor<1x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Expand(%arg0: tensor<2xf32>, %arg1: tensor<1x1xi64>) {
  // expected-error@+1 {{Shape has a rank of 1}}
  %0 = "onnx.Expand"(%arg0, %arg1) : (tensor<2xf32>, tensor<1x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @RoiAlign(%arg0: tensor<1x4x4xf32>, %arg1: tensor<1x4xf32>, %arg2: tensor<1xi64>) {
  // expected-error@+1 {{RoiAlign with X should be a 4D tensor}}
  %0 = "onnx.RoiAlign"(%arg0, %arg1, %arg2) : (tensor<1x4x4xf32>, tensor<1x4xf32>, tensor<1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @batches(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<1x4xf32>, %arg2: tensor<1x1xi64>) {
  // expected-error@+1 {{RoiAlign with batch_indices should be a 1D tensor}}
  %0 = "onnx.RoiAlign"(%arg0, %arg1, %arg2) : (tensor<1x1x4x4xf32>, tensor<1x4xf32>, tensor<1x1xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @MaxRoiPool(%arg0: tensor<1x1x4x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error@+1 {{rois rank is expected to be 2d}}
  %0 = "onnx.MaxRoiPool"(%arg0, %arg1) <{pooled_shape = [2, 2]}> : (tensor<1x1x4x4xf32>, tensor<4xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @InstanceNormalization(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3x1xf32>, %arg2: tensor<3xf32>) {
  // expected-error@+1 {{Scale should have a rank of one}}
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<1x3x4xf32>, tensor<3x1xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  onnx.Return
}

// -----

func.func @scale(%arg0: tensor<1x3x4xf32>, %arg1: tensor<2xf32>, %arg2: tensor<3xf32>) {
  // expected-error@+1 {{Scale should have same dimension as the second dimension of input}}
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<1x3x4xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
  onnx.Return
}

// -----

func.func @bias(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3x1xf32>) {
  // expected-error@+1 {{Bias should have a rank of one}}
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3x1xf32>) -> tensor<1x3x4xf32>
  onnx.Return
}

// -----

func.func @no_space(%arg0: tensor<1x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) {
  // expected-error@+1 {{Spatial rank must be strictly positive}}
  %0 = "onnx.InstanceNormalization"(%arg0, %arg1, %arg2) : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  onnx.Return
}

// -----

func.func @BatchNormalization(%arg0: tensor<1x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3x1xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) {
  // expected-error@+1 {{Wrong rank for the bias}}
  %0:3 = "onnx.BatchNormalization"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<1x3x4xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @LayerNormalization(%arg0: tensor<2x3x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<5xf32>) {
  // expected-error@+1 {{op with incompatible B shapes (unidirectional broadcast)}}
  %0:3 = "onnx.LayerNormalization"(%arg0, %arg1, %arg2) : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<5xf32>) -> (tensor<2x3x4xf32>, none, none)
  onnx.Return
}

// -----

func.func @RMSNormalization(%arg0: tensor<2x3x4xf32>, %arg1: tensor<5xf32>) {
  // expected-error@+1 {{RMSNormalization op with incompatible scale shapes}}
  %0 = "onnx.RMSNormalization"(%arg0, %arg1) : (tensor<2x3x4xf32>, tensor<5xf32>) -> tensor<2x3x4xf32>
  onnx.Return
}

// -----

func.func @Upsample(%arg0: tensor<2xf32>, %arg1: tensor<1x1xf32>) {
  // expected-error@+1 {{Scales tensor must be rank 1}}
  %0 = "onnx.Upsample"(%arg0, %arg1) : (tensor<2xf32>, tensor<1x1xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @RNN(%arg0: tensor<5x1x3xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<1x4x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{The second input tensor must have rank 3}}
  %0:2 = "onnx.RNN"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<5x1x3xf32>, tensor<4x3xf32>, tensor<1x4x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @GRU(%arg0: tensor<5x1x3xf32>, %arg1: tensor<1x12x3xf32>, %arg2: tensor<12x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{The third input tensor must have rank 3}}
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) : (tensor<5x1x3xf32>, tensor<1x12x3xf32>, tensor<12x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @direction(%arg0: tensor<5x1x3xf32>, %arg1: tensor<1x12x3xf32>, %arg2: tensor<1x12x4xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{direction attribute must be one of the strings: forward, reverse, and bidirectional, not both}}
  %0:2 = "onnx.GRU"(%arg0, %arg1, %arg2, %none, %none, %none) <{direction = "both"}> : (tensor<5x1x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, none, none, none) -> (tensor<*xf32>, none)
  onnx.Return
}

// -----

func.func @NonMaxSuppression(%arg0: tensor<2x4xf32>, %arg1: tensor<1x1x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{boxes should have a rank of three}}
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<2x4xf32>, tensor<1x1x2xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @scores(%arg0: tensor<1x2x4xf32>, %arg1: tensor<1x2xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{scores should have a rank of three}}
  %0 = "onnx.NonMaxSuppression"(%arg0, %arg1, %none, %none, %none) : (tensor<1x2x4xf32>, tensor<1x2xf32>, none, none, none) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @Range(%arg0: tensor<1x1xi64>, %arg1: tensor<i64>, %arg2: tensor<i64>) {
  // expected-error@+1 {{start tensor must have rank zero or one}}
  %0 = "onnx.Range"(%arg0, %arg1, %arg2) : (tensor<1x1xi64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @limit(%arg0: tensor<i64>, %arg1: tensor<1x1xi64>, %arg2: tensor<i64>) {
  // expected-error@+1 {{limit tensor must have rank zero or one}}
  %0 = "onnx.Range"(%arg0, %arg1, %arg2) : (tensor<i64>, tensor<1x1xi64>, tensor<i64>) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @delta(%arg0: tensor<i64>, %arg1: tensor<i64>, %arg2: tensor<1x1xi64>) {
  // expected-error@+1 {{delta tensor must have rank zero or one}}
  %0 = "onnx.Range"(%arg0, %arg1, %arg2) : (tensor<i64>, tensor<i64>, tensor<1x1xi64>) -> tensor<*xi64>
  onnx.Return
}

// -----

func.func @ReverseSequence(%arg0: tensor<3xf32>, %arg1: tensor<3xi64>) {
  // expected-error@+1 {{input of Reversesequence should be 2D or higher rank tensor}}
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) <{batch_axis = 0 : si64, time_axis = 0 : si64}> : (tensor<3xf32>, tensor<3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @lengths(%arg0: tensor<2x3xf32>, %arg1: tensor<1x3xi64>) {
  // expected-error@+1 {{sequence_lens of ReverseSequnce should be 1D tensor}}
  %0 = "onnx.ReverseSequence"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<1x3xi64>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Trilu(%arg0: tensor<3xf32>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{at index: 0' has rank 1, rank should be > 1}}
  %0 = "onnx.Trilu"(%arg0, %none) : (tensor<3xf32>, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Det(%arg0: tensor<3xf32>) {
  // expected-error@+1 {{at index: 0' has rank 1, rank should be > 1}}
  %0 = "onnx.Det"(%arg0) : (tensor<3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Mod(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) {
  // expected-error@+1 {{'fmod' value is 2, accepted range is [0, 1]}}
  %0 = "onnx.Mod"(%arg0, %arg1) <{fmod = 2 : si64}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Pad(%arg0: tensor<3xf32>, %arg1: tensor<2xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{mode is "mirror"; it is one of constant, reflect, edge, wrap}}
  %0 = "onnx.Pad"(%arg0, %arg1, %none, %none) <{mode = "mirror"}> : (tensor<3xf32>, tensor<2xi64>, none, none) -> tensor<*xf32>
  onnx.Return
}

// -----

func.func @Slice(%arg0: tensor<3xf32>, %arg1: tensor<1xi64>, %arg2: tensor<1x1xi64>) {
  %none = "onnx.NoValue"() <{value}> : () -> none
  // expected-error@+1 {{'starts' has rank 1, 'ends' has rank 2. The two inputs must have the same rank.}}
  %0 = "onnx.Slice"(%arg0, %arg1, %arg2, %none, %none) : (tensor<3xf32>, tensor<1xi64>, tensor<1x1xi64>, none, none) -> tensor<*xf32>
  onnx.Return
}
