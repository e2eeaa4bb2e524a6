// RUN: onnx-opt %s --canonicalize-onnx --split-input-file | filecheck %s

// CHECK-LABEL: @instance_norm
// CHECK:         %[[S:.*]] = "onnx.Unsqueeze"(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<2xi64>) -> tensor<3x1x1xf32>
// CHECK:         %[[B:.*]] = "onnx.Unsqueeze"(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<2xi64>) -> tensor<3x1x1xf32>
// CHECK:         "onnx.LayerNormalization"(%{{.*}}, %[[S]], %[[B]]) <{axis = 2 : si64, epsilon = 0.00999999977 : f32, stash_type = 1 : si64}> : (tensor<1x3x8x8xf32>, tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> (tensor<1x3x8x8xf32>, none, none)
func.func @instance_norm(%x: tensor<1x3x8x8xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<1x3x8x8xf32> {
  %0 = "onnx.InstanceNormalization"(%x, %s, %b) <{epsilon = 0.01 : f32}> : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
  onnx.Return %0 : tensor<1x3x8x8xf32>
}

// -----

// CHECK-LABEL: @group_norm
// CHECK-DAG:     %[[N:.*]] = "onnx.Shape"(%{{.*}}) <{end = 1 : si64, start = 0 : si64}> : (tensor<?x6x8x8xf32>) -> tensor<1xi64>
// CHECK-DAG:     %[[D:.*]] = "onnx.Shape"(%{{.*}}) <{start = 2 : si64}> : (tensor<?x6x8x8xf32>) -> tensor<2xi64>
// CHECK:         "onnx.Concat"(%[[N]], %{{.*}}, %[[D]]) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5xi64>
// CHECK:         "onnx.Reshape"(%{{.*}}, %{{.*}}) <{allowzero = 0 : si64}> : (tensor<?x6x8x8xf32>, tensor<5xi64>) -> tensor<?x3x2x8x8xf32>
// CHECK:         "onnx.Reshape"(%{{.*}}, %{{.*}}) <{allowzero = 0 : si64}> : (tensor<6xf32>, tensor<4xi64>) -> tensor<3x2x1x1xf32>
// CHECK:         "onnx.Reshape"(%{{.*}}, %{{.*}}) <{allowzero = 0 : si64}> : (tensor<6xf32>, tensor<4xi64>) -> tensor<3x2x1x1xf32>
// CHECK:         "onnx.LayerNormalization"(%{{.*}}, %{{.*}}, %{{.*}}) <{axis = 2 : si64, {{.*}}stash_type = 1 : si64}> : (tensor<?x3x2x8x8xf32>, tensor<3x2x1x1xf32>, tensor<3x2x1x1xf32>) -> (tensor<?x3x2x8x8xf32>, none, none)
// CHECK:         "onnx.Shape"(%{{.*}}) <{start = 0 : si64}> : (tensor<?x6x8x8xf32>) -> tensor<4xi64>
// CHECK:         "onnx.Reshape"(%{{.*}}, %{{.*}}) <{allowzero = 0 : si64}> : (tensor<?x3x2x8x8xf32>, tensor<4xi64>) -> tensor<?x6x8x8xf32>
func.func @group_norm(%x: tensor<?x6x8x8xf32>, %s: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<?x6x8x8xf32> {
  %0 = "onnx.GroupNormalization"(%x, %s, %b) <{num_groups = 3 : si64}> : (tensor<?x6x8x8xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x8x8xf32>
  onnx.Return %0 : tensor<?x6x8x8xf32>
}

// -----

// CHECK-LABEL: @group_norm_v18
// CHECK:         "onnx.Unsqueeze"(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<3xi64>) -> tensor<3x1x1x1xf32>
// CHECK:         "onnx.Unsqueeze"(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<3xi64>) -> tensor<3x1x1x1xf32>
// CHECK:         "onnx.LayerNormalization"(%{{.*}}, %{{.*}}, %{{.*}}) <{axis = 2 : si64, {{.*}}stash_type = 1 : si64}> : (tensor<?x3x2x8x8xf32>, tensor<3x1x1x1xf32>, tensor<3x1x1x1xf32>)
func.func @group_norm_v18(%x: tensor<?x6x8x8xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<?x6x8x8xf32> {
  %0 = "onnx.GroupNormalizationV18"(%x, %s, %b) <{num_groups = 3 : si64}> : (tensor<?x6x8x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x6x8x8xf32>
  onnx.Return %0 : tensor<?x6x8x8xf32>
}

// -----

// CHECK-LABEL: @bias_into_layer_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4xf32>, %[[S:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[Y:.*]], %{{.*}}, %{{.*}} = "onnx.LayerNormalization"(%[[X]], %[[S]], %[[B]]) <{axis = -1 : si64, {{.*}}stash_type = 1 : si64}>
// CHECK-NEXT:    %[[Z:.*]], %{{.*}}, %{{.*}} = "onnx.LayerNormalization"(%[[Y]], %[[S]], %[[B]])
// CHECK-NEXT:    onnx.Return %[[Z]]
func.func @bias_into_layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:3 = "onnx.LayerNormalization"(%x, %s, %none) : (tensor<2x4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, none, none)
  %1 = "onnx.Add"(%0#0, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2:3 = "onnx.LayerNormalization"(%1, %s, %none) : (tensor<2x4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, none, none)
  %3 = "onnx.Add"(%b, %2#0) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %3 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @bias_into_rms_layer_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4xf32>, %[[S:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[Y:.*]], %{{.*}} = "onnx.RMSLayerNormalization"(%[[X]], %[[S]], %[[B]])
// CHECK-NEXT:    %[[Z:.*]], %{{.*}} = "onnx.RMSLayerNormalization"(%[[Y]], %[[S]], %[[B]])
// CHECK-NEXT:    onnx.Return %[[Z]]
func.func @bias_into_rms_layer_norm(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %0:2 = "onnx.RMSLayerNormalization"(%x, %s, %none) : (tensor<2x4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, none)
  %1 = "onnx.Add"(%0#0, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2:2 = "onnx.RMSLayerNormalization"(%1, %s, %none) : (tensor<2x4xf32>, tensor<4xf32>, none) -> (tensor<2x4xf32>, none)
  %3 = "onnx.Add"(%b, %2#0) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  onnx.Return %3 : tensor<2x4xf32>
}
