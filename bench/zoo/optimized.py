"""Models as onnxruntime's own tools write them: quantizers, graph optimizer, transformer optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from bench.latency.feeds import feeds_for
from bench.zoo import convolutional, recurrent, transformers

CALIBRATION_SAMPLES = 3


def converted(model: onnx.ModelProto, convert: Callable[[Path, Path], object]) -> onnx.ModelProto:
    """Convert a model with a tool that reads and writes files."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.onnx", Path(folder) / "target.onnx"
        source.write_bytes(model.SerializeToString())
        convert(source, target)
        return onnx.ModelProto.FromString(target.read_bytes())


def graph_optimized(model: onnx.ModelProto, level: str = "ORT_ENABLE_EXTENDED") -> onnx.ModelProto:
    """Optimize with a session of onnxruntime: FusedConv, FusedMatMul, SkipLayerNormalization and the like."""
    runtime: Any = import_module("onnxruntime")

    def convert(source: Path, target: Path) -> None:
        options = runtime.SessionOptions()
        options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(target)
        options.log_severity_level = 3
        runtime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return converted(model, convert)


class CalibrationData:
    """Samples, as onnxruntime's static quantizer reads them."""

    def __init__(self, samples: Iterable[Mapping[str, Any]]) -> None:
        self._rest = iter(samples)

    def get_next(self) -> Mapping[str, Any] | None:
        """The next feeds, `None` after the last."""
        return next(self._rest, None)


def statically_quantized(
    model: onnx.ModelProto,
    form: str = "QOperator",
    samples: Sequence[Mapping[str, Any]] = (),
    method: str = "MinMax",
    excluded: Sequence[str] = (),
) -> onnx.ModelProto:
    """
    Quantize with calibration: `QOperator` (QLinearConv, QLinearAdd, …) or `QDQ`.

    Samples are generated if none are given. Nodes whose names are excluded stay in float.
    """
    quantization: Any = import_module("onnxruntime.quantization")

    def convert(source: Path, target: Path) -> None:
        data = samples or [feeds_for(source)] * CALIBRATION_SAMPLES
        reader: Any = type("Reader", (CalibrationData, quantization.CalibrationDataReader), {})(data)
        quantization.quantize_static(
            str(source),
            str(target),
            reader,
            quant_format=quantization.QuantFormat[form],
            activation_type=quantization.QuantType.QUInt8,
            per_channel=True,
            calibrate_method=quantization.CalibrationMethod[method],
            nodes_to_exclude=list(excluded),
        )

    # Batch normalizations are folded first, as the quantizer's users are told to.
    return converted(graph_optimized(model, "ORT_ENABLE_BASIC"), convert)


def dynamically_quantized(model: onnx.ModelProto) -> onnx.ModelProto:
    """Quantize weights, and activations at run time: MatMulInteger, DynamicQuantizeLSTM."""
    quantization: Any = import_module("onnxruntime.quantization")

    def convert(source: Path, target: Path) -> None:
        options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
        kind = quantization.QuantType.QInt8
        quantization.quantize_dynamic(str(source), str(target), weight_type=kind, extra_options=options)

    return converted(model, convert)


def transformer_optimized(model: onnx.ModelProto, kind: str, heads: int, width: int) -> onnx.ModelProto:
    """Fuse attention, normalizations and activations; the tool needs the package sympy."""
    optimizer: Any = import_module("onnxruntime.transformers.optimizer")

    def convert(source: Path, target: Path) -> None:
        given = {"model_type": kind, "num_heads": heads, "hidden_size": width, "opt_level": 0}
        optimizer.optimize_model(str(source), **given).save_model_to_file(str(target))

    return converted(graph_optimized(model, "ORT_ENABLE_BASIC"), convert)


def four_bit(model: onnx.ModelProto, accuracy_level: int = 0, bits: int = 4) -> onnx.ModelProto:
    """Quantize the weights of matrix products by blocks; the tool needs the package onnx_ir."""
    quantizer: Any = import_module("onnxruntime.quantization.matmul_nbits_quantizer")
    given = {"block_size": 32, "is_symmetric": True, "accuracy_level": accuracy_level, "bits": bits}
    found = quantizer.MatMulNBitsQuantizer(model, **given)
    found.process()
    written: onnx.ModelProto = found.model.model
    return written


def bert() -> onnx.ModelProto:
    """BERT of two layers of 384."""
    return transformers.bert("bert", 2, 384, 6)


def gpt2() -> onnx.ModelProto:
    """GPT-2 of two layers of 128."""
    return transformers.gpt2("gpt2", 2, 128, 2)


MODELS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "resnet18 static QOperator": lambda: statically_quantized(convolutional.resnet18()),
    "resnet18 static QDQ": lambda: statically_quantized(convolutional.resnet18(), "QDQ"),
    "mobilenet_v2 static QOperator": lambda: statically_quantized(convolutional.mobilenet_v2()),
    "mobilenet_v2 static QDQ": lambda: statically_quantized(convolutional.mobilenet_v2(), "QDQ"),
    "bert static QOperator": lambda: statically_quantized(bert()),
    "bert static QDQ": lambda: statically_quantized(bert(), "QDQ"),
    "gpt2 static QDQ": lambda: statically_quantized(gpt2(), "QDQ"),
    "lstm static QDQ": lambda: statically_quantized(recurrent.lstm(), "QDQ"),
    "resnet18 graph optimizer": lambda: graph_optimized(convolutional.resnet18()),
    "lstm dynamic": lambda: dynamically_quantized(recurrent.lstm()),
    "gpt2 dynamic": lambda: dynamically_quantized(gpt2()),
    "bert dynamic": lambda: dynamically_quantized(bert()),
    "bert dynamic, graph optimizer": lambda: graph_optimized(dynamically_quantized(bert())),
    "bert graph optimizer": lambda: graph_optimized(bert()),
    "bert transformer optimizer": lambda: transformer_optimized(bert(), "bert", 6, 384),
    "bert transformer optimizer, dynamic": lambda: dynamically_quantized(
        transformer_optimized(bert(), "bert", 6, 384)
    ),
    "gpt2 transformer optimizer": lambda: transformer_optimized(gpt2(), "gpt2", 2, 128),
    "bert 4-bit": lambda: four_bit(bert()),
    "bert 4-bit, accuracy level 4": lambda: four_bit(bert(), 4),
    "bert 8-bit": lambda: four_bit(bert(), bits=8),
}
"""Generators of the models by name."""
