// RUN: rm -rf %t && mkdir %t && echo '{"x": {"min": -2.54, "max": 1}, "b": {"min": 0, "max": 5.1}, "last": {"min": -1.27, "max": 1.27}}' > %t/table.json
// RUN: onnx-opt %s --quantize-onnx=table=%t/table.json --mlir-print-debuginfo | filecheck %s
// RUN: onnx-opt %s --quantize-onnx=table=%t/table.json --quantize-onnx=table=%t/table.json | filecheck %s --check-prefix=AGAIN
// RUN: onnx-opt %s "--quantize-onnx=table=%t/table.json keep-float=shrink" | filecheck %s --check-prefix=FLOAT
// RUN: not onnx-opt %s "--quantize-onnx=table=%t/table.json keep-float=shrunk" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not onnx-opt %s --quantize-onnx 2>&1 | filecheck %s --check-prefix=NONE
// RUN: echo '{"x": {"scale": 1}}' > %t/little.json
// RUN: not onnx-opt %s --quantize-onnx=table=%t/little.json 2>&1 | filecheck %s --check-prefix=LITTLE

// The input has a zero point, since its range is far from symmetric; Relu's output uses all of uint8, and the pool keeps
// its scale and zero point; the result of the last node, found by name, is symmetric. There is no quantization between
// the convolution and the Relu.
// CHECK-LABEL: @network
// CHECK-DAG:     dense<0.013882353> : tensor<f32>
// CHECK-DAG:     dense<183> : tensor<ui8>
// CHECK:         %[[QX:.*]] = "onnx.QuantizeLinear"(%arg0
// CHECK-SAME:      -> tensor<1x4x4x4xui8>
// CHECK:         %[[X:.*]] = "onnx.DequantizeLinear"(%[[QX]]
// CHECK:         %[[A:.*]] = "onnx.Conv"(%[[X]]
// CHECK-NEXT:    %[[B:.*]] = "onnx.Relu"(%[[A]])
// CHECK:         "onnx.QuantizeLinear"(%[[B]], %[[S:.*]], %[[Z:.*]]) {{.*}}-> tensor<1x4x4x4xui8>
// CHECK:         %[[C:.*]] = "onnx.MaxPoolSingleOut"
// CHECK:         "onnx.QuantizeLinear"(%[[C]], {{.*}}-> tensor<1x4x2x2xui8>
// CHECK:         %[[D:.*]] = "onnx.Neg"
// CHECK:         "onnx.QuantizeLinear"(%[[D]], {{.*}}-> tensor<1x4x2x2xi8>
// AGAIN-COUNT-4: "onnx.QuantizeLinear"
// AGAIN-NOT:     "onnx.QuantizeLinear"
// The pool stays in float, so there is a pair on each side of it, and the convolution ends in one.
// FLOAT:         "onnx.Relu"
// FLOAT:         %[[R:.*]] = "onnx.DequantizeLinear"
// FLOAT:         %[[P:.*]] = "onnx.MaxPoolSingleOut"(%[[R]]) {{.*}} {dla.keep_float}
// FLOAT:         %[[Q:.*]] = "onnx.QuantizeLinear"(%[[P]]
// FLOAT:         %[[D:.*]] = "onnx.DequantizeLinear"(%[[Q]]
// FLOAT:         "onnx.Neg"(%[[D]])
// UNKNOWN: keep-float: no node 'shrunk'; did you mean 'shrink'?
// NONE: quantize-onnx: table=FILE says which calibration table
// LITTLE: no range in the calibration table for 'b', 'd'; calibrate with this model
func.func @network(%x: tensor<1x4x4x4xf32> {onnx.name = "x"}) -> tensor<1x4x2x2xf32> {
  %w = onnx.Constant dense<1.0> : tensor<4x4x1x1xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %a = "onnx.Conv"(%x, %w, %none) : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>, none) -> tensor<1x4x4x4xf32> loc(fused<["a"]>["first"])
  %b = "onnx.Relu"(%a) : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc(fused<["b"]>["bend"])
  %c = "onnx.MaxPoolSingleOut"(%b) {kernel_shape = [2, 2], strides = [2, 2]} : (tensor<1x4x4x4xf32>) -> tensor<1x4x2x2xf32> loc(fused<["c"]>["shrink"])
  %d = "onnx.Neg"(%c) : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> loc(fused<["d"]>["last"])
  onnx.Return %d : tensor<1x4x2x2xf32>
}
