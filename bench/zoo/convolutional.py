"""Convolutional networks as torch exports them in training mode: BatchNormalization is not fused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx

from bench.zoo.graph_builder import GraphBuilder

IMAGE = (1, 3, 224, 224)
CLASSES = 1000


def mnist_cnn() -> onnx.ModelProto:
    """The classifier of torch's MNIST example, smaller."""
    graph = GraphBuilder("mnist_cnn")
    value = graph.input("input", (1, 1, 28, 28))
    for index, (inputs, outputs) in enumerate(((1, 32), (32, 64))):
        with graph.within(f"conv{index + 1}"):
            value = conv(graph, value, inputs, outputs, bias=True)
        value = graph.op("MaxPool", graph.op("Relu", value), kernel_shape=[2, 2], strides=[2, 2])
    value = graph.op("Reshape", value, graph.constant(np.asarray([1, 64 * 7 * 7], np.int64)))
    value = graph.op("Relu", linear(graph, "fc1", value, 64 * 7 * 7, 128))
    value = graph.op("Softmax", linear(graph, "fc2", value, 128, 10), axis=1)
    return graph.model({"output": (value, (1, 10))})


def resnet18() -> onnx.ModelProto:
    """ResNet-18: two 3x3 convolutions a block."""
    return resnet("resnet18", basic_block, (2, 2, 2, 2), expansion=1)


def resnet50() -> onnx.ModelProto:
    """ResNet-50: a bottleneck of three convolutions a block."""
    return resnet("resnet50", bottleneck, (3, 4, 6, 3), expansion=4)


Block = Callable[[GraphBuilder, str, int, int, int], str]
"""Appends the branch of a block: graph, input, channels of input, width and stride."""


