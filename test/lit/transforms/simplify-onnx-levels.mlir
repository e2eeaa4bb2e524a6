// RUN: onnx-opt %s --simplify-onnx='level=0' | filecheck %s --check-prefix=O0
// RUN: onnx-opt %s --simplify-onnx='level=1' | filecheck %s --check-prefix=O1
// RUN: onnx-opt %s --simplify-onnx | filecheck %s --check-prefix=O2
// RUN: onnx-opt %s --simplify-onnx='level=3' | filecheck %s --check-prefix=O2
// RUN: onnx-opt %s --simplify-onnx='level=1 enable-pass=fuse-operators-onnx' | filecheck %s --check-prefix=O2
// RUN: onnx-opt %s --simplify-onnx='disable-pass=constprop-onnx,fuse-operators-onnx' | filecheck %s --check-prefix=SOME
// RUN: onnx-opt %s --simplify-onnx='enable-pass=constprop-onnx disable-pass=constprop-onnx,fuse-operators-onnx' | filecheck %s --check-prefix=SOME
// RUN: not onnx-opt %s --simplify-onnx='level=4' 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not onnx-opt %s --simplify-onnx='disable-pass=constprop' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not onnx-opt %s --simplify-onnx='disable-pass=shape-inference-onnx' 2>&1 | filecheck %s --check-prefix=NEEDED

// Shape inference runs at every level, constant folding from O1 on, operator fusion from O2 on.

// O0-LABEL: @model
// O0-DAG:     %[[N:.*]] = onnx.Constant dense<4.000000e+00> : tensor<f32>
// O0:         "onnx.Add"({{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// O0:         "onnx.Identity"
// O0-NEXT:    "onnx.Neg"
// O0-NEXT:    "onnx.Neg"

// O1-LABEL: @model
// O1-NEXT:    onnx.Constant dense<8.000000e+00> : tensor<f32>
// O1-NEXT:    "onnx.Mul"
// O1-NEXT:    "onnx.Neg"
// O1-NEXT:    "onnx.Neg"

// O2-LABEL: @model
// O2-NEXT:    onnx.Constant dense<8.000000e+00> : tensor<f32>
// O2-NEXT:    "onnx.Mul"
// O2-NEXT:    onnx.Return

// SOME-LABEL: @model
// SOME:         "onnx.Add"
// SOME-NOT:     "onnx.Identity"
// SOME:         "onnx.Neg"

// LEVEL:  level: 4; there are 0, 1, 2, 3
// NAME:   no pass 'constprop' of the optimization levels; did you mean 'constprop-onnx'?
// NEEDED: shape-inference-onnx: a correct result needs this pass; those that may be disabled are canonicalize-onnx, constprop-onnx
func.func @model(%x: tensor<2x4xf32>) -> tensor<*xf32> {
  %c = "onnx.Constant"() <{value_float = 4.000000e+00 : f32}> : () -> tensor<f32>
  %0 = "onnx.Add"(%c, %c) : (tensor<f32>, tensor<f32>) -> tensor<*xf32>
  %1 = "onnx.Mul"(%x, %0) : (tensor<2x4xf32>, tensor<*xf32>) -> tensor<*xf32>
  %2 = "onnx.Identity"(%1) : (tensor<*xf32>) -> tensor<*xf32>
  %3 = "onnx.Neg"(%2) : (tensor<*xf32>) -> tensor<*xf32>
  %4 = "onnx.Neg"(%3) : (tensor<*xf32>) -> tensor<*xf32>
  onnx.Return %4 : tensor<*xf32>
}
