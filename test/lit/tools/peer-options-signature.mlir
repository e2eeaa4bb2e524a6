// RUN: onnx-opt %s --shapeInformation=0:4x-1,1-1:7 | filecheck %s --check-prefix=SHAPES
// RUN: onnx-opt %s --shapeInformation=-1:6x5x4,1:-1,1:8 | filecheck %s --check-prefix=ALL
// RUN: onnx-opt %s --shapeInformation 0:-1x9 | filecheck %s --check-prefix=CHANGED
// RUN: onnx-opt %s '--dimParams=0:0=rows,1=3*columns|1:0=rows' | filecheck %s --check-prefix=NAMES
// RUN: onnx-opt %s --dimParams=-1:0=n,1=c | filecheck %s --check-prefix=EACH
// RUN: onnx-opt %s --shapeInformation=0:-1x-1 --dimParams=0:0=a,1=b --shape-inference | filecheck %s --check-prefix=BOTH
// RUN: not onnx-opt %s --shapeInformation=0:4y5 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not onnx-opt %s --shapeInformation=2:4 2>&1 | filecheck %s --check-prefix=PLACE
// RUN: not onnx-opt %s --dimParams=0:rows 2>&1 | filecheck %s --check-prefix=NAMING
// RUN: not onnx-opt %s --dimParams=0:2=rows 2>&1 | filecheck %s --check-prefix=AXIS

// Shapes of inputs and names of their dimensions, by input index: index -1 applies to all inputs without an entry,
// dimension -1 is dynamic; the first entry of an index applies; omitted dimensions stay.

// A named dimension gets its size wherever the name occurs.
// SHAPES:      @model(%arg0: tensor<4x?xf32> {onnx.name = "x"}, %arg1: tensor<7xf32>)
// ALL:         @model(%arg0: tensor<6x5xf32> {onnx.name = "x"}, %arg1: tensor<?xf32> {onnx.dim_params = "0:m"})

// Dimensions derived from the old ones are inferred again.
// CHANGED:     @model(%arg0: tensor<?x9xf32> {onnx.dim_params = "0:n", onnx.name = "x"}, {{.*}} -> (tensor<?x9xf32> {onnx.dim_params = "0:n"})
// CHANGED:       (tensor<?x9xf32>) -> tensor<?x9xf32>

// NAMES:       @model(%arg0: tensor<?x3xf32> {onnx.dim_params = "0:rows", onnx.name = "x"}, %arg1: tensor<?xf32> {onnx.dim_params = "0:rows"})
// EACH:        @model(%arg0: tensor<?x3xf32> {onnx.dim_params = "0:n", onnx.name = "x"}, %arg1: tensor<?xf32> {onnx.dim_params = "0:n"})
// BOTH:        @model(%arg0: tensor<?x?xf32> {onnx.dim_params = "0:a,1:b", onnx.name = "x"}, %arg1: tensor<?xf32> {onnx.dim_params = "0:m"})

// FORM:        onnx-opt: option '--shapeInformation' takes input indices and shapes such as 0:1x3x-1,1-2:5x-1, found '0:4y5'
// PLACE:       --shapeInformation: no input 2; there are 2, counted from 0
// NAMING:      onnx-opt: option '--dimParams' takes indices and names as 0:0=batch,1=seq|1:0=batch, found '0:rows'
// AXIS:        --dimParams: input 'x': no dimension 2, its rank is 2
func.func @model(%x: tensor<?x3xf32> {onnx.name = "x", onnx.dim_params = "0:n"}, %v: tensor<?xf32> {onnx.dim_params = "0:m"}) -> tensor<?x3xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  onnx.Return %0 : tensor<?x3xf32>
}