def resnet(name: str, block: Block, depths: tuple[int, ...], expansion: int) -> onnx.ModelProto:
    """Deep residual network."""
    graph = GraphBuilder(name)
    value = conv_norm(graph, "1", graph.input("input", IMAGE), 3, 64, size=7, stride=2)
    value = graph.op("Relu", value)
    value = graph.op("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for index in range(depth):
            stride = 2 if stage and not index else 1
            with graph.within(f"layer{stage + 1}", f"layer{stage + 1}.{index}"):
                branch = block(graph, value, channels, width, stride)
                if not index and (stage or expansion > 1):
                    with graph.within("downsample"):
                        outputs = width * expansion
                        value = conv_norm(graph, "", value, channels, outputs, size=1, stride=stride)
                channels = width * expansion
                value = graph.op("Relu", graph.op("Add", branch, value))
    value = graph.op("Flatten", graph.op("GlobalAveragePool", value), axis=1)
    value = linear(graph, "fc", graph.op("Identity", value), channels, CLASSES)
    return graph.model({"output": (value, (1, CLASSES))})


def basic_block(graph: GraphBuilder, value: str, channels: int, width: int, stride: int) -> str:
    """Two 3x3 convolutions."""
    value = graph.op("Relu", conv_norm(graph, "1", value, channels, width, stride=stride))
    return conv_norm(graph, "2", value, width, width, scale=0.5)


def bottleneck(graph: GraphBuilder, value: str, channels: int, width: int, stride: int) -> str:
    """1x1, 3x3 and 1x1, the last to four times the width."""
    value = graph.op("Relu", conv_norm(graph, "1", value, channels, width, size=1))
    value = graph.op("Relu", conv_norm(graph, "2", value, width, width, stride=stride))
    return conv_norm(graph, "3", value, width, 4 * width, size=1, scale=0.5)


def mobilenet_v2() -> onnx.ModelProto:
    """MobileNet-v2: inverted residuals of depthwise convolutions, ReLU6 as Clip."""
    graph = GraphBuilder("mobilenet_v2")

    def relu6(value: str) -> str:
        return graph.op("Clip", value, graph.literal(0.0), graph.literal(6.0))

    value = relu6(conv_norm(graph, "stem", graph.input("input", IMAGE), 3, 32, stride=2))
    channels, count = 32, 0
    stages = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, outputs, depth, first_stride in stages:
        for index in range(depth):
            count += 1
            stride, hidden, before = (1 if index else first_stride), channels * expansion, value
            with graph.within("features", f"features.{count}", "conv"):
                if expansion > 1:
                    value = relu6(conv_norm(graph, "expand", value, channels, hidden, size=1))
                value = conv_norm(graph, "depthwise", value, hidden, hidden, stride=stride, group=hidden)
                value = conv_norm(graph, "project", relu6(value), hidden, outputs, size=1, gain=1)
            if stride == 1 and channels == outputs:
                value = graph.op("Add", before, value)
            channels = outputs
    value = relu6(conv_norm(graph, "last", value, channels, 1280, size=1))
    value = graph.op("Flatten", graph.op("GlobalAveragePool", value), axis=1)
    value = linear(graph, "classifier", graph.op("Identity", value), 1280, CLASSES)
    return graph.model({"output": (value, (1, CLASSES))})


def unet(width: int = 32, size: int = 256) -> onnx.ModelProto:
    """U-Net of four levels on bytes: transposed convolutions up, skipped connections concatenated."""
    graph = GraphBuilder("unet")

    def double(name: str, value: str, inputs: int, outputs: int) -> str:
        with graph.within(name):
            value = graph.op("Relu", conv_norm(graph, "1", value, inputs, outputs))
            return graph.op("Relu", conv_norm(graph, "2", value, outputs, outputs))

    pixels = graph.op("Div", graph.input("input", (1, 3, size, size)), graph.literal(255.0))
    value = double("down0", pixels, 3, width)
    skipped: list[str] = []
    for level in range(1, 4):
        skipped.append(value)
        value = graph.op("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
        value = double(f"down{level}", value, width << (level - 1), width << level)
    for level in reversed(range(3)):
        channels = width << level
        with graph.within(f"up{level}", "up"):
            weights = graph.normal("weight", (2 * channels, channels, 2, 2), (1 / (2 * channels)) ** 0.5)
            bias = graph.normal("bias", (channels,), 0.1)
            value = graph.op("ConvTranspose", value, weights, bias, kernel_shape=[2, 2], strides=[2, 2])
        value = graph.op("Concat", skipped[level], value, axis=1)
        value = double(f"up{level}", value, 2 * channels, channels)
    with graph.within("head"):
        value = conv(graph, graph.op("Identity", value), width, 1, size=1, bias=True)
    return graph.model({"output": (value, (1, 1, size, size))})


def conv_norm(
    graph: GraphBuilder,
    name: str,
    value: str,
    inputs: int,
    outputs: int,
    *,
    size: int = 3,
    stride: int = 1,
    group: int = 1,
    gain: float = 2.0,
    scale: float = 1.0,
) -> str:
    """A convolution without bias and a batch norm whose factors are about `scale`."""
    with graph.within(f"conv{name}"):
        value = conv(graph, value, inputs, outputs, size=size, stride=stride, group=group, gain=gain)
    with graph.within(f"bn{name}"):
        statistics = (
            graph.normal("weight", (outputs,), 0.05, scale),
            graph.normal("bias", (outputs,), 0.1),
            graph.normal("running_mean", (outputs,), 0.1),
            graph.uniform("running_var", (outputs,), 0.8, 1.2),
        )
        return graph.op("BatchNormalization", value, *statistics, epsilon=1e-5, momentum=0.9)


def conv(
    graph: GraphBuilder,
    value: str,
    inputs: int,
    outputs: int,
    *,
    size: int = 3,
    stride: int = 1,
    group: int = 1,
    bias: bool = False,
    gain: float = 2.0,
) -> str:
    """A square convolution that keeps height and width but for its stride."""
    operands = [graph.he("weight", (outputs, inputs // group, size, size), gain)]
    if bias:
        operands.append(graph.normal("bias", (outputs,), 0.1))
    pad = size // 2
    return graph.op(
        "Conv",
        value,
        *operands,
        dilations=[1, 1],
        group=group,
        kernel_shape=[size, size],
        pads=[pad] * 4,
        strides=[stride, stride],
    )


def linear(graph: GraphBuilder, name: str, value: str, inputs: int, outputs: int) -> str:
    """A fully connected layer of a matrix."""
    with graph.within(name):
        operands = graph.he("weight", (outputs, inputs), 1.0), graph.normal("bias", (outputs,), 0.1)
        return graph.op("Gemm", value, *operands, alpha=1.0, beta=1.0, transB=1)
