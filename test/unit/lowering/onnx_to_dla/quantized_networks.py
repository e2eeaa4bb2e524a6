"""Small quantized networks, each with an operator or a pattern that NVDLA computes in INT8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Kind = type[np.int8] | type[np.uint8]
STEP = 0.03
Array = npt.NDArray[Any]


@dataclass
class Net:
    """A quantized model that is being written; values are called by their names."""

    kind: Kind = np.int8
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(3))
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    weights: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op, inputs, [name], f"{op.lower()}{len(self.nodes)}", **attributes)
        )
        return name

    def held(self, array: npt.ArrayLike) -> str:
        """An initialiser."""
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def rounded(self, value: str, scale: float = STEP, zero: int = 0) -> str:
        """A pair of QuantizeLinear and DequantizeLinear; `zero` counts from the middle of the type."""
        middle = 128 if self.kind is np.uint8 else 0
        grid = self.held(np.float32(scale)), self.held(self.kind(middle + zero))
        return self("DequantizeLinear", self("QuantizeLinear", value, *grid), *grid)

    def kernels(self, *shape: int, per_channel: bool = True, axis: int = 0) -> str:
        """Weights of 8 bits after a DequantizeLinear."""
        integers = self.generator.integers(-127, 128, shape, np.int8)
        count = shape[axis] if per_channel else 1
        reach = np.prod(shape) / shape[axis]
        scales = self.generator.uniform(0.5, 2.0, count).astype(np.float32) / np.float32(60 * np.sqrt(reach))
        scale = self.held(scales if per_channel else scales[0])
        zero = self.held(np.zeros(count if per_channel else (), np.int8))
        axes = {"axis": axis} if per_channel else {}
        return self("DequantizeLinear", self.held(integers), scale, zero, **axes)

    def numbers(self, *shape: int) -> str:
        """Floats of a constant."""
        return self.held(self.generator.standard_normal(shape).astype(np.float32) / 2)

    def model(self, output: str, *inputs: tuple[int, ...]) -> onnx.ModelProto:
        """The model whose inputs are `x0`, `x1` …"""
        values = [
            helper.make_tensor_value_info(f"x{index}", onnx.TensorProto.FLOAT, shape)
            for index, shape in enumerate(inputs)
        ]
        result = helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "quantized", values, [result], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


Make = Callable[[Net], onnx.ModelProto]


def conv(net: Net, shape: tuple[int, ...] = (1, 6, 9, 7), **attributes: Any) -> onnx.ModelProto:
    x = net.rounded("x0", zero=-5)
    y = net("Conv", x, net.kernels(11, shape[1], 3, 3), net.numbers(11), **attributes)
    return net.model(net.rounded(y, zero=7), shape)


def residual(net: Net, *, zero: int) -> onnx.ModelProto:
    x = net.rounded("x0", zero=zero)
    left = net("Conv", x, net.kernels(6, 6, 3, 3), net.numbers(6), pads=[1] * 4)
    right = net.rounded(net("Relu", net("Conv", x, net.kernels(6, 6, 1, 1))), 0.02, -9)
    return net.model(net.rounded(net("Relu", net("Add", left, right)), 0.025, zero), (1, 6, 8, 8))


def residual_of_groups(net: Net, *, zero: int) -> onnx.ModelProto:
    """Layers of a few groups each add their channels of the cube."""
    x = net.rounded("x0", zero=zero)
    y = net("Conv", x, net.kernels(64, 8, 3, 3), net.numbers(64), pads=[1] * 4, group=8)
    z = net.rounded(net("Relu", net("Add", x, y)), 0.025, zero)
    y = net("Conv", z, net.kernels(64, 1, 1, 1), group=64)
    return net.model(net.rounded(net("Sum", y, x), 0.03, zero), (1, 64, 5, 6))


def depthwise(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0")
    y = net(
        "Clip",
        net("Conv", x, net.kernels(64, 1, 3, 3), group=64),
        net.held(np.float32(0)),
        net.held(np.float32(1.5)),
    )
    return net.model(net.rounded(y, 0.02, -100), (1, 64, 6, 6))


def joined(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0", zero=3)
    parts = [net("Relu", net("Conv", x, net.kernels(count, 5, 1, 1))) for count in (8, 32, 3)]
    pooled = net("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4)
    return net.model(net.rounded(net("Concat", *parts, pooled, axis=1), 0.02, -20), (1, 5, 7, 7))


def pooled(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0", zero=-12)
    y = net.rounded(net("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), zero=-12)
    return net.model(net.rounded(net("GlobalAveragePool", y), 0.02), (1, 30, 6, 6))


def greatest(net: Net) -> onnx.ModelProto:
    y = net("MaxPool", net.rounded("x0", zero=-12), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    return net.model(net.rounded(net("Relu", y), 0.02), (1, 10, 28, 28))


def classifier(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0")
    flat = net("Flatten", net("GlobalAveragePool", x))
    y = net("Gemm", net.rounded(flat, 0.02), net.kernels(10, 24), net.numbers(10), transB=1)
    z = net("MatMul", net.rounded(y), net.kernels(10, 7, per_channel=False, axis=1))
    return net.model(net.rounded(z), (1, 24, 6, 6))


def arithmetic(net: Net) -> onnx.ModelProto:
    a, b = net.rounded("x0", zero=2), net.rounded("x1", 0.017, -3)
    y = net("Add", a, b)
    z = net("Add", net("Mul", net.rounded(y), net.numbers(4, 1, 1)), net.numbers(4, 1, 1))
    return net.model(net.rounded(z, 0.021, 11), (1, 4, 5, 6), (1, 4, 5, 6))


def reordered(net: Net) -> onnx.ModelProto:
    shape = net.held(np.array([1, 8, 2, 8]))
    x = net("Reshape", net.rounded("x0"), shape)
    return net.model(net.rounded(net("Conv", x, net.kernels(4, 8, 2, 2))), (1, 8, 4, 4))


def uneven_windows(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0")
    y = net("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4)
    y = net.rounded(net("Relu", y), 0.015, -10)
    y = net("AveragePool", y, kernel_shape=[11, 4], pads=[6, 1, 6, 1])
    return net.model(net.rounded(y, 0.01, -10), (1, 40, 5, 5))


def refused_when_quantized(net: Net, op: str, **attributes: object) -> onnx.ModelProto:
    """Data movement is lowered with the QuantizeLinear after it, which is not the cause of a refusal."""
    return net.model(net.rounded(net(op, net.rounded("x0"), **attributes), 0.1), (1, 2, 18, 18))


def windows_cut_much(net: Net) -> onnx.ModelProto:
    pads = {"pads": [2, 7, 3, 12], "ceil_mode": 1}
    y = net("AveragePool", net.rounded("x0"), kernel_shape=[14, 24], strides=[10, 10], **pads)
    return net.model(net.rounded(y), (1, 33, 11, 16), (1, 33, 2, 3))


def padded_mean(net: Net, *, include: int) -> onnx.ModelProto:
    """Padding is 0, which the stored integers have elsewhere; 40 channels are several convolutions."""
    x = net.rounded("x0", zero=-50)
    y = net("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, count_include_pad=include)
    return net.model(net.rounded(y, 0.015, -10), (1, 40, 5, 7))


def windows_beyond_padding(net: Net, size: int) -> onnx.ModelProto:
    """The last windows reach elements that are not counted, beside counted ones that are zero."""
    reach = {"kernel_shape": [size] * 2, "strides": [2, 2], "pads": [1] * 4, "ceil_mode": 1}
    y = net("AveragePool", net.rounded("x0", zero=-50), count_include_pad=1, **reach)
    return net.model(net.rounded(y), (1, 2, 12, 12))


def shuffled(net: Net) -> onnx.ModelProto:
    x = net("Reshape", net.rounded("x0", zero=4), net.held(np.array([1, 4, 10, 3, 5])))
    x = net("Transpose", x, perm=[0, 2, 1, 3, 4])
    x = net("Reshape", x, net.held(np.array([1, 40, 3, 5])))
    return net.model(net.rounded(net("Conv", x, net.kernels(8, 10, 1, 1), group=4)), (1, 40, 3, 5))


def normalised(net: Net, size: int, alpha: float, zero: int) -> onnx.ModelProto:
    y = net("LRN", net.rounded("x0", zero=zero), size=size, alpha=alpha, beta=0.75)
    return net.model(
        net.rounded(net("MaxPool", net.rounded(y, 0.025, -zero), kernel_shape=[2, 2])), (1, 12, 4, 5)
    )


def of_each(net: Net, op: str, scale: float, **attributes: Any) -> onnx.ModelProto:
    return net.model(net.rounded(net(op, net.rounded("x0", zero=-11), **attributes), scale, 9), (1, 35, 4, 3))


def gated(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0", zero=3)
    return net.model(
        net.rounded(net("Clip", net("PRelu", x, net.held(np.float32(0.3))), net.held(np.float32(-0.2)))),
        (1, 5, 3, 3),
    )


def multiplied(net: Net, zero: int) -> onnx.ModelProto:
    a, b = net.rounded("x0", zero=zero), net.rounded("x1", 0.017)
    y = net.rounded(net("Mul", b, a), 0.03, 11)
    gate = net.rounded(net("Sigmoid", net.rounded(net("GlobalAveragePool", y), 0.005)), 1 / 127)
    return net.model(net.rounded(net("Mul", y, gate), 0.02), (1, 35, 5, 6), (1, 35, 5, 6))


def moved_by_channel(net: Net, zero: int) -> onnx.ModelProto:
    """One computed number per channel is added to sums, to those of groups, and to stored integers."""
    x, mean = net.rounded("x0", zero=zero), net.rounded("x1", 0.017, zero)
    y = net.rounded(net("Add", mean, net("Conv", x, net.kernels(64, 8, 3, 3), net.numbers(64))), zero=3)
    y = net.rounded(net("Add", net("Conv", y, net.kernels(64, 8, 1, 1), group=8), mean))
    return net.model(net.rounded(net("Relu", net("Add", y, mean)), 0.02), (1, 8, 5, 6), (1, 64, 1, 1))


def enlarged(net: Net) -> onnx.ModelProto:
    x = net.rounded("x0", zero=3)
    y = net(
        "ConvTranspose",
        x,
        net.kernels(6, 10, 3, 2, axis=1),
        net.numbers(10),
        strides=[2, 2],
        pads=[1, 0, 0, 0],
    )
    y = net("Resize", net.rounded(net("Relu", y)), "", net.held(np.array([1, 1, 2, 3], np.float32)))
    y = net("Conv", net.rounded(y), net.kernels(4, 10, 1, 1))
    return net.model(net.rounded(y, zero=2), (1, 6, 5, 4))


def large_kernels(net: Net) -> onnx.ModelProto:
    """On nv_small six of the kernels fit the convolution buffer, where eight run at once."""
    x = net.rounded("x0", zero=-4)
    y = net("Conv", x, net.kernels(11, 2048, 3, 3), net.numbers(11))
    return net.model(
        net.rounded(net("Relu", net("Add", y, net.rounded("x1", 0.02)))), (1, 2048, 3, 3), (1, 11, 1, 1)
    )


def wide_rows(net: Net) -> onnx.ModelProto:
    """A row of all channels exceeds the buffer of each target."""
    y = net("Conv", net.rounded("x0", zero=5), net.kernels(3, 4000, 1), net.numbers(3))
    y = net("Relu", net("Add", y, net.rounded("x1", 0.05)))
    return net.model(net.rounded(y, 0.05), (1, 4000, 152), (1, 3, 152))


def long_strides(net: Net) -> onnx.ModelProto:
    """Strides beyond the core's, kernels that are no multiple of them, and padding that no window reads."""
    x = net.rounded("x0", zero=-5)
    y = net("Conv", x, net.kernels(8, 6, 20), net.numbers(8), strides=[16], pads=[16, 12])
    y = net.rounded(net("Relu", net("Add", y, net.rounded("x1", 0.03))), 0.02)
    z = net("Conv", x, net.kernels(8, 3, 33), net.numbers(8), strides=[16], pads=[0, 33], group=2)
    return net.model(net.rounded(net("Add", z, y), 0.04), (1, 6, 160), (1, 8, 11))


