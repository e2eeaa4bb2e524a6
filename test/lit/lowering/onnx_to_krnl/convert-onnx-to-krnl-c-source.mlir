// RUN: onnx-opt %s --plugin %S/../../../../examples/plugins/cum_max.py --convert-onnx-to-krnl --split-input-file | filecheck %s

// An operator in C is a kernel that is declared, with its source.
// CHECK-LABEL: @static
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}) <{funcName = "[[KERNEL:CumMax_[0-9a-f]*]]", numOfOutput = 1 : si64}>
// CHECK:         func.func private @[[KERNEL]](memref<2x3xf32>, memref<2x3xf32>) -> () attributes {
// CHECK-SAME:    krnl.c_kernel = "XONNC_C_KERNEL void [[KERNEL]](void *p0, void *p1)
// CHECK-SAME:    d0[] = {2, 3};
// CHECK-SAME:    scans_cum_max(inputs, outputs, INT64_C(1));
// CHECK-SAME:    krnl.c_source = "static void scans_cum_max(
func.func @static(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = "scans.CumMax"(%x) {reverse = 1 : si64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// Dynamic dimensions are parameters.
// CHECK-LABEL: @dynamic
// CHECK:         "krnl.call"(%{{.*}}, %{{.*}}, %{{.*}}) <{funcName = "[[KERNEL:CumMax_[0-9a-f]*]]"
// CHECK:         func.func private @[[KERNEL]](memref<?x3xf32>, memref<?x3xf32>, index)
// CHECK-SAME:    d0[] = {s0, 3};
// CHECK-SAME:    {p0, 2, d0, s0 * 3, XONNC_FLOAT}
func.func @dynamic(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = "scans.CumMax"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}
