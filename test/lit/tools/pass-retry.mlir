// RUN: onnx-opt %s --plugin %S/../../../examples/plugins/fit_tiles.py --fit-tiles 2>&1 | filecheck %s
// RUN: onnx-opt %s --plugin %S/../../../examples/plugins/fit_tiles.py --fit-tiles='tile=32' 2>&1 | filecheck %s --check-prefix=GIVEN
// RUN: not onnx-opt %s --plugin %S/../../../examples/plugins/fit_tiles.py --fit-tiles='tile=4096 buffer=1' 2>&1 | filecheck %s --check-prefix=BOUNDED

// Two retries; the module of the last run remains.
// CHECK:      remark: pass fit-tiles: retry 2/8 with tile=32: 64 rows do not fit 16
// CHECK:      remark: pass fit-tiles: retry 3/8 with tile=16: 32 rows do not fit 16
// CHECK-NOT:  retry
// CHECK:      module attributes {tiling.tile = 16 : i64}

// GIVEN-NOT:  retry 3/8
// GIVEN:      module attributes {tiling.tile = 16 : i64}

// BOUNDED:    remark: pass fit-tiles: retry 8/8 with tile=32: 64 rows do not fit 1
// BOUNDED:    error: pass fit-tiles gives up after 8 tries: 32 rows do not fit 1; it asks for tile=16
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