def wide_patches(net: Net) -> onnx.ModelProto:
    """Strides beyond the core's in rows and columns, one tap, dilation, and pads that are no whole blocks."""
    x = net.rounded("x0", zero=-5)
    y = net("Conv", x, net.kernels(8, 6, 16, 14), net.numbers(8), strides=[16, 14], pads=[3, 0, 2, 5])
    y = net("Conv", net.rounded(y, 0.1), net.kernels(8, 8, 2, 2), strides=[1, 9], dilations=[1, 2])
    z = net("Conv", x, net.kernels(8, 3, 1, 2), net.numbers(8), strides=[10, 28], dilations=[1, 3], group=2)
    z = net("Conv", net.rounded(z, 0.1), net.kernels(8, 8, 1, 2))
    y = net("Concat", net.rounded(y, 0.05), net.rounded(z, 0.05), axis=2)
    y = net("Add", net.rounded(y, 0.05), net.rounded("x1", 0.03))
    return net.model(net.rounded(y, 0.05), (1, 6, 33, 44), (1, 8, 5, 1))


def prime_strides(net: Net) -> onnx.ModelProto:
    """Strides without factors, of kernels wider and narrower than them, and padding in all directions."""
    x = net.rounded("x0", zero=-5)
    y = net("Conv", x, net.kernels(8, 6, 3, 13), net.numbers(8), strides=[11, 11], pads=[1, 2, 3, 4])
    y = net.rounded(net("Relu", net("Add", y, net.rounded("x1", 0.03))), 0.05)
    z = net("MaxPool", x, kernel_shape=[2, 3], strides=[11, 13], pads=[1] * 4)
    z = net("Conv", net.rounded(z, zero=-5), net.kernels(8, 6, 1, 1))
    z = net("Add", y, net.rounded(z, 0.05))
    return net.model(net.rounded(z, 0.05), (1, 6, 33, 44), (1, 8, 4, 4))


