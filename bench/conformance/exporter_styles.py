"""
Handwritten models in the style of old exporters: keras2onnx, MXNet, Darknet and earlier versions of torch,
tf2onnx and Paddle2ONNX, with their naming, declarations and idioms.

Models of current versions are in `torch_exports.py`, `tensorflow_exports.py` and `paddle_exports.py`.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from bench.conformance.graph_builder import GraphBuilder, normal
from bench.conformance.model_specs import Built


def tf_convolution() -> Built:
    """tf2onnx of a Keras CNN: NHWC outside, Transpose pairs inside, `unk__` batch, biases as Add."""
    s = GraphBuilder(1)
    scope = "StatefulPartitionedCall/model"
    s.input("input_1:0", ["unk__61", 28, 28, 1])
    x = s.node(
        "Transpose",
        ["input_1:0"],
        f"{scope}/conv2d/Conv2D__6:0",
        f"{scope}/conv2d/Conv2D__6",
        perm=[0, 3, 1, 2],
    )
    for index, (i, o) in enumerate(((1, 8), (8, 16))):
        layer = f"{scope}/conv2d_{index}"
        s.random_weight(f"{layer}/Conv2D/ReadVariableOp:0", o, i, 3, 3, gain=1.4)
        s.random_weight(f"{layer}/BiasAdd/ReadVariableOp:0", 1, o, 1, 1)
        x = s.node(
            "Conv",
            [x, f"{layer}/Conv2D/ReadVariableOp:0"],
            f"{layer}/Conv2D:0",
            f"{layer}/Conv2D",
            auto_pad="SAME_UPPER",
            strides=[2, 2],
            kernel_shape=[3, 3],
        )
        x = s.node("Add", [x, f"{layer}/BiasAdd/ReadVariableOp:0"], f"{layer}/BiasAdd:0", f"{layer}/BiasAdd")
        x = s.node("Relu", [x], f"{layer}/Relu:0", f"{layer}/Relu")
    back = s.node("Transpose", [x], f"{x}__14:0", f"{x}__14", perm=[0, 2, 3, 1])
    s.weight("const_fold_opt__20", [-1, 784], "int64")
    flat = s.node(
        "Reshape", [back, "const_fold_opt__20"], f"{scope}/flatten/Reshape:0", f"{scope}/flatten/Reshape"
    )
    s.random_weight(f"{scope}/dense/MatMul/ReadVariableOp:0", 784, 10, gain=0.1)
    s.random_weight(f"{scope}/dense/BiasAdd/ReadVariableOp:0", 10)
    y = s.node("MatMul", [flat, f"{scope}/dense/MatMul/ReadVariableOp:0"], f"{scope}/dense/MatMul:0")
    y = s.node("Add", [y, f"{scope}/dense/BiasAdd/ReadVariableOp:0"], f"{scope}/dense/BiasAdd:0")
    s.node("Softmax", [y], "Identity:0", f"{scope}/dense/Softmax", axis=-1)
    s.output("Identity:0", ["unk__62", 10])
    return s.model(13, producer="tf2onnx", ir_version=7), {"input_1:0": normal(2, 28, 28, 1)}


def tf_loop_of_vectors() -> Built:
    """tf2onnx of a while loop: number and condition of the body are declared as tensors of one element."""
    b = GraphBuilder()
    b.input("while_cond_iteration:0", [1], "int64")
    b.input("while_cond:0", [1], "bool")
    b.input("body_sum:0", None)
    b.weight("body_one:0", 1.0)
    b.node("Add", ["body_sum:0", "body_one:0"], "body_added:0", "while/add")
    b.node("Mul", ["body_added:0", "body_added:0"], "body_square:0", "while/square")
    b.node("ReduceSum", ["body_square:0"], "body_total:0", "while/sum", keepdims=0)
    b.weight("body_limit:0", 50.0)
    b.node("Less", ["body_total:0", "body_limit:0"], "body_goes_on:0", "while/Less")
    b.node("Identity", ["body_added:0"], "body_scan:0", "while/scan")
    b.output("body_goes_on:0", [1], "bool")
    b.output("body_added:0", None)
    b.output("body_scan:0", None)
    s = GraphBuilder()
    s.input("x:0", ["unk__1", 3])
    s.weight("while/maximum_iterations:0", [9], "int64")
    s.weight("while/true:0", [True], "bool")
    s.node(
        "Loop",
        ["while/maximum_iterations:0", "while/true:0", "x:0"],
        ["while/loop:0", "while/loop:1"],
        "while/loop",
        body=b.graph("while_body"),
    )
    s.node("Identity", ["while/loop:0"], "Identity:0", "Identity")
    s.node("Identity", ["while/loop:1"], "Identity_1:0", "Identity_1")
    s.output("Identity:0", ["unk__2", 3])
    s.output("Identity_1:0", None)
    return s.model(12, producer="tf2onnx"), {"x:0": normal(2, 3)}


def tf_lstm() -> Built:
    """tf2onnx of a Keras LSTM: Shape, Cast to int32, StridedSlice, Fill for the first state."""
    s = GraphBuilder(2)
    s.input("input:0", ["unk__10", "unk__11", 12])
    s.node("Shape", ["input:0"], "shape__1:0", "lstm/Shape")
    s.node("Cast", ["shape__1:0"], "shape_int:0", "lstm/Shape__4", to=int(onnx.TensorProto.INT32))
    s.weight("zero:0", [0], "int64")
    s.weight("one:0", [1], "int64")
    s.node("Slice", ["shape_int:0", "zero:0", "one:0", "zero:0"], "batch:0", "lstm/strided_slice")
    s.weight("units:0", [16], "int32")
    s.node("Concat", ["batch:0", "units:0"], "packed:0", "lstm/zeros/packed_Concat__12", axis=0)
    s.node("Cast", ["packed:0"], "packed_long:0", "lstm/zeros__14", to=int(onnx.TensorProto.INT64))
    zero = helper.make_tensor("value", onnx.TensorProto.FLOAT, [1], [0.0])
    s.node("ConstantOfShape", ["packed_long:0"], "zeros:0", "lstm/zeros", value=zero)
    s.node("Unsqueeze", ["zeros:0", "zero:0"], "first_h:0", "lstm/h")
    s.node("Transpose", ["input:0"], "steps:0", "lstm/transpose", perm=[1, 0, 2])
    s.random_weight("W:0", 1, 64, 12, gain=3.0)
    s.random_weight("R:0", 1, 64, 16, gain=3.0)
    s.random_weight("B:0", 1, 128, gain=0.3)
    s.node(
        "LSTM",
        ["steps:0", "W:0", "R:0", "B:0", "", "first_h:0", "first_h:0"],
        ["states:0", "last_h:0", "last_c:0"],
        "lstm/lstm",
        hidden_size=16,
    )
    s.node("Squeeze", ["states:0", "one:0"], "hidden:0", "lstm/Squeeze")
    s.node("Transpose", ["hidden:0"], "Identity:0", "lstm/transpose_1", perm=[1, 0, 2])
    s.node("Squeeze", ["last_c:0", "zero:0"], "Identity_1:0", "lstm/cell")
    s.output("Identity:0", ["unk__12", "unk__13", 16])
    s.output("Identity_1:0", ["unk__12", 16])
    return s.model(13, producer="tf2onnx", ir_version=7), {"input:0": normal(2, 5, 12)}


def tf_detection_tail() -> Built:
    """The end of a TensorFlow detector: NonMaxSuppression, its indices cast, sliced and gathered."""
    s = GraphBuilder(3)
    s.input("boxes:0", [1, 40, 4])
    s.input("scores:0", [1, 3, 40])
    s.weight("count:0", [6], "int64")
    s.weight("overlap:0", [0.5])
    s.weight("least:0", [0.3])
    s.node("NonMaxSuppression", ["boxes:0", "scores:0", "count:0", "overlap:0", "least:0"], "kept:0", "nms")
    s.weight("two:0", [2], "int64")
    s.weight("three:0", [3], "int64")
    s.weight("axis:0", [1], "int64")
    s.node("Slice", ["kept:0", "two:0", "three:0", "axis:0"], "which:0", "strided_slice")
    s.node("Cast", ["which:0"], "which_int:0", "Cast", to=int(onnx.TensorProto.INT32))
    s.node("Squeeze", ["which_int:0", "axis:0"], "indices:0", "Squeeze")
    s.weight("first:0", [0], "int64")
    s.node("Squeeze", ["boxes:0", "first:0"], "all:0", "Squeeze_1")
    s.node("Gather", ["all:0", "indices:0"], "detected:0", "GatherV2")
    s.node("Shape", ["indices:0"], "number:0", "Size")
    s.output("detected:0", ["unk__3", 4])
    s.output("number:0", [1], "int64")
    low = np.random.default_rng(4).uniform(0, 8, (1, 40, 2))
    boxes = np.concatenate([low, low + 3], axis=2).astype(np.float32)
    scores = np.random.default_rng(6).uniform(0, 1, (1, 3, 40)).astype(np.float32)
    return s.model(13, producer="tf2onnx", ir_version=7), {"boxes:0": boxes, "scores:0": scores}


def paddle_classifier() -> Built:
    """Paddle2ONNX: `?` dimensions, constants as nodes, hard_swish spelled out, Identity at the end."""
    s = GraphBuilder(4)
    s.input("x", ["p2o.DynamicDimension.0", 3, "?", "?"])
    x = "x"
    for index, (i, o, groups) in enumerate(((3, 8, 1), (8, 8, 8), (8, 16, 1))):
        weight = (s.random.standard_normal((o, i // groups, 3, 3)) / 3).astype(np.float32)
        s.constant(f"conv2d_{index}.w_0", weight)
        x = s.node(
            "Conv",
            [x, f"conv2d_{index}.w_0"],
            f"conv2d_{index}.tmp_0",
            f"p2o.Conv.{index}",
            dilations=[1, 1],
            group=groups,
            kernel_shape=[3, 3],
            pads=[1, 1, 1, 1],
            strides=[2, 2] if not index else [1, 1],
        )
        for part, value in (("w_0", 1.2), ("b_0", 0.1), ("w_1", 0.05), ("w_2", 0.9)):
            s.constant(f"batch_norm_{index}.{part}", np.full(o, value, np.float32))
        x = s.node(
            "BatchNormalization",
            [x, *(f"batch_norm_{index}.{part}" for part in ("w_0", "b_0", "w_1", "w_2"))],
            f"batch_norm_{index}.tmp_2",
            f"p2o.BatchNormalization.{index}",
            epsilon=1e-5,
            momentum=0.9,
        )
        s.constant(f"three_{index}", [3.0])
        s.constant(f"six_{index}", [6.0])
        s.constant(f"low_{index}", 0.0)
        s.constant(f"high_{index}", 6.0)
        shifted = s.node("Add", [x, f"three_{index}"], f"p2o.Add.{index}.out", f"p2o.Add.{index}")
        clipped = s.node("Clip", [shifted, f"low_{index}", f"high_{index}"], f"p2o.Clip.{index}.out")
        product = s.node("Mul", [x, clipped], f"p2o.Mul.{index}.out")
        x = s.node("Div", [product, f"six_{index}"], f"hardswish_{index}.tmp_0", f"p2o.Div.{index}")
    x = s.node("GlobalAveragePool", [x], "pool2d_0.tmp_0", "p2o.GlobalAveragePool.0")
    s.node("Shape", [x], "p2o.Shape.0.out")
    s.node("Cast", ["p2o.Shape.0.out"], "p2o.Cast.0.out", to=int(onnx.TensorProto.INT32))
    s.constant("starts", [0], "int64")
    s.constant("ends", [1], "int64")
    s.node("Slice", ["p2o.Cast.0.out", "starts", "ends"], "p2o.Slice.0.out")
    s.constant("rest", [16], "int32")
    s.node("Concat", ["p2o.Slice.0.out", "rest"], "p2o.Concat.0.out", axis=0)
    s.node("Cast", ["p2o.Concat.0.out"], "p2o.Cast.1.out", to=int(onnx.TensorProto.INT64))
    s.node("Reshape", [x, "p2o.Cast.1.out"], "reshape2_0.tmp_0", "p2o.Reshape.0")
    s.constant("fc_0.w_0", (s.random.standard_normal((16, 5)) / 4).astype(np.float32))
    s.constant("fc_0.b_0", (s.random.standard_normal(5) / 4).astype(np.float32))
    s.node("MatMul", ["reshape2_0.tmp_0", "fc_0.w_0"], "linear_0.tmp_0", "p2o.MatMul.0")
    s.node("Add", ["linear_0.tmp_0", "fc_0.b_0"], "linear_0.tmp_1", "p2o.Add.9")
    s.node("Softmax", ["linear_0.tmp_1"], "softmax_0.tmp_0", "p2o.Softmax.0", axis=-1)
    s.node("Identity", ["softmax_0.tmp_0"], "save_infer_model/scale_0.tmp_0", "p2o.Identity.0")
    s.output("save_infer_model/scale_0.tmp_0", ["p2o.DynamicDimension.0", 5])
    return s.model(11, producer="PaddlePaddle", ir_version=7), {"x": normal(2, 3, 20, 24)}


def paddle_resize() -> Built:
    """Paddle2ONNX of a feature pyramid: sizes by Shape, Slice and int32 Cast, Resize to them."""
    s = GraphBuilder(5)
    s.input("x", [-1, 4, "?", "?"])
    s.random_weight("w", 4, 4, 3, 3, gain=1.2)
    s.node("Conv", ["x", "w"], "small", strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    s.node("Shape", ["x"], "size")
    s.node("Cast", ["size"], "size_int", to=int(onnx.TensorProto.INT32))
    for name, value in (("zero", 0), ("two", 2), ("four", 4)):
        s.constant(name, [value], "int64")
    s.node("Slice", ["size_int", "two", "four", "zero"], "extent")
    s.node("Shape", ["small"], "small_size")
    s.node("Slice", ["small_size", "zero", "two", "zero"], "kept")
    s.node("Cast", ["extent"], "extent_long", to=int(onnx.TensorProto.INT64))
    s.node("Concat", ["kept", "extent_long"], "target", axis=0)
    s.constant("region", np.zeros(0, np.float32))
    s.constant("scales", np.zeros(0, np.float32))
    s.node(
        "Resize",
        ["small", "region", "scales", "target"],
        "large",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    s.node("Add", ["large", "x"], "y")
    s.output("y", [-1, -1, "?", "?"])
    return s.model(11, producer="PaddlePaddle", ir_version=7), {"x": normal(1, 4, 10, 14)}


def keras_opset7() -> Built:
    """keras2onnx of opset 7: attributes where operands are today, Upsample by scales, initializers listed."""
    s = GraphBuilder(6)
    s.input("input_1", ["N", 3, 16, 16])
    s.random_weight("conv/W", 6, 3, 3, 3, gain=1.3)
    s.random_weight("conv/B", 6)
    s.node("Conv", ["input_1", "conv/W", "conv/B"], "c", "conv", auto_pad="SAME_UPPER", kernel_shape=[3, 3])
    for part, value in (("gamma", 1.1), ("beta", 0.2), ("mean", 0.1), ("var", 0.8)):
        s.weight(f"bn/{part}", np.full(6, value, np.float32))
    s.node(
        "BatchNormalization",
        ["c", "bn/gamma", "bn/beta", "bn/mean", "bn/var"],
        "b",
        "bn",
        epsilon=0.001,
        spatial=1,
        momentum=0.99,
    )
    s.node("LeakyRelu", ["b"], "a", "leaky", alpha=0.3)
    s.node("MaxPool", ["a"], "p", "pool", kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID")
    s.node("Upsample", ["p"], "u", "up", mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
    s.node("Concat", ["u", "a"], "k", "concat", axis=1)
    s.node("Pad", ["k"], "pad", "zeropad", mode="constant", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.0)
    s.node("Clip", ["pad"], "clip", "relu6", min=0.0, max=6.0)
    s.node("Dropout", ["clip"], "d", "dropout", ratio=0.5)
    s.node("ReduceMean", ["d"], "m", "gap", axes=[2, 3], keepdims=0)
    s.random_weight("dense/W", 12, 4)
    s.random_weight("dense/B", 4)
    s.node("MatMul", ["m", "dense/W"], "z", "dense")
    s.node("Add", ["z", "dense/B"], "o", "bias")
    s.node("Softmax", ["o"], "output", "softmax", axis=1)
    s.output("output", ["N", 4])
    model = s.model(7, producer="keras2onnx", ir_version=3, weights_are_inputs=True)
    return model, {"input_1": normal(2, 3, 16, 16)}


def darknet_opset8() -> Built:
    """A Darknet detector of opset 8: Upsample, Slice and Unsqueeze by attributes, routes by Concat."""
    s = GraphBuilder(7)
    s.input("000_net", [1, 3, 32, 32])
    x = "000_net"
    outputs: list[str] = []
    for index, (i, o, stride) in enumerate(((3, 8, 1), (8, 16, 2), (16, 16, 2))):
        s.random_weight(f"{index:03}_conv_weights", o, i, 3, 3, gain=1.4)
        x = s.node(
            "Conv",
            [x, f"{index:03}_conv_weights"],
            f"{index:03}_convolutional",
            f"{index:03}_convolutional",
            auto_pad="SAME_LOWER",
            kernel_shape=[3, 3],
            strides=[stride, stride],
        )
        for part, value in (("scale", 1.1), ("bias", 0.1), ("mean", 0.05), ("var", 0.7)):
            s.weight(f"{index:03}_bn_{part}", np.full(o, value, np.float32))
        names = [f"{index:03}_bn_{part}" for part in ("scale", "bias", "mean", "var")]
        x = s.node("BatchNormalization", [x, *names], f"{index:03}_bn", epsilon=1e-5, momentum=0.99)
        x = s.node("LeakyRelu", [x], f"{index:03}_lrelu", alpha=0.1)
        outputs.append(x)
    s.node("Upsample", [x], "006_upsample", mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
    s.node("Concat", ["006_upsample", outputs[1]], "007_route", axis=1)
    s.random_weight("008_conv_weights", 18, 32, 1, 1)
    s.random_weight("008_conv_bias", 18)
    s.node("Conv", ["007_route", "008_conv_weights", "008_conv_bias"], "008_head", kernel_shape=[1, 1])
    s.node("Slice", ["008_head"], "009_boxes", axes=[1], starts=[0], ends=[4])
    s.node("Sigmoid", ["009_boxes"], "010_scaled")
    s.node("Slice", ["008_head"], "011_rest", axes=[1], starts=[4], ends=[9223372036854775807])
    s.node("Concat", ["010_scaled", "011_rest"], "012_out", axis=1)
    s.node("Unsqueeze", ["012_out"], "013_out", axes=[0])
    s.output("013_out", [1, 1, 18, 16, 16])
    return s.model(8, producer="NVIDIA TensorRT sample", ir_version=3, weights_are_inputs=True), {
        "000_net": normal(1, 3, 32, 32)
    }


def mxnet_opset8() -> Built:
    """MXNet's exporter: IR version 3, everything an input, Flatten, Gemm and odd names."""
    s = GraphBuilder(8)
    s.input("data", [1, 3, 24, 24])
    s.random_weight("resnetv10_conv0_weight", 8, 3, 7, 7, gain=1.4)
    s.node(
        "Conv",
        ["data", "resnetv10_conv0_weight"],
        "resnetv10_conv0_fwd",
        "resnetv10_conv0_fwd",
        kernel_shape=[7, 7],
        strides=[2, 2],
        pads=[3, 3, 3, 3],
        dilations=[1, 1],
        group=1,
    )
    for part, value in (("gamma", 1.0), ("beta", 0.1), ("running_mean", 0.1), ("running_var", 0.6)):
        s.weight(f"resnetv10_bn0_{part}", np.full(8, value, np.float32))
    names = [f"resnetv10_bn0_{part}" for part in ("gamma", "beta", "running_mean", "running_var")]
    s.node(
        "BatchNormalization",
        ["resnetv10_conv0_fwd", *names],
        "bn",
        "bn",
        epsilon=1e-5,
        momentum=0.9,
        spatial=1,
    )
    s.node("Relu", ["bn"], "relu", "relu")
    s.node("MaxPool", ["relu"], "pool", "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    s.random_weight("prelu_gamma", 8, 1, 1, gain=0.2)
    s.node("PRelu", ["pool", "prelu_gamma"], "prelu", "prelu")
    s.node("GlobalAveragePool", ["prelu"], "gap", "gap")
    s.node("Flatten", ["gap"], "flat", "flat")
    s.random_weight("dense0_weight", 6, 8)
    s.random_weight("dense0_bias", 6)
    s.node("Gemm", ["flat", "dense0_weight", "dense0_bias"], "dense0_fwd", "dense0_fwd", transB=1)
    s.output("dense0_fwd", [1, 6])
    return s.model(8, producer="mxnet", ir_version=3, weights_are_inputs=True), {"data": normal(1, 3, 24, 24)}


def torch_opset9() -> Built:
    """torch 1.2: sizes by Shape, Gather, Unsqueeze and Concat, weights with numbers for names."""
    s = GraphBuilder(9)
    s.input("input.1", ["batch", 3, 12, 12])
    s.random_weight("features.0.weight", 6, 3, 3, 3, gain=1.3)
    s.random_weight("features.0.bias", 6)
    s.node(
        "Conv",
        ["input.1", "features.0.weight", "features.0.bias"],
        "4",
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        strides=[2, 2],
    )
    s.node("Elu", ["4"], "5", alpha=1.0)
    s.node("Shape", ["5"], "6")
    s.node("Constant", [], "7", value=helper.make_tensor("", onnx.TensorProto.INT64, [], [0]))
    s.node("Gather", ["6", "7"], "8", axis=0)
    s.constant("9", -1, "int64")
    s.node("Unsqueeze", ["8"], "10", axes=[0])
    s.node("Unsqueeze", ["9"], "11", axes=[0])
    s.node("Concat", ["10", "11"], "12", axis=0)
    s.node("Reshape", ["5", "12"], "13")
    s.random_weight("fc.weight", 5, 216, gain=1.0)
    s.random_weight("fc.bias", 5)
    s.node("Gemm", ["13", "fc.weight", "fc.bias"], "14", alpha=1.0, beta=1.0, transB=1)
    s.node("LogSoftmax", ["14"], "15", axis=1)
    s.output("15", ["batch", 5])
    return s.model(9, producer="pytorch", ir_version=4), {"input.1": normal(3, 3, 12, 12)}
