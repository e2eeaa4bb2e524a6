// RUN: rm -rf %t && mkdir %t && echo '{"x": {"min": -1, "max": 1.55}, "a": {"min": -2, "max": 2}, "b": {"min": 0, "max": 2.55}, "d": {"min": -1.28, "max": 1.27}}' > %t/table.json
// RUN: onnx-opt %s --insert-qdq-onnx=table=%t/table.json --mlir-print-debuginfo | filecheck %s
// RUN: onnx-opt %s --insert-qdq-onnx="table=%t/table.json activations=symmetric per-tensor=true" | filecheck %s --check-prefix=SYMMETRIC
// RUN: onnx-opt %s --insert-qdq-onnx="table=%t/table.json keep-float=first" | filecheck %s --check-prefix=KEPT
// RUN: onnx-opt %s --insert-qdq-onnx=table=%t/table.json --insert-qdq-onnx=table=%t/table.json | filecheck %s --check-prefix=AGAIN
// RUN: not onnx-opt %s --insert-qdq-onnx 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not onnx-opt %s --insert-qdq-onnx="table=%t/table.json activations=int4" 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not onnx-opt %s --insert-qdq-onnx="table=%t/table.json keep-float=frist" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not onnx-opt %s --insert-qdq-onnx="table=%t/table.json keep-float=w1" 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: echo '{"x": {"scale": 1}}' > %t/little.json
// RUN: not onnx-opt %s --insert-qdq-onnx=table=%t/little.json 2>&1 | filecheck %s --check-prefix=LITTLE

// The weights are int8 with a scale for each of the two channels, the bias is int32 in the scale of the sums. There is
// no pair between the convolution and its Relu; the pool has the parameters of its input; Softmax stays in float.
// CHECK-LABEL: @network
// CHECK-DAG:     %[[S:.*]] = onnx.Constant dense<0.00999999977> : tensor<f32>
// CHECK-DAG:     %[[Z:.*]] = onnx.Constant dense<100> : tensor<ui8>
// CHECK:         %[[QX:.*]] = "onnx.QuantizeLinear"(%arg0, %[[S]], %[[Z]])
// CHECK-SAME:      -> tensor<1x1x4x4xui8>
// CHECK:         %[[X:.*]] = "onnx.DequantizeLinear"(%[[QX]], %[[S]], %[[Z]])
// CHECK:         %[[W:.*]] = onnx.Constant dense<{{.*}}127{{.*}}-127{{.*}}> : tensor<2x1x1x1xi8>
// CHECK:         %[[DW:.*]] = "onnx.DequantizeLinear"(%[[W]], {{.*}}axis = 0 : si64{{.*}} tensor<2xf32>
// CHECK:         %[[B:.*]] = onnx.Constant dense<[12700, 0]> : tensor<2xi32>
// CHECK:         %[[DB:.*]] = "onnx.DequantizeLinear"(%[[B]]
// CHECK:         %[[A:.*]] = "onnx.Conv"(%[[X]], %[[DW]], %[[DB]])
// CHECK-NEXT:    %[[R:.*]] = "onnx.Relu"(%[[A]])
// CHECK:         "onnx.QuantizeLinear"(%[[R]], %[[RS:.*]], %[[RZ:.*]]) {{.*}}-> tensor<1x2x4x4xui8>
// CHECK:         %[[C:.*]] = "onnx.MaxPoolSingleOut"
// CHECK:         "onnx.QuantizeLinear"(%[[C]]
// CHECK:         %[[D:.*]] = "onnx.Sigmoid"
// CHECK:         %[[QD:.*]] = "onnx.QuantizeLinear"(%[[D]]
// CHECK:         %[[DD:.*]] = "onnx.DequantizeLinear"(%[[QD]]
// CHECK-NEXT:    "onnx.Softmax"(%[[DD]])
// CHECK-NEXT:    onnx.Return
// SYMMETRIC:     "onnx.QuantizeLinear"(%{{.*}} -> tensor<1x1x4x4xi8>
// SYMMETRIC:     dense<{{.*}}> : tensor<2x1x1x1xi8>
// SYMMETRIC-NEXT: %[[ONE:.*]] = onnx.Constant dense<{{.*}}> : tensor<f32>
// KEPT-NOT:      QuantizeLinear
// AGAIN-COUNT-4: "onnx.QuantizeLinear"
// AGAIN-NOT:     "onnx.QuantizeLinear"
// NONE: insert-qdq-onnx: table=FILE says which calibration table
// KIND: insert-qdq-onnx: no type of activations 'int4'; {{.*}}int8
// NAME: keep-float: no node 'frist'; did you mean 'first'
// OTHER: keep-float: no node 'w1'; 'xonnc simplify' writes the model whose nodes there are
// LITTLE: no range in the calibration table for 'b', 'd'; calibrate with this model
func.func @network(%x: tensor<1x1x4x4xf32> {onnx.name = "x"}) -> tensor<1x2x2x2xf32> {
  %w = onnx.Constant dense<[[[[1.27]]], [[[-2.54]]]]> : tensor<2x1x1x1xf32>
  %bias = onnx.Constant dense<[1.27, 0.0]> : tensor<2xf32>
  %a = "onnx.Conv"(%x, %w, %bias) : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc(fused<["a"]>["first"])
  %b = "onnx.Relu"(%a) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> loc(fused<["b"]>["bend"])
  %c = "onnx.MaxPoolSingleOut"(%b) {kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> loc(fused<["c"]>["shrink"])
  %d = "onnx.Sigmoid"(%c) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> loc(fused<["d"]>["squash"])
  %e = "onnx.Softmax"(%d) : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> loc(fused<["e"]>["last"])
  onnx.Return %e : tensor<1x2x2x2xf32>
}