def constants_by_position(net: Net) -> onnx.ModelProto:
    """After a convolution, one in groups and one whose row is computed as several rows, and of integers."""
    first, second, third = (net.numbers(*shape) for shape in ((1, 40, 4, 8), (1, 1, 4, 8), (1, 8, 2)))
    y = net.rounded(net("Add", net("Conv", net.rounded("x0", zero=3), net.kernels(40, 6, 1, 1)), first))
    y = net.rounded(net("Mul", second, y))
    y = net.rounded(net("Sub", net("Conv", y, net.kernels(40, 1, 1, 1), group=40), first), 0.1)
    y = net(
        "Reshape", net.rounded(net("Conv", y, net.kernels(2, 40, 1, 1)), 0.1), net.held(np.array([1, 2, 32]))
    )
    y = net("Conv", y, net.kernels(8, 2, 16), strides=[16])
    y = net.rounded(net("Add", net.rounded(net("Add", y, third), 0.1), net.rounded("x1", 0.03)), 0.1)
    return net.model(y, (1, 6, 4, 8), (1, 8, 2))


def convolved_channels(net: Net) -> onnx.ModelProto:
    """A convolution over the channels of one position, as in ECA blocks."""
    y = net.rounded(net("Reshape", net.rounded("x0", zero=3), net.held(np.array([1, 2, 2, 10]))), zero=3)
    y = net("Conv", y, net.kernels(6, 1, 2, 3), net.numbers(6), group=2, pads=[1, 0, 0, 2], strides=[1, 2])
    y = net("Reshape", net.rounded(y, 0.05), net.held(np.array([1, 60, 1, 1])))
    return net.model(net.rounded(net("Mul", y, net.rounded("x1")), 0.05), (1, 40, 1, 1), (1, 60, 3, 1))


