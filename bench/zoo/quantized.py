"""Quantized networks: a Quantize and a DequantizeLinear around every operator."""

from __future__ import annotations

import numpy as np
import onnx

from bench.zoo.graph_builder import GraphBuilder

ACTIVATION_SCALES = {"input": 2 / 127, "layer": 6 / 255, "signed": 8 / 127}
"""Quantization scales: of the input image, of ReLU outputs (zero point 0), of signed values (128)."""


def resnet18_qdq() -> onnx.ModelProto:
    """ResNet-18 in QDQ format: uint8 activations, per-channel int8 weights, int32 biases."""
    return _Quantized().resnet18()


class _Quantized:
    def __init__(self) -> None:
        self.graph = GraphBuilder("resnet18_qdq")
        self.random = np.random.default_rng(1)

    def resnet18(self) -> onnx.ModelProto:
        graph = self.graph
        value = self.pair(graph.input("input", (1, 3, 224, 224)), "input")
        value = self.pair(graph.op("Relu", self.conv("conv1", value, "input", 3, 64, 7, 2)))
        value = graph.op("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        value = self.pair(value)
        channels = 64
        for stage in range(4):
            width = 64 << stage
            for index in range(2):
                stride = 2 if stage and not index else 1
                with graph.within(f"layer{stage + 1}", f"layer{stage + 1}.{index}"):
                    value = self.block(value, channels, width, stride)
                channels = width
        value = self.pair(graph.op("GlobalAveragePool", value))
        value = self.pair(graph.op("Flatten", value, axis=1))
        weights, bias = self.weights("fc", (1000, channels), "layer", 1.0)
        value = self.pair(graph.op("Gemm", value, weights, bias, transB=1), "signed")
        return graph.model({"output": (value, (1, 1000))})

    def block(self, value: str, channels: int, width: int, stride: int) -> str:
        branch = self.conv("conv1", value, "layer", channels, width, 3, stride)
        branch = self.pair(self.graph.op("Relu", branch))
        branch = self.pair(self.conv("conv2", branch, "layer", width, width, 3, 1, 0.5), "signed")
        if stride > 1:
            value = self.pair(
                self.conv("downsample", value, "layer", channels, width, 1, stride, 1.0), "signed"
            )
        return self.pair(self.graph.op("Relu", self.graph.op("Add", branch, value)))

    def conv(
        self,
        name: str,
        value: str,
        source: str,
        inputs: int,
        outputs: int,
        size: int,
        stride: int,
        gain: float = 2.0,
    ) -> str:
        weights, bias = self.weights(name, (outputs, inputs, size, size), source, gain)
        return self.graph.op(
            "Conv", value, weights, bias, kernel_shape=[size] * 2, pads=[size // 2] * 4, strides=[stride] * 2
        )

    def weights(self, name: str, shape: tuple[int, ...], source: str, gain: float) -> tuple[str, str]:
        """Dequantized weights and bias; the scale of the bias is that of weight times activation."""
        deviation = np.sqrt(gain / np.prod(shape[1:]))
        values = self.random.standard_normal(shape, np.float32) * np.float32(deviation)
        axes = tuple(range(1, len(shape)))
        scales = (np.abs(values).max(axis=axes) / 127).astype(np.float32)
        steps = np.rint(values / scales.reshape(-1, *(1 for _ in axes))).astype(np.int8)
        bias_scales = scales * np.float32(ACTIVATION_SCALES[source])
        bias = np.rint(self.random.standard_normal(shape[0]) * 0.1 / bias_scales).astype(np.int32)
        with self.graph.within(name):
            return (
                self.dequantize("weight", steps, scales, np.zeros(shape[0], np.int8)),
                self.dequantize("bias", bias, bias_scales, np.zeros(shape[0], np.int32)),
            )

    def dequantize(
        self,
        name: str,
        steps: np.typing.NDArray[np.integer],
        scales: np.typing.NDArray[np.float32],
        zeros: np.typing.NDArray[np.integer],
    ) -> str:
        graph = self.graph
        operands = (
            graph.weight(f"{name}_quantized", steps),
            graph.weight(f"{name}_scale", scales),
            graph.weight(f"{name}_zero_point", zeros),
        )
        return graph.op("DequantizeLinear", *operands, axis=0)

    def pair(self, value: str, kind: str = "layer") -> str:
        """A QuantizeLinear/DequantizeLinear pair."""
        graph = self.graph
        zero = np.asarray(0 if kind == "layer" else 128, np.uint8)
        scale = graph.literal(ACTIVATION_SCALES[kind])
        offset = graph.weight("zero_point", zero)
        value = graph.op("QuantizeLinear", value, scale, offset)
        return graph.op("DequantizeLinear", value, scale, offset)
