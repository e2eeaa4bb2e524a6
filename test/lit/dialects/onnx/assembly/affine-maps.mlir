// RUN: onnx-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: onnx-opt %s --allow-unregistered-dialect | onnx-opt --allow-unregistered-dialect | filecheck %s
// RUN: onnx-opt %s --allow-unregistered-dialect --mlir-print-op-generic | onnx-opt --allow-unregistered-dialect | filecheck %s

// Affine maps and sets are printed as aliases above the module, without redundant brackets.

// CHECK:      #map = affine_map<(d0)[s0] -> (d0 ceildiv 4 + s0 * 2, -d0, d0 mod 3 - 1)>
// CHECK-NEXT: #map1 = affine_map<() -> ()>
// CHECK-NEXT: #map2 = affine_map<(d0) -> (d0 + 1)>
// CHECK-NEXT: #map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>
// CHECK-NEXT: #set = affine_set<(d0) : (d0 - 1 >= 0, d0 mod 2 == 0)>
// CHECK-NEXT: module {
// CHECK-NEXT:   "test.op"() {map = #map, maps = [#map1, #map2], set = #set} : () -> ()
// CHECK-NEXT:   func.func @transformed(%arg0: tensor<1x8x4x4xf32>) -> tensor<1x2x4x4x4xf32> {
// CHECK-NEXT:     %0 = "onnx.ShapeTransform"(%arg0) <{index_map = #map3}> : (tensor<1x8x4x4xf32>) -> tensor<1x2x4x4x4xf32>
// CHECK-NEXT:     onnx.Return %0 : tensor<1x2x4x4x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
#later = affine_map<(d0)[s0] -> (d0 ceildiv 4 + s0 * 2, -d0, d0 mod 3 - 1)>
#positive = affine_set<(d0) : (d0 - 1 >= 0, d0 mod 2 == 0)>
"test.op"() {map = #later, maps = [affine_map<() -> ()>, affine_map<(d0) -> (((d0 + 1)))>], set = #positive} : () -> ()
func.func @transformed(%x: tensor<1x8x4x4xf32>) -> tensor<1x2x4x4x4xf32> {
  %0 = "onnx.ShapeTransform"(%x) {index_map = affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>} : (tensor<1x8x4x4xf32>) -> tensor<1x2x4x4x4xf32>
  onnx.Return %0 : tensor<1x2x4x4x4xf32>
}