def split_attention(net: Net) -> onnx.ModelProto:
    """Parts of the channels of one position, as in split attention, in shapes of several columns."""
    shape, whole = net.held(np.array([1, 2, 1, 20])), net.held(np.array([1, 40, 1, 1]))
    x = net.rounded(net("Reshape", net.rounded("x0", zero=3), shape), zero=3)
    first, second = (
        net.rounded(net("Slice", x, *(net.held(np.array([each])) for each in (begin, begin + 1, 1))))
        for begin in (0, 1)
    )
    weight = net.rounded(net("Sigmoid", net.rounded(net("Sub", first, second), 0.05)), 0.01)
    y = net.rounded(net("Concat", weight, second, axis=1), 0.05)
    y = net.rounded(net("Reshape", y, whole), 0.05)
    return net.model(net.rounded(net("Mul", y, net.rounded("x1")), 0.05), (1, 40, 1, 1), (1, 40, 3, 1))


def enlarged_much(net: Net) -> onnx.ModelProto:
    """More positions than an engine counts rows: views have them, engines do not."""
    y = net("Resize", net.rounded("x0"), "", net.held(np.array([1, 1, 2, 2], np.float32)))
    return net.model(net.rounded(net("Relu", y)), (1, 2, 64, 64))


def bounded_twice(net: Net) -> onnx.ModelProto:
    y = net("Conv", net.rounded("x0"), net.kernels(40, 4, 1, 1))
    y = net("Clip", y, net.held(np.float32(-0.5)), net.held(np.float32(0.5)))
    return net.model(net.rounded(y, 0.02), (1, 4, 3, 3))


FUNCTIONS: dict[str, tuple[float, dict[str, Any]]] = {
    "Sigmoid": (1 / 200, {}),
    "Tanh": (1 / 110, {}),
    "HardSigmoid": (1 / 200, {"alpha": 0.25}),
    "HardSwish": (0.01, {}),
    "LeakyRelu": (0.02, {"alpha": 0.1}),
    "Elu": (0.02, {"alpha": 0.7}),
    "Softplus": (0.015, {}),
    "Erf": (1 / 110, {}),
    "Exp": (0.05, {}),
    "Abs": (0.02, {}),
    "Neg": (0.02, {}),
}
"""Functions, the scale of their results, their attributes."""

NETWORKS: dict[str, tuple[Make, int]] = {
    "conv": (conv, 1),
    "conv with padding": (lambda net: conv(net, pads=[1, 2, 1, 0], strides=[2, 1]), 1),
    "conv of strides that leave rows": (lambda net: conv(net, (1, 70, 31, 31), strides=[2, 2]), 1),
    "residual": (lambda net: residual(net, zero=0), 2),
    "residual with zero points": (lambda net: residual(net, zero=-30), 2),
    "residual of groups": (lambda net: residual_of_groups(net, zero=0), 2),
    "residual of groups with zero points": (lambda net: residual_of_groups(net, zero=-30), 2),
    "depthwise": (depthwise, 1),
    "joined": (joined, 1),
    "large kernels": (large_kernels, 2),
    "wide rows": (wide_rows, 2),
    "long strides": (long_strides, 2),
    "prime strides": (prime_strides, 2),
    "wide patches": (wide_patches, 1),
    "constants by position": (constants_by_position, 2),
    "convolved channels": (convolved_channels, 2),
    "split attention": (split_attention, 2),
    "greatest": (greatest, 1),
    "pooled": (pooled, 2),
    "classifier": (classifier, 2),
    "arithmetic": (arithmetic, 2),
    "reordered": (reordered, 1),
    "shuffled": (shuffled, 1),
    "uneven windows": (uneven_windows, 3),
    "mean with padding": (partial(padded_mean, include=1), 1),
    "mean without padding": (partial(padded_mean, include=0), 3),
    "normalised": (lambda net: normalised(net, 5, 1e-4, 0), 1),
    "normalised by much": (lambda net: normalised(net, 3, 2.0, 20), 1),
    "enlarged": (enlarged, 2),
    "enlarged much": (enlarged_much, 1),
    "multiplied": (lambda net: multiplied(net, 0), 2),
    "multiplied with a zero point": (lambda net: multiplied(net, -9), 2),
    "moved by channel": (lambda net: moved_by_channel(net, 0), 3),
    "moved by channel with zero points": (lambda net: moved_by_channel(net, -9), 3),
    "slope and bound": (gated, 1),
    "bounded twice": (bounded_twice, 1),
    **{
        name: (lambda net, name=name: of_each(net, name, FUNCTIONS[name][0], **FUNCTIONS[name][1]), 1)
        for name in FUNCTIONS
    },
}
"""Networks, and by how many quantization levels of the output intermediate quantization may move it."""
